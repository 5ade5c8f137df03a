package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scalarGates generates the elementwise parts of a cell with two scalar gates.
func (m *machine) scalarGates() {
	m.scalarGate()
	m.scalarGateBackward("scalarGateBackward", ", slope float32", "f[i][j] > 0 ? 1 : slope", func() func(d, f vector) {
		slope := m.spread("slope")
		return func(d, f vector) { m.scaleUnlessPositive(d, f, slope, m.vector(), f) }
	})
	m.scalarGateBackward("scalarGateBackwardTanh", "", "1 − f[i][j]²", func() func(d, f vector) {
		return func(d, f vector) { m.VMULPS(m.oneMinusSquare(f), d, d) }
	})
}

func (m *machine) scalarGate() {
	m.begin("scalarGate", "func(next *float32, nextStride int, f *float32, fStride int, h *float32, hStride int, "+
		"alpha, beta float32, rows, cols int)",
		"next[i][j] = alpha·f[i][j] + beta·h[i][j], strides in bytes.")
	next, f, h, rows := m.param("next"), m.param("f"), m.param("h"), m.param("rows")
	alpha, beta := m.spread("alpha"), m.spread("beta")
	m.eachRow(rows, []reg.GPVirtual{next, f, h}, []string{"nextStride", "fStride", "hStride"}, func() {
		m.eachGroup(m.argument("cols"), 4, func(spans []span) {
			for _, s := range spans {
				sum := m.mul(beta, s.load(h))
				m.addProduct(sum, alpha, s.load(f))
				s.store(next, sum)
			}
		})
	})
	m.end()
}

// scalarGateBackward goes over columns as columnProductSums does, over as many at once as
// registers allow: what it reads comes from the second cache. begin is called before the
// loop and returns what multiplies d by the derivative; it may change f.
func (m *machine) scalarGateBackward(name, parameters, derivative string, begin func() func(d, f vector)) {
	chains, most := 4, m.together()
	if m.wide() {
		chains, most = 2, 4
	}
	m.begin(name, "func(delta *float32, deltaStride int, dh *float32, dhStride int, f *float32, fStride int, before "+
		"*float32, beforeStride int, dalpha, dbeta *float32, rows, cols int, alpha float32"+parameters+")",
		"the backward pass of scalarGate, strides in bytes:",
		"",
		"\tdelta[i][j] = alpha·dh[i][j]·("+derivative+")",
		"\tdalpha[j] += Σ_i dh[i][j]·f[i][j]; dbeta[j] += Σ_i dh[i][j]·before[i][j]")
	pointers := []reg.GPVirtual{m.param("dalpha"), m.param("dbeta")}
	var strides []operand.Op
	for _, name := range []string{"delta", "dh", "f", "before"} {
		pointers, strides = append(pointers, m.param(name)), append(strides, m.argument(name+"Stride"))
	}
	alpha, apply := m.spread("alpha"), begin()
	m.eachBlockOf(most, m.param("cols"), pointers, func(vectors int, mask *lastMask) {
		sums := [2][]vector{m.zeros(chains * vectors), m.zeros(chains * vectors)}
		r := m.newRows(pointers[2:], strides, nil, nil)
		m.unrolled(m.param("rows"), chains, func(chain int) {
			for v := range vectors {
				g := r.get(1, v, mask)
				m.addProduct(sums[1][chain*vectors+v], g, r.get(3, v, mask))
				f := r.get(2, v, mask)
				m.addProduct(sums[0][chain*vectors+v], g, f)
				d := m.mul(alpha, g)
				apply(d, f)
				m.store(d, mask, r.at(0, v))
			}
			r.next(0)
		}, func(int) {})
		for i := range sums {
			m.addChains(sums[i], vectors)
			m.addAt(pointers[i], sums[i][:vectors], mask)
		}
	})
	m.end()
}
