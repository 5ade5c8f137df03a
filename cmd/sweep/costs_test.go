package main

import (
	"os"
	"os/exec"
	"path/filepath"
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
		"metric, which is a fact of a result", "control operation", "MCP tool", "flag"} {
		if !counted[change] {
			t.Errorf("ARCHITECTURE.md names no commit of a further %s", change)
		}
	}
}

// TestContributing checks that what CONTRIBUTING.md tells to run is there: tests, targets of make, files.
func TestContributing(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(text), `\|`, "|")
	run := regexp.MustCompile("go test (?:-\\S+ )*((?:\\./\\S+ ?)+)(?:\n?-run '?([^' `\n]+))?")
	for _, line := range run.FindAllStringSubmatch(page, -1) {
		var tests strings.Builder
		for pattern := range strings.FieldsSeq(strings.ReplaceAll(line[1], "`", "")) {
			folder := filepath.Join("../..", strings.TrimSuffix(pattern, "/..."))
			files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
			if err != nil || len(files) == 0 && !strings.HasSuffix(pattern, "/...") {
				t.Errorf("%s: there are no tests in %s", line[0], pattern)
			}
			for _, file := range files {
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				tests.Write(content)
			}
		}
		name, _, _ := strings.Cut(line[2], "/")
		if name != "" && name != "^$" && !regexp.MustCompile(`(?m)^func Test\w*(`+strings.TrimPrefix(name, "Test")+`)`).
			MatchString(tests.String()) {
			t.Errorf("%s: there is no such test", line[0])
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range regexp.MustCompile("(?m)(?:^    |`)make ([a-z-]+)").FindAllStringSubmatch(page, -1) {
		if !regexp.MustCompile(`(?m)^` + target[1] + `:`).Match(makefile) {
			t.Errorf("make %s: there is no such target", target[1])
		}
	}
	for _, file := range regexp.MustCompile("`([a-z]+/[\\w/.-]*\\.(?:go|md|sh|conf|yaml|sql|ts))`").FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat("../../" + file[1]); err != nil && !strings.Contains(file[1], "NAME") {
			t.Errorf("%s: there is no such file", file[1])
		}
	}
}
