package kernel

import "unsafe"

// plainWidth is the panel width of the plain loops, whose tile is 2×4: as many
// sums as sixteen registers hold beside the operands.
const plainWidth = 4

// c[i][j] += Σ_k a[i][k]·b[k][j]
func plainMultiplyAdd[F Float](c, a Matrix[F], b *Packed[F]) {
	k := b.K
	if c.empty() || k == 0 {
		return
	}
	for j := 0; j < c.Cols; j += plainWidth {
		panel := b.data[j*k : (j+plainWidth)*k]
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

func plainMultiply[F Float](c, a Matrix[F], b *Packed[F], add bool) {
	if !add {
		for i := range c.Rows {
			clear(c.Row(i))
		}
	}
	plainMultiplyAdd(c, a, b)
}

func plainMultiplyBias[F Float](c, a Matrix[F], b *Packed[F], bias []F) {
	for i := range c.Rows {
		copy(c.Row(i), bias)
	}
	plainMultiplyAdd(c, a, b)
}

func plainMultiplyActivate[F Float](c, a Matrix[F], b *Packed[F], source Matrix[F], act Activation, slope F) {
	if c.empty() {
		return
	}
	plainCopy(c, source)
	plainMultiplyAdd(c, a, b)
	for i := range c.Rows {
		row := c.Row(i)
		switch act {
		case ReLU:
			plainLeaky(row, row, 0)
		case LeakyReLU:
			plainLeaky(row, row, slope)
		case Tanh:
			plainTanh(row, row)
		}
	}
}

func plainMultiplyDerivative[F Float](c, a Matrix[F], b *Packed[F], source, out Matrix[F], act Activation, slope F) {
	if c.empty() {
		return
	}
	if source.Data == nil {
		plainMultiply(c, a, b, false)
	} else {
		plainCopy(c, source)
		plainMultiplyAdd(c, a, b)
	}
	for i := range c.Rows {
		row := c.Row(i)
		switch act {
		case ReLU:
			plainLeakyDerivative(row, row, out.Row(i), 0)
		case LeakyReLU:
			plainLeakyDerivative(row, row, out.Row(i), slope)
		case Tanh:
			plainTanhDerivative(row, row, out.Row(i))
		}
		plainFlush(row)
	}
}

// plainCopy is c = source unless they are the same view.
func plainCopy[F Float](c, source Matrix[F]) {
	if &c.Data[0] == &source.Data[0] {
		return
	}
	for i := range c.Rows {
		copy(c.Row(i), source.Row(i))
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

// c[i][j] += Σ_r a[r][i]·b[r][j]
func plainTransposedAdd[F Float](c, a, b Matrix[F]) {
	if c.empty() {
		return
	}
	for r := 0; r < a.Rows; r += rowBlock {
		end := min(a.Rows, r+rowBlock)
		plainTransposedBlock(c, a.Slice(r, end), b.Slice(r, end))
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
