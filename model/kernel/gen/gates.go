package main

import (
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gates generates the elementwise parts of gated cells.
func (m *machine) gates() {
	lstm, gru := []string{"i", "f", "g", "o"}, []string{"z", "r"}

	m.matrices("lstmForward", lstm, []string{"cPrev", "c", "tanhC", "h"}, []string{"c", "tanhC", "h"}, []string{
		"a step of LSTM gates, which asks for what lies ahead bytes further of c, tanhC and h:",
		"",
		"\ti = σ(i); f = σ(f); g = tanh(g); o = σ(o)",
		"\tc = f∘cPrev + i∘g; tanhC = tanh(c); h = o∘tanhC",
	}, m.together(), func(s []span, p operands) {
		n := len(s)
		gates := m.sigmoid(slices.Concat(loads(s, p["i"]), loads(s, p["f"]), loads(s, p["o"])))
		input, forget, output := gates[:n], gates[n:2*n], gates[2*n:]
		stores(s, p["i"], input)
		stores(s, p["f"], forget)
		stores(s, p["o"], output)
		candidate := m.tanh(loads(s, p["g"]))
		stores(s, p["g"], candidate)
		c := make(group, n)
		for i := range c {
			c[i] = m.mul(input[i], candidate[i])
			m.addProduct(c[i], forget[i], s[i].load(p["cPrev"]))
		}
		stores(s, p["c"], c)
		t := m.tanh(c)
		stores(s, p["tanhC"], t)
		for i := range s {
			s[i].store(p["h"], m.mul(output[i], t[i]))
		}
	})

	m.matrices("lstmBackward", lstm, []string{"cPrev", "tanhC", "dh", "dc"}, []string{"cPrev", "tanhC"}, []string{
		"the way back through lstmForward, which asks for what lies ahead bytes further of cPrev and tanhC:",
		"",
		"\tdc += dh∘o∘(1−tanhC²)",
		"\to = dh∘tanhC∘o∘(1−o); i = dc∘g∘i∘(1−i); f = dc∘cPrev∘f∘(1−f); g = dc∘i∘(1−g²)",
		"\tdc = dc∘f",
	}, 1, func(spans []span, p operands) {
		s := spans[0]
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

	m.matrices("gruGates", gru, []string{"hPrev", "rh"}, nil, []string{
		"z = σ(z); r = σ(r); rh = r∘hPrev",
	}, m.together(), func(s []span, p operands) {
		gates := m.sigmoid(slices.Concat(loads(s, p["z"]), loads(s, p["r"])))
		update, reset := gates[:len(s)], gates[len(s):]
		stores(s, p["z"], update)
		stores(s, p["r"], reset)
		for i := range s {
			s[i].store(p["rh"], m.mul(reset[i], s[i].load(p["hPrev"])))
		}
	})

	m.matrices("gruBlend", gru[:1], []string{"cand", "hPrev", "h"}, nil, []string{
		"cand = tanh(cand); h = hPrev + z∘(cand − hPrev)",
	}, m.together(), func(s []span, p operands) {
		candidate := m.tanh(loads(s, p["cand"]))
		stores(s, p["cand"], candidate)
		for i := range s {
			h := s[i].load(p["hPrev"])
			m.addProduct(h, m.sub(candidate[i], h), s[i].load(p["z"]))
			s[i].store(p["h"], h)
		}
	})

	m.matrices("gruBlendBackward", gru[:1], []string{"cand", "hPrev", "dh"}, nil, []string{
		"the way back through gruBlend:",
		"",
		"\tcand = dh∘z∘(1−cand²); z = dh∘(cand−hPrev)∘z∘(1−z); dh = dh∘(1−z)",
	}, 1, func(spans []span, p operands) {
		s := spans[0]
		dh, update, candidate := s.load(p["dh"]), s.load(p["z"]), s.load(p["cand"])
		dhz := m.mul(dh, update)
		s.store(p["cand"], m.mul(dhz, m.oneMinusSquare(candidate)))
		rest := m.oneMinus(update)
		s.store(p["z"], m.mul(m.mul(dhz, m.sub(candidate, s.load(p["hPrev"]))), rest))
		s.store(p["dh"], m.mul(dh, rest))
	})

	m.matrices("gruGatesBackward", gru, []string{"hPrev", "drh", "dh"}, nil, []string{
		"the way back through rh = r∘hPrev:",
		"",
		"\tr = drh∘hPrev∘r∘(1−r); dh += drh∘r; drh = r∘hPrev",
	}, 1, func(spans []span, p operands) {
		s := spans[0]
		drh, reset, before := s.load(p["drh"]), s.load(p["r"]), s.load(p["hPrev"])
		dh, rh := s.load(p["dh"]), m.mul(reset, before)
		m.addProduct(dh, drh, reset)
		s.store(p["dh"], dh)
		s.store(p["drh"], rh)
		s.store(p["r"], m.mul(m.mul(drh, rh), m.oneMinus(reset)))
	})
}

// operands are the pointers of a function by name.
type operands map[string]reg.GPVirtual

// matrices generates a function over rows of matrices given by pointer and stride
// in bytes: gates, whose blocks of columns have names of their own, and others. Of
// those streamed it asks for what lies an argument ahead further. The body may be
// given several vectors at a time.
func (m *machine) matrices(name string, blocks, others, streamed, doc []string, together int, body func(s []span, p operands)) {
	signature := "func(gates *float32, gatesStride int"
	for _, o := range others {
		signature += ", " + o + " *float32, " + o + "Stride int"
	}
	signature += ", rows, cols int"
	if streamed != nil {
		signature += ", ahead int"
	}
	m.begin(name, signature+")", doc...)
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
	var ahead reg.GPVirtual
	if streamed != nil {
		ahead = m.param("ahead")
	}
	m.eachRow(rows, pointers, strides, func() {
		m.eachGroup(cols, together, func(s []span) {
			for _, name := range streamed {
				q := m.GP64()
				m.LEAQ(operand.Mem{Base: p[name], Index: ahead, Scale: 1}, q)
				for i := range s {
					m.PREFETCHT1(s[i].at(q))
				}
			}
			body(s, p)
		})
	})
	m.end()
}
