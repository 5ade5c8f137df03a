package weight

import (
	"strings"
	"testing"
)

func TestArena(t *testing.T) {
	arena := NewArena[float32]()
	declared := []*View[float32]{arena.Declare("a", 3, 5), arena.Declare("b", 1, 1)}
	arena.SetPrefix("layer2.")
	declared = append(declared, arena.Declare("a", 2, 8), arena.Declare("c", 1, 17))
	if got := arena.Count(); got != 15+1+16+17 {
		t.Errorf("Count() = %d", got)
	}
	arena.Allocate()
	if len(arena.Values()) != len(arena.Gradients()) {
		t.Fatalf("%d values, %d gradients", len(arena.Values()), len(arena.Gradients()))
	}
	names := ""
	end := 0
	for i, v := range arena.Views() {
		if v != declared[i] {
			t.Errorf("view %d is not the one declared", i)
		}
		names += v.Name + " "
		if v.Offset < end || v.Offset%viewAlignment != 0 {
			t.Errorf("view %s begins at %d, the one before ends at %d", v.Name, v.Offset, end)
		}
		end = v.Offset + v.Rows*v.Cols
		if len(v.Value) != v.Rows*v.Cols || len(v.Gradient) != len(v.Value) {
			t.Fatalf("view %s of %d × %d has %d values and %d gradients", v.Name, v.Rows, v.Cols, len(v.Value),
				len(v.Gradient))
		}
		if &v.Value[0] != &arena.Values()[v.Offset] || &v.Gradient[0] != &arena.Gradients()[v.Offset] {
			t.Errorf("view %s is elsewhere", v.Name)
		}
		if v.Matrix().Rows != v.Rows || v.Matrix().Cols != v.Cols || &v.GradientMatrix().Data[0] != &v.Gradient[0] {
			t.Errorf("view %s has another matrix", v.Name)
		}
		v.Gradient[0] = 1
	}
	if names != "a b layer2.a layer2.c " {
		t.Errorf("views are %q", names)
	}
	if arena.View("layer2.c") != declared[3] || arena.View("c") != nil {
		t.Error("View does not find by full name")
	}
	arena.ZeroGradients()
	for i, g := range arena.Gradients() {
		if g != 0 {
			t.Errorf("gradient %d is %v", i, g)
		}
	}
}

func TestArenaMisuse(t *testing.T) {
	for name, misuse := range map[string]func(a *Arena[float32]){
		"tensor x declared twice": func(a *Arena[float32]) { a.Declare("x", 1, 1); a.Declare("x", 2, 2) },
		"tensor y of 0 × 3":       func(a *Arena[float32]) { a.Declare("y", 0, 3) },
		"Declare after Allocate":  func(a *Arena[float32]) { a.Allocate(); a.Declare("x", 1, 1) },
		"Allocate called twice":   func(a *Arena[float32]) { a.Allocate(); a.Allocate() },
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.Contains(message, name) {
					t.Errorf("%s: panic %q", name, message)
				}
			}()
			misuse(NewArena[float32]())
		}()
	}
}
