package weight

import "sweep/model/kernel"

// svdFactors is what an [SVD] needs for its factors. With U = I - A Yᵀ and
// V = I - B Zᵀ in compact form,
//
//	W = U Σ Vᵀ = Σ - A (ΣY)ᵀ - ΣZ Bᵀ + A C Bᵀ      C = Yᵀ Σ Z
//	  = Σ + L Rᵀ      L = (-A | A C - ΣZ)      R = (ΣY | B)
type svdFactors[F kernel.Float] struct {
	u, v   *compact[F]
	sy, sz kernel.Matrix[F] // ΣY and ΣZ, n × m1 and n × m2
	c, dc  kernel.Matrix[F] // m1 × m2
	da, dy kernel.Matrix[F] // n × m1
	db, dz kernel.Matrix[F] // n × m2
	packed kernel.Packed[F]
}

func newSVDFactors[F kernel.Float](s *SVD[F]) *svdFactors[F] {
	n, m1, m2 := s.rows, len(s.u), len(s.v)
	return &svdFactors[F]{
		u: newCompact(s.set, s.u, n), v: newCompact(s.set, s.v, n),
		sy: kernel.NewMatrix[F](n, m1), sz: kernel.NewMatrix[F](n, m2),
		c: kernel.NewMatrix[F](m1, m2), dc: kernel.NewMatrix[F](m1, m2),
		da: kernel.NewMatrix[F](n, m1), dy: kernel.NewMatrix[F](n, m1),
		db: kernel.NewMatrix[F](n, m2), dz: kernel.NewMatrix[F](n, m2),
	}
}

// Rank returns m1 + m2.
func (s *SVD[F]) Rank() int { return len(s.u) + len(s.v) }

// Factors writes d = σ and the factors of U Σ Vᵀ - Σ.
func (s *SVD[F]) Factors(d []F, left, right kernel.Matrix[F]) {
	checkFactors(d, left, right, s)
	if s.factors == nil {
		s.factors = newSVDFactors(s)
	}
	f, set, m1 := s.factors, s.set, len(s.u)
	s.loadSigma()
	copy(d, s.sigma)
	f.u.load()
	f.v.load()
	scaleRows(f.sy, s.sigma, f.u.y)
	scaleRows(f.sz, s.sigma, f.v.y)
	set.Transposed(f.c, f.u.y, f.sz, nil)

	negate(left.Columns(0, m1), f.u.a)
	second := left.Columns(m1, s.Rank())
	negate(second, f.sz)
	set.Pack(&f.packed, f.c)
	set.MultiplyAdd(second, f.u.a, &f.packed)
	right.Columns(0, m1).Fill(f.sy)
	right.Columns(m1, s.Rank()).Fill(f.v.a)
}

// PullbackFactors adds the gradients of the reflectors and of σ̂, and that of the penalty.
func (s *SVD[F]) PullbackFactors(dd []F, dleft, dright kernel.Matrix[F]) {
	checkFactors(dd, dleft, dright, s)
	f, set, m1, k := s.factors, s.set, len(s.u), s.Rank()
	dl, dr := dleft.Columns(m1, k), dright.Columns(0, m1)

	// dA = -dL₁ + dL₂ Cᵀ   dC = Aᵀ dL₂   dB = dR₂
	negate(f.da, dleft.Columns(0, m1))
	set.PackTransposed(&f.packed, f.c)
	set.MultiplyAdd(f.da, dl, &f.packed)
	set.Transposed(f.dc, f.u.a, dl, nil)
	f.db.Fill(dright.Columns(m1, k))

	// d(ΣY) = dR₁   d(ΣZ) = Y dC - dL₂   dY = Σ dR₁ + ΣZ dCᵀ   dZ = Σ d(ΣZ)
	scaleRows(f.dy, s.sigma, dr)
	set.PackTransposed(&f.packed, f.dc)
	set.MultiplyAdd(f.dy, f.sz, &f.packed)
	negate(f.dz, dl)
	set.Pack(&f.packed, f.dc)
	set.MultiplyAdd(f.dz, f.u.y, &f.packed)
	for i := range dd {
		s.dsigma[i] = dd[i] + F(set.Dot(dr.Row(i), f.u.y.Row(i))) + F(set.Dot(f.dz.Row(i), f.v.y.Row(i)))
	}
	scaleRows(f.dz, s.sigma, f.dz)

	f.u.pullback(f.dy, f.da)
	f.v.pullback(f.dz, f.db)
	s.pullbackSigma()
}

// checkFactors panics unless the matrix is square and d, left and right are of its
// shape.
func checkFactors[F kernel.Float](d []F, left, right kernel.Matrix[F], matrix LowRank[F]) {
	n, cols := matrix.Shape()
	k := matrix.Rank()
	if n != cols || len(d) != n || left.Rows != n || right.Rows != n || left.Cols != k || right.Cols != k {
		panic("weight: factors of wrong shape")
	}
}

// scaleRows is dst = diag(d) src. dst may be src.
func scaleRows[F kernel.Float](dst kernel.Matrix[F], d []F, src kernel.Matrix[F]) {
	for i, s := range d {
		row := dst.Row(i)
		for j, x := range src.Row(i) {
			row[j] = s * x
		}
	}
}

// FactorsFootprint counts both compact forms and the products of them.
func (s *SVD[F]) FactorsFootprint() int {
	n, m1, m2 := s.rows, len(s.u), len(s.v)
	return compactFootprint(s.set, n, m1) + compactFootprint(s.set, n, m2) + 3*n*(m1+m2) + 2*m1*m2 +
		max(s.set.PackedSize(m1, m2, false), s.set.PackedSize(m2, m1, false))
}
