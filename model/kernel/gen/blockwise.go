package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// blockwise generates the loops of a softmax in blocks of columns.
func (m *machine) blockwise() {
	m.rowMaxima()
	m.expSums()
	m.rowWeightedSums()
}

// rowMaxima takes lanes beyond the columns for −∞.
func (m *machine) rowMaxima() {
	m.begin("rowMaxima", "func(largest, a *float32, stride, rows, cols int)", "largest[i] = max(largest[i], max_j "+
		"a[i][j]), stride in bytes.")
	largest, a, rows, cols := m.param("largest"), m.param("a"), m.param("rows"), m.param("cols")
	m.eachRow(rows, []reg.GPVirtual{a}, []string{"stride"}, func() {
		most := []vector{m.constant(negativeInfinity), m.constant(negativeInfinity)}
		m.eachGroup(cols, 2, func(spans []span) {
			for i, s := range spans {
				m.VMAXPS(s.loadOr(a, negativeInfinity), most[i], most[i])
			}
		})
		m.VMAXPS(most[1], most[0], most[0])
		low := m.reduce(m.VMAXPS, most[0])
		m.VMAXSS(operand.Mem{Base: largest}, low, low)
		m.VMOVSS(low, operand.Mem{Base: largest})
		m.ADDQ(operand.U8(4), largest)
	})
	m.end()
}

// expSums takes lanes beyond the columns for −∞, whose exponential is 0.
func (m *machine) expSums() {
	m.begin("expSums", "func(sums, a *float32, stride int, largest *float32, rows, cols int)",
		"a[i][j] = exp(a[i][j] − largest[i]); sums[i] += Σ_j a[i][j], stride in bytes.")
	sums, a, largest, rows, cols := m.param("sums"), m.param("a"), m.param("largest"), m.param("rows"), m.param("cols")
	m.eachRow(rows, []reg.GPVirtual{a}, []string{"stride"}, func() {
		most, sum := m.vector(), m.zeros(1)[0]
		m.VBROADCASTSS(operand.Mem{Base: largest}, most)
		m.eachGroup(cols, m.together(), func(spans []span) {
			xs := make(group, len(spans))
			for i, s := range spans {
				xs[i] = m.sub(s.loadOr(a, negativeInfinity), most)
			}
			es := m.exp(xs)
			for _, e := range es {
				m.VADDPS(e, sum, sum)
			}
			stores(spans, a, es)
		})
		low := m.reduce(m.VADDPS, sum)
		m.VADDSS(operand.Mem{Base: sums}, low, low)
		m.VMOVSS(low, operand.Mem{Base: sums})
		m.ADDQ(operand.U8(4), sums)
		m.ADDQ(operand.U8(4), largest)
	})
	m.end()
}

// rowWeightedSums goes like columnSums.
func (m *machine) rowWeightedSums() {
	const chains = 4
	m.begin("rowWeightedSums", "func(dst, a *float32, stride int, d *float32, rows, cols int)",
		"dst[j] += Σ_i d[i]·a[i][j], stride in bytes.")
	dst, a, stride, cols := m.param("dst"), m.param("a"), m.param("stride"), m.param("cols")
	m.eachBlock(cols, []reg.GPVirtual{dst, a}, func(vectors int, mask *lastMask) {
		sums := m.zeros(chains * vectors)
		p, weights, rows := m.GP64(), m.param("d"), m.param("rows")
		m.MOVQ(a, p)
		m.unrolled(rows, chains, func(at int) {
			weight := m.vector()
			m.VBROADCASTSS(operand.Mem{Base: weights}, weight)
			for v := range vectors {
				x := m.vector()
				m.load(operand.Mem{Base: p, Disp: v * m.bytes()}, mask, x)
				m.addProduct(sums[at*vectors+v], weight, x)
			}
			m.ADDQ(operand.U8(4), weights)
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
