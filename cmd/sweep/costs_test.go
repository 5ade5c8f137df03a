package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestChangeCosts counts the files of the commits that ARCHITECTURE.md names for what a change costs.
func TestChangeCosts(t *testing.T) {
	t.Parallel()
	git := func(arguments ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", arguments...).Output()
		return strings.TrimSpace(string(out)), err
	}
	switch shallow, err := git("rev-parse", "--is-shallow-repository"); {
	case err != nil:
		t.Skip("left out: there is no git history here")
	case shallow == "true":
		t.Skip("left out: the git history is shallow")
	}
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## What a change costs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| .* \| ([0-9a-f]{7,}) \| ([0-9]+) \|$`).FindAllStringSubmatch(section, -1)
	counted := map[string]bool{}
	for _, row := range rows {
		counted[row[1]] = true
		most, _ := strconv.Atoi(row[3]) // digits
		list, err := git("show", "--format=", "--name-only", row[2])
		if err != nil {
			t.Errorf("%s: there is no commit %s", row[1], row[2])
			continue
		}
		var files []string
		for name := range strings.SplitSeq(list, "\n") {
			if !strings.HasSuffix(name, ".md") && !strings.Contains(name, "/testdata/") {
				files = append(files, name)
			}
		}
		if len(files) > most || len(files) == 0 {
			t.Errorf("a further %s: commit %s has %d files, want at most %d: %s", row[1], row[2], len(files), most,
				strings.Join(files, " "))
		}
	}
	for _, change := range []string{"way to choose or stop trials", "key of a sweep file", "database column",
		"metric, which is a fact of a result", "MCP tool", "flag"} {
		if !counted[change] {
			t.Errorf("ARCHITECTURE.md names no commit of a further %s", change)
		}
	}
}
