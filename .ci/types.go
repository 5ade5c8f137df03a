//go:build ignore

// Types checks the types of the whole program for another system and processor: what
// does not exist there is found in a tenth of the time that compilers would take for
// the program and all that it imports. Usage: go run .ci/types.go GOOS/GOARCH ...
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	failed := false
	for _, target := range os.Args[1:] {
		goos, goarch, _ := strings.Cut(target, "/")
		n, err := check(goos, goarch)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
			failed = true
			continue
		}
		fmt.Printf("%s: %d packages\n", target, n)
	}
	if failed {
		os.Exit(1)
	}
}

// listed is what "go list" tells of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles, SFiles []string
	ImportMap       map[string]string
	Module          *struct {
		GoVersion string
		Main      bool
	}
}

// check returns how many of the program's own packages it has checked.
func check(goos, goarch string) (n int, err error) {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,SFiles,ImportMap,Module", "./...")
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; { // what is imported comes first
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return 0, fmt.Errorf("go list: %w", err)
		}
		if checked[p.ImportPath] != nil {
			continue
		}
		files := token.NewFileSet()
		var syntax []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return 0, err
			}
			syntax = append(syntax, file)
		}
		own := p.Module != nil && p.Module.Main
		var errs []error
		for _, file := range syntax {
			for _, d := range file.Decls {
				if f, is := d.(*ast.FuncDecl); is && f.Body == nil && own && len(p.SFiles) == 0 {
					errs = append(errs, fmt.Errorf("%s: %s has no body, and there is no assembly",
						files.Position(f.Pos()), f.Name))
				}
			}
		}
		config := types.Config{
			Importer:         imports{checked, p.ImportMap},
			Sizes:            types.SizesFor("gc", goarch),
			IgnoreFuncBodies: !own,
			Error:            func(err error) { errs = append(errs, err) },
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		checked[p.ImportPath], _ = config.Check(p.ImportPath, files, syntax, nil) // errs has its error
		if len(errs) > 0 {
			return 0, errors.Join(errs...)
		}
		if own {
			n++
		}
	}
}

// imports finds what was checked before, by the names of the importing package.
type imports struct {
	checked map[string]*types.Package
	names   map[string]string
}

// Import implements types.Importer.
func (i imports) Import(path string) (*types.Package, error) {
	if name, other := i.names[path]; other {
		path = name
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not there", path)
}
