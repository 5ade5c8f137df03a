package kernel

import "unsafe"

// productArguments are what a generated product reads, in the generator's order,
// strides in bytes. Each takes eight bytes: no two float32 follow each other.
type productArguments struct {
	c            *float32
	cStride      int
	a            *float32
	aStride      int
	b            *float32
	k            int
	x            *float32
	xStride      int
	m            *float32
	inputs       int
	rows         int
	cols         int
	source       *float32
	sourceStride int
	scale        *float32
	out          *float32
	outStride    int
	epilogue     int
	slope        float32
	prefetch     *float32
	alpha        float32
	prefetchStep int
	beta         float32
}

// The stages that follow a product's sums in assembly.
const (
	epilogueNone = iota
	epilogueLeaky
	epilogueLeakyDerivative
	epilogueTanhDerivative
	epilogueLeakyGate
)

// setStage chooses the epilogue. That of tanh forward is a pass of its own.
func (p *productArguments) setStage(act Activation, slope float32, derivative bool) {
	p.slope = slope
	switch act {
	case ReLU:
		p.epilogue, p.slope = epilogueLeaky, 0
	case LeakyReLU:
		p.epilogue = epilogueLeaky
	case Tanh:
		if derivative {
			p.epilogue = epilogueTanhDerivative
		}
		return
	}
	if derivative && p.epilogue == epilogueLeaky {
		p.epilogue = epilogueLeakyDerivative
	}
}

// call runs the generated product, by its name rather than through a table so
// that the arguments stay on the stack.
func (k *assembly) call(p *productArguments) {
	arguments := (*byte)(unsafe.Pointer(p))
	switch narrow := p.cols <= k.lanes; {
	case k.level == AVX512 && narrow:
		productNarrowAVX512(arguments)
	case k.level == AVX512:
		productAVX512(arguments)
	case narrow:
		productNarrowAVX2(arguments)
	default:
		productAVX2(arguments)
	}
}

func (k *assembly) multiply(c Matrix[float32], sum Sum[float32], to stage[float32]) {
	p := productArguments{c: &c.Data[0], cStride: float * c.Stride}
	if sum.M != nil {
		p.x, p.xStride, p.m, p.inputs = first(sum.X.Data), float*sum.X.Stride, first(sum.M.data), sum.M.K
	}
	if sum.B != nil {
		p.a, p.aStride, p.b, p.k = first(sum.A.Data), float*sum.A.Stride, first(sum.B.data), sum.B.K
	}
	if sum.H.Data != nil {
		p.source, p.sourceStride, p.scale = &sum.H.Data[0], float*sum.H.Stride, first(sum.D)
	}
	if to.derivative {
		p.out, p.outStride = &to.out.Data[0], float*to.out.Stride
	}
	p.setStage(to.activation, to.slope, to.derivative)
	gates := to.next.Data != nil
	if gates && to.activation != Tanh {
		if p.epilogue == epilogueNone {
			p.slope = 1
		}
		p.epilogue, p.alpha, p.beta = epilogueLeakyGate, to.alpha, to.beta
		p.out, p.outStride = &to.next.Data[0], float*to.next.Stride
		p.source, p.sourceStride = &to.before.Data[0], float*to.before.Stride
	}
	k.panels(&p, c.Rows, c.Cols, sum.Prefetch[0], sum.Prefetch[1])
	if to.activation == Tanh && !to.derivative {
		k.tanhAll(c)
		if gates {
			k.runScalarGate(to.next, c, to.before, to.alpha, to.beta)
		}
	}
}

// tanhAll is c = tanh(c).
func (k *assembly) tanhAll(c Matrix[float32]) {
	if c.Stride == c.Cols {
		k.tanh(&c.Data[0], &c.Data[0], c.Rows*c.Cols)
		return
	}
	for i := range c.Rows {
		row := &c.Data[i*c.Stride]
		k.tanh(row, row, c.Cols)
	}
}

// blockElements is how many elements of an operand are gone over again and again
// before the next: they and a panel of the other stay in a second-level cache.
const blockElements = 256 << 10

// blockRows is how many of the rows of an operand of so many columns are gone over
// again and again before the next. Where the other one, of so many elements, stays in the
// cache anyway, they are fewer.
func blockRows(rows, cols, other int) int {
	most := blockElements
	if other <= blockElements/4 {
		most = blockElements / 4
	}
	if rows*cols > most {
		return max(48, most/cols/48*48) // full tiles at all levels
	}
	return rows
}

// panels calls the product for each block of rows and panel of columns. The
// arguments' pointers are those of the first; they are changed. The memory to prefetch
// is in two parts; nothing is prefetched for a product that threads share.
func (k *assembly) panels(p *productArguments, rows, cols int, prefetch, then []float32) {
	if k.sharing != nil && rows*cols*(p.k+p.inputs) >= sharedWork {
		k.sharing.multiply(p, rows, cols)
		return
	}
	inner := max(p.k, p.inputs)
	block, width := blockRows(rows, inner, inner*cols), 2*k.lanes
	calls := (rows + block - 1) / block * ((cols + width - 1) / width)
	asked, at := k.prefetchOf(p, min(rows, block), calls, len(prefetch)+len(then)), 0
	// Each by itself: the processor would wait for its last stores to copy them as
	// one.
	c, a, x, b, m, source, scale, out := p.c, p.a, p.x, p.b, p.m, p.source, p.scale, p.out
	for i := 0; i < rows; i += block {
		p.rows = min(block, rows-i)
		p.a, p.x = plus(a, i*p.aStride), plus(x, i*p.xStride)
		for j := 0; j < cols; j += width {
			p.cols = min(cols-j, width)
			p.c = plus(c, i*p.cStride+float*j)
			p.b, p.m = plus(b, float*j*p.k), plus(m, float*j*(p.inputs+1))
			p.source, p.scale = plus(source, i*p.sourceStride+float*j), plus(scale, float*j)
			p.out = plus(out, i*p.outStride+float*j)
			switch border := len(prefetch); {
			case at < border:
				p.prefetch = &prefetch[at]
			case at < border+len(then):
				p.prefetch = &then[at-border]
			default:
				p.prefetch, p.prefetchStep = p.c, 0
			}
			at += asked
			k.call(p)
		}
	}
}

// prefetchOf shares so many elements of the memory to prefetch among so many calls for so
// many rows: it sets the step, and returns the number of elements that a call asks
// for.
func (k *assembly) prefetchOf(p *productArguments, rows, calls, elements int) (each int) {
	const line = 64
	turns := (rows + k.tile - 1) / k.tile * (p.k + p.inputs)
	if elements == 0 || turns == 0 {
		return 0
	}
	p.prefetchStep = min((float*elements+calls*turns-1)/(calls*turns), line)
	return max(p.prefetchStep*turns/float, 1)
}

// plus is p moved on by so many bytes, or nil.
func plus(p *float32, bytes int) *float32 {
	if p == nil {
		return nil
	}
	return (*float32)(unsafe.Add(unsafe.Pointer(p), bytes))
}

func (k *assembly) multiplyActivateSteps(c Matrix[float32], rows int, b *Packed[float32], x Matrix[float32],
	m *Packed[float32], act Activation, slope float32) {
	p := productArguments{
		cStride: float * c.Stride, aStride: float * c.Stride, k: b.K,
		xStride: float * x.Stride, inputs: m.K, rows: rows, cols: c.Cols,
	}
	p.setStage(act, slope, false)
	single := k.single(&p)
	for t := rows; t < c.Rows; t += rows {
		p.c, p.a, p.b = &c.Data[t*c.Stride], &c.Data[(t-rows)*c.Stride], first(b.data)
		p.x, p.m = first(x.Data[(t-rows)*x.Stride:]), first(m.data)
		if single {
			p.prefetch = p.c
			k.call(&p)
		} else {
			k.panels(&p, rows, c.Cols, elements(&c, t+rows, t+2*rows), nil)
		}
		if act == Tanh {
			k.tanhAll(c.Slice(t, t+rows))
		}
	}
}

func (k *assembly) multiplyDerivativeSteps(c Matrix[float32], rows int, b *Packed[float32], out Matrix[float32],
	act Activation, slope float32, prefetch []float32) {
	p := productArguments{
		cStride: float * c.Stride, aStride: float * c.Stride, k: b.K,
		outStride: float * out.Stride, rows: rows, cols: c.Cols,
	}
	p.setStage(act, slope, true)
	single := k.single(&p)
	for t := c.Rows - 2*rows; t >= 0; t -= rows {
		p.c, p.a, p.b = &c.Data[t*c.Stride], &c.Data[(t+rows)*c.Stride], first(b.data)
		p.out = &out.Data[t*out.Stride]
		switch {
		case single:
			p.prefetch = p.c
			k.call(&p)
		case t > 0:
			k.panels(&p, rows, c.Cols, elements(&out, t-rows, t), nil)
		default:
			k.panels(&p, rows, c.Cols, prefetch, nil)
		}
	}
}

// single reports whether a product is one call: where steps are small the way
// through panels would be a tenth of their time.
func (k *assembly) single(p *productArguments) bool {
	return p.cols <= 2*k.lanes && p.rows*p.k <= blockElements
}

// elements is the memory of the rows from up to, not including, to that the matrix
// has.
func elements(m *Matrix[float32], from, to int) []float32 {
	from, to = min(from, m.Rows), min(to, m.Rows)
	return m.Data[min(from*m.Stride, len(m.Data)):min(to*m.Stride, len(m.Data))]
}
