package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector is a vector register that the allocator chooses.
type vector = reg.VecVirtual

// instruction is one of avo's methods that emit an instruction.
type instruction = func(ops ...operand.Op)

// vector is a new vector register.
func (m *machine) vector() vector {
	if m.wide() {
		return m.ZMM()
	}
	return m.YMM()
}

// do is op(a, b) in a new register. b may be in memory.
func (m *machine) do(op instruction, a, b operand.Op) vector {
	d := m.vector()
	op(b, a, d)
	return d
}

func (m *machine) add(a, b operand.Op) vector { return m.do(m.VADDPS, a, b) }
func (m *machine) sub(a, b operand.Op) vector { return m.do(m.VSUBPS, a, b) }
func (m *machine) mul(a, b operand.Op) vector { return m.do(m.VMULPS, a, b) }
func (m *machine) div(a, b operand.Op) vector { return m.do(m.VDIVPS, a, b) }

// broadcast is a register full of a float32.
func (m *machine) broadcast(x operand.Op) vector {
	d := m.vector()
	m.VBROADCASTSS(x, d)
	return d
}

// constant is a register full of x.
func (m *machine) constant(x float64) vector { return m.broadcast(m.float(x)) }

// spread is a register full of a float32 argument.
func (m *machine) spread(name string) vector { return m.broadcast(m.argument(name)) }

// read is a register loaded from memory, with zeros outside the mask if there is one.
func (m *machine) read(mem operand.Mem, mask *lastMask) vector {
	d := m.vector()
	m.load(mem, mask, d)
	return d
}

// copy is a new register with a's value.
func (m *machine) copy(a vector) vector {
	d := m.vector()
	m.VMOVAPS(a, d)
	return d
}

// addProduct is c += a·b. b may be in memory.
func (m *machine) addProduct(c, a vector, b operand.Op) { m.VFMADD231PS(b, a, c) }

// subProduct is c −= a·b. b may be in memory.
func (m *machine) subProduct(c, a vector, b operand.Op) { m.VFNMADD231PS(b, a, c) }

// oneMinusSquare is 1 − x².
func (m *machine) oneMinusSquare(x vector) vector {
	d := m.constant(1)
	m.subProduct(d, x, x)
	return d
}

// oneMinus is 1 − x.
func (m *machine) oneMinus(x vector) vector { return m.sub(m.constant(1), x) }

// group is several vectors that go through the same operations side by side, so
// that a constant is loaded once for all and chains of operations overlap.
type group []vector

// with is op(x, c) of every x in new registers.
func (m *machine) with(op instruction, xs group, c vector) group {
	d := make(group, len(xs))
	for i, x := range xs {
		d[i] = m.do(op, x, c)
	}
	return d
}

// clamp is every x with bounds, in an order of operands that keeps a NaN.
func (m *machine) clamp(low, high float64, xs group) group {
	d := make(group, len(xs))
	c := m.constant(high)
	for i, x := range xs {
		d[i] = m.do(m.VMINPS, c, x)
	}
	c = m.constant(low)
	for _, x := range d {
		m.VMAXPS(x, c, x)
	}
	return d
}

// polynomial is Horner's rule, highest coefficient first.
func (m *machine) polynomial(xs group, coefficients ...float64) group {
	p := make(group, len(xs))
	first, second := m.constant(coefficients[0]), m.constant(coefficients[1])
	for i, x := range xs {
		p[i] = m.copy(first)
		m.VFMADD213PS(second, x, p[i])
	}
	for _, coefficient := range coefficients[2:] {
		c := m.constant(coefficient)
		for i, x := range xs {
			m.VFMADD213PS(c, x, p[i])
		}
	}
	return p
}

// exp is eˣ: x = n·ln 2 + r with |r| ≤ ½ ln 2, where eʳ is the polynomial of degree
// six with the least relative error, 3e-9, of those that begin 1 + r. Beyond the
// clamps the result is infinite or 0.
func (m *machine) exp(xs group) group {
	const log2e, ln2Hi, ln2Lo = 1.44269504088896341, 0.693359375, -2.12194440e-4
	xs = m.clamp(-104, 89, xs)
	ns := m.with(m.VMULPS, xs, m.constant(log2e))
	for _, n := range ns {
		m.round(n)
	}
	for _, part := range []float64{ln2Hi, ln2Lo} {
		c := m.constant(part)
		for i, x := range xs {
			m.subProduct(x, ns[i], c)
		}
	}
	p := m.polynomial(xs, 1.381460205e-3, 8.368715199e-3, 4.166838788e-2, 1.666652065e-1, 4.999999345e-1, 1, 1)
	for i := range p {
		p[i] = m.scaleByPower(p[i], ns[i])
	}
	return p
}

// round rounds x to integers.
func (m *machine) round(x vector) {
	const nearestQuiet = 8
	if m.wide() {
		m.VRNDSCALEPS(operand.U8(nearestQuiet), x, x)
	} else {
		m.VROUNDPS(operand.U8(nearestQuiet), x, x)
	}
}

// scaleByPower is x·2ⁿ for an integer |n| ≤ 150. Without an instruction for it,
// it takes two steps: 2ⁿ itself may not be a float32 where the product is one.
func (m *machine) scaleByPower(x, n vector) vector {
	if m.wide() {
		return m.do(m.VSCALEFPS, x, n)
	}
	whole, half := m.vector(), m.vector()
	m.VCVTPS2DQ(n, whole)
	m.VPSRAD(operand.U8(1), whole, half)
	m.VPSUBD(half, whole, whole)
	one := m.constant(1) // whose exponent is the bias
	for _, power := range []vector{half, whole} {
		m.VPSLLD(operand.U8(23), power, power)
		m.VPADDD(one, power, power)
		x = m.mul(x, power)
	}
	return x
}

// sigmoid is 1/(1+e⁻ˣ).
func (m *machine) sigmoid(xs group) group {
	zero := m.vector()
	m.zero(zero)
	negative := make(group, len(xs))
	for i, x := range xs {
		negative[i] = m.sub(zero, x)
	}
	es := m.exp(negative)
	one := m.constant(1)
	for i, e := range es {
		es[i] = m.div(one, m.add(e, one))
	}
	return es
}

// sigmoidDivisors are 1+e⁻ˣ for gates, whose error is to be small against 1: of
// t = −x·log₂e, from which 2ᵗ is made, the part after the point is as exact as t.
// Its polynomial is the one of degree five with the least relative error, 8e-8. The
// divisor ends at 2⁶², so that two of them can be multiplied.
func (m *machine) sigmoidDivisors(xs group) group {
	ts := m.clamp(-126, 62, m.with(m.VMULPS, xs, m.constant(-math.Log2E)))
	ns := make(group, len(ts))
	for i, t := range ts {
		ns[i] = m.copy(t)
		m.round(ns[i])
		ts[i] = m.sub(t, ns[i])
	}
	ds := m.polynomial(ts, 1.3276471979478776e-3, 9.67554133421605e-3, 5.550713273542586e-2, 2.4022119723848476e-1,
		6.931469670647331e-1, 1)
	one := m.constant(1)
	for i, d := range ds {
		ds[i] = m.add(m.scaleByPower(d, ns[i]), one)
	}
	return ds
}

// reciprocals are 1/x and 1/y with one division for both, which among all that gates
// take is the slowest by far.
func (m *machine) reciprocals(xs, ys group) (first, second group) {
	one := m.constant(1)
	for i, x := range xs {
		r := m.div(one, m.mul(x, ys[i]))
		first, second = append(first, m.mul(r, ys[i])), append(second, m.mul(r, x))
	}
	return first, second
}

// tanh is x·P(x²)/Q(x²), the minimax approximation of Eigen and XLA, which needs
// no exponential and keeps its relative accuracy near 0. From the clamp on it is
// 1, which rounding would overshoot shortly before.
func (m *machine) tanh(xs group) group {
	ps, qs := m.tanhParts(xs)
	for i, q := range qs {
		ps[i] = m.div(ps[i], q)
	}
	return m.clamp(-1, 1, ps)
}

// tanhParts are the dividends and the divisors of tanh, these from 0.004 to 1.
func (m *machine) tanhParts(xs group) (ps, qs group) {
	xs = m.clamp(-9, 9, xs)
	squares := make(group, len(xs))
	for i, x := range xs {
		squares[i] = m.mul(x, x)
	}
	ps = m.polynomial(squares, -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
		1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03)
	for i, x := range xs {
		ps[i] = m.mul(ps[i], x)
	}
	return ps, m.polynomial(squares, 1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03,
		4.89352518554385e-03)
}

// positive is x > 0 ? x : slope·x where test decides: test > 0.
func (m *machine) positive(x, test, slope vector) vector {
	d := m.copy(x)
	m.scaleUnlessPositive(d, test, slope, m.vector(), m.vector())
	return d
}

// span is where in its operands an elementwise loop stands.
type span struct {
	*machine
	index  reg.GPVirtual
	offset int       // bytes beyond the index
	mask   *lastMask // of the last elements, which fill no vector
}

// at is the place of the current elements of the array at p.
func (s span) at(p reg.Register) operand.Mem {
	return operand.Mem{Base: p, Index: s.index, Scale: 4, Disp: s.offset}
}

// load is the current elements of the array at p.
func (s span) load(p reg.Register) vector { return s.read(s.at(p), s.mask) }

// prefetch fetches elements of arrays that are due soon: the processor itself foresees no
// further than a page.
func (s span) prefetch(arrays ...reg.GPVirtual) {
	if s.mask != nil {
		return
	}
	for _, p := range arrays {
		s.PREFETCHT0(s.at(p).Offset(prefetchBytes))
	}
}

// prefetchBytes is the distance in bytes at which elements are prefetched.
const prefetchBytes = 2048

// store sets the current elements of the array at p.
func (s span) store(p reg.Register, v vector) { s.machine.store(v, s.mask, s.at(p)) }

// loads are the current elements of the array at p for every span.
func loads(spans []span, p reg.Register) group {
	g := make(group, len(spans))
	for i, s := range spans {
		g[i] = s.load(p)
	}
	return g
}

// stores stores the current elements of the array at p for every span.
func stores(spans []span, p reg.Register, g group) {
	for i, s := range spans {
		s.store(p, g[i])
	}
}

// together is how many vectors a loop over gates, or reflectors, takes side by side; AVX2
// has not the registers for more than one.
func (m *machine) together() int {
	if m.wide() {
		return 2
	}
	return 1
}

// eachVector emits a loop over n elements, a vector at a time and then the rest.
func (m *machine) eachVector(n reg.GPVirtual, body func(s span)) {
	m.eachGroup(n, 1, func(spans []span) { body(spans[0]) })
}

// eachGroup emits a loop over n elements, several vectors at a time, then one,
// then the rest.
func (m *machine) eachGroup(n operand.Op, vectors int, body func(spans []span)) {
	index, rest := m.GP64(), m.GP64()
	m.XORQ(index, index)
	m.MOVQ(n, rest)
	for ; vectors > 0; vectors /= 2 {
		size := vectors * m.lanes
		loop, next := m.label("vectors"), m.label("next")
		m.SUBQ(operand.U8(size), rest)
		m.JL(operand.LabelRef(next))
		m.Label(loop)
		spans := make([]span, vectors)
		for i := range spans {
			spans[i] = span{m, index, i * m.bytes(), nil}
		}
		body(spans)
		m.ADDQ(operand.U8(size), index)
		m.SUBQ(operand.U8(size), rest)
		m.JGE(operand.LabelRef(loop))
		m.Label(next)
		m.ADDQ(operand.U8(size), rest)
	}
	done := m.label("done")
	m.JE(operand.LabelRef(done))
	mask := m.mask(rest, nil)
	body([]span{{m, index, 0, &mask}})
	m.Label(done)
}

// eachRow emits a loop over rows (at least one) that moves pointers on by strides.
func (m *machine) eachRow(rows reg.GPVirtual, pointers []reg.GPVirtual, strides []string, body func()) {
	loop := m.label("rows")
	m.Label(loop)
	body()
	for i, p := range pointers {
		m.ADDQ(m.argument(strides[i]), p)
	}
	m.DECQ(rows)
	m.JNE(operand.LabelRef(loop))
}

var negativeInfinity = math.Inf(-1)

// loadOr is load with x in the lanes outside the mask.
func (s span) loadOr(p reg.Register, x float64) vector {
	if s.mask == nil {
		return s.load(p)
	}
	d := s.constant(x)
	if s.wide() {
		s.VMOVUPS(s.at(p), s.mask.k, d)
	} else {
		s.VBLENDVPS(s.mask.k, s.load(p), d, d)
	}
	return d
}
