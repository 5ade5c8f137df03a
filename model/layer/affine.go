package layer

import (
	"context"
	"fmt"
	"math"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// Affine maps every row on its own,
//
//	y = φ(W x + b)
//
// W being any [weight.Matrix]. With a dense one and φ linear it is the output
// layer of the papers, ŷ = Y h + c.
type Affine[F kernel.Float] struct {
	free
	set           *kernel.Set[F]
	matrix        weight.Matrix[F]
	options       AffineOptions
	phi           phi[F]
	inputs, width int
	operator      operator[F]
	b             *weight.View[F]
	passes        []*affinePass[F]
}

// AffineOptions are the choices of an [Affine] layer.
type AffineOptions struct {
	Bias       string            // the name of b
	Activation kernel.Activation // φ
	Slope      float64           // of a leaky ReLU below 0, from 0 to 1
	Operator   OperatorKind      // how W is applied

	// Scale s starts a dense W from N(0, s²/inputs); with 0 it is 0. Any other
	// matrix, and a dense one with a Start, has a start of its own.
	Scale float64
	Start weight.Start
}

// NewAffine declares b, [outputs]; the matrix, [outputs × inputs], has declared its
// own tensors.
func NewAffine[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrix weight.Matrix[F],
	options AffineOptions) (*Affine[F], error) {
	if err := checkActivation(options.Activation, options.Slope); err != nil {
		return nil, err
	}
	width, inputs := matrix.Shape()
	b := arena.Declare(options.Bias, 1, width)
	operator, err := newOperator(set, matrix, b, options.Operator)
	if err != nil {
		return nil, err
	}
	return &Affine[F]{set: set, matrix: matrix, options: options, phi: phi[F]{options.Activation, F(options.Slope)},
		inputs: inputs, width: width, operator: operator, b: b}, nil
}

// Outputs returns the number of rows of W, for every step.
func (a *Affine[F]) Outputs() (width int, every bool) { return a.width, true }

// Init sets W to its start and b to 0.
func (a *Affine[F]) Init(ctx context.Context, source *random.Source) error {
	clear(a.b.Value)
	if dense, ok := a.matrix.(*weight.Dense[F]); ok && a.options.Start == "" {
		return weight.SetGaussian(ctx, dense.View().Value, a.options.Scale/math.Sqrt(float64(a.inputs)), source)
	}
	return a.matrix.Init(ctx, a.options.Start, source)
}

// Load forms W, or its factors.
func (a *Affine[F]) Load() { a.operator.load() }

// Join adds the gradients of the first passes.
func (a *Affine[F]) Join(used int) {
	for _, p := range a.passes[1:used] {
		a.set.Axpy(a.b.Gradient, 1, p.b.Gradient)
	}
	a.operator.join(used)
}

// Constrain scales what has a length, see [weight.Matrix].
func (a *Affine[F]) Constrain(rate float64) { a.matrix.Constrain(rate) }

// Cost counts W as it is applied.
func (a *Affine[F]) Cost(limits Limits) Cost {
	rows := limits.Steps * limits.Batch
	c := a.operator.cost(operatorRows{retained: rows, chunk: rows})
	c.Weights *= float64(limits.Steps)
	c.Inputs, c.Minibatch, c.Values = c.Weights, a.matrix.Flops(), rowsOf(limits)*int64(a.width)
	c.Pass += int64(kernel.LinesSize(rows, a.width))
	c.Fork += int64(a.width) // b
	return c
}

// affinePass is a [Pass] of an [Affine] layer.
type affinePass[F kernel.Float] struct {
	*Affine[F]
	first     bool
	b         *weight.View[F]
	operator  operatorPass[F]
	workspace *workspace[F]
	x         kernel.Matrix[F] // of the last Forward with keep
	outputs   kernel.Matrix[F]
	deltas    kernel.Matrix[F] // ∂L/∂(W x + b); made when the pass has to find them itself
}

// NewPass returns a pass for parts of minibatches.
func (a *Affine[F]) NewPass(limits Limits) Pass[F] { return a.newPassIn(limits, newWorkspace[F]()) }

func (a *Affine[F]) newPassIn(limits Limits, w *workspace[F]) Pass[F] {
	rows := limits.Steps * limits.Batch
	p := &affinePass[F]{
		Affine: a, first: len(a.passes) == 0, b: a.b, workspace: w,
		operator: a.operator.pass(operatorRows{retained: rows, chunk: rows}, w),
		outputs:  kernel.NewLines[F](rows, a.width),
	}
	if !p.first {
		p.b = a.b.Fork()
	}
	a.passes = append(a.passes, p)
	return p
}

// Forward computes the outputs of all rows.
func (p *affinePass[F]) Forward(in Input[F], _ State[F], keep bool) (out kernel.Matrix[F], to State[F]) {
	p.check(in.X)
	out = p.outputs.Slice(0, in.X.Rows)
	p.forward(out, in.X, kernel.Matrix[F]{}, p.phi, keep)
	return out, nil
}

// check panics unless the input fits the pass.
func (p *affinePass[F]) check(x kernel.Matrix[F]) {
	if x.Rows < 1 || x.Rows > p.outputs.Rows || x.Cols != p.inputs {
		panic(fmt.Sprintf("layer: input of %d × %d in a pass made for %d × %d", x.Rows, x.Cols,
			p.outputs.Rows, p.inputs))
	}
}

// forward computes φ(W x + b + plus), plus being left out if it has its zero value.
func (p *affinePass[F]) forward(out, x, plus kernel.Matrix[F], phi phi[F], keep bool) {
	if keep {
		p.x = x
	}
	p.operator.apply(out, x, plus, phi, keep)
}

// activated returns the epilogue by φ.
func (p *affinePass[F]) activated() epilogue[F] { return p.phi.epilogue(p.outputs.Slice(0, p.x.Rows)) }

// needs is of W and the outputs or, in the backward pass, the input.
func (p *affinePass[F]) needs(back bool) [2][]F {
	if back {
		return [2][]F{p.operator.needs(true), memory(p.x)}
	}
	return [2][]F{p.operator.needs(false), memory(p.outputs)}
}

// Backward goes back over the rows, with δ the gradient of φ's argument:
//
//	∂L/∂W = Σ δ xᵀ   ∂L/∂b = Σ δ   ∂L/∂x = Wᵀ δ
func (p *affinePass[F]) Backward(dout kernel.Matrix[F], _ State[F], dx kernel.Matrix[F]) (dfrom State[F]) {
	p.backward(dout, false, dx, epilogue[F]{})
	return nil
}

func (p *affinePass[F]) backward(dout kernel.Matrix[F], derived bool, dx kernel.Matrix[F], end epilogue[F]) {
	if p.x.Data == nil {
		panic("layer: Backward without Forward")
	}
	if dout.Rows != p.x.Rows || dout.Cols != p.width {
		panic(fmt.Sprintf("layer: gradient of %d × %d for outputs of %d × %d", dout.Rows, dout.Cols, p.x.Rows, p.width))
	}
	if !p.first {
		clear(p.b.Gradient)
	}
	deltas := dout
	if !derived && p.phi.activation != kernel.Linear {
		if p.deltas.Data == nil {
			p.deltas = kernel.NewPadded[F](p.outputs.Rows, p.width)
		}
		deltas = p.deltas.Slice(0, dout.Rows)
		p.phi.derivative(p.set, deltas, dout, p.outputs.Slice(0, dout.Rows))
	}
	p.set.ColumnSumsAdd(p.b.Gradient, deltas)
	p.operator.begin()
	p.operator.project(deltas, 0)
	p.operator.accumulate(deltas, p.x, 0, nil)
	if dx.Data != nil {
		end.prefetch = p.workspace.next
		p.operator.transpose(dx, deltas, 0, end)
	}
}
