package kernel

import "unsafe"

// plainWidth is the panel width of the plain loops, whose tile is 2×4: as many
// sums as sixteen registers hold beside the operands.
const plainWidth = 4

// c[i][j] += Σ_k a[i][k]·b[k][j], without b's bias
func plainMultiplyAdd[F Float](c, a Matrix[F], b *Packed[F]) {
	k := b.K
	if c.empty() || k == 0 {
		return
	}
	for j := 0; j < c.Cols; j += plainWidth {
		panel := b.panel(j)[(b.rows()-k)*plainWidth:]
		n := min(plainWidth, c.Cols-j)
		i := 0
		for ; i+2 <= c.Rows; i += 2 {
			r0 := a.Data[i*a.Stride : i*a.Stride+k]
			r1 := a.Data[(i+1)*a.Stride : (i+1)*a.Stride+k]
			var s00, s01, s02, s03, s10, s11, s12, s13 F
			for q, x := range r0 {
				y := r1[q]
				p := (*[plainWidth]F)(panel[q*plainWidth:])
				s00 += x * p[0]
				s01 += x * p[1]
				s02 += x * p[2]
				s03 += x * p[3]
				s10 += y * p[0]
				s11 += y * p[1]
				s12 += y * p[2]
				s13 += y * p[3]
			}
			plainAddTo(c.Data[i*c.Stride+j:][:n], s00, s01, s02, s03)
			plainAddTo(c.Data[(i+1)*c.Stride+j:][:n], s10, s11, s12, s13)
		}
		if i < c.Rows {
			var s0, s1, s2, s3 F
			for q, x := range a.Data[i*a.Stride : i*a.Stride+k] {
				p := (*[plainWidth]F)(panel[q*plainWidth:])
				s0 += x * p[0]
				s1 += x * p[1]
				s2 += x * p[2]
				s3 += x * p[3]
			}
			plainAddTo(c.Data[i*c.Stride+j:][:n], s0, s1, s2, s3)
		}
	}
}

// plainAddTo adds the sums of one tile row to the up to four elements of c.
func plainAddTo[F Float](c []F, s0, s1, s2, s3 F) {
	if len(c) == plainWidth {
		c[0] += s0
		c[1] += s1
		c[2] += s2
		c[3] += s3
		return
	}
	s := [plainWidth]F{s0, s1, s2, s3}
	for q := range c {
		c[q] += s[q]
	}
}

// c = φ(Σ) or (Σ) ∘ φ'
func (p plain[F]) multiply(c Matrix[F], sum Sum[F], to stage[F]) {
	plainBeginSum(c, &sum)
	if sum.M != nil {
		plainMultiplyAdd(c, sum.X, sum.M)
	}
	if sum.B != nil {
		plainMultiplyAdd(c, sum.A, sum.B)
	}
	for i := range c.Rows {
		row := c.Row(i)
		if !to.derivative {
			plainActivate(row, row, to.activation, to.slope)
			continue
		}
		plainDerivative(row, row, to.out.Row(i), to.activation, to.slope)
		plainFlush(row)
	}
	if to.next.Data != nil {
		plainScalarGate(to.next, c, to.before, to.alpha, to.beta)
	}
}

// c = H·diag(D) + 1·biasᵀ
func plainBeginSum[F Float](c Matrix[F], sum *Sum[F]) {
	for i := range c.Rows {
		row := c.Row(i)
		switch {
		case sum.H.Data == nil:
			clear(row)
		case sum.D == nil:
			copy(row, sum.H.Row(i))
		default:
			for j, h := range sum.H.Row(i) {
				row[j] = sum.D[j] * h
			}
		}
		if sum.M == nil {
			continue
		}
		for j := 0; j < c.Cols; j += plainWidth {
			bias := sum.M.panel(j)
			for q := range min(plainWidth, c.Cols-j) {
				row[j+q] += bias[q]
			}
		}
	}
}

func plainActivate[F Float](dst, src []F, act Activation, slope F) {
	switch act {
	case ReLU, LeakyReLU:
		plainLeaky(dst, src, slopeOf(act, slope))
	case Tanh:
		plainTanh(dst, src)
	}
}

func plainDerivative[F Float](dst, grad, out []F, act Activation, slope F) {
	switch act {
	case ReLU, LeakyReLU:
		plainLeakyDerivative(dst, grad, out, slopeOf(act, slope))
	case Tanh:
		plainTanhDerivative(dst, grad, out)
	}
}

func (p plain[F]) multiplyActivateSteps(c Matrix[F], rows int, b *Packed[F], x Matrix[F], m *Packed[F],
	act Activation, slope F) {
	for t := rows; t < c.Rows; t += rows {
		sum := Sum[F]{X: x.Slice(t-rows, t), M: m, A: c.Slice(t-rows, t), B: b}
		p.multiply(c.Slice(t, t+rows), sum, stage[F]{activation: act, slope: slope})
	}
}

func (p plain[F]) multiplyDerivativeSteps(c Matrix[F], rows int, b *Packed[F], out Matrix[F], act Activation,
	slope F, _ []F) {
	for t := c.Rows - 2*rows; t >= 0; t -= rows {
		to := stage[F]{activation: act, slope: slope, derivative: true, out: out.Slice(t, t+rows)}
		p.multiply(c.Slice(t, t+rows), Sum[F]{A: c.Slice(t+rows, t+2*rows), B: b}, to)
	}
}

// plainFlush clears what would soon become subnormal. A float64 never gets there
// in training.
func plainFlush[F Float](x []F) {
	const tiny = 1e-18
	if unsafe.Sizeof(F(0)) != 4 {
		return
	}
	for i, v := range x {
		if v < tiny && v > -tiny {
			x[i] = 0
		}
	}
}

// rowBlock is how many rows a weight gradient takes at a time, so that they stay
// in the nearest caches while every tile passes over them.
const rowBlock = 256

// c[i][j] += Σ_r a[r][i]·b[r][j], or c[i][j] = Σ_r
func (p plain[F]) multiplyTransposed(c, a, b Matrix[F], _ *Scratch[F], add bool) {
	if !add {
		c.Clear()
	}
	for r := 0; r < a.Rows; r += rowBlock {
		end := min(a.Rows, r+rowBlock)
		plainTransposedBlock(c, a.Slice(r, end), b.Slice(r, end))
	}
}

// c[i][j] += Σ_r a[r][i]·b[r][j], one panel of b after the other
func (p plain[F]) multiplyTransposedPacked(c, a Matrix[F], b *Packed[F], _ *Scratch[F]) {
	for j := 0; j < b.N; j += plainWidth {
		n := min(plainWidth, b.N-j)
		part := Matrix[F]{Data: c.Data[j:], Rows: c.Rows, Cols: n, Stride: c.Stride}
		p.multiplyTransposed(part, a, Matrix[F]{Data: b.panel(j), Rows: b.K, Cols: n, Stride: plainWidth}, nil, true)
	}
}

func plainTransposedBlock[F Float](c, a, b Matrix[F]) {
	const w = plainWidth
	i := 0
	for ; i+2 <= c.Rows; i += 2 {
		j := 0
		for ; j+w <= c.Cols; j += w {
			var s00, s01, s02, s03, s10, s11, s12, s13 F
			for r := range a.Rows {
				x := (*[2]F)(a.Data[r*a.Stride+i:])
				p := (*[w]F)(b.Data[r*b.Stride+j:])
				s00 += x[0] * p[0]
				s01 += x[0] * p[1]
				s02 += x[0] * p[2]
				s03 += x[0] * p[3]
				s10 += x[1] * p[0]
				s11 += x[1] * p[1]
				s12 += x[1] * p[2]
				s13 += x[1] * p[3]
			}
			plainAddTo(c.Data[i*c.Stride+j:][:w], s00, s01, s02, s03)
			plainAddTo(c.Data[(i+1)*c.Stride+j:][:w], s10, s11, s12, s13)
		}
		for ; j < c.Cols; j++ {
			var s0, s1 F
			for r := range a.Rows {
				y := b.Data[r*b.Stride+j]
				s0 += a.Data[r*a.Stride+i] * y
				s1 += a.Data[r*a.Stride+i+1] * y
			}
			c.Data[i*c.Stride+j] += s0
			c.Data[(i+1)*c.Stride+j] += s1
		}
	}
	if i < c.Rows {
		for j := range c.Cols {
			var sum F
			for r := range a.Rows {
				sum += a.Data[r*a.Stride+i] * b.Data[r*b.Stride+j]
			}
			c.Data[i*c.Stride+j] += sum
		}
	}
}
