package kernel

// Complex numbers of several sequences lie side by side in lanes: of a vector of n of them, for each
// sequence, element k takes 2·Lanes() values, the real parts of all lanes and then the imaginary ones.

// Lanes is the number of sequences side by side.
func (s *Set[F]) Lanes() int { return s.narrow }

// ToLanes sets dst, n complex numbers in lanes, to rows of n real and n imaginary parts, one for each
// lane. Where there are fewer rows the other lanes are 0.
func (s *Set[F]) ToLanes(dst []F, rows Matrix[F]) {
	re, im := s.parts(dst, &rows)
	if rows.Rows < s.Lanes() {
		clear(dst)
	}
	s.Transpose(re, rows.Columns(0, rows.Cols/2))
	s.Transpose(im, rows.Columns(rows.Cols/2, rows.Cols))
}

// FromLanes sets rows to what is in the lanes.
func (s *Set[F]) FromLanes(rows Matrix[F], src []F) {
	re, im := s.parts(src, &rows)
	s.Transpose(rows.Columns(0, rows.Cols/2), re)
	s.Transpose(rows.Columns(rows.Cols/2, rows.Cols), im)
}

// parts are the real and the imaginary parts of as many lanes as there are rows, as matrices.
func (s *Set[F]) parts(x []F, rows *Matrix[F]) (re, im Matrix[F]) {
	lanes := s.Lanes()
	rows.check()
	if rows.Rows > lanes || rows.Cols%2 != 0 || len(x) != rows.Cols*lanes {
		panic("kernel: rows do not fit lanes")
	}
	all := Matrix[F]{Data: x, Rows: rows.Cols / 2, Cols: 2 * lanes, Stride: 2 * lanes}
	return all.Columns(0, rows.Rows), all.Columns(lanes, lanes+rows.Rows)
}

// checkLanes panics unless x has n complex numbers in lanes.
func (s *Set[F]) checkLanes(n int, vectors ...[]F) {
	for _, x := range vectors {
		if len(x) != 2*n*s.Lanes() {
			panic("kernel: vector does not fit lanes")
		}
	}
}

// Turn is dst = t ∘ x in lanes, the product with a diagonal, t being pairs of real and imaginary parts.
// dst may be x.
func (s *Set[F]) Turn(dst, x, t []F) {
	s.checkLanes(len(t)/2, dst, x)
	if l := s.loops; l != nil && len(t) > 0 {
		l.turn(single(dst), single(x), single(t), len(t)/2)
		return
	}
	lanes := s.Lanes()
	for k := range len(t) / 2 {
		re, im := element(dst, k, lanes)
		xRe, xIm := element(x, k, lanes)
		for i := range re {
			re[i], im[i] = t[2*k]*xRe[i]-t[2*k+1]*xIm[i], t[2*k]*xIm[i]+t[2*k+1]*xRe[i]
		}
	}
}

// TurnBackward is the backward pass of [Set.Turn] by a diagonal of a·exp(iω), given g = ∂L/∂dst:
//
//	g = t* ∘ g      domega[k] += Im(g x*)
//
// domega has for each element one value in each lane.
func (s *Set[F]) TurnBackward(g, x, t, domega []F) {
	s.checkLanes(len(t)/2, g, x)
	lanes := s.Lanes()
	if 2*len(domega) != len(g) {
		panic("kernel: vector does not fit lanes")
	}
	if l := s.loops; l != nil && len(t) > 0 {
		l.turnBackward(single(g), single(x), single(t), single(domega), len(t)/2)
		return
	}
	for k := range len(t) / 2 {
		re, im := element(g, k, lanes)
		xRe, xIm := element(x, k, lanes)
		sum := domega[k*lanes : (k+1)*lanes]
		for i := range re {
			re[i], im[i] = t[2*k]*re[i]+t[2*k+1]*im[i], t[2*k]*im[i]-t[2*k+1]*re[i]
			sum[i] += im[i]*xRe[i] - re[i]*xIm[i]
		}
	}
}

// element is the real and the imaginary parts of element k.
func element[F Float](x []F, k, lanes int) (re, im []F) {
	return x[2*k*lanes : (2*k+1)*lanes], x[(2*k+1)*lanes : (2*k+2)*lanes]
}

// Mirror is a complex reflection I - scale·v v*, after which element i is what element Order[i] was.
type Mirror[F Float] struct {
	V     []F // pairs of real and imaginary parts
	Scale F   // 2/‖v‖², or 0
	Order []int
}

// Mirror is dst = the mirrored x, in lanes. along is set to scale·v* x, one complex number in lanes.
func (s *Set[F]) Mirror(dst, x []F, m *Mirror[F], along []F) {
	n := s.checkMirror(m, dst, x)
	s.checkLanes(1, along)
	if n == 0 {
		clear(along)
		return
	}
	if l := s.loops; l != nil {
		l.mirror(single(dst), single(x), single(m.V), &m.Order[0], single(along), n, float32(m.Scale))
		return
	}
	lanes := s.Lanes()
	clear(along)
	alphaRe, alphaIm := element(along, 0, lanes)
	for k := range n {
		addConjugate(along, x, m.V, k, lanes)
	}
	for i := range alphaRe {
		alphaRe[i] *= m.Scale
		alphaIm[i] *= m.Scale
	}
	for to, k := range m.Order {
		re, im := element(dst, to, lanes)
		xRe, xIm := element(x, k, lanes)
		v, w := m.V[2*k], m.V[2*k+1]
		for i := range re {
			re[i] = xRe[i] - (alphaRe[i]*v - alphaIm[i]*w)
			im[i] = xIm[i] - (alphaRe[i]*w + alphaIm[i]*v)
		}
	}
}

// addConjugate adds v* x of element k to a complex number in lanes.
func addConjugate[F Float](sum, x, v []F, k, lanes int) {
	sumRe, sumIm := element(sum, 0, lanes)
	re, im := element(x, k, lanes)
	a, b := v[2*k], v[2*k+1]
	for i := range sumRe {
		sumRe[i] += a*re[i] + b*im[i]
		sumIm[i] += a*im[i] - b*re[i]
	}
}

// MirrorBackward is the backward pass of [Set.Mirror], given g = ∂L/∂dst and along, α: dx is ∂L/∂x and, with
// β = scale·v* g,
//
//	dv += -α* g - β* x      both += Re(α β*)
//
// in lanes, so that the gradient of v is the sum over the lanes of dv + both·v. dx is another vector than g.
func (s *Set[F]) MirrorBackward(dx, g, x []F, m *Mirror[F], along, dv, both []F) {
	n := s.checkMirror(m, dx, g, x, dv)
	s.checkLanes(1, along)
	lanes := s.Lanes()
	if len(both) != lanes {
		panic("kernel: vector does not fit lanes")
	}
	if n == 0 {
		return
	}
	if l := s.loops; l != nil {
		l.mirrorBackward(single(dx), single(g), single(x), single(m.V), &m.Order[0], single(along), single(dv),
			single(both), n, float32(m.Scale))
		return
	}
	var values [2 * plainWidth]F
	beta := values[:]
	for from, k := range m.Order {
		copy(dx[2*k*lanes:2*(k+1)*lanes], g[2*from*lanes:2*(from+1)*lanes])
		addConjugate(beta, dx, m.V, k, lanes)
	}
	alphaRe, alphaIm := element(along, 0, lanes)
	betaRe, betaIm := element(beta, 0, lanes)
	for i := range betaRe {
		betaRe[i] *= m.Scale
		betaIm[i] *= m.Scale
		both[i] += alphaRe[i]*betaRe[i] + alphaIm[i]*betaIm[i]
	}
	for k := range n {
		re, im := element(dx, k, lanes)
		xRe, xIm := element(x, k, lanes)
		sumRe, sumIm := element(dv, k, lanes)
		v, w := m.V[2*k], m.V[2*k+1]
		for i := range re {
			sumRe[i] -= alphaRe[i]*re[i] + alphaIm[i]*im[i] + betaRe[i]*xRe[i] + betaIm[i]*xIm[i]
			sumIm[i] -= alphaRe[i]*im[i] - alphaIm[i]*re[i] + betaRe[i]*xIm[i] - betaIm[i]*xRe[i]
			re[i] -= betaRe[i]*v - betaIm[i]*w
			im[i] -= betaRe[i]*w + betaIm[i]*v
		}
	}
}

// checkMirror returns the number of elements.
func (s *Set[F]) checkMirror(m *Mirror[F], vectors ...[]F) int {
	n := len(m.Order)
	if len(m.V) != 2*n {
		panic("kernel: mirror with other elements than its order")
	}
	for _, k := range m.Order {
		if uint(k) >= uint(n) {
			panic("kernel: order outside mirror")
		}
	}
	s.checkLanes(n, vectors...)
	return n
}
