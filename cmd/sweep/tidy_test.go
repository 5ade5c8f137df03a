package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// privateWords are words that a newcomer would have to be told the meaning of, and what to
// write instead.
var privateWords = map[string]string{
	`roll ?calls?`:        "heartbeat request",
	`beats?`:              "heartbeat",
	`contests?|contested`: "group",
	`contenders?`:         "candidate",
	`tally|tallies`:       "aggregate",
	`bequeath\w*|heirs?`:  "transfer, new owner",
	`editions?`:           "version",
	`orphan\w*`:           "lost job, or what is left behind",
	`lanes?`:              "sweep state",
	`[«»]`:                `"…"`,
}

// spared are files in which a word of privateWords has another meaning, or which are kept as
// they were released: migrations, messages on the wire, the lanes of a vector register.
var spared = map[string]*regexp.Regexp{
	`lanes?`:              regexp.MustCompile(`^model/kernel/`),
	`beats?`:              regexp.MustCompile(`^(deploy/nats/|sweep/wire/)`),
	`contests?|contested`: regexp.MustCompile(`^(CHANGELOG.md|coordinator/store/names_test.go)$`),
}

// TestWords finds words of the house in code, pages and documentation.
func TestWords(t *testing.T) {
	t.Parallel()
	words := map[string]*regexp.Regexp{}
	for word := range privateWords {
		words[word] = regexp.MustCompile(`(?i)(?:^|[^a-zA-Z.])(?:` + word + `)(?:$|[^a-z])`)
	}
	eachFile(t, regexp.MustCompile(`\.(go|md|mjs|css|html|sh|yaml)$`), func(name string, text string) {
		if name == "cmd/sweep/tidy_test.go" || strings.HasPrefix(name, "coordinator/web/assets/vendor/") {
			return
		}
		for i, line := range strings.Split(text, "\n") {
			for word, pattern := range words {
				if except := spared[word]; pattern.MatchString(line) && (except == nil || !except.MatchString(name)) {
					t.Errorf("%s:%d: write %s: %s", name, i+1, privateWords[word], strings.TrimSpace(line))
				}
			}
		}
	})
}

// TestBounds finds channels whose capacity has no name that says why.
func TestBounds(t *testing.T) {
	t.Parallel()
	eachFile(t, regexp.MustCompile(`\.go$`), func(name string, text string) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "coordinator/store/storetest/") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, 0)
		if err != nil {
			t.Error(err)
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			made, _ := call.Fun.(*ast.Ident)
			_, channel := call.Args[0].(*ast.ChanType)
			number, literal := call.Args[1].(*ast.BasicLit)
			if made != nil && made.Name == "make" && channel && literal && number.Value != "0" && number.Value != "1" {
				t.Errorf("%s: a channel of %s: give the number a name that says what it bounds",
					files.Position(call.Pos()), number.Value)
			}
			return true
		})
	})
}

// eachFile visits the project's files whose names fit, generated ones left out.
func eachFile(t *testing.T, fits *regexp.Regexp, visit func(name, text string)) {
	t.Helper()
	visited := 0
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules" || name == "bin"):
			return fs.SkipDir
		case entry.IsDir() || !fits.MatchString(name):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err == nil && !strings.Contains(string(text[:min(len(text), 300)]), "Code generated") {
			visited++
			visit(name, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if visited == 0 {
		t.Fatal("no file was looked at")
	}
}
