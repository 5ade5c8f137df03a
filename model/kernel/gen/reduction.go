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
func (m *machine) spreadLow(x vector) vector { return m.broadcast(x.AsX()) }

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
	mask := m.mask(rest, m.XMM())
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

// eachBlock emits loops over cols columns: two vectors at a time, then one, the
// last of them masked. The pointers move on along the row.
func (m *machine) eachBlock(cols reg.GPVirtual, pointers []reg.GPVirtual, body func(vectors int, mask *lastMask)) {
	m.eachBlockOf(2, cols, pointers, body)
}

// eachBlockOf is eachBlock with at most so many vectors at a time, a power of two.
func (m *machine) eachBlockOf(most int, cols reg.GPVirtual, pointers []reg.GPVirtual,
	body func(vectors int, mask *lastMask)) {
	for vectors := most; vectors > 0; vectors /= 2 {
		block, less := m.label("block"), m.label("less")
		m.Label(block)
		m.CMPQ(cols, operand.U32(vectors*m.lanes))
		m.JL(operand.LabelRef(less))
		body(vectors, nil)
		for _, p := range pointers {
			m.ADDQ(operand.U32(vectors*m.bytes()), p)
		}
		m.SUBQ(operand.U32(vectors*m.lanes), cols)
		if vectors == most {
			m.JMP(operand.LabelRef(block))
		}
		m.Label(less)
	}
	done := m.label("done")
	m.TESTQ(cols, cols)
	m.JE(operand.LabelRef(done))
	mask := m.mask(cols, nil)
	body(1, &mask)
	m.Label(done)
}

// addAt adds vectors to a row at p.
func (m *machine) addAt(p reg.GPVirtual, vectors []vector, mask *lastMask) {
	for v, x := range vectors {
		mem := operand.Mem{Base: p, Disp: v * m.bytes()}
		m.store(m.add(m.read(mem, mask), x), mask, mem)
	}
}

// sumColumns emits dst[j] += Σ_i of what row adds to the vectors of a sum. Four rows at a
// time have sums of their own. start is called before each loop over rows.
func (m *machine) sumColumns(dst, cols reg.GPVirtual, matrices []reg.GPVirtual, strides []operand.Op, start func(),
	row func(r rows, sums []vector, mask *lastMask)) {
	const chains = 4
	m.eachBlock(cols, append([]reg.GPVirtual{dst}, matrices...), func(vectors int, mask *lastMask) {
		sums := m.zeros(chains * vectors)
		var n reg.GPVirtual
		r := m.newRows(matrices, strides, nil, func() {
			start()
			n = m.param("rows")
		})
		m.unrolled(n, chains, func(at int) {
			row(r, sums[at*vectors:][:vectors], mask)
			r.next(0)
		}, func(int) {})
		m.addChains(sums, vectors)
		m.addAt(dst, sums[:vectors], mask)
	})
}

func (m *machine) columnSums() {
	m.begin("columnSums", "func(dst, a *float32, stride, rows, cols int)", "dst[j] += Σ_i a[i][j], stride in bytes.")
	dst, a, stride, cols := m.param("dst"), m.param("a"), m.param("stride"), m.param("cols")
	m.sumColumns(dst, cols, []reg.GPVirtual{a}, []operand.Op{stride}, func() {},
		func(r rows, sums []vector, mask *lastMask) {
			for v, sum := range sums {
				m.VADDPS(r.get(0, v, mask), sum, sum)
			}
		})
	m.end()
}

func (m *machine) columnProductSums() {
	m.begin("columnProductSums", "func(dst, a *float32, aStride int, b *float32, bStride, rows, cols int)",
		"dst[j] += Σ_i a[i][j]·b[i][j], strides in bytes.")
	dst, a, aStride, b, bStride, cols := m.param("dst"), m.param("a"), m.param("aStride"), m.param("b"),
		m.param("bStride"), m.param("cols")
	m.sumColumns(dst, cols, []reg.GPVirtual{a, b}, []operand.Op{aStride, bStride}, func() {},
		func(r rows, sums []vector, mask *lastMask) {
			for v, sum := range sums {
				m.addProduct(sum, r.get(0, v, mask), r.get(1, v, mask))
			}
		})
	m.end()
}

func (m *machine) rowWeightedSums() {
	m.begin("rowWeightedSums", "func(dst, a *float32, stride int, d *float32, rows, cols int)",
		"dst[j] += Σ_i d[i]·a[i][j], stride in bytes.")
	dst, a, stride, cols := m.param("dst"), m.param("a"), m.param("stride"), m.param("cols")
	var weights reg.GPVirtual
	m.sumColumns(dst, cols, []reg.GPVirtual{a}, []operand.Op{stride}, func() { weights = m.param("d") },
		func(r rows, sums []vector, mask *lastMask) {
			weight := m.broadcast(operand.Mem{Base: weights})
			for v, sum := range sums {
				m.addProduct(sum, weight, r.get(0, v, mask))
			}
			m.ADDQ(operand.U8(4), weights)
		})
	m.end()
}

func (m *machine) scaleColumns() {
	m.begin("scaleColumnsAdd", "func(dst *float32, dstStride int, src *float32, srcStride int, d *float32, rows, "+
		"cols int)", "dst[i][j] += d[j]·src[i][j], strides in bytes.")
	dst, dstStride, src, srcStride := m.param("dst"), m.param("dstStride"), m.param("src"), m.param("srcStride")
	d, cols := m.param("d"), m.param("cols")
	m.eachBlock(cols, []reg.GPVirtual{dst, src, d}, func(vectors int, mask *lastMask) {
		factors := make([]vector, vectors)
		for v := range vectors {
			factors[v] = m.read(operand.Mem{Base: d, Disp: v * m.bytes()}, mask)
		}
		var n reg.GPVirtual
		r := m.newRows([]reg.GPVirtual{dst, src}, []operand.Op{dstStride, srcStride}, nil,
			func() { n = m.param("rows") })
		m.unrolled(n, 4, func(int) {
			for v := range vectors {
				x, y := r.get(1, v, mask), r.get(0, v, mask)
				m.addProduct(y, x, factors[v])
				m.store(y, mask, r.at(0, v))
			}
			r.next(0)
		}, func(int) {})
	})
	m.end()
}

// softmax takes lanes beyond the columns for −∞, whose exponential is 0.
func (m *machine) softmax() {
	m.begin("softmax", "func(d *float32, dStride int, logits *float32, logitsStride, rows, cols int, scale float32, "+
		"largest, sums *float32)",
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
