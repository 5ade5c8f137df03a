package main

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// layer is a rule of the linter about imports: what files may import.
type layer struct {
	Files []string
	Mode  string `yaml:"list-mode"`
	Allow []string
}

// holds reports whether the rule is about a file: the patterns that begin with ! leave files out.
func (l *layer) holds(name string) (holds bool) {
	for _, pattern := range l.Files {
		pattern, without := strings.CutPrefix(pattern, "!")
		var fits bool
		if pattern == "$test" {
			fits = strings.HasSuffix(name, "_test.go")
		} else {
			pattern = strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`).Replace(regexp.QuoteMeta(pattern))
			fits = regexp.MustCompile("^" + pattern + "$").MatchString(name)
		}
		if fits && without {
			return false
		}
		holds = holds || fits
	}
	return holds
}

// allows reports whether the rule allows an import: a name that ends with $ is a whole path, others begin it.
func (l *layer) allows(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	standard := !strings.Contains(first, ".") && first != "sweep"
	for _, name := range l.Allow {
		whole, exact := strings.CutSuffix(name, "$")
		if name == "$gostd" && standard || exact && path == whole || !exact && strings.HasPrefix(path, name) {
			return true
		}
	}
	return false
}

// TestLayers checks the linter's rules about imports without the linter, which takes minutes to build.
func TestLayers(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	text, err := os.ReadFile("../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]*layer
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	rules, used := config.Linters.Settings.Depguard.Rules, map[string]bool{}
	for name, l := range rules {
		if l.Mode != "strict" {
			t.Errorf("rule %s has the mode %q: this test knows strict alone", name, l.Mode)
		}
	}
	eachFile(t, regexp.MustCompile(`\.go$`), func(name, text string) {
		for rule, l := range rules {
			if !l.holds(name) {
				continue
			}
			used[rule] = true
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, i := range file.Imports {
				if path, err := strconv.Unquote(i.Path.Value); err != nil || !l.allows(path) {
					t.Errorf("%s imports %s, which rule %s of .golangci.yml does not allow", name, i.Path.Value, rule)
				}
			}
		}
	})
	for rule := range rules {
		if !used[rule] {
			t.Errorf("rule %s is about no file", rule)
		}
	}
}
