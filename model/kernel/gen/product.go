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
	"source", "sourceStride", "scale", "out", "outStride", "epilogue", "slope", "ahead", "aheadStep",
}

// call is a product that is being generated: its arguments are read from memory,
// and those that move on from tile to tile are kept in the frame.
type call struct {
	*machine
	p     reg.GPVirtual
	frame map[string]operand.Mem
}

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
// epilogue. The operands of the epilogue are needed only after the loops over k,
// which their prefetch overlaps.
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
		"",
		"At every k it asks for one more line of memory, aheadStep bytes further each time.",
		"p points to productArguments.",
	)
	call := &call{machine: m, p: m.param("p"), frame: map[string]operand.Mem{}}
	for _, name := range []string{"a", "x", "source", "out"} {
		call.move(name)
	}
	c, rows, ahead, aheadStep := call.get("c"), call.get("rows"), call.get("ahead"), call.get("aheadStep")
	scratch := m.scratch(vectors)
	var mask *lastMask
	if m.wide() {
		count := call.get("cols")
		if vectors > 1 {
			m.SUBQ(operand.U8((vectors-1)*m.lanes), count)
		}
		k := m.mask(count, nil)
		mask = &k
	}

	m.eachTile(rows, func(height int) {
		sum := func(i, v int) reg.VecPhysical { return m.vec(i*vectors + v) }
		right := func(v int) reg.VecPhysical { return m.vec(m.tileRows()[0]*vectors + v) }
		// A short loop over k would not hide a memory's delay, only be slowed.
		short := m.label("short")
		m.CMPQ(call.field("k"), operand.U8(64))
		m.JL(operand.LabelRef(short))
		m.prefetch(c, call.get("cStride"), height, vectors)
		for _, name := range []string{"source", "out"} {
			p := call.get(name)
			m.unlessNil(p, func() { m.prefetch(p, call.get(name+"Stride"), height, vectors) })
		}
		m.Label(short)

		first, second, sums := m.label("first"), m.label("second"), m.label("sums")
		left, panel, k := make([]reg.GPVirtual, (height+3)/4), m.GP64(), m.GP64()
		for i := range left {
			left[i] = m.GP64()
		}
		stride, stride3, again := m.GP64(), m.GP64(), m.GP64()
		operands := func(matrix, columns string) {
			m.MOVQ(call.field(columns), k)
			m.MOVQ(call.field(matrix+"Stride"), stride)
			m.MOVQ(call.field(matrix), left[0])
			m.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)
			for i := 1; i < len(left); i++ {
				m.LEAQ(operand.Mem{Base: left[i-1], Index: stride, Scale: 4}, left[i])
			}
		}
		m.MOVQ(call.field("m"), panel)
		m.TESTQ(panel, panel)
		m.JNE(operand.LabelRef(first))
		for i := range height {
			for v := range vectors {
				m.zero(sum(i, v))
			}
		}
		m.Label(second)
		m.XORQ(again, again)
		m.MOVQ(call.field("b"), panel)
		operands("a", "k")
		m.JMP(operand.LabelRef(sums))
		m.Label(first)
		for v := range vectors {
			m.VMOVUPS(operand.Mem{Base: panel, Disp: v * m.bytes()}, sum(0, v))
		}
		for i := 1; i < height; i++ {
			for v := range vectors {
				m.VMOVAPS(sum(0, v), sum(i, v))
			}
		}
		m.ADDQ(operand.I32(vectors*m.bytes()), panel)
		m.MOVQ(operand.I32(1), again)
		operands("x", "inputs")

		m.Label(sums)
		step := func(at int) {
			for v := range vectors {
				m.VMOVUPS(operand.Mem{Base: panel, Disp: (at*vectors + v) * m.bytes()}, right(v))
			}
			for i := range height {
				mem := m.rowMem(left, stride, stride3, i).Offset(4 * at)
				if vectors == 1 && m.wide() {
					// The load unit sets the pace: one load an addition.
					m.VFMADD231PS_BCST(mem, right(0), sum(i, 0))
					continue
				}
				x := scratch[i%min(len(scratch), 6)]
				m.VBROADCASTSS(mem, x)
				for v := range vectors {
					m.VFMADD231PS(right(v), x, sum(i, v))
				}
			}
			m.PREFETCHT1(operand.Mem{Base: ahead})
			m.ADDQ(aheadStep, ahead)
		}
		m.unrolled(k, m.unroll(height), step, func(steps int) {
			for _, p := range left {
				m.ADDQ(operand.U8(4*steps), p)
			}
			m.ADDQ(operand.I32(steps*vectors*m.bytes()), panel)
		})
		m.TESTQ(again, again)
		m.JNE(operand.LabelRef(second))

		for _, name := range []string{"a", "x"} {
			s := call.get(name + "Stride")
			m.IMUL3Q(operand.U8(height), s, s)
			m.ADDQ(s, call.field(name))
		}
		if m.wide() {
			call.epilogue(height, vectors, mask, sum, scratch, c)
			return
		}
		// AVX2 masks cost several times a plain access: take them only for a panel
		// that is not full.
		masked, done := m.label("masked"), m.label("done")
		free := m.epilogueScratch(vectors)
		m.CMPQ(call.field("cols"), operand.U8(vectors*m.lanes))
		m.JL(operand.LabelRef(masked))
		call.epilogue(height, vectors, nil, sum, free, c)
		m.JMP(operand.LabelRef(done))
		m.Label(masked)
		n := call.get("cols")
		if vectors > 1 {
			m.SUBQ(operand.U8((vectors-1)*m.lanes), n)
		}
		k8 := m.mask(n, free[len(free)-1])
		call.epilogue(height, vectors, &k8, sum, free[:len(free)-1], c)
		m.Label(done)
	})
	m.end()
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

// epilogue adds the source to the sums, applies the activation stage and stores
// them. to, source and out go on to the rows after.
func (c *call) epilogue(height, vectors int, last *lastMask, sum func(i, v int) reg.VecPhysical, scratch []reg.VecPhysical, to reg.GPVirtual) {
	maskOf := func(v int) *lastMask {
		if v == vectors-1 {
			return last
		}
		return nil
	}
	each := func(p, stride reg.GPVirtual, do func(i, v int, mem operand.Mem, mask *lastMask)) {
		for i := range height {
			for v := range vectors {
				do(i, v, operand.Mem{Base: p, Disp: v * c.bytes()}, maskOf(v))
			}
			c.ADDQ(stride, p)
		}
	}
	source := c.get("source")
	c.unlessNil(source, func() {
		stride, scale := c.get("sourceStride"), c.get("scale")
		scaled, added := c.label("scaled"), c.label("added")
		c.TESTQ(scale, scale)
		c.JNE(operand.LabelRef(scaled))
		each(source, stride, func(i, v int, mem operand.Mem, mask *lastMask) {
			switch {
			case mask == nil:
				c.VADDPS(mem, sum(i, v), sum(i, v))
			case c.wide():
				c.VADDPS(mem, sum(i, v), mask.k, sum(i, v))
			default:
				c.load(mem, mask, scratch[0])
				c.VADDPS(scratch[0], sum(i, v), sum(i, v))
			}
		})
		c.JMP(operand.LabelRef(added))
		c.Label(scaled)
		each(source, stride, func(i, v int, mem operand.Mem, mask *lastMask) {
			if i == 0 || !c.wide() { // few registers: load it again for every row
				c.load(operand.Mem{Base: scale, Disp: v * c.bytes()}, mask, scratch[1+v%(len(scratch)-1)])
			}
			c.load(mem, mask, scratch[0])
			c.VFMADD231PS(scratch[1+v%(len(scratch)-1)], scratch[0], sum(i, v))
		})
		c.Label(added)
		c.MOVQ(source, c.field("source"))
	})

	kind := c.get("epilogue")
	store, derivative, tanh := c.label("store"), c.label("derivative"), c.label("tanh")
	c.CMPQ(kind, operand.U8(epilogueLeaky))
	c.JL(operand.LabelRef(store))
	slope := scratch[1]
	c.VBROADCASTSS(c.field("slope"), slope)
	c.JNE(operand.LabelRef(derivative))
	for i := range height {
		for v := range vectors {
			// The larger one, for slopes up to 1; of operands that are no numbers
			// it is the first.
			scaled := scratch[2*(v%2)]
			c.VMULPS(slope, sum(i, v), scaled)
			c.VMAXPS(sum(i, v), scaled, sum(i, v))
		}
	}
	c.JMP(operand.LabelRef(store))

	c.Label(derivative)
	out, stride := c.get("out"), c.get("outStride")
	c.CMPQ(kind, operand.U8(epilogueLeakyDerivative))
	c.JNE(operand.LabelRef(tanh))
	each(out, stride, func(i, v int, mem operand.Mem, mask *lastMask) {
		c.load(mem, mask, scratch[2])
		c.scaleUnlessPositive(sum(i, v), scratch[2], slope, scratch[0], scratch[2])
	})
	c.MOVQ(out, c.field("out"))
	c.JMP(operand.LabelRef(store))

	c.Label(tanh)
	one := slope
	c.VBROADCASTSS(c.float(1), one)
	each(out, stride, func(i, v int, mem operand.Mem, mask *lastMask) {
		c.load(mem, mask, scratch[2])
		c.VFNMADD213PS(one, scratch[2], scratch[2])
		c.VMULPS(scratch[2], sum(i, v), sum(i, v))
	})
	c.MOVQ(out, c.field("out"))

	c.Label(store)
	stride = c.get("cStride")
	each(to, stride, func(i, v int, mem operand.Mem, mask *lastMask) { c.store(sum(i, v), mask, mem) })
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

// transposed is C += Aᵀ·B for one panel of columns of B. The sums of one call
// start from zero and are added to C at its end.
func (m *machine) transposed(name string, vectors int) {
	m.begin(name,
		"func(c *float32, cStride int, a *float32, aStride, aTile int, b *float32, bStride int, r, rows, cols int)",
		fmt.Sprintf("C += Aᵀ·B for up to %d columns of B, strides in bytes:", vectors*m.lanes),
		"",
		"\tc[i][j] += Σ_r a[r][i]·b[r][j], i < rows, j < cols",
		"",
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

// transposedAhead is how many steps ahead of their use rows are asked for. They lie
// apart from each other, where no cache foresees them.
const transposedAhead = 24

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
		leftAhead, panelAhead := m.GP64(), m.GP64()
		m.IMUL3Q(operand.U8(transposedAhead), aStride, leftAhead)
		m.ADDQ(left, leftAhead)
		m.IMUL3Q(operand.U8(transposedAhead), bStride, panelAhead)
		m.ADDQ(panel, panelAhead)
		m.unrolled(r, max(chains, m.unroll(height)), func(at int) {
			for v := range vectors {
				m.load(operand.Mem{Base: panel, Disp: v * m.bytes()}, maskOf(v), right(v))
			}
			for i := range height {
				x := scratch[i%len(scratch)]
				m.VBROADCASTSS(operand.Mem{Base: left, Disp: 4 * i}, x)
				for v := range vectors {
					m.VFMADD231PS(right(v), x, sum(at%chains, i, v))
				}
			}
			m.PREFETCHT0(operand.Mem{Base: leftAhead})
			for v := range vectors {
				m.PREFETCHT0(operand.Mem{Base: panelAhead, Disp: v * m.bytes()})
			}
			m.ADDQ(aStride, left)
			m.ADDQ(bStride, panel)
			m.ADDQ(aStride, leftAhead)
			m.ADDQ(bStride, panelAhead)
		}, func(int) {})
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
		for i := range height {
			for v := range vectors {
				mem := operand.Mem{Base: c, Disp: v * m.bytes()}
				m.load(mem, maskOf(v), right(0))
				m.VADDPS(right(0), sum(0, i, v), sum(0, i, v))
				m.store(sum(0, i, v), maskOf(v), mem)
			}
			m.ADDQ(stride, c)
		}
	})
}

// gather copies what transposed reads of A tile by tile into the order in which it
// is read.
func (m *machine) gather() {
	height := m.tileRows()[0]
	m.begin("gather", "func(dst, src *float32, stride, r, tiles int)",
		fmt.Sprintf("dst[i][k][j] = src[k][%d·i+j], i < tiles, k < r, stride in bytes.", height))
	dst, src, stride, tiles := m.param("dst"), m.param("src"), m.param("stride"), m.param("tiles")
	ahead := m.GP64()
	m.IMUL3Q(operand.U8(transposedAhead), stride, ahead)
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
	m.PREFETCHT0(operand.Mem{Base: from, Index: ahead, Scale: 1})
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
	m.begin("peak", "func(rounds int)", fmt.Sprintf("rounds of %d multiply-adds of %d floats, for measuring.", chains, m.lanes))
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
