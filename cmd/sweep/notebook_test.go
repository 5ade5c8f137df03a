package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// resultsPath is PYTHONPATH with the package sweep_results.
func resultsPath(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("python")
	if err != nil {
		t.Fatal(err)
	}
	return path + string(os.PathListSeparator) + os.Getenv("PYTHONPATH")
}

// wellFormed checks that a text is XML.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
}

// The cells of the example notebook run, and show what its text says.
func TestNotebook(t *testing.T) {
	fullOnly(t)
	if out, err := exec.Command(python(t), "-c", "import pandas").CombinedOutput(); err != nil {
		t.Skipf("LEFT OUT: %s has no pandas (Debian: python3-pandas): %s", python(t), out)
	}
	notebook, err := filepath.Abs("../../examples/results.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	driver, err := filepath.Abs("testdata/notebook.py")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", resultsPath(t))
	t.Chdir(t.TempDir())
	stdout, stderr, code := output(t, t.TempDir(), "exec", python(t), driver, notebook)
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	var shown []map[string]string
	for line := range strings.Lines(stdout) {
		var cell map[string]string
		if err := json.Unmarshal([]byte(line), &cell); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		shown = append(shown, cell)
	}
	for i, want := range []struct{ kind, part string }{
		{"text/html", "<b>notebook</b>"}, {"text/html", "<caption>sweeps</caption>"}, {"text/html", "validation_loss"},
		{"text/html", "validation_loss.mean"}, {"image/svg+xml", "validation_loss of notebook"}, {"text/html", "count"},
		{"text/html", "sem"}, {"text/html", "accuracy"},
	} {
		if i >= len(shown) || !strings.Contains(shown[i][want.kind], want.part) {
			t.Errorf("cell %d shows no %q as %s: %v", i, want.part, want.kind, shown)
			continue
		}
		if want.kind == "image/svg+xml" {
			wellFormed(t, shown[i][want.kind])
		}
	}
	if len(shown) != 8 {
		t.Errorf("%d cells", len(shown))
	}
}

// Tables and curves escape what trials say, show a bounded number of rows, and draw what can be drawn.
func TestShownInNotebooks(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	const text = `
import math, sweep_results as results
from sweep_results import Curves, Table
t = Table([{"a": "<script>", "n": 0.1234567}, {"a": None, "b&": 2}], "<t>")
assert t.columns == ["a", "n", "b&"] and len(t[:1]) == 1 and t[1]["b&"] == 2 and t.column("n") == [0.1234567, None]
html = t._repr_mimebundle_()["text/html"]
assert "<script>" not in html and "&lt;script&gt;" in html and "0.123457" in html and "b&amp;" in html, html
try: t.column("c")
except KeyError as e: assert "a, n, b&" in str(e)
else: raise AssertionError
assert "10 more rows" in Table([{"x": i} for i in range(60)])._repr_html_() and repr(Table([])) == ""
nan = float("nan")
for c in (Curves({}), Curves({"a<b": [(1, nan)]}, "m", "t<"), Curves({"a": [(5, 1.0)]}),
          Curves({"a<b": [(1, 4.0), (2, nan), (3, 1.0), (4, 0.5)], "b": [(1, -1.0), (2, 100.0)]}, "m", "t", log=True)):
    svg = c._repr_mimebundle_()["image/svg+xml"]
    assert svg == c._repr_svg_() and "nan" not in svg
    print(svg)
assert svg.count("M") >= 4 and "a&lt;b" in svg and repr(c)
try: results.sweep("absent")
except results.Error as e: assert "absent" in str(e) or "cannot be started" in str(e)
else: raise AssertionError
`
	cmd := exec.Command(python(t), "-c", text)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+resultsPath(t), "SWEEP_PROGRAM="+filepath.Join(t.TempDir(), "absent"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		wellFormed(t, line)
	}
}
