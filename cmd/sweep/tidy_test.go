package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sweep/sweep/policy"
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
// they were released: messages on the wire, the lanes of a vector register.
var spared = map[string]*regexp.Regexp{
	`lanes?`:              regexp.MustCompile(`^model/(kernel|layer|weight)/`),
	`beats?`:              regexp.MustCompile(`^(deploy/nats/|sweep/wire/)`),
	`contests?|contested`: regexp.MustCompile(`^CHANGELOG.md$`),
}

// TestWords finds words of the house in code, pages and documentation.
func TestWords(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	words := map[string]*regexp.Regexp{}
	alone := func(word string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[^a-zA-Z.])(?:` + word + `)(?:$|[^a-z])`)
	}
	for word := range privateWords {
		words[word] = alone(word)
	}
	some := alone(strings.Join(slices.Collect(maps.Keys(privateWords)), "|"))
	eachFile(t, regexp.MustCompile(`\.(go|md|mjs|css|html|sh|yaml)$`), func(name string, text string) {
		if name == "cmd/sweep/tidy_test.go" || strings.HasPrefix(name, "coordinator/web/assets/vendor/") ||
			!some.MatchString(text) { // most files have none of them
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

// TestBounds finds channels whose capacity, and waits and growing pauses whose length, has no
// name that says what it bounds.
func TestBounds(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	eachFile(t, regexp.MustCompile(`\.go$`), func(name string, text string) {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(path.Dir(name), "test") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, 0)
		if err != nil {
			t.Error(err)
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if number := unnamedBound(call); number != "" {
					t.Errorf("%s: give %s a name that says what it bounds", files.Position(call.Pos()), number)
				}
			}
			return true
		})
	})
}

// units are the units of durations that are written down as numbers.
var units = regexp.MustCompile(`time\.(Nano|Micro|Milli)?(second|Second|Minute|Hour)\b`)

// unnamedBound returns the number by which a call bounds a channel or a wait, "" if there is
// none or it has a name.
func unnamedBound(call *ast.CallExpr) (number string) {
	switch function := types.ExprString(call.Fun); function {
	case "make":
		if _, channel := call.Args[0].(*ast.ChanType); channel && len(call.Args) == 2 {
			literal, ok := call.Args[1].(*ast.BasicLit)
			if ok && literal.Value != "0" && literal.Value != "1" {
				return literal.Value
			}
		}
	case "min", "max", "time.After", "time.AfterFunc", "time.NewTicker", "time.NewTimer", "time.Sleep", "time.Tick",
		"context.WithTimeout", "context.WithTimeoutCause":
		for _, argument := range call.Args {
			product, ok := argument.(*ast.BinaryExpr)
			if ok && units.MatchString(types.ExprString(product)) {
				return types.ExprString(product)
			}
		}
	}
	return ""
}

// TestCommandFiles checks that the files of commands, and no others, are called cmd_*.go.
func TestCommandFiles(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`(?m)^func (new|change)[A-Z]\w*\([^)]*\) (\[\])?\*cobra\.Command \{$`)
	eachFile(t, regexp.MustCompile(`^cmd/sweep/[^/]*\.go$`), func(name string, text string) {
		if strings.HasSuffix(name, "_test.go") || name == "cmd/sweep/main.go" {
			return
		}
		if has, named := command.MatchString(text), strings.HasPrefix(path.Base(name), "cmd_"); has != named {
			t.Errorf("%s: named as a file of commands: %v, has any: %v", name, named, has)
		}
	})
}

// common are names of kinds of policies that mean other things, too.
var common = []string{"grid", "random", "median"}

// TestPolicyNames finds names of policies outside their package, in identifiers and strings: whatever depends on a kind is
// asked of the registry.
func TestPolicyNames(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	names := []string{"tpe"}
	for _, k := range policy.Kinds {
		if !slices.Contains(common, k.Name) {
			names = append(names, k.Name)
		}
	}
	eachFile(t, regexp.MustCompile(`\.go$`), func(name string, text string) {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(path.Dir(name), "test") ||
			strings.HasPrefix(name, "sweep/policy/") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var text string
			switch n := n.(type) {
			case *ast.Ident:
				text = n.Name
			case *ast.BasicLit:
				text = n.Value
			}
			if found := policyName(text, names); found != "" {
				t.Errorf("%s: %s names the policy %s: what depends on it belongs into sweep/policy",
					files.Position(n.Pos()), text, found)
			}
			return true
		})
	})
}

// word is a word of an identifier or a text.
var word = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// policyName returns which of some names is a word of a text, "" if none is.
func policyName(text string, names []string) string {
	for _, w := range word.FindAllString(text, -1) {
		if slices.Contains(names, strings.ToLower(w)) {
			return strings.ToLower(w)
		}
	}
	return ""
}

func TestPolicyName(t *testing.T) {
	t.Parallel()
	names := []string{"race", "tpe", "halving"}
	for text, want := range map[string]string{
		"decodeRace": "race", "NewTPE": "tpe", "race": "race", "MaxHalvingTrials": "halving",
		`"early_terminate: {type: halving}"`: "halving", "trace": "", "StackTrace": "", "Raced": "", "braces": "",
	} {
		if got := policyName(text, names); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestUnnamedBound(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"make(chan int, 16)":                          "16",
		"make(chan int, 1)":                           "",
		"make(chan int)":                              "",
		"make(chan int, backlog)":                     "",
		"make([]int, 16)":                             "",
		"time.After(20 * time.Second)":                "20 * time.Second",
		"time.After(2 * pause)":                       "",
		"time.NewTimer(pause)":                        "",
		"context.WithTimeout(ctx, 5*time.Second)":     "5 * time.Second",
		"context.WithTimeout(ctx, n*time.Second + d)": "n * time.Second + d",
		"min(2*pause, 30*time.Second)":                "30 * time.Second",
		"min(2*pause, lastPause)":                     "",
		"time.After(first + time.Duration(n)*each)":   "",
		"f(30 * time.Second)":                         "",
	} {
		call, err := parser.ParseExpr(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := unnamedBound(call.(*ast.CallExpr)); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
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
