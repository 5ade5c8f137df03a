package weight

import "sweep/model/kernel"

// Parseval is a [Dense] matrix that is drawn towards orthonormal columns by the regulariser of
// Parseval networks (Cisse et al. 2017, eq. 6), which is added to the loss:
//
//	λ ‖I - WᵀW‖²
type Parseval[F kernel.Float] struct {
	*Dense[F]
	lambda float64
	gram   kernel.Matrix[F] // WᵀW - I at the last call of Value
	pull   kernel.Matrix[F] // W (WᵀW - I)
	packed kernel.Packed[F]
}

// NewParseval declares the tensor of that name, [rows × cols], in the arena; there are at least as
// many rows as columns.
func NewParseval[F kernel.Float](set *kernel.Set[F], arena *Arena[F], name string, rows, cols int,
	lambda float64) (*Parseval[F], error) {
	dense, err := NewDense(set, arena, name, rows, cols)
	if err != nil {
		return nil, err
	}
	return &Parseval[F]{Dense: dense, lambda: lambda, gram: later[F](cols, cols), pull: later[F](rows, cols)}, nil
}

// Value writes W.
func (p *Parseval[F]) Value(to kernel.Matrix[F]) {
	p.Dense.Value(to)
	ready(&p.gram, &p.pull)
	w := p.w.Matrix()
	p.set.Transposed(p.gram, w, w, nil)
	for i := range p.gram.Rows {
		p.gram.Row(i)[i]--
	}
}

// Pullback adds dw and the regulariser's gradient, 4λ W (WᵀW - I), to the gradient of W.
func (p *Parseval[F]) Pullback(dw kernel.Matrix[F]) {
	p.Dense.Pullback(dw)
	p.set.Pack(&p.packed, p.gram)
	p.set.Multiply(p.pull, p.w.Matrix(), &p.packed)
	p.set.Axpy(p.w.Gradient, F(4*p.lambda), p.pull.Data)
}

// Penalty returns λ ‖I - WᵀW‖² of the last call of Value: what the parameters add to the loss
// besides what W does.
func (p *Parseval[F]) Penalty() float64 { return p.lambda * p.set.SumSquares(p.gram.Data) }

// Flops counts two products of matrices.
func (p *Parseval[F]) Flops() float64 {
	return 4 * float64(p.w.Rows) * float64(p.w.Cols) * float64(p.w.Cols)
}

// Footprint counts both matrices, one of them packed.
func (p *Parseval[F]) Footprint() int {
	rows, cols := p.Shape()
	return cols*cols + rows*cols + p.set.PackedSize(cols, cols, false)
}
