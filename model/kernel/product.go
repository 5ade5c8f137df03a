package kernel

// Multiply is C = A·B.
func (s *Set[F]) Multiply(c, a Matrix[F], b *Packed[F]) {
	s.checkProduct(&c, &a, b)
	s.multiply(c, a, b, false)
}

// MultiplyAdd is C += A·B.
func (s *Set[F]) MultiplyAdd(c, a Matrix[F], b *Packed[F]) {
	s.checkProduct(&c, &a, b)
	s.multiply(c, a, b, true)
}

// MultiplyBias is C = 1·biasᵀ + A·B, the input projection of all time steps at
// once. bias has an element for each column of C.
func (s *Set[F]) MultiplyBias(c, a Matrix[F], b *Packed[F], bias []F) {
	s.checkProduct(&c, &a, b)
	if len(bias) != c.Cols {
		panic("kernel: bias length differs from columns")
	}
	s.multiplyBias(c, a, b, bias)
}

// MultiplyActivate is C = φ(source + A·B), a forward step of a recurrent cell:
// A is the state before, B the packed transpose of the weight, source the input
// projection of the step. C may be the same view as source.
func (s *Set[F]) MultiplyActivate(c, a Matrix[F], b *Packed[F], source Matrix[F], act Activation, slope F) {
	s.checkProduct(&c, &a, b)
	source.checkShape(c.Rows, c.Cols)
	if act > Tanh {
		panic("kernel: unknown activation")
	}
	s.multiplyActivate(c, a, b, source, act, slope)
}

// MultiplyDerivative is C = (A·B) ∘ φ'(·), a backward step: A is the delta of
// the step after, B the packed weight, out the activation's output at this step,
// from which φ' is found as in [Set.Derivative].
func (s *Set[F]) MultiplyDerivative(c, a Matrix[F], b *Packed[F], out Matrix[F], act Activation, slope F) {
	s.checkProduct(&c, &a, b)
	out.checkShape(c.Rows, c.Cols)
	if act > Tanh {
		panic("kernel: unknown activation")
	}
	s.multiplyDerivative(c, a, b, Matrix[F]{}, out, act, slope)
}

// MultiplyAddDerivative is C = (source + A·B) ∘ φ'(·): MultiplyDerivative for a
// step that receives a gradient from its own loss or from a layer above, too.
// C may be the same view as source.
func (s *Set[F]) MultiplyAddDerivative(c, a Matrix[F], b *Packed[F], source, out Matrix[F], act Activation, slope F) {
	s.checkProduct(&c, &a, b)
	source.checkShape(c.Rows, c.Cols)
	out.checkShape(c.Rows, c.Cols)
	if act > Tanh {
		panic("kernel: unknown activation")
	}
	s.multiplyDerivative(c, a, b, source, out, act, slope)
}

// MultiplyActivateSteps is MultiplyActivate of one time step after another: C
// holds blocks of so many rows, a state and then the input projections of the
// steps after it, which become their states
//
//	C[t] = φ(C[t] + C[t−1]·B)
func (s *Set[F]) MultiplyActivateSteps(c Matrix[F], rows int, b *Packed[F], act Activation, slope F) {
	s.checkProduct(&c, &c, b)
	checkBlocks(&c, rows)
	if act > Tanh {
		panic("kernel: unknown activation")
	}
	if !c.empty() {
		s.multiplyActivateSteps(c, rows, b, act, slope)
	}
}

// MultiplyDerivativeSteps is MultiplyDerivative of one time step before another:
// C holds blocks of so many rows, of which the last is a delta and those before
// it become the deltas of the steps before, out the activation's outputs at all
// these steps but the last
//
//	C[t] = (C[t+1]·B) ∘ φ'(out[t])
func (s *Set[F]) MultiplyDerivativeSteps(c Matrix[F], rows int, b *Packed[F], out Matrix[F], act Activation, slope F) {
	s.checkProduct(&c, &c, b)
	checkBlocks(&c, rows)
	out.checkShape(max(c.Rows-rows, 0), c.Cols)
	if act > Tanh {
		panic("kernel: unknown activation")
	}
	if !c.empty() {
		s.multiplyDerivativeSteps(c, rows, b, out, act, slope)
	}
}

// checkBlocks panics unless the matrix is made of blocks of so many rows.
func checkBlocks[F Float](c *Matrix[F], rows int) {
	if rows < 1 || c.Rows%rows != 0 {
		panic("kernel: matrix is not made of blocks of rows")
	}
}

func plainMultiplyActivateSteps[F Float](c Matrix[F], rows int, b *Packed[F], act Activation, slope F) {
	for t := rows; t < c.Rows; t += rows {
		next := c.Slice(t, t+rows)
		plainMultiplyActivate(next, c.Slice(t-rows, t), b, next, act, slope)
	}
}

func plainMultiplyDerivativeSteps[F Float](c Matrix[F], rows int, b *Packed[F], out Matrix[F], act Activation, slope F) {
	for t := c.Rows - 2*rows; t >= 0; t -= rows {
		plainMultiplyDerivative(c.Slice(t, t+rows), c.Slice(t+rows, t+2*rows), b, Matrix[F]{}, out.Slice(t, t+rows), act, slope)
	}
}

// checkProduct panics unless C = A·B makes sense and B was packed by a set of this width.
func (s *Set[F]) checkProduct(c, a *Matrix[F], b *Packed[F]) {
	a.check()
	if a.Cols != b.K {
		panic("kernel: inner dimensions of product differ")
	}
	c.checkShape(a.Rows, b.N)
	if b.width != s.width && b.N > 0 {
		panic("kernel: right operand was not packed by this set")
	}
}

// TransposedAdd is C[K×N] += A[R×K]ᵀ·B[R×N], the gradient of a weight: the rows
// are the batch of one time step, or the batches of many.
func (s *Set[F]) TransposedAdd(c, a, b Matrix[F]) {
	a.check()
	b.checkShape(a.Rows, b.Cols)
	c.checkShape(a.Cols, b.Cols)
	s.transposedAdd(c, a, b)
}
