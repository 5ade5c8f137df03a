package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

// Every command that is not hidden has a page and an entry on its parent's; pages
// have no line that man would take for a request by mistake, and bash reads the
// completion.
func TestManual(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	dir := t.TempDir()
	root := newRoot()
	if err := writeManual(root, dir); err != nil {
		t.Fatal(err)
	}
	var pages int
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" {
			return
		}
		pages++
		text, err := os.ReadFile(filepath.Join(dir, "man1", pageName(cmd)+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		sections := []string{".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"}
		if cmd.IsAdditionalHelpTopicCommand() {
			sections = []string{".SH NAME", ".SH DESCRIPTION"}
		}
		for _, section := range sections {
			if !strings.Contains(string(text), section) {
				t.Errorf("%s lacks %s", pageName(cmd), section)
			}
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") &&
				!strings.ContainsAny(line[1:2], "TSBnf") {
				t.Errorf("%s: man would take this for a request: %s", pageName(cmd), line)
			}
		}
		if cmd.HasParent() {
			parent, _ := os.ReadFile(filepath.Join(dir, "man1", pageName(cmd.Parent())+".1"))
			if !strings.Contains(string(parent), ".BR "+roffWord(pageName(cmd))+" (1)") {
				t.Errorf("%s does not name %s", pageName(cmd.Parent()), pageName(cmd))
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if pages < 40 {
		t.Errorf("%d pages", pages)
	}
	for _, name := range []string{"sweep.bash", "_sweep", "sweep.fish", "sweep.ps1"} {
		if info, err := os.Stat(filepath.Join(dir, "completions", name)); err != nil || info.Size() == 0 {
			t.Errorf("completion %s: %v", name, err)
		}
	}
	if out, err := exec.Command("bash", "-n", filepath.Join(dir, "completions", "sweep.bash")).CombinedOutput(); err != nil {
		t.Errorf("bash: %v\n%s", err, out)
	}
}

func TestVersionOf(t *testing.T) {
	trainer := &sweep.Description{Version: "0.1.0", ResultVersion: "6"}
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-03-01T12:00:00Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
	if got := versionOf(info, trainer).String(); !strings.HasPrefix(got, "sweep v1.2.3, commit 0123456789ab of "+
		"2026-03-01 with changes, trainer 0.1.0 with results of version 6, go") {
		t.Error(got)
	}
	if got := versionOf(nil, trainer).String(); !strings.HasPrefix(got, "sweep devel, trainer") {
		t.Error(got)
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".hidden": `\&.hidden`, "'quoted": `\&'quoted`, `a\b`: `a\eb`, "--flag": `\-\-flag`, "two\nlines": "two lines",
		"plain": "plain",
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
