package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reductions generates the loops that sum.
func (m *machine) reductions() {
	m.dot()
	m.columnSums()
	m.columnProductSums()
	m.scaleColumns()
	m.reflectAll()
	m.reflectAllBackward()
	m.normalizeAll()
	m.softmax()
}

// reduce folds the lanes of v into the first of a 128-bit register by op.
func (m *machine) reduce(op instruction, v vector) vector {
	x := m.foldQuarters(op, m.foldHalves(op, v))
	y := m.XMM()
	m.VPERMILPS(operand.U8(0x4e), x, y) // lanes 2 3 0 1
	op(y, x, x)
	m.VPERMILPS(operand.U8(0xb1), x, y) // lanes 1 0 3 2
	op(y, x, x)
	return x
}

// foldHalves folds 512 bits into 256.
func (m *machine) foldHalves(op instruction, v vector) vector {
	if !m.wide() {
		return v
	}
	y := m.YMM()
	m.VEXTRACTF64X4(operand.U8(1), v, y)
	op(y, v.AsY(), y)
	return y
}

// foldQuarters folds 256 bits into 128.
func (m *machine) foldQuarters(op instruction, y vector) vector {
	x := m.XMM()
	if m.wide() {
		m.VEXTRACTF32X4(operand.U8(1), y, x) // unlike VEXTRACTF128 it takes all registers
	} else {
		m.VEXTRACTF128(operand.U8(1), y, x)
	}
	op(x, y.AsX(), x)
	return x
}

// addNeighbours is VHADDPS, which does not take all registers: in each half, a0+a1,
// a2+a3, b0+b1, b2+b3.
func (m *machine) addNeighbours(a, b vector) vector {
	even, odd := m.YMM(), m.YMM()
	m.VSHUFPS(operand.U8(0x88), b, a, even)
	m.VSHUFPS(operand.U8(0xdd), b, a, odd)
	m.VADDPS(odd, even, even)
	return even
}

// spreadLow is a register full of x's first lane.
func (m *machine) spreadLow(x vector) vector {
	d := m.vector()
	m.VBROADCASTSS(x.AsX(), d)
	return d
}

// zeros are n registers of 0.
func (m *machine) zeros(n int) []vector {
	v := make([]vector, n)
	for i := range v {
		v[i] = m.vector()
		m.zero(v[i])
	}
	return v
}

// addChains adds the sums of several chains into the first: v[i] += v[i+width] + ….
func (m *machine) addChains(v []vector, width int) {
	for len(v) > width {
		half := len(v) / 2
		for i := range half {
			m.VADDPS(v[i+half], v[i], v[i])
		}
		v = v[:half]
	}
}

// dot is in float64, half a vector of float32 at a time.
func (m *machine) dot() {
	m.begin("dot", "func(x, y *float32, n int) float64", "Σ x[i]·y[i], summed in float64.")
	low := m.wideDot(m.param("x"), m.param("y"), m.param("n"))
	result, err := m.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	m.VMOVSD(low, result.Addr)
	m.end()
}

// wideDot is the dot product in float64, in the first lane. x and y are changed.
func (m *machine) wideDot(x, y, n reg.GPVirtual) vector {
	const chains = 4
	sums := m.zeros(chains)
	half := func() vector {
		if m.wide() {
			return m.YMM()
		}
		return m.XMM()
	}
	step := func(at int, mask *lastMask) {
		var wide [2]vector
		for i, p := range []reg.GPVirtual{x, y} {
			narrow := half()
			wide[i] = m.vector()
			m.load(operand.Mem{Base: p, Disp: at * m.bytes() / 2}, mask, narrow)
			m.VCVTPS2PD(narrow, wide[i])
		}
		m.VFMADD231PD(wide[0], wide[1], sums[at%chains])
	}
	steps, rest := m.GP64(), m.GP64()
	m.MOVQ(n, steps)
	m.MOVQ(n, rest)
	shift := uint8(2)
	if m.wide() {
		shift = 3
	}
	m.SHRQ(operand.U8(shift), steps)
	m.ANDQ(operand.U8(1<<shift-1), rest)
	m.unrolled(steps, chains, func(at int) { step(at, nil) }, func(n int) {
		m.ADDQ(operand.U32(n*m.bytes()/2), x)
		m.ADDQ(operand.U32(n*m.bytes()/2), y)
	})
	done := m.label("done")
	m.TESTQ(rest, rest)
	m.JE(operand.LabelRef(done))
	mask := m.halfMask(rest)
	step(0, &mask)
	m.Label(done)
	for i := chains / 2; i > 0; i /= 2 {
		for q := range i {
			m.VADDPD(sums[q+i], sums[q], sums[q])
		}
	}
	low := m.foldQuarters(m.VADDPD, m.foldHalves(m.VADDPD, sums[0]))
	high := m.XMM()
	m.VPERMILPD(operand.U8(1), low, high)
	m.VADDSD(high, low, low)
	return low
}

// normalizeAll scales by a float32 as a scalar loop over dot would.
func (m *machine) normalizeAll() {
	m.begin("normalizeAll", "func(us *[]float32, count int)",
		"u[i] = u[i]/√(Σ u²) for each u of us, unless that is 0 or no finite number.")
	m.eachReflector("us", "", false, func(one reflector) {
		sum := m.wideDot(one.get(one.u), one.get(one.u), one.get(one.length))
		bits, skip := m.GP64(), m.label("skip")
		m.VMOVQ(sum, bits)
		m.TESTQ(bits, bits)
		m.JE(operand.LabelRef(skip))
		m.SHRQ(operand.U8(52), bits)
		m.CMPQ(bits, operand.U32(0x7ff))
		m.JGE(operand.LabelRef(skip))
		unit, factor := m.XMM(), m.XMM()
		m.VMOVSD(m.double(1), unit)
		m.VSQRTSD(sum, sum, sum)
		m.VDIVSD(sum, unit, unit)
		m.VCVTSD2SS(unit, unit, factor)
		scale, u := m.spreadLow(factor), one.get(one.u)
		m.eachVector(one.get(one.length), func(s span) { s.store(u, m.mul(scale, s.load(u))) })
		m.Label(skip)
	})
	m.end()
}

// halfMask is a mask for half a vector.
func (m *machine) halfMask(count reg.GPVirtual) lastMask {
	if m.wide() {
		return m.mask(count, nil)
	}
	return m.mask(count, m.XMM())
}

// eachBlock emits loops over cols columns: two vectors at a time, then one, the
// last of them masked. The pointers move on along the row.
func (m *machine) eachBlock(cols reg.GPVirtual, pointers []reg.GPVirtual, body func(vectors int, mask *lastMask)) {
	advance := func(vectors int) {
		for _, p := range pointers {
			m.ADDQ(operand.U32(vectors*m.bytes()), p)
		}
	}
	two, one, rest, done := m.label("two"), m.label("one"), m.label("rest"), m.label("done")
	m.Label(two)
	m.CMPQ(cols, operand.U8(2*m.lanes))
	m.JL(operand.LabelRef(one))
	body(2, nil)
	advance(2)
	m.SUBQ(operand.U8(2*m.lanes), cols)
	m.JMP(operand.LabelRef(two))
	m.Label(one)
	m.CMPQ(cols, operand.U8(m.lanes))
	m.JL(operand.LabelRef(rest))
	body(1, nil)
	advance(1)
	m.SUBQ(operand.U8(m.lanes), cols)
	m.Label(rest)
	m.TESTQ(cols, cols)
	m.JE(operand.LabelRef(done))
	mask := m.mask(cols, m.maskRegister())
	body(1, &mask)
	m.Label(done)
}

// columnSums adds four rows at a time, each to sums of its own.
func (m *machine) columnSums() {
	const chains = 4
	m.begin("columnSums", "func(dst, a *float32, stride, rows, cols int)", "dst[j] += Σ_i a[i][j], stride in bytes.")
	dst, a, stride, cols := m.param("dst"), m.param("a"), m.param("stride"), m.param("cols")
	m.eachBlock(cols, []reg.GPVirtual{dst, a}, func(vectors int, mask *lastMask) {
		sums := m.zeros(chains * vectors)
		p, rows := m.GP64(), m.param("rows")
		m.MOVQ(a, p)
		m.unrolled(rows, chains, func(at int) {
			for v := range vectors {
				sum := sums[at*vectors+v]
				x := m.vector()
				m.load(operand.Mem{Base: p, Disp: v * m.bytes()}, mask, x)
				m.VADDPS(x, sum, sum)
			}
			m.ADDQ(stride, p)
		}, func(int) {})
		m.addChains(sums, vectors)
		for v := range vectors {
			mem := operand.Mem{Base: dst, Disp: v * m.bytes()}
			before := m.vector()
			m.load(mem, mask, before)
			m.store(m.add(before, sums[v]), mask, mem)
		}
	})
	m.end()
}

// columnProductSums goes like columnSums.
func (m *machine) columnProductSums() {
	const chains = 4
	m.begin("columnProductSums", "func(dst, a *float32, aStride int, b *float32, bStride, rows, cols int)", "dst[j] += Σ_i a[i][j]·b[i][j], strides in bytes.")
	dst, a, aStride, b, bStride, cols := m.param("dst"), m.param("a"), m.param("aStride"), m.param("b"), m.param("bStride"), m.param("cols")
	m.eachBlock(cols, []reg.GPVirtual{dst, a, b}, func(vectors int, mask *lastMask) {
		sums := m.zeros(chains * vectors)
		p, q, rows := m.GP64(), m.GP64(), m.param("rows")
		m.MOVQ(a, p)
		m.MOVQ(b, q)
		m.unrolled(rows, chains, func(at int) {
			for v := range vectors {
				x, y := m.vector(), m.vector()
				m.load(operand.Mem{Base: p, Disp: v * m.bytes()}, mask, x)
				m.load(operand.Mem{Base: q, Disp: v * m.bytes()}, mask, y)
				m.addProduct(sums[at*vectors+v], x, y)
			}
			m.ADDQ(aStride, p)
			m.ADDQ(bStride, q)
		}, func(int) {})
		m.addChains(sums, vectors)
		for v := range vectors {
			mem := operand.Mem{Base: dst, Disp: v * m.bytes()}
			before := m.vector()
			m.load(mem, mask, before)
			m.store(m.add(before, sums[v]), mask, mem)
		}
	})
	m.end()
}

func (m *machine) scaleColumns() {
	m.begin("scaleColumnsAdd", "func(dst *float32, dstStride int, src *float32, srcStride int, d *float32, rows, cols int)", "dst[i][j] += d[j]·src[i][j], strides in bytes.")
	dst, dstStride, src, srcStride := m.param("dst"), m.param("dstStride"), m.param("src"), m.param("srcStride")
	d, cols := m.param("d"), m.param("cols")
	m.eachBlock(cols, []reg.GPVirtual{dst, src, d}, func(vectors int, mask *lastMask) {
		factors := make([]vector, vectors)
		for v := range vectors {
			factors[v] = m.vector()
			m.load(operand.Mem{Base: d, Disp: v * m.bytes()}, mask, factors[v])
		}
		p, q, rows := m.GP64(), m.GP64(), m.param("rows")
		m.MOVQ(dst, p)
		m.MOVQ(src, q)
		m.unrolled(rows, 4, func(int) {
			for v := range vectors {
				x, y, to := m.vector(), m.vector(), operand.Mem{Base: p, Disp: v * m.bytes()}
				m.load(operand.Mem{Base: q, Disp: v * m.bytes()}, mask, x)
				m.load(to, mask, y)
				m.addProduct(y, x, factors[v])
				m.store(y, mask, to)
			}
			m.ADDQ(dstStride, p)
			m.ADDQ(srcStride, q)
		}, func(int) {})
	})
	m.end()
}

// rows are pointers that go down matrices and a vector together.
type rows struct {
	*machine
	pointers []reg.GPVirtual // into the matrices
	strides  []reg.GPVirtual
	u        reg.GPVirtual
}

// newRows starts at the tops of the matrices' current block.
func (m *machine) newRows(matrices, strides []reg.GPVirtual, u reg.GPVirtual) rows {
	r := rows{m, nil, strides, m.GP64()}
	for _, p := range matrices {
		q := m.GP64()
		m.MOVQ(p, q)
		r.pointers = append(r.pointers, q)
	}
	m.MOVQ(u, r.u)
	return r
}

// next goes on to the next row.
func (r rows) next() {
	for i, p := range r.pointers {
		r.ADDQ(r.strides[i], p)
	}
	r.ADDQ(operand.U8(4), r.u)
}

// element is a register full of the vector's element beside the row.
func (r rows) element() vector {
	x := r.vector()
	r.VBROADCASTSS(operand.Mem{Base: r.u}, x)
	return x
}

// at is vector v of the row of matrix i.
func (r rows) at(i, v int) operand.Mem {
	return operand.Mem{Base: r.pointers[i], Disp: v * r.bytes()}
}

// get loads vector v of the row of matrix i.
func (r rows) get(i, v int, mask *lastMask) vector {
	x := r.vector()
	r.load(r.at(i, v), mask, x)
	return x
}

// reflectorScale is 2/Σ u² for the n elements at p, or 0 where that is no number
// because they are all zero or too small.
func (m *machine) reflectorScale(p, n reg.GPVirtual) vector {
	sum := m.zeros(1)[0]
	m.eachVector(n, func(s span) {
		x := s.load(p)
		m.addProduct(sum, x, x)
	})
	norm := m.spreadLow(m.reduce(m.VADDPS, sum))
	const smallestNormal = 0x1p-126
	const notLess = 5
	if m.wide() {
		k, scale := m.K(), m.ZMM()
		m.VCMPPS(operand.U8(notLess), m.constant(smallestNormal), norm, k)
		m.VDIVPS_Z(norm, m.constant(2), k, scale)
		return scale
	}
	enough := m.vector()
	m.VCMPPS(operand.U8(notLess), m.constant(smallestNormal), norm, enough)
	return m.do(m.VANDPS, m.div(m.constant(2), norm), enough)
}

// reflector is one of those that a function goes over: its vectors and length in
// the frame.
type reflector struct {
	*machine
	u, du, length operand.Mem
}

// eachReflector goes over the slices at us, and those at dus if that is not empty,
// in their order or from the last to the first. Going through all in one function
// lets the end of one overlap with the next.
func (m *machine) eachReflector(us, dus string, fromLast bool, body func(r reflector)) {
	const header = 24 // of a slice: pointer, length, capacity
	r := reflector{machine: m, u: m.AllocLocal(8), length: m.AllocLocal(8)}
	headers, vectors := []string{us}, []operand.Mem{r.u}
	if dus != "" {
		r.du = m.AllocLocal(8)
		headers, vectors = append(headers, dus), append(vectors, r.du)
	}
	at, left := make([]operand.Mem, len(headers)), m.AllocLocal(8)
	n := m.param("count")
	m.MOVQ(n, left)
	m.DECQ(n)
	m.IMUL3Q(operand.U8(header), n, n)
	for i, name := range headers {
		at[i] = m.AllocLocal(8)
		p := m.param(name)
		if fromLast {
			m.ADDQ(n, p)
		}
		m.MOVQ(p, at[i])
	}
	loop, next, done := m.label("reflector"), m.label("next"), m.label("done")
	m.Label(loop)
	m.CMPQ(left, operand.U8(0))
	m.JLE(operand.LabelRef(done))
	for i := range at {
		p, x := m.GP64(), m.GP64()
		m.MOVQ(at[i], p)
		m.MOVQ(operand.Mem{Base: p}, x)
		m.MOVQ(x, vectors[i])
		if i == 0 {
			m.MOVQ(operand.Mem{Base: p, Disp: 8}, x)
			m.MOVQ(x, r.length)
		}
	}
	m.CMPQ(r.length, operand.U8(0))
	m.JE(operand.LabelRef(next))
	body(r)
	m.Label(next)
	step := header
	if fromLast {
		step = -header
	}
	for i := range at {
		m.ADDQ(operand.I8(step), at[i])
	}
	m.DECQ(left)
	m.JMP(operand.LabelRef(loop))
	m.Label(done)
}

// get loads what lies in the frame.
func (r reflector) get(mem operand.Mem) reg.GPVirtual {
	x := r.GP64()
	r.MOVQ(mem, x)
	return x
}

// matrix is the row of a matrix at which the reflector begins.
func (r reflector) matrix(name string) reg.GPVirtual {
	p, above := r.param(name), r.param("rows")
	r.SUBQ(r.length, above)
	r.IMULQ(r.argument(name+"Stride"), above)
	r.ADDQ(above, p)
	return p
}

// reflectAll is one reflection after the other.
func (m *machine) reflectAll() {
	m.begin("reflectAll", "func(q *float32, qStride int, us *[]float32, count, rows, cols int)",
		"for each u of us, on the last len(u) rows of q, stride in bytes:",
		"",
		"\tq[i] −= u[i]·s·Σ_j u[j]·q[j] for all columns; s = 2/Σ u², or 0 if that is no number")
	m.eachReflector("us", "", false, m.reflect)
	m.end()
}

func (m *machine) reflect(one reflector) {
	q, stride, cols := one.matrix("q"), m.param("qStride"), m.param("cols")
	u := one.get(one.u)
	scale := m.reflectorScale(u, one.get(one.length))
	m.eachBlock(cols, []reg.GPVirtual{q}, func(vectors int, mask *lastMask) {
		const chains = 4
		sums := m.zeros(chains * vectors)
		r := m.newRows([]reg.GPVirtual{q}, []reg.GPVirtual{stride}, u)
		m.unrolled(one.get(one.length), chains, func(at int) {
			x := r.element()
			for v := range vectors {
				m.addProduct(sums[at*vectors+v], x, r.get(0, v, mask))
			}
			r.next()
		}, func(int) {})
		m.addChains(sums, vectors)
		for v := range vectors {
			m.VMULPS(scale, sums[v], sums[v])
		}
		r = m.newRows([]reg.GPVirtual{q}, []reg.GPVirtual{stride}, u)
		m.unrolled(one.get(one.length), 2, func(int) {
			x := r.element()
			for v := range vectors {
				y := r.get(0, v, mask)
				m.subProduct(y, x, sums[v])
				m.store(y, mask, r.at(0, v))
			}
			r.next()
		}, func(int) {})
	})
}

// reflectAllBackward goes back from the result of reflectAll, the last first.
func (m *machine) reflectAllBackward() {
	m.begin("reflectAllBackward", "func(q *float32, qStride int, grad *float32, gradStride int, us, dus *[]float32, count, rows, cols int)",
		"the way back through reflectAll, of which q is the result, strides in bytes; s as there:",
		"",
		"\tα = −s·Σ_i u[i]·q[i]; β = s·Σ_i u[i]·grad[i]",
		"\tq[i] += u[i]·α; du[i] += (α·β)·u[i] − grad[i]·α − q[i]·β; grad[i] −= u[i]·β")
	m.eachReflector("us", "dus", true, m.reflectBackward)
	m.end()
}

// reflectBackward undoes a reflection on the way: uᵀq changes its sign with it.
func (m *machine) reflectBackward(one reflector) {
	q, qStride, g, gStride := one.matrix("q"), m.param("qStride"), one.matrix("grad"), m.param("gradStride")
	cols := m.param("cols")
	scale := m.reflectorScale(one.get(one.u), one.get(one.length))
	m.eachBlock(cols, []reg.GPVirtual{q, g}, func(vectors int, mask *lastMask) {
		const chains = 2
		matrices, strides := []reg.GPVirtual{q, g}, []reg.GPVirtual{qStride, gStride}
		sums := [2][]vector{m.zeros(chains * vectors), m.zeros(chains * vectors)}
		r := m.newRows(matrices, strides, one.get(one.u))
		m.unrolled(one.get(one.length), chains, func(at int) {
			x := r.element()
			for v := range vectors {
				for i := range sums {
					m.addProduct(sums[i][at*vectors+v], x, r.get(i, v, mask))
				}
			}
			r.next()
		}, func(int) {})
		for i := range sums {
			m.addChains(sums[i], vectors)
			for v := range vectors {
				m.VMULPS(scale, sums[i][v], sums[i][v])
			}
		}
		zero := m.zeros(1)[0]
		for v := range vectors {
			m.VSUBPS(sums[0][v], zero, sums[0][v])
		}
		alpha, beta := sums[0][:vectors], sums[1][:vectors]
		product := m.mul(alpha[0], beta[0])
		for v := 1; v < vectors; v++ {
			m.addProduct(product, alpha[v], beta[v])
		}
		product = m.spreadLow(m.reduce(m.VADDPS, product))

		// One row: its share of the gradient before its lanes are summed.
		r = m.newRows(matrices, strides, one.get(one.u))
		du := one.get(one.du)
		row := func() (share vector) {
			x := r.element()
			for v := range vectors {
				grad := r.get(1, v, mask)
				if v == 0 {
					share = m.mul(grad, alpha[0])
				} else {
					m.addProduct(share, grad, alpha[v])
				}
				before := r.get(0, v, mask)
				m.addProduct(before, x, alpha[v])
				m.store(before, mask, r.at(0, v))
				m.addProduct(share, beta[v], before)
				m.subProduct(grad, x, beta[v])
				m.store(grad, mask, r.at(1, v))
			}
			r.next()
			return share
		}
		// Four rows at a time are summed by adding neighbours.
		count := one.get(one.length)
		four, rest, one, done := m.label("four"), m.label("rest"), m.label("one"), m.label("done")
		m.SUBQ(operand.U8(4), count)
		m.JL(operand.LabelRef(rest))
		m.Label(four)
		var pairs [2]vector
		for i := range pairs {
			a := m.foldHalves(m.VADDPS, row())
			b := m.foldHalves(m.VADDPS, row())
			pairs[i] = m.addNeighbours(a, b)
		}
		shares := m.foldQuarters(m.VADDPS, m.addNeighbours(pairs[0], pairs[1]))
		gradient := m.XMM()
		m.VMULPS(operand.Mem{Base: r.u, Disp: -16}, product.AsX(), gradient)
		m.VSUBPS(shares, gradient, gradient)
		m.VADDPS(operand.Mem{Base: du}, gradient, gradient)
		m.VMOVUPS(gradient, operand.Mem{Base: du})
		m.ADDQ(operand.U8(16), du)
		m.SUBQ(operand.U8(4), count)
		m.JGE(operand.LabelRef(four))
		m.Label(rest)
		m.ADDQ(operand.U8(4), count)
		m.JE(operand.LabelRef(done))
		m.Label(one)
		single := m.reduce(m.VADDPS, row())
		gradient = m.XMM()
		m.VMULSS(operand.Mem{Base: r.u, Disp: -4}, product.AsX(), gradient)
		m.VSUBSS(single, gradient, gradient)
		m.VADDSS(operand.Mem{Base: du}, gradient, gradient)
		m.VMOVSS(gradient, operand.Mem{Base: du})
		m.ADDQ(operand.U8(4), du)
		m.DECQ(count)
		m.JNE(operand.LabelRef(one))
		m.Label(done)
	})
}

// softmax takes lanes beyond the columns for −∞, whose exponential is 0.
func (m *machine) softmax() {
	m.begin("softmax", "func(d *float32, dStride int, logits *float32, logitsStride, rows, cols int, scale float32, largest, sums *float32)",
		"the softmax of rows, strides in bytes:",
		"",
		"\tlargest[i] = max_j logits[i][j]; sums[i] = Σ_j exp(logits[i][j] − largest[i])",
		"\td[i][j] = scale/sums[i]·exp(logits[i][j] − largest[i]), unless d is nil")
	d, logits, rows, cols := m.param("d"), m.param("logits"), m.param("rows"), m.param("cols")
	largest, sums := m.param("largest"), m.param("sums")
	m.eachRow(rows, []reg.GPVirtual{d, logits}, []string{"dStride", "logitsStride"}, func() {
		most := m.constant(negativeInfinity)
		m.eachVector(cols, func(s span) { m.VMAXPS(s.loadOr(logits, negativeInfinity), most, most) })
		low := m.reduce(m.VMAXPS, most)
		m.VMOVSS(low, operand.Mem{Base: largest})
		most = m.spreadLow(low)
		sum := m.zeros(1)[0]
		skip, summed := m.label("skip"), m.label("summed")
		m.CMPQ(m.argument("d"), operand.U8(0))
		m.JE(operand.LabelRef(skip))
		m.eachVector(cols, func(s span) {
			e := m.exp(group{m.sub(s.loadOr(logits, negativeInfinity), most)})[0]
			m.VADDPS(e, sum, sum)
			s.store(d, e)
		})
		low = m.reduce(m.VADDPS, sum)
		m.VMOVSS(low, operand.Mem{Base: sums})
		factor := m.div(m.spread("scale"), m.spreadLow(low))
		m.eachVector(cols, func(s span) { s.store(d, m.mul(factor, s.load(d))) })
		m.JMP(operand.LabelRef(summed))
		m.Label(skip)
		m.eachVector(cols, func(s span) {
			m.VADDPS(m.exp(group{m.sub(s.loadOr(logits, negativeInfinity), most)})[0], sum, sum)
		})
		m.VMOVSS(m.reduce(m.VADDPS, sum), operand.Mem{Base: sums})
		m.Label(summed)
		m.ADDQ(operand.U8(4), largest)
		m.ADDQ(operand.U8(4), sums)
	})
	m.end()
}
