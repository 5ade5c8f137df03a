package main

import (
	"fmt"
	"slices"

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

// products generates the matrix products: for panels of two vectors of columns
// and of one.
func (m *machine) products() {
	m.product("product", 2)
	m.product("productNarrow", 1)
	m.transposed("transposed", 2)
	m.transposed("transposedNarrow", 1)
	m.gather()
}

// tileRows are the heights of tiles, from the one that fills the registers down.
// A panel of one vector uses the same, so that every shape is cut alike.
func (m *machine) tileRows() []int {
	if m.wide() {
		return []int{12, 8, 4, 2, 1}
	}
	return []int{6, 4, 2, 1}
}

// evenRows is the number of rows that two tiles of the second height do better
// than one of the first and a small rest.
func (m *machine) evenRows() int { return 2 * m.tileRows()[1] }

// eachTile emits a loop over tiles of rows for each height, highest first.
func (m *machine) eachTile(rows reg.GPVirtual, tile func(height int)) {
	for q, height := range m.tileRows() {
		loop, next := m.label("tile"), m.label("next")
		m.Label(loop)
		m.CMPQ(rows, operand.U8(height))
		m.JL(operand.LabelRef(next))
		if q == 0 {
			m.CMPQ(rows, operand.U8(m.evenRows()))
			m.JE(operand.LabelRef(next))
		}
		m.Commentf("A tile of %d rows.", height)
		tile(height)
		m.SUBQ(operand.U8(height), rows)
		m.JMP(operand.LabelRef(loop))
		m.Label(next)
	}
}

// scratch are the registers that a tile leaves free: those after the sums and the
// vectors of one row of the right operand.
func (m *machine) scratch(vectors int) []reg.VecPhysical {
	used := m.tileRows()[0]*vectors + vectors
	if m.wide() {
		return zmm[used:]
	}
	return ymm[used:]
}

// arguments are the fields of a product's arguments, eight bytes each, in the order
// in which package kernel declares them.
var arguments = []string{
	"c", "cStride", "a", "aStride", "b", "k", "x", "xStride", "m", "inputs", "rows", "cols",
	"source", "sourceStride", "scale", "out", "outStride", "epilogue", "slope", "prefetch", "alpha",
	"prefetchStep", "beta",
}

// call is a product that is being generated: its arguments are read from memory,
// and those that move on from tile to tile are kept in the frame.
type call struct {
	*machine
	vectors int // in a row of the panel
	p       reg.GPVirtual
	frame   map[string]operand.Mem

	c, rows                reg.GPVirtual // of the rows that are left
	prefetched, prefetchBy reg.GPVirtual // the next line to ask for, and how far it is to the one after
	free                   []reg.VecPhysical
	last                   *lastMask // of AVX-512
}

// sum is the register of C's row i and vector v in a tile.
func (c *call) sum(i, v int) reg.VecPhysical { return c.vec(i*c.vectors + v) }

// right is the register of vector v in a row of the right operand.
func (c *call) right(v int) reg.VecPhysical { return c.vec(c.tileRows()[0]*c.vectors + v) }

// field is the place of an argument, or of its copy that moves on.
func (c *call) field(name string) operand.Mem {
	if mem, ok := c.frame[name]; ok {
		return mem
	}
	at := slices.Index(arguments, name)
	if at < 0 {
		panic("gen: no argument " + name)
	}
	return operand.Mem{Base: c.p, Disp: 8 * at}
}

// get loads an argument into a new register.
func (c *call) get(name string) reg.GPVirtual {
	r := c.GP64()
	c.MOVQ(c.field(name), r)
	return r
}

// move makes a copy of an argument in the frame.
func (c *call) move(name string) {
	r := c.get(name)
	c.frame[name] = c.AllocLocal(8)
	c.MOVQ(r, c.frame[name])
}

// product is the sum of two products of all rows with one panel each, and its
// epilogue:
//
//	for each tile of rows, the highest first:
//		prefetch the tile's parts of C, source and out    (they are needed last)
//		if there is M:
//			sums = bias, in every row
//			for k < inputs: sums += X[:, k] · M[1+k]      (an outer product)
//		else:
//			sums = 0
//		for k < K: sums += A[:, k] · B[k]
//		C = φ(sums + source·scale)                        (the epilogue)
//		if there are gates: C = φ(sums); out = alpha·C + beta·source
//
// A row of the panel takes one or two vector registers, so that the sums of a tile
// and what a step of k needs fill all registers. One line of memory that the caller
// needs next is asked for at every step of k.
func (m *machine) product(name string, vectors int) {
	m.begin(name,
		"func(p *byte)",
		"C = φ(1·biasᵀ + X·M + A·B + source·diag(scale)) for one panel of M and B, strides in bytes:",
		"",
		"\tc[i][j] = m[0][j] + Σ_k x[i][k]·m[1+k][j] + Σ_k a[i][k]·b[k][j] + source[i][j]·scale[j],",
		"\twithout the first two if m is nil, without source or scale if those are;",
		"\tepilogue 1: c > 0 ? c : slope·c",
		"\tepilogue 2: out[i][j] > 0 ? c : slope·c",
		"\tepilogue 3: c·(1 − out[i][j]²)",
		"\tepilogue 4: as 1, of the sums without source, and out[i][j] = alpha·c + beta·source[i][j]",
		"",
		"At every k it asks for one more line of memory, prefetchStep bytes further each time.",
		"p points to productArguments.",
	)
	c := &call{machine: m, vectors: vectors, p: m.param("p"), frame: map[string]operand.Mem{}, free: m.scratch(vectors)}
	for _, name := range []string{"a", "x", "source", "out"} {
		c.move(name)
	}
	c.c, c.rows, c.prefetched, c.prefetchBy = c.get("c"), c.get("rows"), c.get("prefetch"), c.get("prefetchStep")
	if m.wide() {
		last := c.lastMask(nil)
		c.last = &last
	}
	m.eachTile(c.rows, func(height int) {
		c.prefetchTile(height)
		c.sums(height)
		c.nextTile(height)
		c.finish(height)
	})
	m.end()
}

// lastMask makes the mask of the panel's last vector, in register r (AVX2 only).
func (c *call) lastMask(r reg.Register) lastMask {
	count := c.get("cols")
	if c.vectors > 1 {
		c.SUBQ(operand.U8((c.vectors-1)*c.lanes), count)
	}
	return c.mask(count, r)
}

// prefetchTile asks for what the epilogue needs. A short loop over k would not hide a
// memory's delay, only be slowed.
func (c *call) prefetchTile(height int) {
	short := c.label("short")
	c.CMPQ(c.field("k"), operand.U8(64))
	c.JL(operand.LabelRef(short))
	c.prefetch(c.c, c.get("cStride"), height, c.vectors)
	for _, name := range []string{"source", "out"} {
		p := c.get(name)
		c.unlessNil(p, func() { c.prefetch(p, c.get(name+"Stride"), height, c.vectors) })
	}
	c.Label(short)
}

// nextTile moves the left operands on by the rows of a tile.
func (c *call) nextTile(height int) {
	for _, name := range []string{"a", "x"} {
		s := c.get(name + "Stride")
		c.IMUL3Q(operand.U8(height), s, s)
		c.ADDQ(s, c.field(name))
	}
}

// sums computes a tile's sums: the loop over k, entered with X and M first, if there
// is M, and then with A and B.
func (c *call) sums(height int) {
	first, second, sums := c.label("first"), c.label("second"), c.label("sums")
	o := c.newFactors(height)
	again := c.GP64() // whether A and B are still to come
	c.MOVQ(c.field("m"), o.panel)
	c.TESTQ(o.panel, o.panel)
	c.JNE(operand.LabelRef(first))
	for i := range height {
		for v := range c.vectors {
			c.zero(c.sum(i, v))
		}
	}
	c.Label(second)
	c.XORQ(again, again)
	c.MOVQ(c.field("b"), o.panel)
	o.begin(c, "a", "k")
	c.JMP(operand.LabelRef(sums))

	c.Label(first)
	for v := range c.vectors {
		c.VMOVUPS(operand.Mem{Base: o.panel, Disp: v * c.bytes()}, c.sum(0, v))
	}
	for i := 1; i < height; i++ {
		for v := range c.vectors {
			c.VMOVAPS(c.sum(0, v), c.sum(i, v))
		}
	}
	c.ADDQ(operand.I32(c.vectors*c.bytes()), o.panel)
	c.MOVQ(operand.I32(1), again)
	o.begin(c, "x", "inputs")

	c.Label(sums)
	c.unrolled(o.k, c.unroll(height), func(at int) { c.outer(o, height, at) }, func(steps int) {
		for _, p := range o.left {
			c.ADDQ(operand.U8(4*steps), p)
		}
		c.ADDQ(operand.I32(steps*c.vectors*c.bytes()), o.panel)
	})
	c.TESTQ(again, again)
	c.JNE(operand.LabelRef(second))
}

// factors are the places of a product's operands in the loop over k.
type factors struct {
	left            []reg.GPVirtual // every fourth row of the left one
	panel, k        reg.GPVirtual   // the right one, and the steps that are left
	stride, stride3 reg.GPVirtual   // of the left one, once and three times
}

func (c *call) newFactors(height int) *factors {
	o := &factors{left: make([]reg.GPVirtual, (height+3)/4), panel: c.GP64(), k: c.GP64()}
	for i := range o.left {
		o.left[i] = c.GP64()
	}
	o.stride, o.stride3 = c.GP64(), c.GP64()
	return o
}

// begin sets the operands to the beginning of a left matrix of so many columns.
func (o *factors) begin(c *call, matrix, columns string) {
	c.MOVQ(c.field(columns), o.k)
	c.MOVQ(c.field(matrix+"Stride"), o.stride)
	c.MOVQ(c.field(matrix), o.left[0])
	c.LEAQ(operand.Mem{Base: o.stride, Index: o.stride, Scale: 2}, o.stride3)
	for i := 1; i < len(o.left); i++ {
		c.LEAQ(operand.Mem{Base: o.left[i-1], Index: o.stride, Scale: 4}, o.left[i])
	}
}

// outer adds one step of k, so many after the operands' place: the outer product of a
// column of the left operand and a row of the right one.
func (c *call) outer(o *factors, height, at int) {
	for v := range c.vectors {
		c.VMOVUPS(operand.Mem{Base: o.panel, Disp: (at*c.vectors + v) * c.bytes()}, c.right(v))
	}
	for i := range height {
		mem := c.rowMem(o.left, o.stride, o.stride3, i).Offset(4 * at)
		if c.vectors == 1 && c.wide() {
			// The load unit sets the pace: one load an addition.
			c.VFMADD231PS_BCST(mem, c.right(0), c.sum(i, 0))
			continue
		}
		x := c.free[i%min(len(c.free), 6)]
		c.VBROADCASTSS(mem, x)
		for v := range c.vectors {
			c.VFMADD231PS(c.right(v), x, c.sum(i, v))
		}
	}
	c.PREFETCHT1(operand.Mem{Base: c.prefetched})
	c.ADDQ(c.prefetchBy, c.prefetched)
}

// finish is the epilogue by the mask that is due. AVX2 masks cost several times a
// plain access: they are taken only for a panel that is not full.
func (c *call) finish(height int) {
	if c.wide() {
		c.epilogue(height, c.last, c.free)
		return
	}
	masked, done := c.label("masked"), c.label("done")
	free := c.epilogueScratch(c.vectors)
	c.CMPQ(c.field("cols"), operand.U8(c.vectors*c.lanes))
	c.JL(operand.LabelRef(masked))
	c.epilogue(height, nil, free)
	c.JMP(operand.LabelRef(done))
	c.Label(masked)
	last := c.lastMask(free[len(free)-1])
	c.epilogue(height, &last, free[:len(free)-1])
	c.Label(done)
}

// epilogueScratch are the registers free in an epilogue: all but the sums.
func (m *machine) epilogueScratch(vectors int) []reg.VecPhysical {
	if m.wide() {
		return zmm[m.tileRows()[0]*vectors:]
	}
	return ymm[m.tileRows()[0]*vectors:]
}

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

// prefetch asks for the first and the last line of the tile's part of height rows from p.
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

// transposed is C = Aᵀ·B or C += Aᵀ·B for one panel of columns of B. The sums of one
// call start from zero and are added to C at its end.
func (m *machine) transposed(name string, vectors int) {
	m.begin(name,
		"func(c *float32, cStride int, a *float32, aStride, aTile int, b *float32, bStride int, "+
			"r, rows, cols, add int)",
		fmt.Sprintf("C += Aᵀ·B for up to %d columns of B, strides in bytes:", vectors*m.lanes),
		"",
		"\tc[i][j] += Σ_r a[r][i]·b[r][j], i < rows, j < cols",
		"",
		"where C counts as 0 if add is 0, whatever it holds.",
		fmt.Sprintf("After each %d columns A goes on aTile bytes further.", m.tileRows()[0]),
	)
	c, a := m.param("c"), m.param("a")
	rows := m.param("rows")
	aStride, bStride := m.param("aStride"), m.param("bStride")
	if !m.wide() {
		// AVX2 masks cost several times a plain access: take them only for a panel
		// that is not full.
		masked := m.label("masked")
		m.CMPQ(m.argument("cols"), operand.U8(vectors*m.lanes))
		m.JL(operand.LabelRef(masked))
		m.transposedTiles(vectors, nil, c, a, rows, aStride, bStride)
		m.end()
		m.Label(masked)
	}
	count := m.param("cols")
	if vectors > 1 {
		m.SUBQ(operand.U8((vectors-1)*m.lanes), count)
	}
	last := m.mask(count, m.vec(15))
	m.transposedTiles(vectors, &last, c, a, rows, aStride, bStride)
	m.end()
}

// prefetchDistance is how many steps ahead of their use rows are asked for. They lie
// apart from each other, where no cache foresees them.
const prefetchDistance = 24

// column is a column of an operand, gone over in pairs of steps, with what is asked for
// ahead.
type column struct {
	p, stride, two reg.GPVirtual    // the place of a pair, and the way to the next step and pair
	ahead          [2]reg.GPVirtual // the way to what is asked for at each step of a pair
}

func (m *machine) newColumn(p, stride reg.GPVirtual) *column {
	c := &column{p: p, stride: stride, two: m.GP64(), ahead: [2]reg.GPVirtual{m.GP64(), m.GP64()}}
	m.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 1}, c.two)
	for i, r := range c.ahead {
		m.IMUL3Q(operand.U8(prefetchDistance+i), stride, r)
	}
	return c
}

// at is the place of a step, of which the first of a pair is even.
func (c *column) at(step int) operand.Mem {
	if step%2 == 0 {
		return operand.Mem{Base: c.p}
	}
	return operand.Mem{Base: c.p, Index: c.stride, Scale: 1}
}

// later is the place of what is asked for at a step.
func (c *column) later(step int) operand.Mem {
	return operand.Mem{Base: c.p, Index: c.ahead[step%2], Scale: 1}
}

// transposedTiles goes over the rows of C. Low tiles take several steps of r at
// once into sums of their own, which a chain of additions to one sum would delay.
func (m *machine) transposedTiles(vectors int, last *lastMask, c, a, rows, aStride, bStride reg.GPVirtual) {
	first := m.tileRows()[0] * vectors
	scratch := []reg.VecPhysical{m.vec(first + vectors)}
	if m.wide() {
		scratch = zmm[first+vectors : first+vectors+6]
	}
	maskOf := func(v int) *lastMask {
		if v == vectors-1 {
			return last
		}
		return nil
	}
	right := func(v int) reg.VecPhysical { return m.vec(first + v) }

	m.eachTile(rows, func(height int) {
		chains := max(1, 4/height)
		sum := func(chain, i, v int) reg.VecPhysical { return m.vec((chain*height+i)*vectors + v) }
		for q := range chains {
			for i := range height {
				for v := range vectors {
					m.zero(sum(q, i, v))
				}
			}
		}
		left, panel, r := m.GP64(), m.param("b"), m.param("r")
		short := m.label("short")
		m.CMPQ(r, operand.U8(64))
		m.JL(operand.LabelRef(short))
		m.prefetch(c, m.param("cStride"), height, vectors)
		m.Label(short)
		m.MOVQ(a, left)
		l, p := m.newColumn(left, aStride), m.newColumn(panel, bStride)
		m.unrolled(r, max(chains, m.unroll(height)), func(at int) {
			for v := range vectors {
				m.load(p.at(at).Offset(v*m.bytes()), maskOf(v), right(v))
			}
			for i := range height {
				x := scratch[i%len(scratch)]
				m.VBROADCASTSS(l.at(at).Offset(4*i), x)
				for v := range vectors {
					m.VFMADD231PS(right(v), x, sum(at%chains, i, v))
				}
			}
			m.PREFETCHT0(l.later(at))
			for v := range vectors {
				m.PREFETCHT0(p.later(at).Offset(v * m.bytes()))
			}
			if at%2 == 1 {
				m.ADDQ(l.two, l.p)
				m.ADDQ(p.two, p.p)
			}
		}, func(steps int) {
			if steps == 1 {
				m.ADDQ(l.stride, l.p)
				m.ADDQ(p.stride, p.p)
			}
		})
		for half := chains / 2; half > 0; half /= 2 {
			for q := range half {
				for i := range height {
					for v := range vectors {
						m.VADDPS(sum(q+half, i, v), sum(q, i, v), sum(q, i, v))
					}
				}
			}
		}
		if height == m.tileRows()[0] {
			m.ADDQ(m.argument("aTile"), a)
		} else {
			m.ADDQ(operand.U8(4*height), a)
		}
		stride := m.param("cStride")
		add, done := m.label("add"), m.label("done")
		each := func(do func(i, v int, mem operand.Mem)) {
			for i := range height {
				for v := range vectors {
					do(i, v, operand.Mem{Base: c, Disp: v * m.bytes()})
				}
				m.ADDQ(stride, c)
			}
		}
		m.CMPQ(m.argument("add"), operand.U8(0))
		m.JNE(operand.LabelRef(add))
		each(func(i, v int, mem operand.Mem) { m.store(sum(0, i, v), maskOf(v), mem) })
		m.JMP(operand.LabelRef(done))
		m.Label(add)
		each(func(i, v int, mem operand.Mem) {
			m.load(mem, maskOf(v), right(0))
			m.VADDPS(right(0), sum(0, i, v), sum(0, i, v))
			m.store(sum(0, i, v), maskOf(v), mem)
		})
		m.Label(done)
	})
}

// gather copies what transposed reads of A tile by tile into the order in which it
// is read.
func (m *machine) gather() {
	height := m.tileRows()[0]
	m.begin("gather", "func(dst, src *float32, stride, r, tiles int)",
		fmt.Sprintf("dst[i][k][j] = src[k][%d·i+j], i < tiles, k < r, stride in bytes.", height))
	dst, src, stride, tiles := m.param("dst"), m.param("src"), m.param("stride"), m.param("tiles")
	prefetch := m.GP64()
	m.IMUL3Q(operand.U8(prefetchDistance), stride, prefetch)
	// Two thirds of a tile's row, and the rest.
	first, second := reg.Register(reg.X0), reg.Register(reg.X1)
	move := m.VMOVSD
	if m.wide() {
		first, move = reg.Y0, m.VMOVUPS
	}
	m.Label("tile")
	from, r := m.GP64(), m.param("r")
	m.MOVQ(src, from)
	m.Label("row")
	m.VMOVUPS(operand.Mem{Base: from}, first)
	move(operand.Mem{Base: from, Disp: 4 * height * 2 / 3}, second)
	m.PREFETCHT0(operand.Mem{Base: from, Index: prefetch, Scale: 1})
	m.VMOVUPS(first, operand.Mem{Base: dst})
	move(second, operand.Mem{Base: dst, Disp: 4 * height * 2 / 3})
	m.ADDQ(stride, from)
	m.ADDQ(operand.U8(4*height), dst)
	m.DECQ(r)
	m.JNE(operand.LabelRef("row"))
	m.ADDQ(operand.U8(4*height), src)
	m.DECQ(tiles)
	m.JNE(operand.LabelRef("tile"))
	m.end()
}

// peak is a loop of nothing but independent multiply-adds, for benchmarks to
// measure what the machine gives at this moment.
func (m *machine) peak() {
	const chains = 12
	m.begin("peak", "func(rounds int)", fmt.Sprintf("rounds of %d multiply-adds of %d floats, for measuring.",
		chains, m.lanes))
	n := m.param("rounds")
	for i := range chains {
		m.zero(m.vec(i))
	}
	m.zero(m.vec(chains))
	m.Label("round")
	for i := range chains {
		m.VFMADD231PS(m.vec(chains), m.vec(chains), m.vec(i))
	}
	m.DECQ(n)
	m.JG(operand.LabelRef("round"))
	m.end()
}
