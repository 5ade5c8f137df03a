package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The worked examples of programs as trainers run as they are.
func TestScriptExamples(t *testing.T) {
	fullOnly(t)
	for name, test := range map[string]struct{ module, trials, metric string }{
		"shell":   {"", "9 completed", "error"},
		"sklearn": {"sklearn", "6 completed", "accuracy"},
		"pytorch": {"torch", "4 completed", "validation_loss"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.module != "" {
				pythonFirst(t)
				if out, err := exec.Command(python(t), "-c", "import "+test.module).CombinedOutput(); err != nil {
					t.Skipf("LEFT OUT: %s has no %s (Debian: python3-%s): %s", python(t), test.module, test.module, out)
				}
			}
			home := t.TempDir()
			_, stderr, code := output(t, home, "run", filepath.Join("../../examples", name, "sweep.yaml"))
			if code != 0 || !strings.Contains(stderr, test.trials) {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			stdout, stderr, code := output(t, home, "sql", "--format", "csv",
				"SELECT count(*) FROM curves WHERE step > 0")
			if code != 0 || strings.HasSuffix(strings.TrimSpace(stdout), "\n0") {
				t.Errorf("no curves: %s%s", stdout, stderr)
			}
			if stdout, _, _ := output(t, home, "trials"); !strings.Contains(stdout, strings.ToUpper(test.metric)) ||
				strings.Contains(stdout, "never came") {
				t.Errorf("trials:\n%s", stdout)
			}
		})
	}
}
