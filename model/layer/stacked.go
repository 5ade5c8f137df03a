package layer

import (
	"context"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// stacked is square matrices of one size, one above the other, [kn × n]: what the gates of a cell
// apply to one state at once.
type stacked[F kernel.Float] []weight.Matrix[F]

// part is the rows of w, or of its gradient, that are the matrix of that number.
func (s stacked[F]) part(w kernel.Matrix[F], number int) kernel.Matrix[F] {
	return w.Slice(number*w.Cols, (number+1)*w.Cols)
}

func (s stacked[F]) Shape() (rows, cols int) {
	_, n := s[0].Shape()
	return len(s) * n, n
}

func (s stacked[F]) Init(ctx context.Context, start weight.Start, source *random.Source) error {
	for _, m := range s {
		if err := m.Init(ctx, start, source); err != nil {
			return err
		}
	}
	return nil
}

func (s stacked[F]) Value(w kernel.Matrix[F]) {
	for i, m := range s {
		m.Value(s.part(w, i))
	}
}

func (s stacked[F]) Pullback(dw kernel.Matrix[F]) {
	for i, m := range s {
		m.Pullback(s.part(dw, i))
	}
}

func (s stacked[F]) Constrain(rate float64) {
	for _, m := range s {
		m.Constrain(rate)
	}
}

func (s stacked[F]) Project() {
	for _, m := range s {
		m.Project()
	}
}

func (s stacked[F]) Flops() (sum float64) {
	for _, m := range s {
		sum += m.Flops()
	}
	return sum
}

func (s stacked[F]) Footprint() (sum int) {
	for _, m := range s {
		sum += m.Footprint()
	}
	return sum
}
