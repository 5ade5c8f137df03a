package main

import (
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// laneLoops generates the loops over complex numbers of several sequences side by side, of which an element
// takes a vector of real parts and one of imaginary parts.
func (m *machine) laneLoops() {
	m.turn()
	m.turnBackward()
	m.mirror()
	m.mirrorBackward()
	m.fourier4("fourier4", "of four parts of x each elements of y, the Fourier transform of four", 0, m.bytes())
	m.fourier4("fourierInverse4", "the conjugate of fourier4", m.bytes(), 0)
	m.fourier2()
}

// element is the size of a complex number in lanes.
func (m *machine) element() operand.Constant { return operand.U32(2 * m.bytes()) }

// toBytes makes of a number of elements what they take.
func (m *machine) toBytes(elements reg.GPVirtual) {
	m.SHLQ(operand.U8(bits.TrailingZeros(uint(2*m.bytes()))), elements)
}

// complexAt loads the complex number in lanes at a place.
func (m *machine) complexAt(at operand.Mem) (re, im vector) {
	return m.read(at, nil), m.read(at.Offset(m.bytes()), nil)
}

// storeComplexAt sets the complex number in lanes at a place.
func (m *machine) storeComplexAt(at operand.Mem, re, im vector) {
	m.store(re, nil, at)
	m.store(im, nil, at.Offset(m.bytes()))
}

// spreadComplex are registers full of the two parts of a complex number.
func (m *machine) spreadComplex(at operand.Mem) (re, im vector) {
	return m.broadcast(at), m.broadcast(at.Offset(4))
}

// times is (a + ib)(re + i·im).
func (m *machine) times(a, b, re, im vector) (toRe, toIm vector) {
	toRe, toIm = m.mul(a, re), m.mul(a, im)
	m.subProduct(toRe, b, im)
	m.addProduct(toIm, b, re)
	return toRe, toIm
}

// conjugateTimes is (a - ib)(re + i·im).
func (m *machine) conjugateTimes(a, b, re, im vector) (toRe, toIm vector) {
	toRe, toIm = m.mul(a, re), m.mul(a, im)
	m.addProduct(toRe, b, im)
	m.subProduct(toIm, b, re)
	return toRe, toIm
}

// count emits a loop over n, at least 1, which is changed.
func (m *machine) count(n reg.GPVirtual, body func()) {
	loop := m.label("loop")
	m.Label(loop)
	body()
	m.DECQ(n)
	m.JNE(operand.LabelRef(loop))
}

func (m *machine) turn() {
	m.begin("turn", "func(dst, x, t *float32, n int)", "dst[k] = t[k]·x[k] of complex numbers in lanes.")
	dst, x, t := m.param("dst"), m.param("x"), m.param("t")
	m.count(m.param("n"), func() {
		a, b := m.spreadComplex(operand.Mem{Base: t})
		re, im := m.complexAt(operand.Mem{Base: x})
		re, im = m.times(a, b, re, im)
		m.storeComplexAt(operand.Mem{Base: dst}, re, im)
		m.ADDQ(operand.U8(8), t)
		m.ADDQ(m.element(), x)
		m.ADDQ(m.element(), dst)
	})
	m.end()
}

func (m *machine) turnBackward() {
	m.begin("turnBackward", "func(grad, x, t, domega *float32, n int)",
		"grad[k] = t[k]*·grad[k]; domega[k] += Im(grad[k]·x[k]*) of complex numbers in lanes.")
	grad, x, t, domega := m.param("grad"), m.param("x"), m.param("t"), m.param("domega")
	m.count(m.param("n"), func() {
		a, b := m.spreadComplex(operand.Mem{Base: t})
		re, im := m.complexAt(operand.Mem{Base: grad})
		re, im = m.conjugateTimes(a, b, re, im)
		m.storeComplexAt(operand.Mem{Base: grad}, re, im)
		xRe, xIm := m.complexAt(operand.Mem{Base: x})
		sum := m.read(operand.Mem{Base: domega}, nil)
		m.addProduct(sum, im, xRe)
		m.subProduct(sum, re, xIm)
		m.store(sum, nil, operand.Mem{Base: domega})
		m.ADDQ(operand.U8(8), t)
		m.ADDQ(m.element(), x)
		m.ADDQ(m.element(), grad)
		m.ADDQ(operand.U32(m.bytes()), domega)
	})
	m.end()
}

// conjugateSums emits scale·Σ (a − ib)·(re + i·im) over the numbers that next moves on to. So many of them at a
// time have sums of their own.
func (m *machine) conjugateSums(chains int, next func() (a, b, re, im vector)) (re, im vector) {
	sums := m.zeros(4 * chains)
	m.unrolled(m.param("n"), chains, func(at int) {
		a, b, re, im := next()
		s := sums[4*at:]
		m.addProduct(s[0], a, re)
		m.addProduct(s[1], b, im)
		m.addProduct(s[2], a, im)
		m.addProduct(s[3], b, re)
	}, func(int) {})
	m.addChains(sums, 4)
	scale := m.spread("scale")
	return m.mul(scale, m.add(sums[0], sums[1])), m.mul(scale, m.sub(sums[2], sums[3]))
}

// ordered loads the next index of an order, and returns it and its place in bytes.
func (m *machine) ordered(order reg.GPVirtual) (index, element reg.GPVirtual) {
	index, element = m.GP64(), m.GP64()
	m.MOVQ(operand.Mem{Base: order}, index)
	m.ADDQ(operand.U8(8), order)
	m.MOVQ(index, element)
	m.toBytes(element)
	return index, element
}

func (m *machine) mirror() {
	m.begin("mirror", "func(dst, x, v *float32, order *int, along *float32, n int, scale float32)",
		"a reflection of complex numbers in lanes and then a permutation:",
		"",
		"\talong = scale·Σ v[k]*·x[k]; dst[i] = x[k] − along·v[k], k being order[i]")
	x, v := m.param("x"), m.param("v")
	alphaRe, alphaIm := m.conjugateSums(2, func() (a, b, re, im vector) {
		a, b = m.spreadComplex(operand.Mem{Base: v})
		re, im = m.complexAt(operand.Mem{Base: x})
		m.ADDQ(operand.U8(8), v)
		m.ADDQ(m.element(), x)
		return a, b, re, im
	})
	m.storeComplexAt(operand.Mem{Base: m.param("along")}, alphaRe, alphaIm)
	dst, order := m.param("dst"), m.param("order")
	x, v = m.param("x"), m.param("v")
	m.count(m.param("n"), func() {
		index, element := m.ordered(order)
		at := operand.Mem{Base: v, Index: index, Scale: 8}
		a, b := m.spreadComplex(at)
		re, im := m.complexAt(operand.Mem{Base: x, Index: element, Scale: 1})
		m.subProduct(re, alphaRe, a)
		m.addProduct(re, alphaIm, b)
		m.subProduct(im, alphaRe, b)
		m.subProduct(im, alphaIm, a)
		m.storeComplexAt(operand.Mem{Base: dst}, re, im)
		m.ADDQ(m.element(), dst)
	})
	m.end()
}

func (m *machine) mirrorBackward() {
	m.begin("mirrorBackward", "func(dx, grad, x, v *float32, order *int, along, dv, both *float32, n int, scale "+
		"float32)",
		"the backward pass of mirror, beta being scale·Σ v[k]*·grad[i], k being order[i]:",
		"",
		"\tdv[k] −= along*·grad[i] + beta*·x[k]; dx[k] = grad[i] − beta·v[k]; both += Re(along·beta*)")
	dx, grad, v, order := m.param("dx"), m.param("grad"), m.param("v"), m.param("order")
	betaRe, betaIm := m.conjugateSums(1, func() (a, b, re, im vector) {
		index, element := m.ordered(order)
		a, b = m.spreadComplex(operand.Mem{Base: v, Index: index, Scale: 8})
		re, im = m.complexAt(operand.Mem{Base: grad})
		m.storeComplexAt(operand.Mem{Base: dx, Index: element, Scale: 1}, re, im)
		m.ADDQ(m.element(), grad)
		return a, b, re, im
	})
	alphaRe, alphaIm := m.complexAt(operand.Mem{Base: m.param("along")})
	both := operand.Mem{Base: m.param("both")}
	sum := m.read(both, nil)
	m.addProduct(sum, alphaRe, betaRe)
	m.addProduct(sum, alphaIm, betaIm)
	m.store(sum, nil, both)
	x, dv := m.param("x"), m.param("dv")
	m.count(m.param("n"), func() {
		a, b := m.spreadComplex(operand.Mem{Base: v})
		re, im := m.complexAt(operand.Mem{Base: dx})
		xRe, xIm := m.complexAt(operand.Mem{Base: x})
		sumRe, sumIm := m.complexAt(operand.Mem{Base: dv})
		m.subProduct(sumRe, alphaRe, re)
		m.subProduct(sumRe, alphaIm, im)
		m.subProduct(sumRe, betaRe, xRe)
		m.subProduct(sumRe, betaIm, xIm)
		m.subProduct(sumIm, alphaRe, im)
		m.addProduct(sumIm, alphaIm, re)
		m.subProduct(sumIm, betaRe, xIm)
		m.addProduct(sumIm, betaIm, xRe)
		m.storeComplexAt(operand.Mem{Base: dv}, sumRe, sumIm)
		m.subProduct(re, betaRe, a)
		m.addProduct(re, betaIm, b)
		m.subProduct(im, betaRe, b)
		m.subProduct(im, betaIm, a)
		m.storeComplexAt(operand.Mem{Base: dx}, re, im)
		m.ADDQ(operand.U8(8), v)
		for _, p := range []reg.GPVirtual{dx, x, dv} {
			m.ADDQ(m.element(), p)
		}
	})
	m.end()
}

// fourier4 takes the real parts at one offset of an element and the imaginary parts at another: exchanged,
// they make of a transform its conjugate.
func (m *machine) fourier4(name, doc string, re, im int) {
	m.begin(name, "func(y, x, turns *float32, count, stride int)", doc+":",
		"",
		"\ty[q+stride·(4p+k)] = w[p]^k·Σ_j (−i)^jk x[q+stride·p+j·count·stride] for q < stride, p < count",
		"",
		"w[p], w[p]² and w[p]³ stand in turns.")
	load := func(at operand.Mem) (vector, vector) {
		return m.read(at.Offset(re), nil), m.read(at.Offset(im), nil)
	}
	store := func(at operand.Mem, x, y vector) {
		m.store(x, nil, at.Offset(re))
		m.store(y, nil, at.Offset(im))
	}
	y, x, turns, count := m.param("y"), m.param("x"), m.param("turns"), m.param("count")
	step := m.param("stride")
	m.toBytes(step) // as are those that follow
	part, part3, step3 := m.GP64(), m.GP64(), m.GP64()
	m.MOVQ(step, part)
	m.IMULQ(count, part)
	m.LEAQ(operand.Mem{Base: part, Index: part, Scale: 2}, part3)
	m.LEAQ(operand.Mem{Base: step, Index: step, Scale: 2}, step3)
	m.count(count, func() {
		m.count(m.param("stride"), func() {
			aRe, aIm := load(operand.Mem{Base: x})
			cRe, cIm := load(operand.Mem{Base: x, Index: part, Scale: 2})
			evenRe, evenIm, restRe, restIm := m.add(aRe, cRe), m.add(aIm, cIm), m.sub(aRe, cRe), m.sub(aIm, cIm)
			bRe, bIm := load(operand.Mem{Base: x, Index: part, Scale: 1})
			dRe, dIm := load(operand.Mem{Base: x, Index: part3, Scale: 1})
			oddRe, oddIm, turnRe, turnIm := m.add(bRe, dRe), m.add(bIm, dIm), m.sub(bIm, dIm), m.sub(bRe, dRe)
			store(operand.Mem{Base: y}, m.add(evenRe, oddRe), m.add(evenIm, oddIm))
			for k, out := range []struct {
				at     operand.Mem
				re, im vector
			}{
				{operand.Mem{Base: y, Index: step, Scale: 1}, m.add(restRe, turnRe), m.sub(restIm, turnIm)},
				{operand.Mem{Base: y, Index: step, Scale: 2}, m.sub(evenRe, oddRe), m.sub(evenIm, oddIm)},
				{operand.Mem{Base: y, Index: step3, Scale: 1}, m.sub(restRe, turnRe), m.add(restIm, turnIm)},
			} {
				a, b := m.spreadComplex(operand.Mem{Base: turns, Disp: 8 * k})
				toRe, toIm := m.times(a, b, out.re, out.im)
				store(out.at, toRe, toIm)
			}
			m.ADDQ(m.element(), x)
			m.ADDQ(m.element(), y)
		})
		m.ADDQ(step3, y)
		m.ADDQ(operand.U8(24), turns)
	})
	m.end()
}

func (m *machine) fourier2() {
	m.begin("fourier2", "func(y, x *float32, half int)",
		"y[q] = x[q] + x[q+half]; y[q+half] = x[q] − x[q+half] for q < half of complex numbers in lanes.")
	y, x, part := m.param("y"), m.param("x"), m.param("half")
	m.toBytes(part)
	m.count(m.param("half"), func() {
		aRe, aIm := m.complexAt(operand.Mem{Base: x})
		bRe, bIm := m.complexAt(operand.Mem{Base: x, Index: part, Scale: 1})
		m.storeComplexAt(operand.Mem{Base: y}, m.add(aRe, bRe), m.add(aIm, bIm))
		m.storeComplexAt(operand.Mem{Base: y, Index: part, Scale: 1}, m.sub(aRe, bRe), m.sub(aIm, bIm))
		m.ADDQ(m.element(), x)
		m.ADDQ(m.element(), y)
	})
	m.end()
}
