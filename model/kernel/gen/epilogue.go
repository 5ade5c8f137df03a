package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Activation stages of a product's epilogue, as package kernel numbers them.
const (
	epilogueLeaky = iota + 1
	epilogueLeakyDerivative
	epilogueTanhDerivative
	epilogueLeakyGate
)

// unroll is how many steps of k a tile's loop takes at once: low tiles have less
// to do in a step.
func (m *machine) unroll(height int) int {
	if height > 4 {
		return 2
	}
	return 4
}

// unrolled emits a loop of n steps, several at a time and then the rest. n is changed.
func (m *machine) unrolled(n reg.GPVirtual, steps int, step func(at int), advance func(steps int)) {
	loop, rest, tail, done := m.label("loop"), m.label("rest"), m.label("tail"), m.label("done")
	m.SUBQ(operand.U8(steps), n)
	m.JL(operand.LabelRef(rest))
	m.Label(loop)
	for at := range steps {
		step(at)
	}
	advance(steps)
	m.SUBQ(operand.U8(steps), n)
	m.JGE(operand.LabelRef(loop))
	m.Label(rest)
	m.ADDQ(operand.U8(steps), n)
	m.JE(operand.LabelRef(done))
	m.Label(tail)
	step(0)
	advance(1)
	m.DECQ(n)
	m.JNE(operand.LabelRef(tail))
	m.Label(done)
}

// rowMem is the place of row i.
func (m *machine) rowMem(pointers []reg.GPVirtual, stride, stride3 reg.GPVirtual, i int) operand.Mem {
	p := pointers[i/4]
	switch i % 4 {
	case 1, 2:
		return operand.Mem{Base: p, Index: stride, Scale: uint8(i % 4)}
	case 3:
		return operand.Mem{Base: p, Index: stride3, Scale: 1}
	}
	return operand.Mem{Base: p}
}

// unlessNil emits body to be skipped when p is nil.
func (m *machine) unlessNil(p reg.GPVirtual, body func()) {
	skip := m.label("skip")
	m.TESTQ(p, p)
	m.JE(operand.LabelRef(skip))
	body()
	m.Label(skip)
}

// prefetch fetches the first and the last line of the tile's part of height rows from p.
func (m *machine) prefetch(p, stride reg.GPVirtual, height, vectors int) {
	q := m.GP64()
	m.MOVQ(p, q)
	for i := range height {
		m.PREFETCHT0(operand.Mem{Base: q})
		m.PREFETCHT0(operand.Mem{Base: q, Disp: vectors*m.bytes() - 4})
		if i < height-1 {
			m.ADDQ(stride, q)
		}
	}
}

// each calls do for every vector of a tile's part of a matrix, and moves p on to the
// rows after. last is the mask of a row's last vector; nil if it is whole.
func (c *call) each(height int, last *lastMask, p, stride reg.GPVirtual,
	do func(i, v int, mem operand.Mem, mask *lastMask)) {
	for i := range height {
		for v := range c.vectors {
			var mask *lastMask
			if v == c.vectors-1 {
				mask = last
			}
			do(i, v, operand.Mem{Base: p, Disp: v * c.bytes()}, mask)
		}
		c.ADDQ(stride, p)
	}
}

// epilogue adds the source to the sums, applies the activation stage and stores
// them. C, source and out go on to the rows after.
func (c *call) epilogue(height int, last *lastMask, scratch []reg.VecPhysical) {
	activate, store, done := c.label("activate"), c.label("store"), c.label("done")
	c.CMPQ(c.field("epilogue"), operand.U8(epilogueLeakyGate))
	c.JE(operand.LabelRef(activate)) // its source comes after the activation
	c.addSource(height, last, scratch)
	c.Label(activate)
	c.activate(height, last, scratch, store)
	c.Label(store)
	c.each(height, last, c.c, c.get("cStride"), func(i, v int, mem operand.Mem, mask *lastMask) {
		c.store(c.sum(i, v), mask, mem)
	})
	c.CMPQ(c.field("epilogue"), operand.U8(epilogueLeakyGate))
	c.JNE(operand.LabelRef(done))
	c.gate(height, last, scratch)
	c.Label(done)
}

// gate is out = alpha·C + beta·source.
func (c *call) gate(height int, last *lastMask, scratch []reg.VecPhysical) {
	alpha, beta, next := scratch[0], scratch[1], scratch[2]
	c.VBROADCASTSS(c.field("alpha"), alpha)
	c.VBROADCASTSS(c.field("beta"), beta)
	source, out, outStride := c.get("source"), c.get("out"), c.get("outStride")
	c.each(height, last, source, c.get("sourceStride"), func(i, v int, mem operand.Mem, mask *lastMask) {
		c.load(mem, mask, next)
		c.VMULPS(beta, next, next)
		c.VFMADD231PS(alpha, c.sum(i, v), next)
		c.store(next, mask, operand.Mem{Base: out, Disp: v * c.bytes()})
		if v == c.vectors-1 {
			c.ADDQ(outStride, out)
		}
	})
	c.MOVQ(source, c.field("source"))
	c.MOVQ(out, c.field("out"))
}

// addSource adds source·diag(scale), or source, or nothing.
func (c *call) addSource(height int, last *lastMask, scratch []reg.VecPhysical) {
	source := c.get("source")
	c.unlessNil(source, func() {
		stride, scale := c.get("sourceStride"), c.get("scale")
		scaled, added := c.label("scaled"), c.label("added")
		c.TESTQ(scale, scale)
		c.JNE(operand.LabelRef(scaled))
		c.each(height, last, source, stride, func(i, v int, mem operand.Mem, mask *lastMask) {
			switch {
			case mask == nil:
				c.VADDPS(mem, c.sum(i, v), c.sum(i, v))
			case c.wide():
				c.VADDPS(mem, c.sum(i, v), mask.k, c.sum(i, v))
			default:
				c.load(mem, mask, scratch[0])
				c.VADDPS(scratch[0], c.sum(i, v), c.sum(i, v))
			}
		})
		c.JMP(operand.LabelRef(added))
		c.Label(scaled)
		c.each(height, last, source, stride, func(i, v int, mem operand.Mem, mask *lastMask) {
			if i == 0 || !c.wide() { // few registers: load it again for every row
				c.load(operand.Mem{Base: scale, Disp: v * c.bytes()}, mask, scratch[1+v%(len(scratch)-1)])
			}
			c.load(mem, mask, scratch[0])
			c.VFMADD231PS(scratch[1+v%(len(scratch)-1)], scratch[0], c.sum(i, v))
		})
		c.Label(added)
		c.MOVQ(source, c.field("source"))
	})
}

// activate applies the stage that the arguments ask for, and goes on at the label.
func (c *call) activate(height int, last *lastMask, scratch []reg.VecPhysical, store string) {
	kind := c.get("epilogue")
	leaky, derivative, tanh := c.label("leaky"), c.label("derivative"), c.label("tanh")
	c.CMPQ(kind, operand.U8(epilogueLeaky))
	c.JL(operand.LabelRef(store))
	slope := scratch[1]
	c.VBROADCASTSS(c.field("slope"), slope)
	c.JE(operand.LabelRef(leaky))
	c.CMPQ(kind, operand.U8(epilogueLeakyGate))
	c.JNE(operand.LabelRef(derivative))
	c.Label(leaky)
	for i := range height {
		for v := range c.vectors {
			// The larger one, for slopes up to 1; of operands that are no numbers
			// it is the first.
			scaled := scratch[2*(v%2)]
			c.VMULPS(slope, c.sum(i, v), scaled)
			c.VMAXPS(c.sum(i, v), scaled, c.sum(i, v))
		}
	}
	c.JMP(operand.LabelRef(store))

	c.Label(derivative)
	out, stride := c.get("out"), c.get("outStride")
	c.CMPQ(kind, operand.U8(epilogueLeakyDerivative))
	c.JNE(operand.LabelRef(tanh))
	c.each(height, last, out, stride, func(i, v int, mem operand.Mem, mask *lastMask) {
		c.load(mem, mask, scratch[2])
		c.scaleUnlessPositive(c.sum(i, v), scratch[2], slope, scratch[0], scratch[2])
	})
	c.MOVQ(out, c.field("out"))
	c.JMP(operand.LabelRef(store))

	c.Label(tanh)
	one := slope
	c.VBROADCASTSS(c.float(1), one)
	c.each(height, last, out, stride, func(i, v int, mem operand.Mem, mask *lastMask) {
		c.load(mem, mask, scratch[2])
		c.VFNMADD213PS(one, scratch[2], scratch[2])
		c.VMULPS(scratch[2], c.sum(i, v), c.sum(i, v))
	})
	c.MOVQ(out, c.field("out"))
}

// scaleUnlessPositive is x = test > 0 ? x : slope·x. free1 and free2 are changed;
// free2 may be test, if that is not x.
func (m *machine) scaleUnlessPositive(x, test, slope, free1, free2 reg.Register) {
	const greater, notGreater = 0x1e, 0x1a // quiet; a NaN is not greater
	m.zero(free1)
	if m.wide() {
		k := m.K()
		m.VCMPPS(operand.U8(notGreater), free1, test, k)
		m.VMULPS(slope, x, k, x)
		return
	}
	m.VCMPPS(operand.U8(greater), free1, test, free2)
	m.VMULPS(slope, x, free1)
	m.VBLENDVPS(free2, x, free1, x)
}
