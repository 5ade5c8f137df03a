package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// change is a file of the checkout that a page shows, whole or as a difference: the opening line names it after its
// language.
var change = regexp.MustCompile("(?s)```(go|diff) ([a-z]+/[a-z/_]+\\.go)\n(.*?)```")

// edited applies a difference to a text that has the lines that it shows once.
func edited(text, difference string) (string, error) {
	var before, after strings.Builder
	for line := range strings.Lines(difference) {
		if line[0] != '+' {
			before.WriteString(line[1:])
		}
		if line[0] != '-' {
			after.WriteString(line[1:])
		}
	}
	if n := strings.Count(text, before.String()); n != 1 {
		return "", fmt.Errorf("it has %d times\n%s", n, before.String())
	}
	return strings.Replace(text, before.String(), after.String(), 1), nil
}

// TestTaskAndCell applies the changes of the tutorial to the checkout, in an overlay, and runs its commands.
func TestTaskAndCell(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	page, err := os.ReadFile("../../docs/tutorials/task-and-cell.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, overlay := t.TempDir(), map[string]string{}
	for i, block := range change.FindAllStringSubmatch(string(page), -1) {
		kind, name, text := block[1], block[2], block[3]
		file := filepath.Join(root, name)
		present, err := os.ReadFile(file)
		switch {
		case kind == "go" && err == nil:
			t.Errorf("%s is there already: the page needs another name", name)
		case kind == "diff" && err != nil:
			t.Fatal(err)
		case kind == "diff":
			if text, err = edited(string(present), text); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
			t.Errorf("%s: not as gofmt has it: %v", name, err)
		}
		if overlay[file] != "" {
			t.Fatalf("%s is changed twice", name)
		}
		overlay[file] = write(t, dir, fmt.Sprintf("%d.go", i), text)
	}
	if len(overlay) != 8 {
		t.Errorf("%d files, want 8", len(overlay))
	}
	replace, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, dir, "overlay.json", string(replace))
	for _, shown := range fileBlock.FindAllStringSubmatch(string(page), -1) {
		write(t, dir, shown[1], shown[2])
	}
	bin := filepath.Join(dir, "sweep")
	run := func(in string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = in
		if args[0] == bin {
			cmd.Env = program(t, t.TempDir()).Env
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, &out)
		}
		return out.String()
	}
	run(root, "go", "build", "-overlay", file, "-o", bin, "./cmd/sweep")
	run(root, "go", "test", "-overlay", file, "./model", "-run", "TestConformance/diagonal")
	table := run(dir, bin, "run", "bits.yaml")
	for _, want := range []string{`bits +diagonal .* 1\.000±\.000 +114 `, `bits +oRNN .* 0\.[5-8]`} {
		if !regexp.MustCompile(want).MatchString(table) {
			t.Errorf("the table has no line as %s:\n%s", want, table)
		}
	}
}
