package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// structsOf are the struct types of some packages' folders, by package and name.
func structsOf(t *testing.T, folders ...string) map[string]*ast.StructType {
	t.Helper()
	all := map[string]*ast.StructType{}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					if fields, ok := spec.Type.(*ast.StructType); ok {
						all[file.Name.Name+"."+spec.Name.Name] = fields
					}
				}
				return true
			})
		}
	}
	return all
}

// jsonFields adds the names that the fields of a struct have in JSON, and whether each may be absent.
func jsonFields(all map[string]*ast.StructType, of, pkg string, fields map[string]bool) {
	for _, field := range all[of].Fields.List {
		tag := ""
		if field.Tag != nil {
			text, _ := strconv.Unquote(field.Tag.Value)
			tag = reflect.StructTag(text).Get("json")
		}
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case name == "-":
		case len(field.Names) == 0 && name == "": // an embedded type
			embedded, in := field.Type, pkg
			if pointer, ok := embedded.(*ast.StarExpr); ok {
				embedded = pointer.X
			}
			text := ""
			switch x := embedded.(type) {
			case *ast.Ident:
				text = x.Name
			case *ast.SelectorExpr:
				in, text = x.X.(*ast.Ident).Name, x.Sel.Name
			}
			if all[in+"."+text] != nil {
				jsonFields(all, in+"."+text, in, fields)
			}
		default:
			for _, own := range field.Names {
				if name == "" {
					name = own.Name
				}
				fields[name] = strings.Contains(options, "omit")
			}
		}
	}
}

// What api.d.ts declares of a Go type is what that has in JSON: each name, and whether it may be absent.
func TestDeclaredAnswers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("api.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	all := structsOf(t, ".", "../../sweep", "../../sweep/frame", "../../sweep/report")
	declared := regexp.MustCompile(`(?s)/\*\* (\w+)\.(\w+)[^/]*\*/\nexport interface (\w+)[^{]*\{\n(.*?)\n\}`)
	property := regexp.MustCompile(`(?m)^  (\w+)(\??): `)
	compared := 0
	for _, d := range declared.FindAllStringSubmatch(string(text), -1) {
		of := d[1] + "." + d[2]
		if all[of] == nil {
			if strings.ToUpper(d[2][:1]) == d[2][:1] {
				t.Errorf("%s: there is no type %s", d[3], of)
			}
			continue // a function, whose answer has no type of its own
		}
		compared++
		fields := map[string]bool{}
		jsonFields(all, of, d[1], fields)
		for _, p := range property.FindAllStringSubmatch(d[4], -1) {
			switch absent, has := fields[p[1]]; {
			case !has:
				t.Errorf("%s.%s: %s has no such field in JSON", d[3], p[1], of)
			case absent != (p[2] == "?"):
				t.Errorf("%s.%s: that it may be absent is %v in %s", d[3], p[1], absent, of)
			}
		}
	}
	if compared < 20 { // of 40: those of functions have no type to compare with
		t.Errorf("%d interfaces are compared", compared)
	}
}
