package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
)

// raw returns the first line with a control character, "" if there is none.
func raw(text string) string {
	for line := range strings.Lines(text) {
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			return line
		}
	}
	return ""
}

// A character or a line break may come in pieces.
func TestVisibleInPieces(t *testing.T) {
	const text = "a\r\nü漢\x1b[1m\r\xff\u009b\xe6"
	const want = "a\nü漢" + `\x1b[1m\x0d\xff\u009b\xe6`
	for size := 1; size <= len(text); size++ {
		var got bytes.Buffer
		v := &visible{out: &got}
		for from := 0; from < len(text); from += size {
			piece := text[from:min(from+size, len(text))]
			if n, err := v.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		v.flush()
		if got.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, &got, want)
		}
	}
}

// Live lines have the escape sequences of the console, and none of programs.
func TestLiveLinesOfPrograms(t *testing.T) {
	var out bytes.Buffer
	c := newConsole(&visible{out: &out})
	c.draw([]string{"best: \x1b[2Jowned"})
	if got := out.String(); !strings.Contains(got, `best: \x1b[2Jowned`) || !strings.Contains(got, "\x1b[K") {
		t.Errorf("%q", got)
	}
}

// leftOut are commands that the test does not call: they do not end, change what the others show, compute, or print data,
// which are unchanged where they go to no terminal.
var leftOut = []string{"coordinator", "worker", "nats", "ui", "mcp", "watch", "exec", "run", "preset run", "submit", "longer",
	"extend", "cancel", "delete", "pause", "resume", "retry", "prune", "priority", "tell", "trial cancel", "trial retry",
	"note", "tag", "data fetch", "data verify", "trainer step", "export", "report"}

// Nothing that a program wrote reaches a terminal with its control characters, whatever command prints it.
func TestControlCharactersOfPrograms(t *testing.T) {
	fullOnly(t)
	const program = `
import os, sys, wandb
run = wandb.init(name="\x1b[31mname", notes="\x1b[2Jnotes", tags=["\x1b[1mtag"])
wandb.log({"loss": 1})
print("\x1b[31mred\x1b[2J\x1b]0;owned\x07 \u009b31m", flush=True)
sys.stdout.buffer.write(b"\x9b31m 10%\r 20%\r\n"); sys.stdout.flush()
if wandb.config["x"] == 2: raise ValueError("\x1b[31mred\x1b[2J\x1b]0;owned\x07")
`
	dir := folder(t, map[string]string{"train.py": program, "s.yaml": "name: shown\nprogram: train.py\ncommand: [" +
		python(t) + ", \"${program}\"]\nmetric: {name: loss, goal: minimize}\nparameters: {x: {values: [1, 2]}, " +
		"text: {value: \"\\e[31mvalue\"}}\n"})
	home, file := t.TempDir(), filepath.Join(dir, "s.yaml")
	t.Chdir(dir) // some write files
	stdout, stderr, code := output(t, home, "run", file, "--progress", "plain")
	if code != exitTrials || !strings.Contains(stderr, `ValueError: \x1b[31mred\x1b[2J\x1b]0;owned\x07`) {
		t.Errorf("run: exit code %d: %s", code, stderr)
	}
	_, watched, code := output(t, home, "watch", "--progress", "plain")
	if code != exitTrials {
		t.Errorf("watch: exit code %d: %s", code, watched)
	}
	if line := raw(stdout + stderr + watched); line != "" {
		t.Errorf("run and watch: %q", line)
	}
	seen := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		name := cmd.CommandPath()
		if !cmd.Runnable() || cmd.Hidden || slices.Contains(leftOut, strings.TrimPrefix(name, "sweep ")) {
			return
		}
		for _, args := range [][]string{{}, {"latest"}, {"latest", "0"}, {"latest", "1"}, {file},
			{"--sweep", "latest", "SELECT * FROM t"}, {"SELECT * FROM results"}, {"SELECT * FROM executions"}} {
			words := append(strings.Fields(name)[1:], args...)
			stdout, stderr, _ := output(t, home, words...) // most refuse most arguments
			if line := raw(stdout + stderr); line != "" {
				t.Errorf("%s: %q", strings.Join(words, " "), line)
			}
			seen[name] = seen[name] || strings.Contains(stdout+stderr, `\x1b[31m`)
		}
	}
	walk(newRoot())
	for _, name := range []string{"trials", "trial show", "logs", "sql", "expand"} {
		if !seen["sweep "+name] {
			t.Errorf("%s shows none of the texts", name)
		}
	}
}
