package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pages are what users read: the commands in sh blocks of docs/ are run, all others
// are checked.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(found) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	return append(found, "../../README.md", "../../CONTRIBUTING.md", "../../deploy/README.md")
}

var shBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestDocumentation runs each page's sh blocks, one after the other, in a folder and
// a home of the page's own. All pages run beside each other.
func TestDocumentation(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "sweep")); err != nil {
		t.Fatal(err)
	}
	run := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		script := "set -eo pipefail\n"
		for _, block := range shBlock.FindAllStringSubmatch(string(text), -1) {
			script += block[1]
		}
		if !strings.Contains(script, "sweep ") {
			continue
		}
		run++
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, "bash", "-c", script)
			cmd.Dir = t.TempDir()
			cmd.Env = program(t, t.TempDir()).Env
			cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			cmd.WaitDelay = 10 * time.Second
			if err := cmd.Run(); err != nil {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
	if run < 5 {
		t.Errorf("%d pages have commands that are run", run)
	}
}

// TestDocumentedCommands: every command line of every page names a command and flags
// that there are, with as many arguments as it takes.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(shBlock.ReplaceAllString(string(text), "")) {
			args := commandLine(line)
			if args == nil {
				continue
			}
			checked++
			root := newRoot()
			cmd, rest, err := root.Find(args)
			if err == nil && cmd == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				t.Errorf("%s: no command: %s", page, line)
				continue
			}
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil && cmd.Args != nil {
				err = cmd.Args(cmd, cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %v: %s", page, err, line)
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// commandLine are the arguments of a line of code that runs the program; nil for any
// other line, and for one that lists several commands at once.
func commandLine(line string) []string {
	if !strings.HasPrefix(line, "    ") {
		return nil
	}
	line = strings.TrimSpace(line)
	for _, prefix := range []string{"bin/sweep ", "sweep ", "go run ./cmd/sweep "} {
		rest, ok := strings.CutPrefix(line, prefix)
		if !ok {
			continue
		}
		var args []string
		word, quote, some := "", rune(0), false
		for i, r := range rest {
			switch {
			case quote != 0 && r == quote:
				quote = 0
			case quote != 0:
				word += string(r)
			case r == '\'' || r == '"':
				quote, some = r, true
			case r == ' ':
				if some || word != "" {
					args = append(args, word)
				}
				word, some = "", false
				if strings.HasPrefix(rest[i:], "  ") || strings.HasPrefix(rest[i:], " #") ||
					strings.HasPrefix(rest[i:], " > ") || strings.HasPrefix(rest[i:], " | ") {
					return only(args)
				}
			default:
				word += string(r)
			}
		}
		if some || word != "" {
			args = append(args, word)
		}
		return only(args)
	}
	return nil
}

// only leaves lines out that stand for several commands, as "pause|resume".
func only(args []string) []string {
	if len(args) > 0 && (strings.ContainsAny(args[0], "|,")) {
		return nil
	}
	var kept []string
	for _, arg := range args {
		if arg != "…" { // whatever else
			kept = append(kept, strings.Trim(arg, "[]"))
		}
	}
	return kept
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// Links between pages lead somewhere, and README leads to every page.
func TestDocumentationLinks(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages(t), "../../CHANGELOG.md", "../../ARCHITECTURE.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), match[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		name := strings.TrimPrefix(page, "../../")
		if page != "../../README.md" && !strings.Contains(string(readme), "("+name) {
			t.Errorf("README.md has no link to %s", name)
		}
	}
}
