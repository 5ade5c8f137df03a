package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gates generates the elementwise parts of gated cells.
func (m *machine) gates() {
	lstm, gru := []string{"i", "f", "g", "o"}, []string{"z", "r"}

	m.matrices("lstmForward", lstm, []string{"cPrev", "c", "tanhC", "h"}, []string{
		"a step of LSTM gates:",
		"",
		"\ti = σ(i); f = σ(f); g = tanh(g); o = σ(o)",
		"\tc = f∘cPrev + i∘g; tanhC = tanh(c); h = o∘tanhC",
	}, func(s span, p operands) {
		input := m.sigmoid(s.load(p["i"]))
		s.store(p["i"], input)
		candidate := m.tanh(s.load(p["g"]))
		s.store(p["g"], candidate)
		c := m.mul(input, candidate)
		forget := m.sigmoid(s.load(p["f"]))
		s.store(p["f"], forget)
		m.addProduct(c, forget, s.load(p["cPrev"]))
		s.store(p["c"], c)
		t := m.tanh(c)
		s.store(p["tanhC"], t)
		output := m.sigmoid(s.load(p["o"]))
		s.store(p["o"], output)
		s.store(p["h"], m.mul(output, t))
	})

	m.matrices("lstmBackward", lstm, []string{"cPrev", "tanhC", "dh", "dc"}, []string{
		"the way back through lstmForward:",
		"",
		"\tdc += dh∘o∘(1−tanhC²)",
		"\to = dh∘tanhC∘o∘(1−o); i = dc∘g∘i∘(1−i); f = dc∘cPrev∘f∘(1−f); g = dc∘i∘(1−g²)",
		"\tdc = dc∘f",
	}, func(s span, p operands) {
		dh, t, output := s.load(p["dh"]), s.load(p["tanhC"]), s.load(p["o"])
		dho := m.mul(dh, output)
		dc := s.load(p["dc"])
		m.addProduct(dc, dho, m.oneMinusSquare(t))
		s.store(p["o"], m.mul(m.mul(dho, t), m.oneMinus(output)))
		input, candidate := s.load(p["i"]), s.load(p["g"])
		dci := m.mul(dc, input)
		s.store(p["i"], m.mul(m.mul(dci, candidate), m.oneMinus(input)))
		s.store(p["g"], m.mul(dci, m.oneMinusSquare(candidate)))
		forget := s.load(p["f"])
		before := m.mul(dc, forget)
		s.store(p["f"], m.mul(m.mul(before, s.load(p["cPrev"])), m.oneMinus(forget)))
		s.store(p["dc"], before)
	})

	m.matrices("gruGates", gru, []string{"hPrev", "rh"}, []string{
		"z = σ(z); r = σ(r); rh = r∘hPrev",
	}, func(s span, p operands) {
		s.store(p["z"], m.sigmoid(s.load(p["z"])))
		reset := m.sigmoid(s.load(p["r"]))
		s.store(p["r"], reset)
		s.store(p["rh"], m.mul(reset, s.load(p["hPrev"])))
	})

	m.matrices("gruBlend", gru[:1], []string{"cand", "hPrev", "h"}, []string{
		"cand = tanh(cand); h = hPrev + z∘(cand − hPrev)",
	}, func(s span, p operands) {
		candidate := m.tanh(s.load(p["cand"]))
		s.store(p["cand"], candidate)
		h := s.load(p["hPrev"])
		m.addProduct(h, m.sub(candidate, h), s.load(p["z"]))
		s.store(p["h"], h)
	})

	m.matrices("gruBlendBackward", gru[:1], []string{"cand", "hPrev", "dh"}, []string{
		"the way back through gruBlend:",
		"",
		"\tcand = dh∘z∘(1−cand²); z = dh∘(cand−hPrev)∘z∘(1−z); dh = dh∘(1−z)",
	}, func(s span, p operands) {
		dh, update, candidate := s.load(p["dh"]), s.load(p["z"]), s.load(p["cand"])
		dhz := m.mul(dh, update)
		s.store(p["cand"], m.mul(dhz, m.oneMinusSquare(candidate)))
		rest := m.oneMinus(update)
		s.store(p["z"], m.mul(m.mul(dhz, m.sub(candidate, s.load(p["hPrev"]))), rest))
		s.store(p["dh"], m.mul(dh, rest))
	})

	m.matrices("gruGatesBackward", gru, []string{"hPrev", "drh", "dh"}, []string{
		"the way back through rh = r∘hPrev:",
		"",
		"\tr = drh∘hPrev∘r∘(1−r); dh += drh∘r; drh = r∘hPrev",
	}, func(s span, p operands) {
		drh, reset, before := s.load(p["drh"]), s.load(p["r"]), s.load(p["hPrev"])
		dh, rh := s.load(p["dh"]), m.mul(reset, before)
		m.addProduct(dh, drh, reset)
		s.store(p["dh"], dh)
		s.store(p["drh"], rh)
		s.store(p["r"], m.mul(m.mul(drh, rh), m.oneMinus(reset)))
	})
}

// oneMinus is 1 − x.
func (m *machine) oneMinus(x vector) vector { return m.sub(m.fill(1), x) }

// operands are the pointers of a function by name.
type operands map[string]reg.GPVirtual

// matrices generates a function over rows of matrices given by pointer and stride
// in bytes: gates, whose blocks of columns have names of their own, and others.
func (m *machine) matrices(name string, blocks, others, doc []string, body func(s span, p operands)) {
	signature := "func(gates *float32, gatesStride int"
	for _, o := range others {
		signature += ", " + o + " *float32, " + o + "Stride int"
	}
	m.begin(name, signature+", rows, cols int)", doc...)
	cols, rows := m.param("cols"), m.param("rows")
	p := operands{}
	var pointers []reg.GPVirtual
	var strides []string
	for i, b := range blocks {
		q := m.GP64()
		if i == 0 {
			m.Load(m.Param("gates"), q)
		} else {
			m.LEAQ(operand.Mem{Base: pointers[i-1], Index: cols, Scale: 4}, q)
		}
		p[b] = q
		pointers, strides = append(pointers, q), append(strides, "gatesStride")
	}
	for _, o := range others {
		p[o] = m.param(o)
		pointers, strides = append(pointers, p[o]), append(strides, o+"Stride")
	}
	m.eachRow(rows, pointers, strides, func() { m.eachVector(cols, func(s span) { body(s, p) }) })
	m.end()
}
