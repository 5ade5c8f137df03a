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
		m.foldInto(largest, m.VMAXPS, m.VMAXSS, most[0])
	})
	m.end()
}

// foldInto folds the lanes of v and the number at p by op, into the latter, and moves p on to
// the next one.
func (m *machine) foldInto(p reg.GPVirtual, op, scalar instruction, v vector) {
	low := m.reduce(op, v)
	scalar(operand.Mem{Base: p}, low, low)
	m.VMOVSS(low, operand.Mem{Base: p})
	m.ADDQ(operand.U8(4), p)
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
		m.foldInto(sums, m.VADDPS, m.VADDSS, sum)
		m.ADDQ(operand.U8(4), largest)
	})
	m.end()
}
