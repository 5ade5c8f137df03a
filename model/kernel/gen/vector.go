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

// clampAbove is a where a is above bound, then bound: min(bound, a), in an order
// of operands that keeps a NaN.
func (m *machine) clampAbove(bound float64, a vector) vector { return m.do(m.VMINPS, m.fill(bound), a) }

// clampBelow is max(bound, a), keeping a NaN.
func (m *machine) clampBelow(bound float64, a vector) vector { return m.do(m.VMAXPS, m.fill(bound), a) }

// fill is a register full of x.
func (m *machine) fill(x float64) vector {
	d := m.vector()
	m.VMOVUPS(m.constant(x), d)
	return d
}

// spread is a register full of a float32 argument.
func (m *machine) spread(name string) vector {
	d := m.vector()
	m.VBROADCASTSS(m.argument(name), d)
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

// polynomial is Horner's rule, highest coefficient first.
func (m *machine) polynomial(x vector, coefficients ...float64) vector {
	p := m.fill(coefficients[0])
	for _, c := range coefficients[1:] {
		m.VFMADD213PS(m.constant(c), x, p)
	}
	return p
}

// oneMinusSquare is 1 − x².
func (m *machine) oneMinusSquare(x vector) vector {
	d := m.fill(1)
	m.subProduct(d, x, x)
	return d
}

// exp is eˣ by the method of Cephes' expf (S. Moshier, 1989): x = n·ln 2 + r with
// |r| ≤ ½ ln 2 and a polynomial in r. Beyond the clamps the result is infinite or 0.
func (m *machine) exp(x vector) vector {
	const log2e, ln2Hi, ln2Lo = 1.44269504088896341, 0.693359375, -2.12194440e-4
	x = m.clampBelow(-104, m.clampAbove(89, x))
	n := m.mul(x, m.constant(log2e))
	m.round(n)
	m.subProduct(x, n, m.constant(ln2Hi))
	m.subProduct(x, n, m.constant(ln2Lo))
	p := m.polynomial(x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1, 1)
	return m.scaleByPower(p, n)
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
	for _, power := range []vector{half, whole} {
		m.VPSLLD(operand.U8(23), power, power)
		m.VPADDD(m.constant(1), power, power) // the exponent of 1 is the bias
		x = m.mul(x, power)
	}
	return x
}

// sigmoid is 1/(1+e⁻ˣ).
func (m *machine) sigmoid(x vector) vector {
	zero := m.vector()
	m.zero(zero)
	e := m.exp(m.sub(zero, x))
	return m.div(m.fill(1), m.add(e, m.constant(1)))
}

// tanh is x·P(x²)/Q(x²), the minimax approximation of Eigen and XLA, which needs
// no exponential and keeps its relative accuracy near 0. From the clamp on it is
// 1, which rounding would overshoot shortly before.
func (m *machine) tanh(x vector) vector {
	const clamp = 9
	x = m.clampBelow(-clamp, m.clampAbove(clamp, x))
	z := m.mul(x, x)
	p := m.polynomial(z, -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
		1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03)
	q := m.polynomial(z, 1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
	return m.clampBelow(-1, m.clampAbove(1, m.div(m.mul(x, p), q)))
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
	index reg.GPVirtual
	mask  *lastMask // of the last elements, which fill no vector
}

// at is the place of the current elements of the array at p.
func (s span) at(p reg.Register) operand.Mem {
	return operand.Mem{Base: p, Index: s.index, Scale: 4}
}

// load is the current elements of the array at p.
func (s span) load(p reg.Register) vector {
	d := s.vector()
	s.machine.load(s.at(p), s.mask, d)
	return d
}

// store sets the current elements of the array at p.
func (s span) store(p reg.Register, v vector) { s.machine.store(v, s.mask, s.at(p)) }

// eachVector emits a loop over n elements, a vector at a time and then the rest.
func (m *machine) eachVector(n reg.GPVirtual, body func(s span)) {
	loop, tail, done := m.label("vectors"), m.label("tail"), m.label("done")
	index, rest := m.GP64(), m.GP64()
	m.XORQ(index, index)
	m.MOVQ(n, rest)
	m.SUBQ(operand.U8(m.lanes), rest)
	m.JL(operand.LabelRef(tail))
	m.Label(loop)
	body(span{m, index, nil})
	m.ADDQ(operand.U8(m.lanes), index)
	m.SUBQ(operand.U8(m.lanes), rest)
	m.JGE(operand.LabelRef(loop))
	m.Label(tail)
	m.ADDQ(operand.U8(m.lanes), rest)
	m.JE(operand.LabelRef(done))
	mask := m.mask(rest, m.maskRegister())
	body(span{m, index, &mask})
	m.Label(done)
}

// maskRegister is where a mask may be made.
func (m *machine) maskRegister() reg.Register {
	if m.wide() {
		return nil
	}
	return m.vector()
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
	d := s.fill(x)
	if s.wide() {
		s.VMOVUPS(s.at(p), s.mask.k, d)
	} else {
		s.VBLENDVPS(s.mask.k, s.load(p), d, d)
	}
	return d
}
