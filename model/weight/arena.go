package weight

import (
	"fmt"

	"sweep/model/kernel"
)

// viewAlignment is the number of elements to a multiple of which each view's
// offset is rounded up: one cache line of float32.
const viewAlignment = 16

// An Arena owns the parameters of one network and their gradients.
//
// It is used in two phases. First every part of the network declares its
// tensors with [Arena.Declare]; then [Arena.Allocate] makes the two slices and
// fills in the views. Views may not be read between the two.
type Arena[F kernel.Float] struct {
	views     []*View[F]
	named     map[string]*View[F] // the views, by name
	prefix    string
	size      int // elements, padding included
	values    []F
	gradients []F
	allocated bool

	fixed []Fixed
	// given are the fixed permutations of a file, by name; nil where they are drawn.
	given map[string][]int
}

// Fixed are permutations that are part of a network and not trained, one after the other.
type Fixed struct {
	Name   string
	Values []int // of each, 0 … Size-1 in its order
	Size   int
}

// Give has [Arena.Fix] take permutations by their full names, prefix included, and draw none.
func (a *Arena[F]) Give(permutations map[string][]int) { a.given = permutations }

// Fix returns so many permutations of so many numbers: those that are given, else what draw
// returns for each. Names are unique as those of tensors.
func (a *Arena[F]) Fix(name string, count, size int, draw func(number int) []int) ([][]int, error) {
	f := Fixed{Name: a.prefix + name, Size: size}
	given, ok := a.given[f.Name]
	if a.given != nil && (!ok || len(given) != count*size) {
		return nil, fmt.Errorf("weight: expected %d permutations %s of size %d", count, f.Name, size)
	}
	var all [][]int
	for i := range count {
		var one []int
		if a.given == nil {
			one = draw(i)
		} else if one = given[i*size:][:size]; !isPermutation(one) {
			return nil, fmt.Errorf("weight: %s holds no permutations", f.Name)
		}
		all, f.Values = append(all, one), append(f.Values, one...)
	}
	a.fixed = append(a.fixed, f)
	return all, nil
}

// Fixed returns the permutations in the order of their declaration.
func (a *Arena[F]) Fixed() []Fixed { return a.fixed }

func isPermutation(values []int) bool {
	seen := make([]bool, len(values))
	for _, v := range values {
		if v < 0 || v >= len(values) || seen[v] {
			return false
		}
		seen[v] = true
	}
	return true
}

// A View is one named tensor of an [Arena], Rows × Cols and row-major. A
// vector has one row.
type View[F kernel.Float] struct {
	Name       string
	Rows, Cols int
	Offset     int // of the first element in the arena's slices
	Value      []F // len Rows*Cols, shared with Arena.Values
	Gradient   []F // len Rows*Cols, shared with Arena.Gradients

	// Rule is what moves the tensor along its gradient; the zero value is the
	// trial's. Rate is the factor of the trial's learning rate at which it moves,
	// 1 unless who declares the tensor sets another.
	Rule Rule
	Rate float64

	// Free is the number of free parameters, rows times columns unless who declares the tensor
	// sets another.
	Free int

	// Deferred says that whoever adds to the gradient asks Unset first, so that it
	// need not be cleared.
	Deferred bool
	unset    bool // the gradient counts as 0, whatever it holds
}

// A Rule names what moves a tensor in a step of training.
type Rule string

// The rules. RuleCayley moves a matrix with orthonormal columns along the manifold
// of such matrices; the others take a tensor's elements one by one.
const (
	RuleTrial   Rule = "" // the optimiser of the trial
	RuleAdam    Rule = "adam"
	RuleRMSprop Rule = "rmsprop"
	RuleSGD     Rule = "sgd"
	RuleCayley  Rule = "cayley"
)

// Matrix returns the view's values as a matrix.
func (v *View[F]) Matrix() kernel.Matrix[F] {
	return kernel.Matrix[F]{Data: v.Value, Rows: v.Rows, Cols: v.Cols, Stride: v.Cols}
}

// GradientMatrix returns the view's gradient as a matrix.
func (v *View[F]) GradientMatrix() kernel.Matrix[F] {
	return kernel.Matrix[F]{Data: v.Gradient, Rows: v.Rows, Cols: v.Cols, Stride: v.Cols}
}

// Fork returns a view of the same values with a gradient of its own, for a part
// of a minibatch that is worked on beside another.
func (v *View[F]) Fork() *View[F] {
	fork := *v
	fork.Deferred, fork.unset = false, false
	fork.Gradient = make([]F, len(v.Gradient))
	return &fork
}

// NewArena returns an empty arena, ready for declarations.
func NewArena[F kernel.Float]() *Arena[F] { return &Arena[F]{named: map[string]*View[F]{}} }

// SetPrefix sets what is put before the name of every tensor declared from
// now on, as in "layer1.". It keeps names apart when a network has several
// layers of one kind.
func (a *Arena[F]) SetPrefix(prefix string) { a.prefix = prefix }

// Declare adds a tensor of rows × cols. The view's slices are set by
// [Arena.Allocate]. Names are unique in an arena.
func (a *Arena[F]) Declare(name string, rows, cols int) *View[F] {
	name = a.prefix + name
	if a.allocated {
		panic("weight: Declare after Allocate")
	}
	if rows < 1 || cols < 1 {
		panic(fmt.Sprintf("weight: tensor %s of %d × %d", name, rows, cols))
	}
	if a.View(name) != nil {
		panic("weight: tensor " + name + " declared twice")
	}
	offset := (a.size + viewAlignment - 1) / viewAlignment * viewAlignment
	v := &View[F]{Name: name, Rows: rows, Cols: cols, Offset: offset, Rate: 1, Free: rows * cols}
	a.views = append(a.views, v)
	a.named[name] = v
	a.size = offset + rows*cols
	return v
}

// Allocate makes the two slices, all zeros, and ends the declarations.
func (a *Arena[F]) Allocate() {
	if a.allocated {
		panic("weight: Allocate called twice")
	}
	a.allocated = true
	a.values, a.gradients = kernel.Make[F](a.size), kernel.Make[F](a.size)
	for _, v := range a.views {
		end := v.Offset + v.Rows*v.Cols
		v.Value = a.values[v.Offset:end:end]
		v.Gradient = a.gradients[v.Offset:end:end]
	}
}

// Views returns the tensors in the order of their declaration. The slice is
// the arena's own.
func (a *Arena[F]) Views() []*View[F] { return a.views }

// View returns the tensor of that full name, prefix included, or nil.
func (a *Arena[F]) View(name string) *View[F] { return a.named[name] }

// Count returns the number of trained parameters, of each tensor those that are free. Padding
// between views is not counted.
func (a *Arena[F]) Count() int {
	count := 0
	for _, v := range a.views {
		count += v.Free
	}
	return count
}

// Values returns all parameters in one slice. Elements between views are
// padding; they are zero and stay zero under every optimiser, as their
// gradients are zero.
func (a *Arena[F]) Values() []F { return a.values }

// Gradients returns all gradients, laid out as [Arena.Values].
func (a *Arena[F]) Gradients() []F { return a.gradients }

// ZeroGradients sets all gradients to zero, as must be done before each minibatch. Those
// of deferred views are left as they are, to be set by what would be added first.
func (a *Arena[F]) ZeroGradients() {
	for _, v := range a.views {
		if v.unset = v.Deferred; !v.unset {
			clear(v.Gradient)
		}
	}
}

// Unset reports whether the gradient of a deferred view is 0 and has yet to be set, as
// the caller must then do.
func (v *View[F]) Unset() bool {
	unset := v.unset
	v.unset = false
	return unset
}

// Size returns the number of elements of [Arena.Values], allocated or not.
func (a *Arena[F]) Size() int { return a.size }
