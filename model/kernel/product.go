package kernel

// Sum is a product and what is added to it, 1·biasᵀ + X·M + A·B + H·diag(D). What
// has its zero value is left out, but H without D counts as it is.
type Sum[F Float] struct {
	X Matrix[F]
	M *Packed[F] // packed with the bias, see [Set.PackBias]
	A Matrix[F]
	B *Packed[F]
	H Matrix[F] // may be the same view as the result
	D []F

	// Prefetch are parts of memory that are fetched meanwhile into the second-level
	// cache, for their next use. They change no result.
	Prefetch [2][]F
}

// stage is what a sum goes through before it is stored, and what is made of it then:
// next = α·C + β·before, if there is next.
type stage[F Float] struct {
	activation   Activation
	slope        F
	derivative   bool
	out          Matrix[F]
	next, before Matrix[F]
	alpha, beta  F
}

// Multiply is C = A·B.
func (s *Set[F]) Multiply(c, a Matrix[F], b *Packed[F]) { s.MultiplySum(c, Sum[F]{A: a, B: b}) }

// MultiplyAdd is C += A·B.
func (s *Set[F]) MultiplyAdd(c, a Matrix[F], b *Packed[F]) {
	s.MultiplySum(c, Sum[F]{A: a, B: b, H: c})
}

// MultiplySum is C = the sum.
func (s *Set[F]) MultiplySum(c Matrix[F], sum Sum[F]) {
	s.checkSum(&c, &sum)
	if !c.empty() {
		s.backend.multiply(c, sum, stage[F]{})
	}
}

// MultiplyActivate is C = φ(sum), a forward step of a recurrent cell: X is the
// input, A the state before, B the packed transpose of the weight. The slope of a
// leaky ReLU is from 0 to 1.
func (s *Set[F]) MultiplyActivate(c Matrix[F], sum Sum[F], act Activation, slope F) {
	s.checkSum(&c, &sum)
	checkActivation(act)
	checkSlope(act, slope)
	if !c.empty() {
		s.backend.multiply(c, sum, stage[F]{activation: act, slope: slope})
	}
}

// MultiplyDerivative is C = sum ∘ φ'(·), a backward step: A is the delta of the
// step after, B the packed weight, H the gradient from elsewhere, out the
// activation's output at this step, from which φ' is found as in [Set.Derivative].
func (s *Set[F]) MultiplyDerivative(c Matrix[F], sum Sum[F], out Matrix[F], act Activation, slope F) {
	s.checkSum(&c, &sum)
	out.checkShape(c.Rows, c.Cols)
	checkActivation(act)
	if !c.empty() {
		s.backend.multiply(c, sum, stage[F]{activation: act, slope: slope, derivative: true, out: out})
	}
}

// MultiplyActivateSteps is MultiplyActivate of one time step after another: C
// holds blocks of so many rows, a state and then those of the steps after it, X
// the inputs of these steps
//
//	C[t] = φ(1·biasᵀ + X[t−1]·M + C[t−1]·B)
func (s *Set[F]) MultiplyActivateSteps(c Matrix[F], rows int, b *Packed[F], x Matrix[F], m *Packed[F],
	act Activation, slope F) {
	checkBlocks(&c, rows)
	s.checkFactors(&c, &c, b, false)
	next := c.Slice(min(rows, c.Rows), c.Rows)
	s.checkFactors(&next, &x, m, true)
	checkActivation(act)
	checkSlope(act, slope)
	if !next.empty() {
		s.backend.multiplyActivateSteps(c, rows, b, x, m, act, slope)
	}
}

// MultiplyDerivativeSteps is MultiplyDerivative of one time step before another:
// C holds blocks of so many rows, of which the last is a delta and those before
// it become the deltas of the steps before, out the activation's outputs at all
// these steps but the last
//
//	C[t] = (C[t+1]·B) ∘ φ'(out[t])
//
// During each step it prefetches the outputs of the one before, and during the first the
// memory given.
func (s *Set[F]) MultiplyDerivativeSteps(c Matrix[F], rows int, b *Packed[F], out Matrix[F], act Activation, slope F,
	prefetch []F) {
	checkBlocks(&c, rows)
	s.checkFactors(&c, &c, b, false)
	out.checkShape(max(c.Rows-rows, 0), c.Cols)
	checkActivation(act)
	if !out.empty() {
		s.backend.multiplyDerivativeSteps(c, rows, b, out, act, slope, prefetch)
	}
}

// checkBlocks panics unless the matrix is made of blocks of so many rows.
func checkBlocks[F Float](c *Matrix[F], rows int) {
	if rows < 1 || c.Rows%rows != 0 {
		panic("kernel: matrix is not made of blocks of rows")
	}
}

func checkActivation(act Activation) {
	if act > Tanh {
		panic("kernel: unknown activation")
	}
}

// checkSlope panics unless a leaky ReLU is the larger of x and slope·x.
func checkSlope[F Float](act Activation, slope F) {
	if valid := slope >= 0 && slope <= 1; act == LeakyReLU && !valid {
		panic("kernel: slope of a leaky ReLU outside 0 to 1")
	}
}

// checkSum panics unless C can be the sum.
func (s *Set[F]) checkSum(c *Matrix[F], sum *Sum[F]) {
	c.check()
	if sum.M != nil {
		s.checkFactors(c, &sum.X, sum.M, true)
	}
	if sum.B != nil {
		s.checkFactors(c, &sum.A, sum.B, false)
	}
	if sum.H.Data != nil || sum.D != nil {
		sum.H.checkShape(c.Rows, c.Cols)
	}
	if sum.D != nil && len(sum.D) != c.Cols {
		panic("kernel: diagonal's length differs from columns")
	}
}

// checkFactors panics unless C = A·B makes sense and B was packed by a set of this
// width, with or without a bias.
func (s *Set[F]) checkFactors(c, a *Matrix[F], b *Packed[F], bias bool) {
	a.check()
	if a.Cols != b.K {
		panic("kernel: inner dimensions of product differ")
	}
	c.checkShape(a.Rows, b.N)
	if b.width != s.width && b.N > 0 {
		panic("kernel: right operand was not packed by this set")
	}
	if b.bias != bias {
		panic("kernel: right operand was packed with a bias, or lacks one")
	}
}

// TransposedAdd is C[K×N] += A[R×K]ᵀ·B[R×N], the gradient of a weight: the rows
// are the batch of one time step, or the batches of many. Large products are
// faster with scratch memory; nil does without.
func (s *Set[F]) TransposedAdd(c, a, b Matrix[F], scratch *Scratch[F]) {
	s.multiplyTransposed(c, a, b, scratch, true)
}

// Transposed is C[K×N] = A[R×K]ᵀ·B[R×N]; see [Set.TransposedAdd].
func (s *Set[F]) Transposed(c, a, b Matrix[F], scratch *Scratch[F]) {
	s.multiplyTransposed(c, a, b, scratch, false)
}

func (s *Set[F]) multiplyTransposed(c, a, b Matrix[F], scratch *Scratch[F], add bool) {
	b.checkShape(a.Rows, b.Cols)
	if s.checkTransposed(&c, &a, b.Cols, add) {
		s.backend.multiplyTransposed(c, a, b, scratch, add)
	}
}

// checkTransposed panics unless C can be AᵀB for a B of so many columns, and reports
// whether there is anything to add.
func (s *Set[F]) checkTransposed(c, a *Matrix[F], cols int, add bool) bool {
	a.check()
	c.checkShape(a.Cols, cols)
	if a.Rows == 0 && !add {
		c.Clear()
	}
	return !c.empty() && a.Rows > 0
}

// TransposedAddPacked is TransposedAdd, to the same bits, for a B that many products
// have in common.
func (s *Set[F]) TransposedAddPacked(c, a Matrix[F], b *Packed[F], scratch *Scratch[F]) {
	if b.K != a.Rows {
		panic("kernel: inner dimensions of product differ")
	}
	if b.bias || b.width != s.width && b.N > 0 {
		panic("kernel: right operand was packed with a bias, or not by this set")
	}
	if s.checkTransposed(&c, &a, b.N, true) {
		s.backend.multiplyTransposedPacked(c, a, b, scratch)
	}
}
