package weight

import (
	"context"
	"math"

	"sweep/model/kernel"
	"sweep/model/random"
)

// blockwiseSize is the shorter side from which on a matrix is orthonormalised in blocks
// of rows by products of matrices, and blockwiseRows the rows of a block. Smaller ones
// have the bits of the plain algorithm.
const (
	blockwiseSize = 512
	blockwiseRows = 128
)

// SetGaussian is [random.Gaussian], the same numbers, that looks at ctx every so many of
// them and returns its error.
func SetGaussian[F kernel.Float](ctx context.Context, dst []F, deviation float64, source *random.Source) error {
	const part = 1 << 18
	for len(dst) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(dst), part)
		random.Gaussian(dst[:n], deviation, source)
		dst = dst[n:]
	}
	return nil
}

// SetOrthogonal sets w to a random matrix whose rows are orthonormal, or whose columns
// are if they are fewer: Gaussian vectors orthonormalised in their order. It looks at ctx
// at least every few ten millions of operations, and returns its error.
func SetOrthogonal[F kernel.Float](ctx context.Context, set *kernel.Set[F], w kernel.Matrix[F],
	source *random.Source) error {
	count, length := min(w.Rows, w.Cols), max(w.Rows, w.Cols)
	if count < blockwiseSize {
		return setSmallOrthogonal(ctx, w, source)
	}
	q := kernel.NewPadded[F](count, length)
	for i := range count {
		if err := ctx.Err(); err != nil {
			return err
		}
		random.Gaussian(q.Row(i), 1, source)
	}
	if err := orthonormaliseRows(ctx, set, q); err != nil {
		return err
	}
	if w.Rows <= w.Cols {
		w.Fill(q)
	} else {
		set.Transpose(w, q)
	}
	return nil
}

// orthonormaliseRows makes the rows of q orthonormal, block by block: from each block it
// takes, twice, what lies along the rows before it, and what lies along the block's own.
// Twice keeps orthogonality to rounding.
func orthonormaliseRows[F kernel.Float](ctx context.Context, set *kernel.Set[F], q kernel.Matrix[F]) error {
	along := kernel.NewMatrix[F](blockwiseRows, blockwiseRows)
	var packed kernel.Packed[F]
	for from := 0; from < q.Rows; from += blockwiseRows {
		block := q.Slice(from, min(from+blockwiseRows, q.Rows))
		for range 2 {
			for before := 0; before < from; before += blockwiseRows {
				if err := ctx.Err(); err != nil {
					return err
				}
				earlier, part := q.Slice(before, before+blockwiseRows), along.Slice(0, block.Rows)
				set.PackTransposed(&packed, earlier)
				set.Multiply(part, block, &packed)
				negate(part, part)
				set.Pack(&packed, earlier)
				set.MultiplyAdd(block, part, &packed)
			}
			for i := range block.Rows {
				if err := ctx.Err(); err != nil {
					return err
				}
				row := block.Row(i)
				for k := range i {
					set.Axpy(row, F(-set.Dot(row, block.Row(k))), block.Row(k))
				}
				unit(set, row)
			}
		}
	}
	return nil
}

// setSmallOrthogonal is SetOrthogonal in double precision by modified Gram-Schmidt, twice,
// which keeps orthogonality to rounding.
func setSmallOrthogonal[F kernel.Float](ctx context.Context, w kernel.Matrix[F], source *random.Source) error {
	q := kernel.NewMatrix[float64](min(w.Rows, w.Cols), max(w.Rows, w.Cols))
	random.Gaussian(q.Data, 1, source)
	for i := range q.Rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := q.Row(i)
		for range 2 {
			for k := range i {
				other := q.Row(k)
				dot := 0.0
				for j, v := range row {
					dot += v * other[j]
				}
				for j, v := range other {
					row[j] -= dot * v
				}
			}
		}
		sum := 0.0
		for _, v := range row {
			sum += v * v
		}
		for j := range row {
			row[j] /= math.Sqrt(sum)
		}
	}
	for i := range q.Rows {
		for j, v := range q.Row(i) {
			if w.Rows <= w.Cols {
				w.Row(i)[j] = F(v)
			} else {
				w.Row(j)[i] = F(v)
			}
		}
	}
	return nil
}
