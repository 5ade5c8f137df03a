package weight

import "sweep/model/kernel"

// A frame is the first k columns of a product of reflectors in compact form:
//
//	Q = E - Y C      C = T Y_kᵀ
//
// E is the first columns of the identity, Y_k the first k rows of Y. Y is stored
// transposed, a reflector a row.
type frame[F kernel.Float] struct {
	triangle[F]
	y, dy    kernel.Matrix[F] // Yᵀ, m × n
	c, dc    kernel.Matrix[F] // m × k
	packedY  kernel.Packed[F]
	packedYT kernel.Packed[F] // Yᵀ
}

func newFrame[F kernel.Float](set *kernel.Set[F], r reflectors[F], n, k int) *frame[F] {
	m := len(r)
	return &frame[F]{
		triangle: newTriangle(set, r), y: kernel.NewPadded[F](m, n), dy: kernel.NewPadded[F](m, n),
		c: kernel.NewMatrix[F](m, k), dc: kernel.NewMatrix[F](m, k),
	}
}

// load computes Y, T and C for the present parameters.
func (f *frame[F]) load() {
	for k, u := range f.reflectors {
		copy(f.y.Row(k)[k:], u.Value)
	}
	f.set.Pack(&f.packedYT, f.y)
	f.set.PackTransposed(&f.packedY, f.y)
	f.set.Multiply(f.gram, f.y, &f.packedY)
	f.invert()
	f.set.Pack(&f.packed, f.y.Columns(0, f.c.Cols))
	f.set.Multiply(f.c, f.t, &f.packed)
}

// pullback adds the reflectors' gradients, given those of C and, where it is used
// besides, of Yᵀ, which is changed:
//
//	dT = dC Y_k      dY_kᵀ += Tᵀ dC
func (f *frame[F]) pullback() {
	k := f.c.Cols
	f.set.PackTransposed(&f.packed, f.y.Columns(0, k))
	f.set.Multiply(f.dt, f.dc, &f.packed)
	f.set.TransposedAdd(f.dy.Columns(0, k), f.t, f.dc, nil)
	f.set.MultiplyAdd(f.dy, f.triangle.pullback(), &f.packedYT)
	for k, u := range f.reflectors {
		f.set.Axpy(u.Gradient, 1, f.dy.Row(k)[k:])
	}
}

// svdFrames is what an [SVD] needs to form a matrix of many more columns than rows, or
// the other way round, by products of matrices alone. Of its two factors S is the one of
// the shorter side, k × k, and E - Y C the first k columns of the other:
//
//	W = S Σ (E - Y C)ᵀ = (L | 0) - G Yᵀ      L = S Σ      G = L Cᵀ
//
// or the transpose of this.
type svdFrames[F kernel.Float] struct {
	set         *kernel.Set[F]
	short, long *frame[F]
	s, l, dl    kernel.Matrix[F] // k × k
	g, dg       kernel.Matrix[F] // k × m
	transposed  kernel.Matrix[F] // Wᵀ or its gradient; made if there are more rows than columns
	packed      kernel.Packed[F]
}

func newSVDFrames[F kernel.Float](s *SVD[F]) *svdFrames[F] {
	k, m := len(s.sigma), len(s.v)
	f := &svdFrames[F]{set: s.set, s: kernel.NewMatrix[F](k, k), l: kernel.NewMatrix[F](k, k),
		dl: kernel.NewMatrix[F](k, k)}
	if s.rows <= s.cols {
		f.short, f.long = newFrame(s.set, s.u, s.rows, k), newFrame(s.set, s.v, s.cols, k)
	} else {
		f.short, f.long, m = newFrame(s.set, s.v, s.cols, k), newFrame(s.set, s.u, s.rows, k), len(s.u)
		f.transposed = kernel.NewPadded[F](s.cols, s.rows)
	}
	f.g, f.dg = kernel.NewMatrix[F](k, m), kernel.NewMatrix[F](k, m)
	return f
}

// value writes W.
func (f *svdFrames[F]) value(w kernel.Matrix[F], sigma []F) {
	if f.transposed.Data != nil {
		f.wide(f.transposed, sigma)
		f.set.Transpose(w, f.transposed)
		return
	}
	f.wide(w, sigma)
}

// wide writes W, or Wᵀ, whichever has more columns than rows.
func (f *svdFrames[F]) wide(w kernel.Matrix[F], sigma []F) {
	set := f.set
	f.short.load()
	f.long.load()
	set.Transposed(f.s, f.short.y, f.short.c, nil)
	negate(f.s, f.s)
	for i := range f.s.Rows {
		f.s.Row(i)[i]++
	}
	set.MultiplySum(f.l, kernel.Sum[F]{H: f.s, D: sigma})
	set.PackTransposed(&f.packed, f.long.c)
	set.Multiply(f.g, f.l, &f.packed)
	negate(f.g, f.g)
	set.Multiply(w, f.g, &f.long.packedYT)
	for i := range f.l.Rows {
		set.Axpy(w.Row(i)[:f.l.Cols], 1, f.l.Row(i))
	}
}

// pullback adds the gradients of the reflectors and sets those of the singular values.
//
//	dG = -dW Y      dYᵀ = -Gᵀ dW      dL = dW's first columns + dG C      dC = dGᵀ L
//	dσ = the diagonal of Sᵀ dL        dS = dL Σ
//	of S = I - Y C:                   dC = -Yᵀ dS      dYᵀ = -C dSᵀ
func (f *svdFrames[F]) pullback(dw kernel.Matrix[F], sigma, dsigma []F) {
	set, short, long := f.set, f.short, f.long
	if f.transposed.Data != nil {
		set.Transpose(f.transposed, dw)
		dw = f.transposed
	}
	set.Multiply(f.dg, dw, &long.packedY)
	negate(f.dg, f.dg)
	set.Transposed(long.dy, f.g, dw, nil) // g is -G
	f.dl.Fill(dw.Columns(0, f.dl.Cols))
	set.Pack(&f.packed, long.c)
	set.MultiplyAdd(f.dl, f.dg, &f.packed)
	set.Transposed(long.dc, f.dg, f.l, nil)
	long.pullback()

	clear(dsigma)
	set.ColumnProductSumsAdd(dsigma, f.dl, f.s)
	set.MultiplySum(f.dl, kernel.Sum[F]{H: f.dl, D: sigma})
	negate(f.dl, f.dl)
	set.Pack(&f.packed, f.dl)
	set.Multiply(short.dc, short.y, &f.packed)
	set.PackTransposed(&f.packed, f.dl)
	set.Multiply(short.dy, short.c, &f.packed)
	short.pullback()
}

// frameFootprint is the values of a frame of m reflectors.
func frameFootprint[F kernel.Float](set *kernel.Set[F], n, m, k int) int {
	packed := max(set.PackedSize(m, k, false), set.PackedSize(k, m, false)) // of the triangle, too
	return triangleFootprint(set, m) - set.PackedSize(m, m, false) + max(packed, set.PackedSize(m, m, false)) +
		2*kernel.PaddedSize(m, n) + 2*m*k + set.PackedSize(m, n, false) + set.PackedSize(n, m, false)
}

// framesFootprint is the values of the frames of s.
func (s *SVD[F]) framesFootprint() int {
	k, long, m, other := len(s.sigma), s.cols, len(s.v), len(s.u)
	transposed := 0
	if s.rows > s.cols {
		long, m, other = s.rows, len(s.u), len(s.v)
		transposed = kernel.PaddedSize(s.cols, s.rows)
	}
	return frameFootprint(s.set, k, other, k) + frameFootprint(s.set, long, m, k) + 3*k*k + 2*k*m + transposed +
		max(s.set.PackedSize(k, m, false), s.set.PackedSize(m, k, false), s.set.PackedSize(k, k, false))
}
