package layer

import "sweep/model/kernel"

// block returns the rows of step t.
func block[F kernel.Float](m kernel.Matrix[F], t, batch int) kernel.Matrix[F] {
	return m.Slice(t*batch, (t+1)*batch)
}

// following returns so many rows from the given one on, as far as there are any.
func following[F kernel.Float](m kernel.Matrix[F], from, rows int) kernel.Matrix[F] {
	return m.Slice(min(from, m.Rows), min(from+rows, m.Rows))
}

// preceding returns so many rows before the given one, as far as there are any.
func preceding[F kernel.Float](m kernel.Matrix[F], before, rows int) kernel.Matrix[F] {
	return m.Slice(max(before-rows, 0), before)
}

// memory is what the rows of m lie in.
func memory[F kernel.Float](m kernel.Matrix[F]) []F {
	return m.Data[:min(m.Rows*m.Stride, len(m.Data))]
}

// memories is the memory of one or two matrices that are needed soon, for
// [kernel.Sum].
func memories[F kernel.Float](m ...kernel.Matrix[F]) (of [2][]F) {
	for i := range m {
		of[i] = memory(m[i])
	}
	return of
}

// addTransposed is dst += aᵀ b, or where dst is unset dst = aᵀ b.
func addTransposed[F kernel.Float](set *kernel.Set[F], dst, a, b kernel.Matrix[F], scratch *kernel.Scratch[F],
	unset bool) {
	if unset {
		set.Transposed(dst, a, b, scratch)
	} else {
		set.TransposedAdd(dst, a, b, scratch)
	}
}

// add is dst += src.
func add[F kernel.Float](set *kernel.Set[F], dst, src kernel.Matrix[F]) {
	for i := range dst.Rows {
		set.Axpy(dst.Row(i), 1, src.Row(i))
	}
}
