package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is checked in must be what the generator writes.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	if err := generate(dir); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 6 {
		t.Fatalf("%d files, %v; want 6", len(files), err)
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what is generated: run go generate ./model/kernel", f.Name())
		}
	}
}

// The arguments of a product must lie where it reads them.
func TestArguments(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "product_amd64.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name == "productArguments" {
			for _, f := range s.Type.(*ast.StructType).Fields.List {
				for _, name := range f.Names {
					names = append(names, name.Name)
				}
			}
		}
		return true
	})
	if !slices.Equal(names, arguments) {
		t.Errorf("productArguments has the fields %v; the generator reads %v", names, arguments)
	}
}
