package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// modReLUs generates modReLU and its backward pass. They multiply and add one after the other, as the plain
// loops do, and have their bits.
func (m *machine) modReLUs() {
	m.modReLU()
	m.modReLUBackward()
}

func (m *machine) modReLU() {
	m.begin("modReLU", "func(h *float32, hStride int, z *float32, zStride int, b *float32, rows, cols int, smallest "+
		"float32)",
		"modReLU of rows of cols real and as many imaginary parts, strides in bytes:",
		"",
		"\th = z·max(0, 1 + b/|z|); |z| = √(Re² z + Im² z + smallest)")
	h, z, b, rows := m.param("h"), m.param("z"), m.param("b"), m.param("rows")
	smallest, one, zero := m.spread("smallest"), m.constant(1), m.zeros(1)[0]
	m.eachRow(rows, []reg.GPVirtual{h, z}, []string{"hStride", "zStride"}, func() {
		m.eachGroup(m.argument("cols"), m.together(), func(spans []span) {
			for _, s := range spans {
				re, im := s.loadComplex(z)
				scale := m.add(m.div(s.load(b), m.modulus(re, im, smallest)), one)
				m.VMAXPS(scale, zero, scale) // in an order that keeps a NaN
				s.storeComplex(h, m.mul(scale, re), m.mul(scale, im))
			}
		})
	})
	m.end()
}

func (m *machine) modReLUBackward() {
	m.begin("modReLUBackward", "func(delta *float32, deltaStride int, grad *float32, gradStride int, z *float32, zStride "+
		"int, b, db *float32, rows, cols int, smallest float32)",
		"the backward pass of modReLU, strides in bytes. Where 1 + b/|z| > 0, else delta = 0:",
		"",
		"\tdelta = (1 + b/|z|)·grad − b·(grad·z)/|z|³·z; db[j] += Σ_i (grad·z)/|z|")
	delta, grad, z, b, db := m.param("delta"), m.param("grad"), m.param("z"), m.param("b"), m.param("db")
	rows, smallest := m.param("rows"), m.spread("smallest")
	m.eachRow(rows, []reg.GPVirtual{delta, grad, z}, []string{"deltaStride", "gradStride", "zStride"}, func() {
		m.eachVector(m.param("cols"), func(s span) {
			re, im := s.loadComplex(z)
			gRe, gIm := s.loadComplex(grad)
			size, bias := m.modulus(re, im, smallest), s.load(b)
			scale := m.add(m.div(bias, size), m.constant(1))
			along := m.div(m.add(m.mul(gRe, re), m.mul(gIm, im)), size)
			turn := m.div(m.mul(bias, along), m.mul(size, size))
			toRe := m.sub(m.mul(scale, gRe), m.mul(turn, re))
			toIm := m.sub(m.mul(scale, gIm), m.mul(turn, im))
			m.clearUnlessPositive(scale, toRe, toIm, along)
			s.storeComplex(delta, toRe, toIm)
			s.store(db, m.add(s.load(db), along))
		})
	})
	m.end()
}

// modulus is √(re² + im² + smallest).
func (m *machine) modulus(re, im, smallest vector) vector {
	d := m.add(m.add(m.mul(re, re), m.mul(im, im)), smallest)
	m.VSQRTPS(d, d)
	return d
}

// clearUnlessPositive makes 0 of the lanes of xs where test ≤ 0. A NaN is not.
func (m *machine) clearUnlessPositive(test vector, xs ...vector) {
	const notLessOrEqual = 0x16 // quiet
	zero := m.zeros(1)[0]
	if m.wide() {
		k := m.K()
		m.VCMPPS(operand.U8(notLessOrEqual), zero, test, k)
		for _, x := range xs {
			m.VMOVAPS_Z(x, k, x)
		}
		return
	}
	m.VCMPPS(operand.U8(notLessOrEqual), zero, test, zero)
	for _, x := range xs {
		m.VANDPS(zero, x, x)
	}
}

// imaginary is where the imaginary parts begin of the row at p, half of which are cols.
func (s span) imaginary(p reg.GPVirtual) reg.GPVirtual {
	q := s.param("cols")
	s.LEAQ(operand.Mem{Base: p, Index: q, Scale: 4}, q)
	return q
}

// loadComplex is the current real and imaginary parts of the row at p.
func (s span) loadComplex(p reg.GPVirtual) (re, im vector) { return s.load(p), s.load(s.imaginary(p)) }

// storeComplex sets the current real and imaginary parts of the row at p.
func (s span) storeComplex(p reg.GPVirtual, re, im vector) {
	s.store(p, re)
	s.store(s.imaginary(p), im)
}
