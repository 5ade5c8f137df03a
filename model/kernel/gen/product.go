package main

import (
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
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
	return m.vectors()[m.tileRows()[0]*vectors+vectors:]
}

// arguments are the fields of a product's arguments, eight bytes each, in the order
// in which package kernel declares them.
var arguments = []string{
	"c", "cStride", "a", "aStride", "b", "k", "x", "xStride", "m", "inputs", "rows", "cols",
	"source", "sourceStride", "scale", "out", "outStride", "epilogue", "slope", "prefetch", "alpha",
	"prefetchStep", "beta",
}

// call is a product that is being generated: its arguments are read from memory,
// and those that move on from tile to tile are in the frame.
type call struct {
	*machine
	vectors int // in a row of the panel
	p       reg.GPVirtual
	frame   map[string]operand.Mem

	c, rows                reg.GPVirtual // of the rows that are left
	prefetched, prefetchBy reg.GPVirtual // the next line to prefetch, and the distance to the one after
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
// and what a step of k needs fill all registers. Each step of k prefetches one line of
// memory that the caller needs next.
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
		"At every k it prefetches one more line of memory, prefetchStep bytes further each time.",
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

// prefetchTile prefetches what the epilogue needs. A short loop over k would not hide a
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
	free := c.machine.vectors()[c.tileRows()[0]*c.vectors:] // all but the sums
	c.CMPQ(c.field("cols"), operand.U8(c.vectors*c.lanes))
	c.JL(operand.LabelRef(masked))
	c.epilogue(height, nil, free)
	c.JMP(operand.LabelRef(done))
	c.Label(masked)
	last := c.lastMask(free[len(free)-1])
	c.epilogue(height, &last, free[:len(free)-1])
	c.Label(done)
}
