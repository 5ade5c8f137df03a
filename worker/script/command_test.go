package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sweep/sweep"
)

// trialArguments are one of each type, nested ones among them.
func trialArguments(t *testing.T) (*sweep.Script, []argument) {
	t.Helper()
	values := []struct {
		name  string
		path  []string
		value any
	}{
		{"lr", nil, 1e-8}, {"one", nil, 1.0}, {"n", nil, int64(3)}, {"on", nil, true}, {"off", nil, false},
		{"none", nil, nil},
		{"text", nil, "a b"}, {"list", nil, []any{int64(64), int64(64), 1.0}},
		{"words", nil, []any{"it's", `"q"`, nil, true}},
		{"map", nil, map[string]any{"b": 1.0, "a": "x"}},
		{"opt.name", []string{"opt", "name"}, "adam"}, {"model.lr", nil, 0.5},
		{"opt.deep.x", []string{"opt", "deep", "x"}, int64(1)},
	}
	s := &sweep.Script{Program: "train.py", Command: []string{"${args}"}}
	p := sweep.Parameters{}
	for _, v := range values {
		q := sweep.ScriptParameter{Name: v.name, Path: v.path}
		q.Note(v.value)
		s.Parameters = append(s.Parameters, q)
		canonical, err := sweep.CanonicalJSON(v.value)
		if err != nil {
			t.Fatal(err)
		}
		if p[v.name], err = sweep.DecodeValue(canonical); err != nil {
			t.Fatal(err)
		}
	}
	arguments, err := newArguments(s, p)
	if err != nil {
		t.Fatal(err)
	}
	return s, arguments
}

// Each macro gives what W&B's agent gives; values are as Python's str() has them,
// mappings JSON.
func TestMacros(t *testing.T) {
	s, arguments := trialArguments(t)
	pairs := [][2]string{
		{"lr", "1e-08"}, {"one", "1.0"}, {"n", "3"}, {"on", "True"}, {"off", "False"}, {"none", "None"},
		{"text", "a b"},
		{"list", "[64, 64, 1.0]"}, {"words", `["it's", '"q"', None, True]`}, {"map", `{"a": "x", "b": 1.0}`},
		{"opt", `{"name": "adam", "deep": {"x": 1}}`}, {"model.lr", "0.5"},
	}
	form := func(write func(name, value string) []string) (list []string) {
		for _, p := range pairs {
			list = append(list, write(p[0], p[1])...)
		}
		return list
	}
	flags := form(func(n, v string) []string {
		switch n {
		case "on":
			return []string{"--on"}
		case "off":
			return nil
		}
		return []string{"--" + n + "=" + v}
	})
	object := `{"lr": 1e-08, "one": 1.0, "n": 3, "on": true, "off": false, "none": null, "text": "a b", "list": [64, 64, 1.0], ` +
		`"words": ["it's", "\"q\"", null, true], "map": {"a": "x", "b": 1.0}, "opt": {"name": "adam", "deep": {"x": 1}}, "model.lr": 0.5}`
	python, err := findInterpreter()
	if err != nil {
		t.Skip("left out:", err)
	}
	written := ""
	line := commandLine{
		script: s, arguments: arguments,
		environment: func(name string) (string, bool) { return "/home/" + name, name == "USER_DIR" || name == "EMPTY" },
		jsonFile:    func(text string) (string, error) { written = text; return "/tmp/a.json", nil },
	}
	for _, test := range []struct {
		command, want []string
	}{
		{[]string{"${args}"}, form(func(n, v string) []string { return []string{"--" + n + "=" + v} })},
		{[]string{"${args_no_hyphens}"}, form(func(n, v string) []string { return []string{n + "=" + v} })},
		{[]string{"${args_no_equals}"}, form(func(n, v string) []string { return []string{"--" + n, v} })},
		{[]string{"${args_no_boolean_flags}"}, flags},
		{[]string{"${args_json}"}, []string{object}},
		{[]string{"x", "${args_json_file}"}, []string{"x", "/tmp/a.json"}},
		{[]string{"${env}", "${interpreter}", "-u", "${program}"}, []string{"/usr/bin/env", python, "-u", "train.py"}},
		{[]string{"x", "--d=${envvar:USER_DIR}/${envvar:EMPTY}"}, []string{"x", "--d=/home/USER_DIR//home/EMPTY"}},
		{[]string{"sh", "-c", "echo ${HOME} $1"}, []string{"sh", "-c", "echo ${HOME} $1"}},
	} {
		s.Command = test.command
		got, _, err := line.expand()
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q\ngot  %q (%v)\nwant %q", test.command, got, err, test.want)
		}
	}
	if written != object {
		t.Errorf("the file has %s", written)
	}
	for word, want := range map[string]string{
		"${arg}": `"${arg}" is not a macro`, "${envvar:NOT_SET}": "NOT_SET is not set",
		"x${envvar:NOT_SET}": "NOT_SET is not set",
	} {
		s.Command = []string{"x", word}
		if argv, _, err := line.expand(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", word, argv, err)
		}
	}
}

// A Python of somebody's home folder is replaced by ours, which is said.
func TestFixedInterpreters(t *testing.T) {
	python, err := findInterpreter()
	if err != nil {
		t.Skip("left out:", err)
	}
	self, err := exec.LookPath(python)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, test := range []struct {
		command []string
		want    string
		noted   bool
	}{
		{[]string{home + "/miniconda3/envs/x/bin/python", "a.py"}, python, true},
		{[]string{`C:\Users\Bob\env\Scripts\python.exe`, "a.py"}, python, true},
		{[]string{"/usr/bin/env", "python3.99"}, python, true},
		{[]string{"~/nowhere/bin/python3"}, python, true},
		{[]string{self}, self, false},
		{[]string{"/home/ann/bin/julia"}, "/home/ann/bin/julia", false},
	} {
		line := commandLine{script: &sweep.Script{Command: test.command}, environment: os.LookupEnv}
		argv, note, err := line.expand()
		if err != nil {
			t.Fatal(err)
		}
		got := argv[0]
		if got == "/usr/bin/env" {
			got = argv[1]
		}
		if got != test.want || (note != "") != test.noted {
			t.Errorf("%q runs %q (%q)", test.command, argv, note)
		}
	}
}

// The program is looked for where W&B's agent would be started, beside the sweep
// file, and above it up to the repository.
func TestLocate(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"repo/.git/x", "repo/main.py", "repo/conf/sweeps/s.yaml", "repo/conf/near.py",
		"repo/conf/sweeps/near.py", "above.py", "away/here.py", "away/main.py"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(root, "repo/conf/sweeps/s.yaml")
	for _, test := range []struct {
		working, program string
		command          []string
		want             string
	}{
		{"away", "main.py", nil, "away"},
		{"away", "here.py", nil, "away"},
		{"away", "near.py", nil, "repo/conf/sweeps"},
		{"repo/conf", "main.py", nil, "repo"},
		{"repo/conf", "sweeps/near.py", nil, "repo/conf"},
		{"away", "above.py", nil, ""},
		{"away", filepath.Join(root, "above.py"), nil, "away"},
		{"away", "", []string{"python", "conf/near.py"}, "repo"},
		{"away", "", []string{"date"}, "away"},
	} {
		t.Chdir(filepath.Join(root, test.working))
		got, err := Locate(&sweep.Script{Program: test.program, Command: test.command}, file)
		switch {
		case test.want == "":
			if err == nil || !strings.Contains(err.Error(), "--directory") {
				t.Errorf("%s: %s, %v", test.program, got, err)
			}
		case err != nil || got != filepath.Join(root, test.want):
			t.Errorf("%s %q from %s: %s, %v", test.program, test.command, test.working, got, err)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"step": 3, "loss": 0.2}`, `{"a": NaN, "b": -Infinity, "NaN": "Infinity \" NaN"}`, `{"a": "\u004eaN"}`, `{`,
		`{"_exit": 1e300}`, `{"step": 1e18}`,
		`{"a":1}}`, "{\"\x00\": 1}", `{"a": [1, {"b": NaN}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m := newMetrics(func(string, ...any) {})
		m.line(line)
		m.line(line)
		for _, c := range m.take(true) {
			for i := range c.Steps[1:] {
				if c.Steps[i] >= c.Steps[i+1] {
					t.Fatalf("steps %v", c.Steps)
				}
			}
			if sweep.CheckName("metric", c.Metric) != nil {
				t.Fatalf("metric %q", c.Metric)
			}
		}
		if values, _ := m.summary(); len(values) > maxMetrics {
			t.Fatal(len(values))
		}
	})
}
