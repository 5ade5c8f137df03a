package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// workBegins is what a command writes when its trials begin.
var workBegins = regexp.MustCompile(`(?m)^sweep \S+: \d+ trials? on \d+ slots?$`)

// refused has the tests whose command is to be refused.
var refused sync.Map

// expecting runs a command that is to end with an exit code. If that means that it is refused, the command is ended,
// and the test fails, when trials begin: they might run for hours.
func expecting(t testing.TB, code int, run func() (stdout, stderr string, code int)) (string, string, int) {
	if code == exitUsage || code == exitNotFound {
		refused.Store(t, true)
		defer refused.Delete(t)
	}
	return run()
}

// guarded is a writer into a buffer that fails the test and calls stop when the work of a command begins which is to
// be refused.
func guarded(t testing.TB, out *bytes.Buffer, stop func()) io.Writer {
	if _, ok := refused.Load(t); !ok {
		return out
	}
	return &refusalWatch{t: t, out: out, stop: stop}
}

type refusalWatch struct {
	t    testing.TB
	out  *bytes.Buffer
	stop func()
}

// Write implements io.Writer.
func (r *refusalWatch) Write(p []byte) (int, error) {
	n, err := r.out.Write(p)
	if r.stop != nil && workBegins.Match(r.out.Bytes()) {
		r.t.Errorf("the command is not refused, it works: %s", r.out)
		r.stop()
		r.stop = nil
	}
	return n, err
}

// failures records the errors of a test that is to fail.
type failures struct {
	testing.TB
	mu   sync.Mutex
	text string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, arguments ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text += fmt.Sprintf(format, arguments...) + "\n"
}

// A test that expects a refusal fails when the work begins, and does not wait for its end.
func TestRefusalFailsAtOnce(t *testing.T) {
	home := t.TempDir()
	file := write(t, home, "long.yaml", "trainer: noop\nparameters:\n  milliseconds: {value: 86400000}\n")
	for name, run := range map[string]func(t testing.TB) (stdout, stderr string, code int){
		"process": func(t testing.TB) (stdout, stderr string, code int) {
			return output(t, home+"/process", "run", file, "--slots", "1")
		},
		"in process": func(t testing.TB) (stdout, stderr string, code int) {
			return inProcess(t, "run", file, "--slots", "1", "--home", home+"/in")
		},
	} {
		f := &failures{TB: t}
		_, _, code := expecting(f, exitUsage, func() (string, string, int) { return run(f) })
		if code == exitUsage || !strings.Contains(f.text, "it works: ") {
			t.Errorf("%s: exit code %d, %q", name, code, f.text)
		}
	}
	if _, err := os.Stat(home + "/process"); err != nil {
		t.Error(err)
	}
}
