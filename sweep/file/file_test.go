package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

const located3 = `name: x
parameters:
  dataset: {values: [CBF, Coffee]}
  lr:
    values:
      - 1e-3
      - 1e-2
  m1: {min: 1, max: 4}
`

func TestLocate(t *testing.T) {
	f, err := Decode("dir/x.yaml", []byte(located3), Options{Description: toy()})
	if err != nil {
		t.Fatal(err)
	}
	cause := &sweep.ParameterError{Parameter: "lr", Value: 0.01, Problem: "must be small"}
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"value", cause, "dir/x.yaml:7:9: parameters.lr: must be small, not 0.01"},
		{"wrapped", fmt.Errorf("validate: %w", cause), "dir/x.yaml:7:9: parameters.lr: must be small, not 0.01"},
		{"other value", &sweep.ParameterError{Parameter: "lr", Value: 7, Problem: "no"},
			"dir/x.yaml:4:3: parameters.lr: no, not 7"},
		{"range", &sweep.ParameterError{Parameter: "m1", Value: int64(3), Problem: "no"},
			"dir/x.yaml:8:3: parameters.m1: no, not 3"},
		{"defaulted", &sweep.ParameterError{Parameter: "decay", Value: 1.0, Problem: "no", Nearest: "lr"},
			`dir/x.yaml:2:1: parameters.decay: no, not 1 (the default: the file does not set it) (did you mean "lr"?)`},
		{"data", &sweep.DataError{Dataset: "Coffee", Err: os.ErrNotExist}, "dir/x.yaml:3:27: parameters.dataset: " +
			"data set Coffee: file does not exist"},
		{"other", errors.New("broken"), "dir/x.yaml:2:1: parameters: broken"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := f.Locate(test.err)
			if got.Error() != test.want {
				t.Errorf("got  %v\nwant %s", got, test.want)
			}
			if !errors.Is(got, test.err) {
				t.Error("the cause is lost")
			}
			if again := f.Locate(got); again.Error() != test.want {
				t.Error("located twice")
			}
		})
	}
	if f.Locate(nil) != nil {
		t.Error("nil is located")
	}
}

func TestErrorContract(t *testing.T) {
	_, err := Decode("x.yaml", []byte("parameters: {dataset: {value: A}, lr: {value: -1}}"),
		Options{Description: toy()})
	var list Errors
	var one *Error
	var refused *sweep.ParameterError
	if !errors.As(err, &list) || !errors.As(fmt.Errorf("wrapped: %w", err), &one) || !errors.As(err, &refused) {
		t.Fatalf("error %T: %v", err, err)
	}
	if one.Line != 1 || one.Column != 47 || one.File != "x.yaml" || refused.Parameter != "lr" {
		t.Errorf("%+v", one)
	}
	_, err = Decode("x.yaml", []byte("parameters: {a: {value: 1}}\nexclude: [{a: 1}]"), Options{})
	if !errors.Is(err, sweep.ErrNoPoint) {
		t.Errorf("error %v, want ErrNoPoint", err)
	}
	many := strings.Repeat("a", 5000)
	var text strings.Builder
	text.WriteString("parameters:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  %s%d: %s\n", many, i, many)
	}
	_, err = Decode("x.yaml", []byte(text.String()), Options{Description: toy()})
	if len(strings.Split(err.Error(), "\n")) > maxErrors || len(err.Error()) > 10000 {
		t.Errorf("errors of %d bytes", len(err.Error()))
	}
}

func TestTrainer(t *testing.T) {
	tests := []struct{ text, want, problem string }{
		{"parameters: {a: {value: 1}}", "builtin", ""},
		{"trainer: noop\nparameters: {}\nnonsense: 1", "noop", ""},
		{"trainer: ../noop", "", "x.yaml:1:10: trainer: must be letters"},
		{"trainer: [a]", "", "x.yaml:1:10: trainer: must be text"},
		{"trainer: [a", "", "not valid YAML"},
		{"", "", "the file is empty"},
		{"a", "", "must be a mapping"},
	}
	for _, test := range tests {
		got, err := Trainer("x.yaml", []byte(test.text))
		if got != test.want || (err == nil) != (test.problem == "") || err != nil &&
			!strings.Contains(err.Error(), test.problem) {
			t.Errorf("%q: %q, %v", test.text, got, err)
		}
	}
}

// TestArange holds q_uniform against numpy.arange, whose value i is
// start + i·((start + step) − start) and whose length is the rounded-up quotient.
// The second case is the one that numpy's documentation warns of: rounding takes
// the end in.
func TestArange(t *testing.T) {
	tests := []struct {
		text string
		want []any
	}{
		{"min: 0, max: 1, q: 0.1", []any{0, .1, .2, .30000000000000004, .4, .5, .6000000000000001,
			.7000000000000001, .8, .9}},
		{"min: 1, max: 1.3, q: 0.1", []any{1, 1.1, 1.2000000000000002, 1.3000000000000003}},
		{"min: 1, max: 2, q: 0.3", []any{1, 1.3, 1.6, 1.9000000000000001}},
		{"min: 0.1, max: 0.4, q: 0.1", []any{.1, .2, .30000000000000004, .4}},
		{"min: -1, max: 1, q: 0.25", []any{-1, -.75, -.5, -.25, 0, .25, .5, .75}},
		{"min: 0.001, max: 0.1, q: 0.033", []any{.001, .034, .067}},
		{"min: 0.5, max: 5", []any{.5, 1.5, 2.5, 3.5, 4.5}},
		{"min: 100000.1, max: 100003, q: 0.7", []any{100000.1, 100000.8, 100001.5, 100002.2, 100002.9}},
		{"min: 3, max: 10, q: 4", []any{3, 7}},
	}
	for _, test := range tests {
		f, err := Decode("x", []byte("parameters: {a: {distribution: q_uniform, "+test.text+"}}"), Options{})
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		var got []any
		for _, point := range f.Grid.All(0) {
			got = append(got, point["a"])
		}
		if !sweep.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.text, got, test.want)
		}
	}
}

// TestHostile: input that would take unbounded time or memory is refused soon.
func TestHostile(t *testing.T) {
	repeat := strings.Repeat
	var tags, chain, members bytes.Buffer
	for i := range 50_000 {
		fmt.Fprintf(&tags, "%%TAG !a%d! tag:x\n", i)
		fmt.Fprintf(&chain, "a%d: &b%d [*b%d]\n", i, i, max(i-1, 0))
	}
	for i := range 5_000 { // each of which would have the condition
		fmt.Fprintf(&members, "      m%d: {value: 1}\n", i)
	}
	tests := []struct{ name, text, want string }{
		{"size", repeat("#", MaxSize+1), "at most 16 MiB"},
		{"flow depth", repeat("[", 100_000), "max depth"},
		{"block depth", repeat("- ", 100_000), "max depth"},
		{"keys of keys", repeat("? ", 100_000), "max depth"},
		{"tag directives", tags.String(), "%TAG"},
		{"alias chain", chain.String(), "alias *b0 contains itself"},
		{"deep aliases", "a: &b0 []\n" + strings.ReplaceAll(chain.String(), "a0: &b0 [*b0]\n", ""), "nests deeper"},
		{"control character", "a: 1\nbc: \x00", "x:2:5: not valid YAML: control characters"},
		{"not UTF-8", "a: 1\nbc: \xff", "x:2:5: not valid YAML"},
		{"huge range", "parameters: {a: {min: 0, max: 1e300, q: 1}}", "must divide"},
		{"huge arange", "parameters: {a: {min: 0, max: 1e300, q: 1e-300, distribution: q_uniform}}", "more than 2^53"},
		{"huge integers", "parameters: {a: {min: -9223372036854775808, max: 9223372036854775807}}", "2^53"},
		{"huge replicates", "replicates: 99999999999999999999\nparameters: {a: {value: 1}}",
			"replicates: must be an integer"},
		{"wide condition", "parameters:\n  g:\n    when: {z: [" + repeat("1, ", 3000) + "]}\n    parameters:\n" +
			members.String() + "  z: {value: 1}", "list more than 1048576 values"},
		{"long number", "parameters: {a: {min: 0, max: 0." + repeat("1", 1_000_000) + ", q: 0.1}}", "must divide"},
		{"huge exponent", "parameters: {a: {min: 0, max: 1e-999999, q: 0.1}}", "must divide"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// Without its bound such a file takes hours.
			if _, err := Decode("x", []byte(test.text), Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %.300v, want %q", err, test.want)
			}
		})
	}
}

// A number that would be taken for another, or for a text, is refused where it stands.
func TestNumbersAsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"18446744073709551617": "beyond", "9223372036854775808": "beyond", "-9223372036854775809": "beyond",
		"9_223_372_036_854_775_808": "beyond", "0xffffffffffffffff": "beyond", "1e400": "finite", "-1.5e999": "finite",
		"[1, 1e400]": "finite", "010": "begins with 0", "-007": "begins with 0", "08": "begins with 0", "1.8e19": "",
		"9223372036854775807": "", "-9223372036854775808": "", "0o10": "", "0x10": "", "0": "", "-0": "", "0.5": "", "00.5": "",
		`"010"`: "", `"1e400"`: "", `"18446744073709551617"`: "", "infinity": "", "!!float 18446744073709551617": "",
	} {
		_, err := Decode("x", []byte("parameters:\n  a: {value: "+text+"}\n"), Options{})
		if got := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(got, want) ||
			err != nil && !strings.Contains(got, "x:2:") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// manyKeys is a sweep file with n parameters.
func manyKeys(n int) []byte {
	var b bytes.Buffer
	b.WriteString("parameters:\n")
	for i := range n {
		fmt.Fprintf(&b, "  parameter-%d: {value: %d} # a comment\n", i, i)
	}
	return b.Bytes()
}

// manyValues is a sweep file whose one parameter has n values.
func manyValues(n int) []byte {
	var b bytes.Buffer
	b.WriteString("parameters:\n  seed: {values: [")
	for i := range n {
		fmt.Fprintf(&b, "%d, ", i)
	}
	b.WriteString("]}\n  dataset: {value: A}\n")
	return b.Bytes()
}

// manyConditions is a sweep file with n parameters, each under a condition on
// the one before.
func manyConditions(n int) []byte {
	var b bytes.Buffer
	b.WriteString("parameters:\n  p0: {value: 1}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "  p%d: {value: 1, when: {p%d: 1}}\n", i, i-1)
	}
	return b.Bytes()
}

// TestManyKeys decodes so many keys and conditions that a quadratic step anywhere would
// take minutes; BenchmarkManyKeys says how the time grows.
func TestManyKeys(t *testing.T) {
	for name, file := range map[string]func(n int) []byte{"keys": manyKeys, "conditions": manyConditions} {
		decodeMany(t, name, file(100_000), 100_000)
	}
}

func decodeMany(t testing.TB, name string, data []byte, n int) {
	t.Helper()
	f, err := Decode("x", data, Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	point, err := f.Grid.At(0)
	if err != nil || len(point) != n {
		t.Fatalf("%d %s: %d parameters, %v", n, name, len(point), err)
	}
}

// BenchmarkManyKeys reports the time a key, which is the same for few and for many.
func BenchmarkManyKeys(b *testing.B) {
	for _, n := range []int{5_000, 100_000} {
		for name, file := range map[string]func(n int) []byte{"keys": manyKeys, "conditions": manyConditions} {
			data := file(n)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					decodeMany(b, name, data, n)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/key")
			})
		}
	}
}

func FuzzDecode(f *testing.F) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		input, _, _ := strings.Cut(string(text), dashes+"\n")
		f.Add([]byte(input), true)
		f.Add([]byte(input), false)
	}
	description := toy()
	place := regexp.MustCompile(`^x\.yaml:[1-9][0-9]*:[1-9][0-9]*: `)
	f.Fuzz(func(t *testing.T, data []byte, described bool) {
		options := Options{}
		if described {
			options.Description = description
		}
		decoded, err := Decode("x.yaml", data, options)
		if err != nil {
			var list Errors
			if !errors.As(err, &list) || len(list) == 0 {
				t.Fatalf("error %T", err)
			}
			for _, item := range list {
				if !place.MatchString(item.Error()) {
					t.Fatalf("no place: %v", item)
				}
			}
			return
		}
		if decoded.Grid.Count() < 1 {
			t.Fatal("no point and no error")
		}
		// What is accepted survives the way through a store.
		text, err := json.Marshal(decoded.Spec)
		if err != nil {
			t.Fatal(err)
		}
		var spec sweep.Spec
		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatal(err)
		}
		for _, index := range []int64{0, decoded.Grid.Count() - 1} {
			point, err := decoded.Grid.At(index)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := point.Canonical(); err != nil {
				t.Fatal(err)
			}
			if described {
				if _, err := description.Resolve(point); err != nil {
					t.Fatalf("an accepted point is refused: %v", err)
				}
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	text, err := os.ReadFile("testdata/reference.txt")
	if err != nil {
		b.Fatal(err)
	}
	reference, _, _ := bytes.Cut(text, []byte(dashes))
	for _, bench := range []struct {
		name        string
		data        []byte
		description *sweep.Description
	}{
		{"reference", reference, toy()},
		{"keys=10000", manyKeys(10_000), nil},
		{"keys=100000", manyKeys(100_000), nil},
		{"values=100000", manyValues(100_000), toy()},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode("x", bench.data, Options{Description: bench.description}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestExamples: the sweep files that users start from are sound.
func TestExamples(t *testing.T) {
	names, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	text, err := Schema(nil)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Decode(name, data, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if len(f.Notes) > 0 {
			t.Errorf("notes %v", f.Notes)
		}
		d := newDecoder(name)
		value, ok := d.value(d.parse(data), "")
		if problem := violation(schema, schema, value, ""); !ok || problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// TestSchema holds the schema against the golden files: it accepts every good
// one and refuses the bad ones whose fault a schema can see.
func TestSchema(t *testing.T) {
	schemas := map[bool]map[string]any{}
	for bare, description := range map[bool]*sweep.Description{true: nil, false: toy()} {
		text, err := Schema(description)
		if err != nil {
			t.Fatal(err)
		}
		var schema map[string]any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		schemas[bare] = schema
	}
	visible := []string{"error-many", "error-parameters", "error-select", "error-no-parameters", "error-list",
		"error-zip-form", "error-zip-name", "error-when", "error-string-type", "error-distributions"}
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".txt")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		input, _, _ := strings.Cut(string(text), dashes+"\n")
		d := newDecoder(base)
		root := d.parse([]byte(input))
		if root == nil {
			continue
		}
		value, ok := d.value(root, "")
		if !ok {
			continue
		}
		schema := schemas[strings.HasPrefix(base, "bare")]
		problem := violation(schema, schema, value, "")
		switch {
		case base == "bare-empty-keys" || base == "wandb-unknown-key": // an editor may well point them out
		case !strings.Contains(base, "error") && problem != "":
			t.Errorf("%s is refused: %s", base, problem)
		case slices.Contains(visible, base) && problem == "":
			t.Errorf("%s is accepted", base)
		}
	}
}

// violation checks a value against the part of JSON Schema that Schema uses,
// and returns what is wrong.
func violation(root, schema map[string]any, value any, path string) string {
	if ref, ok := schema["$ref"].(string); ok {
		definitions := root["$defs"].(map[string]any)
		return violation(root, definitions[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), value, path)
	}
	if types, ok := schema["type"]; ok && !hasType(types, value) {
		return fmt.Sprintf("%s: not of type %v", path, types)
	}
	if constant, ok := schema["const"]; ok && !sweep.Equal(constant, value) {
		return fmt.Sprintf("%s: not %v", path, constant)
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(enum, func(item any) bool {
		return sweep.Equal(item, value)
	}) {
		return fmt.Sprintf("%s: %v is not in %v", path, value, enum)
	}
	if options, ok := schema["anyOf"].([]any); ok {
		var problems []string
		for _, option := range options {
			problems = append(problems, violation(root, option.(map[string]any), value, path))
		}
		if !slices.Contains(problems, "") {
			return strings.Join(problems, "; ")
		}
	}
	if not, ok := schema["not"].(map[string]any); ok && violation(root, not, value, path) == "" {
		return fmt.Sprintf("%s: is as it must not be, %v", path, not)
	}
	switch v := value.(type) {
	case string:
		if pattern, ok := schema["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(v) {
			return fmt.Sprintf("%s: %q does not match %s", path, v, pattern)
		}
	case int64:
		return outOfBounds(schema, float64(v), path)
	case float64:
		return outOfBounds(schema, v, path)
	case []any:
		if least, ok := schema["minItems"].(float64); ok && float64(len(v)) < least {
			return path + ": too few items"
		}
		if items, ok := schema["items"].(map[string]any); ok {
			for i, item := range v {
				if problem := violation(root, items, item, fmt.Sprintf("%s[%d]", path, i)); problem != "" {
					return problem
				}
			}
		}
	case map[string]any:
		if least, ok := schema["minProperties"].(float64); ok && float64(len(v)) < least {
			return path + ": too few properties"
		}
		if required, ok := schema["required"].([]any); ok {
			for _, name := range required {
				if _, there := v[name.(string)]; !there {
					return fmt.Sprintf("%s: lacks %v", path, name)
				}
			}
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, item := range v {
			inner, known := properties[name]
			if !known {
				inner, known = schema["additionalProperties"]
			}
			if !known || inner == true {
				continue
			}
			if inner == false {
				return path + ": unknown property " + name
			}
			if problem := violation(root, inner.(map[string]any), item, path+"."+name); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func outOfBounds(schema map[string]any, v float64, path string) string {
	if low, ok := schema["minimum"].(float64); ok && v < low {
		return path + ": too small"
	}
	if low, ok := schema["exclusiveMinimum"].(float64); ok && v <= low {
		return path + ": too small"
	}
	if high, ok := schema["maximum"].(float64); ok && v > high {
		return path + ": too large"
	}
	return ""
}

func hasType(types, value any) bool {
	names, ok := types.([]any)
	if !ok {
		names = []any{types}
	}
	for _, name := range names {
		switch v := value.(type) {
		case nil:
			ok = name == "null"
		case bool:
			ok = name == "boolean"
		case string:
			ok = name == "string"
		case int64:
			ok = name == "integer" || name == "number"
		case float64:
			ok = name == "number" || name == "integer" && v == float64(int64(v))
		case []any:
			ok = name == "array"
		case map[string]any:
			ok = name == "object"
		}
		if ok {
			return true
		}
	}
	return false
}
