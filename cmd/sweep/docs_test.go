package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pages are what users read: the commands in sh blocks are run, all others are checked.
func pages(t *testing.T) (found []string) {
	t.Helper()
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		some, err := filepath.Glob(pattern)
		if err != nil || len(some) == 0 {
			t.Fatalf("no pages %s: %v", pattern, err)
		}
		found = append(found, some...)
	}
	return append(found, "../../README.md", "../../CONTRIBUTING.md", "../../deploy/README.md")
}

var (
	shBlock   = regexp.MustCompile("(?s)```sh\n(.*?)```")
	textBlock = regexp.MustCompile("(?s)```text\n(.*?)```")
	// fileBlock is a file that a page shows: the opening line names it after its language.
	fileBlock = regexp.MustCompile("(?s)```[a-z]+ ([A-Za-z0-9_.-]+)\n(.*?)```")
)

// A page's commands start with this: what they have begun ends with them.
const pageStart = "set -eo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n"

// TestDocumentation runs each page's sh blocks, one after the other, in a folder and
// a home of the page's own that has the files which the page shows. All pages run beside each other.
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
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		script := ""
		for _, block := range shBlock.FindAllStringSubmatch(text, -1) {
			script += block[1]
		}
		if !strings.Contains(script, "sweep ") {
			continue
		}
		run++
		t.Run(strings.TrimPrefix(page, "../../"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, file := range fileBlock.FindAllStringSubmatch(text, -1) {
				write(t, dir, file[1], file[2])
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, "bash", "-c", pageStart+ownAddresses(t, script))
			cmd.Dir = dir
			cmd.Env = program(t, t.TempDir()).Env
			// Debian's Python has the packages of the pages.
			cmd.Env = append(cmd.Env, "PATH="+bin+":/usr/bin:"+os.Getenv("PATH"))
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			cmd.WaitDelay = 10 * time.Second
			if err := cmd.Run(); err != nil {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
	if run < 10 {
		t.Errorf("%d pages have commands that are run", run)
	}
}

// ownAddresses gives the servers of a page addresses of their own.
func ownAddresses(t *testing.T, script string) string {
	t.Helper()
	const broker = "127.0.0.1:4222"
	if strings.Contains(script, broker) {
		own := freeAddress(t)
		script = strings.ReplaceAll(script, broker, own)
		script = strings.ReplaceAll(script, "sweep nats ", "sweep nats --listen "+own+" ")
	}
	return regexp.MustCompile(`--ui(\s)`).ReplaceAllString(script, "--ui=127.0.0.1:0$1")
}

// TestDocumentedCommands: every command line of every page names a command and flags
// that there are, with as many arguments as it takes.
func TestDocumentedCommands(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	checked := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		whole := textBlock.ReplaceAllString(shBlock.ReplaceAllString(string(text), ""), "")
		whole = strings.ReplaceAll(whole, "\\\n", "") // lines that continue
		for line := range strings.Lines(whole) {
			args := commandLine(line)
			if args == nil {
				continue
			}
			checked++
			root := newRoot()
			cmd, rest, err := root.Find(negativeLast(root, args))
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
					strings.HasPrefix(rest[i:], " > ") || strings.HasPrefix(rest[i:], " | ") ||
					strings.HasPrefix(rest[i:], " && ") {
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

var (
	link    = regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^) ]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchors are the names by which links lead to a page's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.ReplaceAll(strings.ToLower(match[1]), " ", "-")
		names[regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(name, "")] = true
	}
	return names
}

// Each paragraph, list item and row of a table on that page names a test that exists.
func TestGuarantees(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	text, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	code := testCode(t)
	_, body, _ := strings.Cut(string(text), "\n\n## ")
	body = "## " + body
	for row := range strings.SplitSeq(regexp.MustCompile(`\n(- |\|)`).ReplaceAllString(body, "\n\n$1"), "\n\n") {
		row = strings.TrimSpace(regexp.MustCompile(`(?m)^#+ .*$`).ReplaceAllString(row, ""))
		tests := regexp.MustCompile("`(Test\\w+(?:/\\w+)*)`").FindAllStringSubmatch(row, -1)
		introduces := row == "" || strings.HasSuffix(row, ":") || strings.HasSuffix(row, "| tests |") ||
			strings.HasPrefix(row, "| --- |")
		if len(tests) == 0 && !introduces {
			t.Errorf("no test is named of %q", row)
		}
		for _, test := range tests {
			for i, part := range strings.Split(test[1], "/") {
				defined := "\nfunc " + part + "("
				if i > 0 {
					defined = strconv.Quote(part)
				}
				if !strings.Contains(code, defined) {
					t.Errorf("there is no test %s", test[1])
				}
			}
		}
	}
}

// testCode is the code of all tests.
func testCode(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/storetest/") && strings.HasSuffix(path, ".go") {
			text, err := os.ReadFile(path)
			code.Write(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return code.String()
}

// fencedCode is a block of code, in which what looks like a link is none.
var fencedCode = regexp.MustCompile("(?ms)^```.*?^```")

// Links between pages lead to a file and a heading that there are, README.md leads to the index, and the index to
// every page.
func TestDocumentationLinks(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	indexes := []string{"../../README.md", "../../docs/README.md", "../../docs/papers/README.md"}
	reached := map[string]bool{}
	for _, page := range append(pages(t), "../../CHANGELOG.md", "../../ARCHITECTURE.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(fencedCode.ReplaceAllString(string(text), ""), -1) {
			to := filepath.Join(filepath.Dir(page), match[1])
			if match[1] == "" {
				to = page
			}
			there, err := os.ReadFile(to)
			if info, err := os.Stat(to); err == nil && info.IsDir() && match[2] == "" {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", page, err)
			} else if match[2] != "" && !anchors(string(there))[match[2]] {
				t.Errorf("%s: %s has no heading #%s", page, to, match[2])
			}
			if slices.Contains(indexes, page) {
				reached[to] = true
			}
		}
	}
	for _, page := range pages(t) {
		if page != "../../README.md" && !reached[page] {
			t.Errorf("no index (README.md, docs/README.md, docs/papers/README.md) has a link to %s", page)
		}
	}
}
