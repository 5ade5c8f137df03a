package file

import (
	"fmt"
	"strings"
	"testing"
)

// Ends that look like values are named, with the distribution that takes values; exponents are not.
func TestEndsOfLogUniform(t *testing.T) {
	for ends, want := range map[string]string{
		"log_uniform, min: 0.00001, max: 0.1": "draws values from 1.00001 to 1.10517; if 1e-05 and 0.1 are the ends of the " +
			"values, write distribution: log_uniform_values",
		"log_uniform, min: 16, max: 512":        "write distribution: log_uniform_values",
		"log_uniform, min: 0.001, max: 10":      "write distribution: log_uniform_values",
		"q_log_uniform, min: 0.01, max: 1":      "write distribution: q_log_uniform_values",
		"inv_log_uniform, min: 0.01, max: 1":    "write distribution: inv_log_uniform_values",
		"log_uniform, min: -9.2, max: -2.3":     "",
		"log_uniform, min: -5, max: 0.5":        "",
		"log_uniform, min: 0, max: 5":           "",
		"log_uniform, min: 0.5, max: 3":         "",
		"log_uniform_values, min: 1e-5, max: 1": "",
		"uniform, min: 0.00001, max: 0.1":       "",
	} {
		f, err := Decode("x.yaml", []byte(fmt.Sprintf("program: t.py\nmethod: random\nrun_cap: 3\nparameters:\n  lr: "+
			"{distribution: %s}\n", ends)), Options{})
		if err != nil {
			t.Errorf("%s: %v", ends, err)
			continue
		}
		notes := strings.Join(f.Notes, "\n")
		if want == "" && notes != "" || !strings.Contains(notes, want) {
			t.Errorf("%s: notes %q, want %q", ends, notes, want)
		}
	}
}

// A command begins with a program.
func TestCommandWithoutProgram(t *testing.T) {
	for command, refused := range map[string]bool{
		`["${args_no_boolean_flags}"]`: true, `["${env}"]`: true, `["${env}", "${args}", "${program}"]`: true,
		`[--lr, "${program}"]`: true, `["${args_json}", x]`: true,
		`["${program}", "${args}"]`: false, `["${env}", -u, X, python, "${program}"]`: false, `[sh]`: false,
	} {
		_, err := Decode("x.yaml", []byte("program: t.py\nparameters: {x: {value: 1}}\ncommand: "+command+"\n"), Options{})
		if got := err != nil && strings.Contains(err.Error(), "x.yaml:3:") && strings.Contains(err.Error(),
			"has no program"); got != refused {
			t.Errorf("%s: %v", command, err)
		}
	}
	empty := "program: t.py\ncommand: []\nparameters: {x: {value: 1}}\n"
	if _, err := Decode("x.yaml", []byte(empty), Options{}); err == nil {
		t.Error("an empty command is accepted")
	}
}
