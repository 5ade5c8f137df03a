package kernel

import "math"

// ModReLU is modReLU of complex numbers (Arjovsky, Shah and Bengio 2016, eq. 8),
//
//	h = z·max(0, 1 + b/|z|)      |z| = √(Re² z + Im² z + smallest)
//
// A row of z and h, [B×2n], has n real and then n imaginary parts; b has n elements. smallest gives
// |z| a derivative at 0. h may be the same view as z.
func (s *Set[F]) ModReLU(h, z Matrix[F], b []F, smallest F) {
	checkComplex(&h, b)
	if h.emptyAs(&z) {
		return
	}
	if l := s.loops; l != nil {
		l.modReLU(single(h.Data), float*h.Stride, single(z.Data), float*z.Stride, single(b), h.Rows, len(b),
			float32(smallest))
		return
	}
	plainModReLU(h, z, b, smallest)
}

// ModReLUBackward is the backward pass of [Set.ModReLU], given g = ∂L/∂h. Where modReLU is not 0,
//
//	δ = (1 + b/|z|)·g − b·(g·z)/|z|³·z      db[j] += Σ_i (g·z)/|z|
//
// g·z being Re g Re z + Im g Im z, and elsewhere δ = 0. delta may be the same view as g.
func (s *Set[F]) ModReLUBackward(delta, g, z Matrix[F], b, db []F, smallest F) {
	checkComplex(&delta, b)
	checkLengths(b, db)
	if delta.emptyAs(&g, &z) {
		return
	}
	if l := s.loops; l != nil {
		l.modReLUBackward(single(delta.Data), float*delta.Stride, single(g.Data), float*g.Stride, single(z.Data),
			float*z.Stride, single(b), single(db), delta.Rows, len(b), float32(smallest))
		return
	}
	plainModReLUBackward(delta, g, z, b, db, smallest)
}

// checkComplex panics unless the vector has an element for each complex number of a row.
func checkComplex[F Float](m *Matrix[F], v []F) {
	if m.Cols != 2*len(v) {
		panic("kernel: vector length differs from complex columns")
	}
}

// halves are the real and the imaginary parts of a row.
func halves[F Float](row []F) (re, im []F) { return row[:len(row)/2], row[len(row)/2:] }

func modulus[F Float](re, im, smallest F) F {
	return F(math.Sqrt(float64(re*re + im*im + smallest)))
}

func plainModReLU[F Float](h, z Matrix[F], b []F, smallest F) {
	for i := range h.Rows {
		toRe, toIm := halves(h.Row(i))
		re, im := halves(z.Row(i))
		for j, b := range b {
			scale := max(0, 1+b/modulus(re[j], im[j], smallest)) // a NaN stays
			toRe[j], toIm[j] = scale*re[j], scale*im[j]
		}
	}
}

func plainModReLUBackward[F Float](delta, g, z Matrix[F], b, db []F, smallest F) {
	for i := range delta.Rows {
		toRe, toIm := halves(delta.Row(i))
		gRe, gIm := halves(g.Row(i))
		re, im := halves(z.Row(i))
		for j, b := range b {
			size := modulus(re[j], im[j], smallest)
			scale := 1 + b/size
			if scale <= 0 { // a NaN is not
				toRe[j], toIm[j] = 0, 0
				continue
			}
			along := (gRe[j]*re[j] + gIm[j]*im[j]) / size
			turn := b * along / (size * size)
			toRe[j], toIm[j] = scale*gRe[j]-turn*re[j], scale*gIm[j]-turn*im[j]
			db[j] += along
		}
	}
}
