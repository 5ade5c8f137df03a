package layer

import (
	"context"
	"fmt"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// MatrixLSTM is an [LSTM] each of whose gates has a [weight.Matrix] W of its own, such as an SVD
// (Zhang, Lei and Dhillon 2018, end of §5). All four are formed once a minibatch and applied at once.
type MatrixLSTM[F kernel.Float] struct {
	LSTM[F]
	matrices stacked[F]
}

// lstmPrefixes precede the names of the gates' matrices, in the order of the gates.
var lstmPrefixes = []string{"i.", "f.", "g.", "o."}

// NewMatrixLSTM declares the tensors "U" [n_i × 4n] and "b" [4n], gates in columns in the order i, f,
// g, o, and "h0" and "c0". The gates' matrices, in that order and n × n each, have declared their own.
func NewMatrixLSTM[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrices []weight.Matrix[F],
	options LSTMOptions) (*MatrixLSTM[F], error) {
	if len(matrices) != len(lstmPrefixes) {
		return nil, fmt.Errorf("layer: %d recurrent matrices of an LSTM: want %d", len(matrices), len(lstmPrefixes))
	}
	n := options.Size
	l := &MatrixLSTM[F]{}
	for _, m := range matrices {
		if rows, cols := m.Shape(); rows != n || cols != n {
			return nil, fmt.Errorf("layer: recurrent matrix of %d × %d: want %d × %d", rows, cols, n, n)
		}
		l.matrices = append(l.matrices, formable(set, m))
	}
	base, err := newRecurrent(set, options.CellOptions, n, 4, 1)
	if err != nil {
		return nil, err
	}
	l.LSTM = LSTM[F]{recurrent: base, options: options}
	l.gates = l.declareStackedGates(arena, l.matrices)
	l.declareInitial(arena, "h0", "c0")
	return l, nil
}

// Init sets each matrix to its start, U to N(0, s²/n_i), the forget bias, and the rest to 0.
func (l *MatrixLSTM[F]) Init(ctx context.Context, source *random.Source) error {
	if err := l.matrices.Init(ctx, l.options.Start, source); err != nil {
		return err
	}
	l.initProjection(&l.gates.projection, source)
	l.startForget()
	l.clearInitial()
	return nil
}

// Join adds the gradients of the first passes.
func (l *MatrixLSTM[F]) Join(used int) {
	l.recurrent.Join(used)
	l.gates.operator.join(used)
}

// Constrain scales what has a length, see [weight.Matrix].
func (l *MatrixLSTM[F]) Constrain(rate float64) { l.matrices.Constrain(rate) }

// SpectralMargin returns max |σ_i - 1| over the singular values of all four matrices as they were
// loaded last; see [weight.Margin].
func (l *MatrixLSTM[F]) SpectralMargin(ctx context.Context) (margin float64, err error) {
	for i := range l.matrices {
		own, err := weight.Margin(ctx, l.set, l.matrices.part(l.gates.operator.w, i))
		if err != nil {
			return 0, err
		}
		margin = max(margin, own)
	}
	return margin, nil
}

// Cost counts four gates, and what forms their matrices.
func (l *MatrixLSTM[F]) Cost(limits Limits) Cost {
	c := l.cost(limits)
	w := l.gates.operator.cost(operatorRows{})
	l.addProjection(&c, 4*l.size)
	c.Minibatch = l.matrices.Flops()
	c.Shared += w.Shared
	c.Pass += w.Pass
	c.Fork += w.Fork
	return c
}
