package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reflectors generates the loops over reflectors.
func (m *machine) reflectors() {
	m.reflectAll()
	m.reflectAllBackward()
	m.normalizeAll()
}

// rows are pointers that go down matrices and vectors together.
type rows struct {
	*machine
	pointers []reg.GPVirtual // into the matrices
	strides  []operand.Op
	vectors  []reg.GPVirtual
}

// newRows starts at the tops of the matrices' current block. before, if not nil, is called
// before the pointers are set.
func (m *machine) newRows(matrices []reg.GPVirtual, strides []operand.Op, us []reflector, before func()) rows {
	r := rows{machine: m, strides: strides}
	for range matrices {
		r.pointers = append(r.pointers, m.GP64())
	}
	if before != nil {
		before()
	}
	for i, p := range matrices {
		m.MOVQ(p, r.pointers[i])
	}
	for _, u := range us {
		r.vectors = append(r.vectors, u.get(u.u))
	}
	return r
}

// next goes on to the next row, in the first n vectors.
func (r rows) next(n int) {
	for i, p := range r.pointers {
		r.ADDQ(r.strides[i], p)
	}
	for _, p := range r.vectors[:n] {
		r.ADDQ(operand.U8(4), p)
	}
}

// elements are registers full of the first n vectors' elements beside the row.
func (r rows) elements(n int) []vector {
	xs := make([]vector, n)
	for i := range xs {
		xs[i] = r.broadcast(operand.Mem{Base: r.vectors[i]})
	}
	return xs
}

// at is vector v of the row of matrix i.
func (r rows) at(i, v int) operand.Mem {
	return operand.Mem{Base: r.pointers[i], Disp: v * r.bytes()}
}

// get loads vector v of the row of matrix i.
func (r rows) get(i, v int, mask *lastMask) vector { return r.read(r.at(i, v), mask) }

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

// eachReflector goes over the slices at us, and those at dus if that is not empty,
// in their order or from the last to the first. Going through all in one function
// lets the end of one overlap with the next. With together 2 the body is also made
// for two of them, the longer one first, where the earlier is not the longer one. It is long as one
// loop, whose labels and pointers all of its parts use.
func (m *machine) eachReflector(us, dus string, fromLast bool, together int, body func(us []reflector)) {
	const header = 24 // of a slice: pointer, length, capacity
	step := header
	if fromLast {
		step = -header
	}
	headers := []string{us}
	if dus != "" {
		headers = append(headers, dus)
	}
	all := make([]reflector, together)
	for i := range all {
		all[i] = reflector{machine: m, u: m.AllocLocal(8), length: m.AllocLocal(8)}
		if dus != "" {
			all[i].du = m.AllocLocal(8)
		}
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
	// take loads the slices that are so many bytes on.
	take := func(r reflector, bytes int) {
		for i, to := range []operand.Mem{r.u, r.du}[:len(headers)] {
			p, x := m.GP64(), m.GP64()
			m.MOVQ(at[i], p)
			m.MOVQ(operand.Mem{Base: p, Disp: bytes}, x)
			m.MOVQ(x, to)
			if i == 0 {
				m.MOVQ(operand.Mem{Base: p, Disp: bytes + 8}, x)
				m.MOVQ(x, r.length)
			}
		}
	}
	advance := func(count int) {
		for i := range at {
			m.ADDQ(operand.I8(count*step), at[i])
		}
		m.SUBQ(operand.U8(count), left)
	}
	loop, one, next, done := m.label("reflector"), m.label("one"), m.label("next"), m.label("done")
	m.Label(loop)
	m.CMPQ(left, operand.U8(0))
	m.JLE(operand.LabelRef(done))
	if together == 2 {
		m.CMPQ(left, operand.U8(2))
		m.JL(operand.LabelRef(one))
		longer, shorter := 0, step
		if !fromLast {
			longer, shorter = step, 0
		}
		take(all[0], longer)
		take(all[1], shorter)
		m.CMPQ(all[1].length, operand.U8(0))
		m.JE(operand.LabelRef(one))
		length := all[1].get(all[1].length)
		m.CMPQ(all[0].length, length)
		m.JL(operand.LabelRef(one))
		body(all)
		advance(2)
		m.JMP(operand.LabelRef(loop))
	}
	m.Label(one)
	take(all[0], 0)
	m.CMPQ(all[0].length, operand.U8(0))
	m.JE(operand.LabelRef(next))
	body(all[:1])
	m.Label(next)
	advance(1)
	m.JMP(operand.LabelRef(loop))
	m.Label(done)
}

// lengths are how many rows meet the first of the reflectors alone, if there are
// two, and how many meet all.
func lengths(us []reflector) (alone, all reg.GPVirtual) {
	last := us[len(us)-1]
	all = last.get(last.length)
	if len(us) == 2 {
		alone = us[0].get(us[0].length)
		last.SUBQ(all, alone)
	}
	return alone, all
}

// overRows emits the loop over the rows that meet the first reflector alone, if
// there are two, and that over those which meet all.
func (m *machine) overRows(us []reflector, loop func(rows reg.GPVirtual, reflectors int)) {
	alone, all := lengths(us)
	if len(us) == 2 {
		loop(alone, 1)
	}
	loop(all, len(us))
}

// scales are the factors of the reflectors, and the product of two.
func (m *machine) scales(us []reflector) (scales []vector, product vector) {
	for _, u := range us {
		scales = append(scales, m.reflectorScale(u.get(u.u), u.get(u.length)))
	}
	if len(us) == 1 {
		return scales, nil
	}
	alone, n := lengths(us)
	long, short, sum := us[0].get(us[0].u), us[1].get(us[1].u), m.zeros(1)[0]
	m.LEAQ(operand.Mem{Base: long, Index: alone, Scale: 4}, long)
	m.eachVector(n, func(s span) { m.addProduct(sum, s.load(long), s.load(short)) })
	return scales, m.spreadLow(m.reduce(m.VADDPS, sum))
}

// sums are vᵀ·matrix for each of the vectors and matrices, in this order.
func (m *machine) sums(us []reflector, matrices []reg.GPVirtual, strides []operand.Op, vectors, chains int,
	mask *lastMask) [][][]vector {
	sums := make([][][]vector, len(us))
	for i := range sums {
		for range matrices {
			sums[i] = append(sums[i], m.zeros(chains*vectors))
		}
	}
	r := m.newRows(matrices, strides, us, nil)
	over := func(n reg.GPVirtual, count int) {
		m.unrolled(n, chains, func(at int) {
			xs := r.elements(count)
			for v := range vectors {
				for q := range matrices {
					y := r.get(q, v, mask)
					for i, x := range xs {
						m.addProduct(sums[i][q][at*vectors+v], x, y)
					}
				}
			}
			r.next(count)
		}, func(int) {})
	}
	m.overRows(us, over)
	for i := range sums {
		for q := range matrices {
			m.addChains(sums[i][q], vectors)
			sums[i][q] = sums[i][q][:vectors]
		}
	}
	return sums
}

// reflectAll is one reflection after the other. Two of them, u before w, are
//
//	a = s·uᵀq; b = t·(wᵀq − (wᵀu)·a); q −= u·a + w·b
func (m *machine) reflectAll() {
	m.begin("reflectAll", "func(q *float32, qStride int, us *[]float32, count, rows, cols int)",
		"for each u of us, on the last len(u) rows of q, stride in bytes:",
		"",
		"\tq[i] −= u[i]·s·Σ_j u[j]·q[j] for all columns; s = 2/Σ u², or 0 if that is no number")
	m.eachReflector("us", "", false, m.together(), m.reflect)
	m.end()
}

func (m *machine) reflect(us []reflector) {
	q, cols, strides := us[0].matrix("q"), m.param("cols"), []operand.Op{m.argument("qStride")}
	scales, product := m.scales(us)
	m.eachBlock(cols, []reg.GPVirtual{q}, func(vectors int, mask *lastMask) {
		sums := m.sums(us, []reg.GPVirtual{q}, strides, vectors, 4/len(us), mask)
		for i := len(us) - 1; i >= 0; i-- {
			for v, x := range sums[i][0] {
				if i == 0 && len(us) == 2 {
					m.subProduct(x, product, sums[1][0][v])
				}
				m.VMULPS(scales[i], x, x)
			}
		}
		r := m.newRows([]reg.GPVirtual{q}, strides, us, nil)
		over := func(n reg.GPVirtual, count int) {
			m.unrolled(n, 2, func(int) {
				xs := r.elements(count)
				for v := range vectors {
					y := r.get(0, v, mask)
					for i := count - 1; i >= 0; i-- {
						m.subProduct(y, xs[i], sums[i][0][v])
					}
					m.store(y, mask, r.at(0, v))
				}
				r.next(count)
			}, func(int) {})
		}
		m.overRows(us, over)
	})
}

// reflectAllBackward goes back from the result of reflectAll, the last first. Two
// of them, w and then u, have
//
//	γ = −t·wᵀq; δ = t·wᵀgrad; α = −s·(uᵀq + (wᵀu)·γ); β = s·(uᵀgrad − (wᵀu)·δ)
func (m *machine) reflectAllBackward() {
	m.begin("reflectAllBackward", "func(q *float32, qStride int, grad *float32, gradStride int, us, dus *[]float32, "+
		"count, rows, cols int)",
		"the backward pass of reflectAll, of which q is the result, strides in bytes; s as there:",
		"",
		"\tα = −s·Σ_i u[i]·q[i]; β = s·Σ_i u[i]·grad[i]",
		"\tq[i] += u[i]·α; du[i] += (α·β)·u[i] − grad[i]·α − q[i]·β; grad[i] −= u[i]·β")
	m.eachReflector("us", "dus", true, m.together(), m.reflectBackward)
	m.end()
}

// reflectBackward undoes each reflection: uᵀq changes its sign with one. It is long as one
// block of instructions, which share their registers.
func (m *machine) reflectBackward(us []reflector) {
	q, g, cols := us[0].matrix("q"), us[0].matrix("grad"), m.param("cols")
	matrices, strides := []reg.GPVirtual{q, g}, []operand.Op{m.argument("qStride"), m.argument("gradStride")}
	scales, inner := m.scales(us)
	m.eachBlock(cols, matrices, func(vectors int, mask *lastMask) {
		sums := m.sums(us, matrices, strides, vectors, 2, mask)
		zero := m.zeros(1)[0]
		products := make([]vector, len(us))
		for i, u := range sums {
			alpha, beta := u[0], u[1]
			for v := range vectors {
				if i == 1 {
					m.addProduct(alpha[v], inner, sums[0][0][v])
					m.subProduct(beta[v], inner, sums[0][1][v])
				}
				m.VMULPS(scales[i], alpha[v], alpha[v])
				m.VMULPS(scales[i], beta[v], beta[v])
				m.VSUBPS(alpha[v], zero, alpha[v])
			}
			products[i] = m.mul(alpha[0], beta[0])
			for v := 1; v < vectors; v++ {
				m.addProduct(products[i], alpha[v], beta[v])
			}
			products[i] = m.spreadLow(m.reduce(m.VADDPS, products[i]))
		}

		// One row: its shares of the gradients before their lanes are summed.
		r := m.newRows(matrices, strides, us, nil)
		row := func(count int) []vector {
			shares := make([]vector, count)
			xs := r.elements(count)
			for v := range vectors {
				grad, before := r.get(1, v, mask), r.get(0, v, mask)
				for i, x := range xs {
					alpha, beta := sums[i][0][v], sums[i][1][v]
					if v == 0 {
						shares[i] = m.mul(grad, alpha)
					} else {
						m.addProduct(shares[i], grad, alpha)
					}
					m.addProduct(before, x, alpha)
					m.addProduct(shares[i], beta, before)
					m.subProduct(grad, x, beta)
				}
				m.store(before, mask, r.at(0, v))
				m.store(grad, mask, r.at(1, v))
			}
			r.next(count)
			return shares
		}
		dus := make([]reg.GPVirtual, len(us))
		for i, u := range us {
			dus[i] = u.get(u.du)
		}
		single := func(count int) {
			for i, share := range row(count) {
				sum, gradient := m.reduce(m.VADDPS, share), m.XMM()
				m.VMULSS(operand.Mem{Base: r.vectors[i], Disp: -4}, products[i].AsX(), gradient)
				m.VSUBSS(sum, gradient, gradient)
				m.VADDSS(operand.Mem{Base: dus[i]}, gradient, gradient)
				m.VMOVSS(gradient, operand.Mem{Base: dus[i]})
				m.ADDQ(operand.U8(4), dus[i])
			}
		}
		alone, count := lengths(us)
		if len(us) == 2 {
			loop, together := m.label("alone"), m.label("together")
			m.TESTQ(alone, alone)
			m.JE(operand.LabelRef(together))
			m.Label(loop)
			single(1)
			m.DECQ(alone)
			m.JNE(operand.LabelRef(loop))
			m.Label(together)
		}
		// Four rows at a time are summed by adding neighbours.
		four, rest, one, done := m.label("four"), m.label("rest"), m.label("one"), m.label("done")
		m.SUBQ(operand.U8(4), count)
		m.JL(operand.LabelRef(rest))
		m.Label(four)
		folded := make([][]vector, len(us))
		for q := range 4 {
			for i, share := range row(len(us)) {
				folded[i] = append(folded[i], m.foldHalves(m.VADDPS, share))
				if q%2 == 1 {
					at := len(folded[i]) - 2
					folded[i] = append(folded[i][:at], m.addNeighbours(folded[i][at], folded[i][at+1]))
				}
			}
		}
		for i, f := range folded {
			shares, gradient := m.foldQuarters(m.VADDPS, m.addNeighbours(f[0], f[1])), m.XMM()
			m.VMULPS(operand.Mem{Base: r.vectors[i], Disp: -16}, products[i].AsX(), gradient)
			m.VSUBPS(shares, gradient, gradient)
			m.VADDPS(operand.Mem{Base: dus[i]}, gradient, gradient)
			m.VMOVUPS(gradient, operand.Mem{Base: dus[i]})
			m.ADDQ(operand.U8(16), dus[i])
		}
		m.SUBQ(operand.U8(4), count)
		m.JGE(operand.LabelRef(four))
		m.Label(rest)
		m.ADDQ(operand.U8(4), count)
		m.JE(operand.LabelRef(done))
		m.Label(one)
		single(len(us))
		m.DECQ(count)
		m.JNE(operand.LabelRef(one))
		m.Label(done)
	})
}

// normalizeAll scales by a float32 as a scalar loop over dot would.
func (m *machine) normalizeAll() {
	m.begin("normalizeAll", "func(us *[]float32, count int)",
		"u[i] = u[i]/√(Σ u²) for each u of us, unless that is 0 or no finite number.")
	m.eachReflector("us", "", false, 1, func(us []reflector) {
		one := us[0]
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
