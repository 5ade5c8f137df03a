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
		"the way back through scalarGate, strides in bytes:",
		"",
		"\tdelta[i][j] = alpha·dh[i][j]·("+derivative+")",
		"\tdalpha[j] += Σ_i dh[i][j]·f[i][j]; dbeta[j] += Σ_i dh[i][j]·before[i][j]")
	names := []string{"delta", "dh", "f", "before"}
	pointers := []reg.GPVirtual{m.param("dalpha"), m.param("dbeta")}
	for _, name := range names {
		pointers = append(pointers, m.param(name))
	}
	alpha, apply := m.spread("alpha"), begin()
	m.eachBlockOf(most, m.param("cols"), pointers, func(vectors int, mask *lastMask) {
		sums := [2][]vector{m.zeros(chains * vectors), m.zeros(chains * vectors)}
		at := make([]reg.GPVirtual, len(names))
		for i := range at {
			at[i] = m.GP64()
			m.MOVQ(pointers[2+i], at[i])
		}
		m.unrolled(m.param("rows"), chains, func(chain int) {
			for v := range vectors {
				place := func(i int) operand.Mem { return operand.Mem{Base: at[i], Disp: v * m.bytes()} }
				load := func(i int) vector {
					x := m.vector()
					m.load(place(i), mask, x)
					return x
				}
				g := load(1)
				m.addProduct(sums[1][chain*vectors+v], g, load(3))
				f := load(2)
				m.addProduct(sums[0][chain*vectors+v], g, f)
				d := m.mul(alpha, g)
				apply(d, f)
				m.store(d, mask, place(0))
			}
			for i, name := range names {
				m.ADDQ(m.argument(name+"Stride"), at[i])
			}
		}, func(int) {})
		for i := range sums {
			m.addChains(sums[i], vectors)
			for v := range vectors {
				mem := operand.Mem{Base: pointers[i], Disp: v * m.bytes()}
				before := m.vector()
				m.load(mem, mask, before)
				m.store(m.add(before, sums[i][v]), mask, mem)
			}
		}
	})
	m.end()
}
