package sweep

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Resolve returns the point with its values in the types of their schemas and with defaults, in
// the order of d.Parameters: the first of Defaults whose condition fits the point and the
// defaults so far, then Default. Parameters that do not apply are left out. The error is a
// *ParameterError.
func (d *Description) Resolve(point Parameters) (Parameters, error) {
	resolved := make(Parameters, len(d.Parameters))
	for i := range d.Parameters {
		schema := &d.Parameters[i]
		given, present := point[schema.Name]
		if !present {
			continue
		}
		value, err := schema.Coerce(given)
		if err != nil {
			return nil, err
		}
		resolved[schema.Name] = value
	}
	if len(resolved) < len(point) {
		for _, name := range point.Names() {
			switch {
			case d.Parameter(name) != nil:
			case d.Open:
				resolved[name] = point[name]
			default:
				return nil, d.Unknown(name)
			}
		}
	}
	for i := range d.Parameters {
		schema := &d.Parameters[i]
		if !schema.AppliesWhen.Fits(resolved) {
			delete(resolved, schema.Name)
			continue
		}
		if _, present := resolved[schema.Name]; present {
			continue
		}
		value := schema.defaultFor(resolved)
		if value == nil {
			if schema.Required {
				return nil, refused(schema.Name, "is required: %s", schema.Expected())
			}
			continue
		}
		value, err := schema.Coerce(value)
		if err != nil {
			return nil, err
		}
		resolved[schema.Name] = value
	}
	return resolved, nil
}

// Unknown returns the error for a parameter that d does not have.
func (d *Description) Unknown(name string) *ParameterError {
	names := make([]string, len(d.Parameters))
	for i := range d.Parameters {
		names[i] = d.Parameters[i].Name
	}
	return &ParameterError{
		Parameter: name,
		Problem:   fmt.Sprintf("trainer %s has no such parameter", d.Name),
		Nearest:   Nearest(name, names),
	}
}

func (s *ParameterSchema) defaultFor(resolved Parameters) any {
	for _, d := range s.Defaults {
		if d.When.Fits(resolved) {
			return d.Value
		}
	}
	return s.Default
}

// Coerce returns value in the type of s: int64 for an integer, float64 for a number, bool for a
// boolean. Text that reads as a number ("1e-3", "10_000_000") or a boolean (yes, no, on, off,
// true, false) is one where one is expected, and a whole number is an integer. The error is a
// *ParameterError.
func (s *ParameterSchema) Coerce(value any) (any, error) {
	value, err := Normalize(value)
	if err != nil {
		return nil, refused(s.Name, "%v", err)
	}
	coerced, ok := s.convert(value)
	if ok && len(s.Enum) > 0 {
		ok = contains(s.Enum, coerced)
	}
	if !ok {
		return nil, s.refuse(value)
	}
	return coerced, nil
}

// convert brings a normal value to the type and checks the bounds.
func (s *ParameterSchema) convert(value any) (any, bool) {
	if text, ok := value.(string); ok && (s.Type == IntegerType || s.Type == NumberType) {
		value = parseNumber(text)
	}
	switch s.Type {
	case BooleanType:
		switch v := value.(type) {
		case bool:
			return v, true
		case string:
			return parseBoolean(v)
		}
		return nil, false
	case IntegerType:
		switch v := value.(type) {
		case int64:
			return v, s.inBounds(float64(v))
		case float64:
			// −2^63 and everything below 2^63 convert exactly.
			if v == math.Trunc(v) && v >= -1<<63 && v < 1<<63 {
				return int64(v), s.inBounds(v)
			}
		}
		return nil, false
	case NumberType:
		v, ok := Number(value)
		return v, ok && s.inBounds(v)
	case StringType:
		_, ok := value.(string)
		return value, ok
	default:
		return value, true
	}
}

// Number returns a value as a float64 if it is a number.
func Number(value any) (number float64, ok bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func (s *ParameterSchema) inBounds(v float64) bool {
	if s.Minimum != nil && (v < *s.Minimum || s.ExclusiveMinimum && v == *s.Minimum) {
		return false
	}
	return s.Maximum == nil || v <= *s.Maximum
}

func (s *ParameterSchema) refuse(value any) *ParameterError {
	e := &ParameterError{Parameter: s.Name, Value: value, Problem: "must be " + s.Expected()}
	switch v := value.(type) {
	case string:
		names := make([]string, 0, len(s.Enum))
		for _, item := range s.Enum {
			if name, ok := item.(string); ok {
				names = append(names, name)
			}
		}
		e.Nearest = Nearest(v, names)
	case bool, int64, float64:
		if s.Type == StringType && len(s.Enum) == 0 {
			e.Problem += " (in quotes)"
		}
	}
	return e
}

// Expected says which values s accepts, as in "an integer from 1 to 32".
func (s *ParameterSchema) Expected() string {
	if len(s.Enum) > 0 {
		items := make([]string, len(s.Enum))
		for i, item := range s.Enum {
			text, _ := CanonicalJSON(item)
			items[i] = strings.Trim(string(text), `"`)
		}
		if len(items) == 1 {
			return items[0]
		}
		return "one of " + strings.Join(items, ", ")
	}
	switch s.Type {
	case BooleanType:
		return "true or false"
	case IntegerType:
		return "an integer" + s.bounds()
	case NumberType:
		return "a number" + s.bounds()
	case StringType:
		return "text"
	default:
		return "any value"
	}
}

func (s *ParameterSchema) bounds() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	low, high := s.Minimum, s.Maximum
	switch {
	case low != nil && high != nil && s.ExclusiveMinimum:
		return " above " + number(*low) + " and at most " + number(*high)
	case low != nil && high != nil:
		return " from " + number(*low) + " to " + number(*high)
	case low != nil && s.ExclusiveMinimum:
		return " above " + number(*low)
	case low != nil:
		return " of at least " + number(*low)
	case high != nil:
		return " of at most " + number(*high)
	default:
		return ""
	}
}

// parseNumber reads text as a number as YAML 1.1 or 1.2 would (10_000_000, 0x1f, 1e-3, +.5), nil
// if it is no finite number.
func parseNumber(text string) any {
	if strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") {
		return nil
	}
	plain := strings.ReplaceAll(text, "_", "")
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return i
	}
	// ParseFloat also takes hexadecimal floats, Inf and NaN.
	for _, c := range plain {
		if (c < '0' || c > '9') && !strings.ContainsRune("+-.eE", c) {
			return nil
		}
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		return nil
	}
	return f
}

func parseBoolean(text string) (value any, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return nil, false
}

// Nearest returns the known name that a person who wrote name most likely meant, or "".
func Nearest(name string, known []string) string {
	const longest = 64 // keeps the cost of hostile names small
	if len(name) > longest {
		return ""
	}
	fold := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(s))
	}
	folded := fold(name)
	best, bestDistance := "", max(len(folded)/3, 1)+1
	candidates := append([]string(nil), known...)
	sort.Strings(candidates)
	for _, candidate := range candidates {
		if len(candidate) > longest {
			continue
		}
		// A distance of the whole name would be no likeness.
		if d := editDistance(folded, fold(candidate)); d < bestDistance && d < len(folded) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// editDistance is the optimal string alignment distance: insertions,
// deletions, substitutions and swaps of neighbours cost one each.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
