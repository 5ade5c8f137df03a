package layer

import (
	"context"
	"fmt"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// transition is the weights of a recurrent layer with one matrix from state to state,
// φ(W h(t-1) + M x(t) + b), which an operator applies.
type transition[F kernel.Float] struct {
	recurrent[F]
	matrix weight.Matrix[F]
	start  weight.Start // of W; "" is the matrix's usual one
	phi    phi[F]
	form   form[F]       // of W
	input  projection[F] // M [n_i × n] and b
}

// newTransition checks the options and declares nothing; columns and least are as in
// [newRecurrent].
func newTransition[F kernel.Float](set *kernel.Set[F], matrix weight.Matrix[F], start weight.Start,
	options CellOptions, activation kernel.Activation, slope float64, columns, least int) (transition[F], error) {
	n, cols := matrix.Shape()
	if n != cols {
		return transition[F]{}, fmt.Errorf("layer: recurrent matrix of %d × %d: want a square one", n, cols)
	}
	if err := checkActivation(activation, slope); err != nil {
		return transition[F]{}, err
	}
	base, err := newRecurrent(set, options, n, columns, least)
	return transition[F]{recurrent: base, matrix: matrix, start: start, phi: phi[F]{activation, F(slope)}}, err
}

// Init sets the recurrent matrix to its start, M to N(0, s²/n_i), the rest to 0.
func (t *transition[F]) Init(ctx context.Context, source *random.Source) error {
	if err := t.matrix.Init(ctx, t.start, source); err != nil {
		return err
	}
	t.initProjection(&t.input, source)
	t.clearInitial()
	return nil
}

// Load forms and packs W, or its factors, and M.
func (t *transition[F]) Load() {
	t.form.load()
	t.input.load(t.set)
}

// Join adds the gradients of the first passes.
func (t *transition[F]) Join(used int) {
	t.recurrent.Join(used)
	t.form.join(used)
}

// Constrain scales what has a length, see [weight.Matrix].
func (t *transition[F]) Constrain(rate float64) { t.matrix.Constrain(rate) }

// SpectralMargin returns max |σ_i - 1| over the singular values of W as it was loaded
// last; see [weight.Margin].
func (t *transition[F]) SpectralMargin(ctx context.Context) (float64, error) {
	return t.form.margin(ctx)
}

// cost counts W as it is applied, and so many values that are retained of a step.
func (t *transition[F]) cost(limits Limits, values int) (Cost, *unrolled[F]) {
	c, u := t.recurrent.cost(limits, 1, values)
	w := t.form.cost(operatorRows{limits.Batch, u.retained, u.chunkRows()})
	c.Weights = c.Inputs + float64(limits.Steps)*w.Weights
	c.Minibatch = t.matrix.Flops()
	c.Shared += w.Shared
	c.Pass += w.Pass
	c.Fork += w.Fork
	t.addProjection(&c, t.size)
	return c, u
}
