package layer

import "sweep/model/kernel"

// workspace is what the layers of one pass, of which one is at work at a time, use one
// after the other, so that it stays in the processor's cache: in a deep network memory
// of their own would come from far away each time.
type workspace[F kernel.Float] struct {
	*common[F]
	gradients [2][]F        // of the inputs of a stack's layers, by turns
	inner     *workspace[F] // of stacks in the stack; made when there is one
}

// common is what stacks in stacks share, too.
type common[F kernel.Float] struct {
	packed kernel.Packed[F] // the weight in use
	next   [2][]F           // memory that the layer after this one needs first
}

func newWorkspace[F kernel.Float]() *workspace[F] { return &workspace[F]{common: &common[F]{}} }

// nested returns the workspace of a stack in the stack.
func (w *workspace[F]) nested() *workspace[F] {
	if w.inner == nil {
		w.inner = &workspace[F]{common: w.common}
	}
	return w.inner
}

// reserve makes room for the gradient of the input, of so many rows and columns, of the
// layer of that number in its stack.
func (w *workspace[F]) reserve(number, rows, cols int) {
	if n := rows * kernel.PaddedStride(cols); len(w.gradients[number%2]) < n {
		w.gradients[number%2] = kernel.Make[F](n)
	}
}

// gradient is the place that was reserved. That of the layer after is the other one.
func (w *workspace[F]) gradient(number, rows, cols int) kernel.Matrix[F] {
	stride := kernel.PaddedStride(cols)
	return kernel.Matrix[F]{Data: w.gradients[number%2][:rows*stride], Rows: rows, Cols: cols, Stride: stride}
}

// A worker is a [Layer] whose passes have a use for a workspace.
type worker[F kernel.Float] interface {
	Layer[F]
	newPassIn(limits Limits, w *workspace[F]) Pass[F]
}

// newPassIn returns a pass of any layer, in the workspace if it has a use for it.
func newPassIn[F kernel.Float](l Layer[F], limits Limits, w *workspace[F]) Pass[F] {
	if l, ok := l.(worker[F]); ok {
		return l.newPassIn(limits, w)
	}
	return l.NewPass(limits)
}

// A rowwise pass is of a layer that ends in φ and sees every row on its own. Where one
// follows another the upper one's last product applies the lower one's φ'.
type rowwise[F kernel.Float] interface {
	Pass[F]

	// activated returns the epilogue by φ for the outputs of the last Forward.
	activated() epilogue[F]

	// backward is Backward for dout or, if it is derived, for the gradient of φ's
	// argument in its place. dx, if it is asked for, ends by the epilogue.
	backward(dout kernel.Matrix[F], derived bool, dx kernel.Matrix[F], end epilogue[F])

	// needs is memory that Forward begins with, or Backward.
	needs(back bool) [2][]F
}
