package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gates generates the elementwise parts of gated cells.
func (m *machine) gates() {
	m.lstmGates([]string{"i", "f", "g", "o"})
	m.gruGates([]string{"z", "r"})
}

func (m *machine) lstmGates(lstm []string) {
	m.matrices("lstmGates", lstm, "", []string{"cPrev", "c", "h"}, []string{"c", "h"}, []string{
		"a step of LSTM gates, which prefetches what lies that many bytes further of c and h:",
		"",
		"\ti = σ(i); f = σ(f); g = tanh(g); o = σ(o)",
		"\tc = f∘cPrev + i∘g; h = o∘tanh(c)",
	}, m.together(), func(s []span, p operands) {
		n := len(s)
		divisors := m.sigmoidDivisors(slices.Concat(loads(s, p["i"]), loads(s, p["f"]), loads(s, p["o"])))
		input, forget := m.reciprocals(divisors[:n], divisors[n:2*n])
		stores(s, p["i"], input)
		stores(s, p["f"], forget)
		ps, qs := m.tanhParts(loads(s, p["g"]))
		candidate, output := m.reciprocals(qs, divisors[2*n:])
		for i, q := range candidate {
			candidate[i] = m.mul(ps[i], q)
		}
		candidate = m.clamp(-1, 1, candidate)
		stores(s, p["g"], candidate)
		stores(s, p["o"], output)
		c := make(group, n)
		for i := range c {
			c[i] = m.mul(input[i], candidate[i])
			m.addProduct(c[i], forget[i], s[i].load(p["cPrev"]))
		}
		stores(s, p["c"], c)
		for i, t := range m.tanh(c) {
			s[i].store(p["h"], m.mul(output[i], t))
		}
	})

	m.matrices("lstmGatesBackward", lstm, "deltas", []string{"cPrev", "h", "dh", "dc"}, []string{"cPrev"}, []string{
		"the backward pass of lstmGates, which prefetches what lies that many bytes further of cPrev:",
		"",
		"\tdc += dh∘o∘(1−(h/o)²)",
		"\tδo = dh∘h∘(1−o); δi = dc∘g∘i∘(1−i); δf = dc∘cPrev∘f∘(1−f); δg = dc∘i∘(1−g²)",
		"\tdc = dc∘f",
	}, m.together(), func(spans []span, p operands) {
		for _, s := range spans {
			dh, h, output := s.load(p["dh"]), s.load(p["h"]), s.load(p["o"])
			dc := s.load(p["dc"])
			m.addProduct(dc, m.mul(dh, output), m.oneMinusSquare(m.div(h, output)))
			s.storeBeside(p, "o", m.mul(m.mul(dh, h), m.oneMinus(output)))
			input, candidate := s.load(p["i"]), s.load(p["g"])
			dci := m.mul(dc, input)
			s.storeBeside(p, "i", m.mul(m.mul(dci, candidate), m.oneMinus(input)))
			s.storeBeside(p, "g", m.mul(dci, m.oneMinusSquare(candidate)))
			forget := s.load(p["f"])
			before := m.mul(dc, forget)
			s.storeBeside(p, "f", m.mul(m.mul(before, s.load(p["cPrev"])), m.oneMinus(forget)))
			s.store(p["dc"], before)
		}
	})
}

func (m *machine) gruGates(gru []string) {
	m.matrices("gruGates", gru, "", []string{"hPrev", "rh"}, nil, []string{
		"z = σ(z); r = σ(r); rh = r∘hPrev",
	}, m.together(), func(s []span, p operands) {
		divisors := m.sigmoidDivisors(slices.Concat(loads(s, p["z"]), loads(s, p["r"])))
		update, reset := m.reciprocals(divisors[:len(s)], divisors[len(s):])
		stores(s, p["z"], update)
		stores(s, p["r"], reset)
		for i := range s {
			s[i].store(p["rh"], m.mul(reset[i], s[i].load(p["hPrev"])))
		}
	})

	m.matrices("gruBlend", gru[:1], "", []string{"cand", "hPrev", "h"}, nil, []string{
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

	m.matrices("gruBlendBackward", gru[:1], "", []string{"cand", "hPrev", "dh"}, nil, []string{
		"the backward pass of gruBlend:",
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

	m.matrices("gruGatesBackward", gru, "", []string{"hPrev", "drh", "dh"}, nil, []string{
		"the backward pass of rh = r∘hPrev:",
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

// shift is the operand that leads from gates to the matrix beside them.
const shift = "shift"

// storeBeside sets the current elements of a block of the matrix beside the gates.
func (s span) storeBeside(p operands, block string, v vector) {
	q := s.GP64()
	s.LEAQ(operand.Mem{Base: p[block], Index: p[shift], Scale: 1}, q)
	s.store(q, v)
}

// matrices generates a function over rows of matrices given by pointer and stride
// in bytes: gates, whose blocks of columns have names of their own, a matrix like
// them beside, if it has a name, and others. Of those streamed it prefetches what lies
// as many bytes further as the argument prefetch says. The body may be given several
// vectors at a time.
func (m *machine) matrices(name string, blocks []string, beside string, others, streamed, doc []string, together int,
	body func(s []span, p operands)) {
	signature := "func(gates *float32, gatesStride int"
	if beside != "" {
		signature += fmt.Sprintf(", %s *float32, %[1]sStride int", beside)
	}
	for _, o := range others {
		signature += fmt.Sprintf(", %s *float32, %[1]sStride int", o)
	}
	signature += ", rows, cols int"
	if streamed != nil {
		signature += ", prefetch int"
	}
	m.begin(name, signature+")", doc...)
	p := operands{}
	var pointers []reg.GPVirtual
	var strides []string
	next := func(name, stride string, q reg.GPVirtual) {
		p[name], pointers, strides = q, append(pointers, q), append(strides, stride)
	}
	next(blocks[0], "gatesStride", m.param("gates"))
	for _, b := range blocks[1:] {
		q := m.param("cols")
		m.LEAQ(operand.Mem{Base: pointers[len(pointers)-1], Index: q, Scale: 4}, q)
		next(b, "gatesStride", q)
	}
	if beside != "" {
		p[shift] = m.param(beside)
		m.SUBQ(p[blocks[0]], p[shift])
	}
	for _, o := range others {
		next(o, o+"Stride", m.param(o))
	}
	loop := m.label("rows")
	m.Label(loop)
	m.eachGroup(m.argument("cols"), together, func(s []span) {
		for _, name := range streamed {
			q := m.param("prefetch")
			m.ADDQ(p[name], q)
			for i := range s {
				m.PREFETCHT1(s[i].at(q))
			}
		}
		body(s, p)
	})
	for i, q := range pointers {
		m.ADDQ(m.argument(strides[i]), q)
	}
	if beside != "" {
		m.ADDQ(m.argument(beside+"Stride"), p[shift])
		m.SUBQ(m.argument("gatesStride"), p[shift])
	}
	m.DECQ(m.argument("rows"))
	m.JNE(operand.LabelRef(loop))
	m.end()
}
