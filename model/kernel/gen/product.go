package main

import (
	"fmt"

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

// product is the product of all rows of A with one panel of B and its epilogue.
// The sums start from zero, so that the operands of the epilogue are needed only
// after the loop over k, which their prefetch overlaps.
func (m *machine) product(name string, vectors int) {
	m.begin(name,
		"func(c *float32, cStride int, a *float32, aStride int, b *float32, k, rows, cols int, source *float32, sourceStride int, out *float32, outStride int, epilogue int, slope float32)",
		"C = φ(source + A·B) for one panel of B, strides in bytes:",
		"",
		"\tc[i][j] = source[i][j] + Σ_k a[i][k]·b[k][j], or without source if that is nil;",
		"\tepilogue 1: c > 0 ? c : slope·c",
		"\tepilogue 2: out[i][j] > 0 ? c : slope·c",
		"\tepilogue 3: c·(1 − out[i][j]²)",
	)
	c, a, b := m.param("c"), m.param("a"), m.param("b")
	source, out, rows := m.param("source"), m.param("out"), m.param("rows")
	aStride, aStride3 := m.param("aStride"), m.GP64()
	m.LEAQ(operand.Mem{Base: aStride, Index: aStride, Scale: 2}, aStride3)
	count := m.param("cols")
	if vectors > 1 {
		m.SUBQ(operand.U8((vectors-1)*m.lanes), count)
	}
	scratch := m.scratch(vectors)
	var mask *lastMask
	if m.wide() {
		k := m.mask(count, nil)
		mask = &k
	}

	m.eachTile(rows, func(height int) {
		sum := func(i, v int) reg.VecPhysical { return m.vec(i*vectors + v) }
		right := func(v int) reg.VecPhysical { return m.vec(m.tileRows()[0]*vectors + v) }
		for i := range height {
			for v := range vectors {
				m.zero(sum(i, v))
			}
		}
		// A short loop over k would not hide a memory's delay, only be slowed.
		short := m.label("short")
		m.CMPQ(m.argument("k"), operand.U8(64))
		m.JL(operand.LabelRef(short))
		m.prefetch(c, "cStride", height, vectors)
		m.unlessNil(source, func() { m.prefetch(source, "sourceStride", height, vectors) })
		m.unlessNil(out, func() { m.prefetch(out, "outStride", height, vectors) })
		m.Label(short)

		left := m.rowPointers(a, aStride, height)
		panel, k := m.GP64(), m.param("k")
		m.MOVQ(b, panel)
		step := func(at int) {
			for v := range vectors {
				m.VMOVUPS(operand.Mem{Base: panel, Disp: (at*vectors + v) * m.bytes()}, right(v))
			}
			for i := range height {
				mem := m.rowMem(left, aStride, aStride3, i).Offset(4 * at)
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
		}
		m.unrolled(k, m.unroll(height), step, func(steps int) {
			for _, p := range left {
				m.ADDQ(operand.U8(4*steps), p)
			}
			m.ADDQ(operand.I32(steps*vectors*m.bytes()), panel)
		})
		// The left pointers stand k further on: go on to the next tile from a.
		m.advance(a, aStride, height)

		if m.wide() {
			m.epilogue(height, vectors, mask, sum, scratch, c, source, out)
			return
		}
		// AVX2 masks cost several times a plain access: take them only for a panel
		// that is not full.
		masked, done := m.label("masked"), m.label("done")
		m.CMPQ(m.argument("cols"), operand.U8(vectors*m.lanes))
		m.JL(operand.LabelRef(masked))
		m.epilogue(height, vectors, nil, sum, m.epilogueScratch(vectors), c, source, out)
		m.JMP(operand.LabelRef(done))
		m.Label(masked)
		n := m.param("cols")
		if vectors > 1 {
			m.SUBQ(operand.U8((vectors-1)*m.lanes), n)
		}
		free := m.epilogueScratch(vectors)
		k8 := m.mask(n, free[len(free)-1])
		m.epilogue(height, vectors, &k8, sum, free[:len(free)-1], c, source, out)
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

// rowPointers are pointers to every fourth of the rows from p.
func (m *machine) rowPointers(p, stride reg.GPVirtual, height int) []reg.GPVirtual {
	pointers := make([]reg.GPVirtual, 0, (height+3)/4)
	for i := 0; i < height; i += 4 {
		q := m.GP64()
		if i == 0 {
			m.MOVQ(p, q)
		} else {
			m.LEAQ(operand.Mem{Base: pointers[len(pointers)-1], Index: stride, Scale: 4}, q)
		}
		pointers = append(pointers, q)
	}
	return pointers
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

// advance is p += height·stride.
func (m *machine) advance(p, stride reg.GPVirtual, height int) {
	for height > 0 {
		step := 8
		for step > height {
			step /= 2
		}
		m.LEAQ(operand.Mem{Base: p, Index: stride, Scale: uint8(step)}, p)
		height -= step
	}
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
func (m *machine) prefetch(p reg.GPVirtual, stride string, height, vectors int) {
	q, s := m.GP64(), m.GP64()
	m.MOVQ(p, q)
	m.MOVQ(m.argument(stride), s)
	for i := range height {
		m.PREFETCHT0(operand.Mem{Base: q})
		m.PREFETCHT0(operand.Mem{Base: q, Disp: vectors*m.bytes() - 4})
		if i < height-1 {
			m.ADDQ(s, q)
		}
	}
}

// epilogue adds the source to the sums, applies the activation stage and stores
// them. c, source and out go on to the rows after.
func (m *machine) epilogue(height, vectors int, last *lastMask, sum func(i, v int) reg.VecPhysical, scratch []reg.VecPhysical, c, source, out reg.GPVirtual) {
	each := func(p reg.GPVirtual, stride string, do func(i, v int, mem operand.Mem, mask *lastMask)) {
		s := m.param(stride)
		for i := range height {
			for v := range vectors {
				var mask *lastMask
				if v == vectors-1 {
					mask = last
				}
				do(i, v, operand.Mem{Base: p, Disp: v * m.bytes()}, mask)
			}
			m.ADDQ(s, p)
		}
	}
	m.unlessNil(source, func() {
		each(source, "sourceStride", func(i, v int, mem operand.Mem, mask *lastMask) {
			switch {
			case mask == nil:
				m.VADDPS(mem, sum(i, v), sum(i, v))
			case m.wide():
				m.VADDPS(mem, sum(i, v), mask.k, sum(i, v))
			default:
				m.load(mem, mask, scratch[0])
				m.VADDPS(scratch[0], sum(i, v), sum(i, v))
			}
		})
	})

	kind := m.param("epilogue")
	store, derivative, tanh := m.label("store"), m.label("derivative"), m.label("tanh")
	m.CMPQ(kind, operand.U8(epilogueLeaky))
	m.JL(operand.LabelRef(store))
	slope := scratch[1]
	m.VBROADCASTSS(m.argument("slope"), slope)
	m.JNE(operand.LabelRef(derivative))
	for i := range height {
		for v := range vectors {
			m.scaleUnlessPositive(sum(i, v), sum(i, v), slope, scratch[0], scratch[2])
		}
	}
	m.JMP(operand.LabelRef(store))

	m.Label(derivative)
	m.CMPQ(kind, operand.U8(epilogueLeakyDerivative))
	m.JNE(operand.LabelRef(tanh))
	each(out, "outStride", func(i, v int, mem operand.Mem, mask *lastMask) {
		m.load(mem, mask, scratch[2])
		m.scaleUnlessPositive(sum(i, v), scratch[2], slope, scratch[0], scratch[2])
	})
	m.JMP(operand.LabelRef(store))

	m.Label(tanh)
	one := slope
	m.VBROADCASTSS(m.float(1), one)
	each(out, "outStride", func(i, v int, mem operand.Mem, mask *lastMask) {
		m.load(mem, mask, scratch[2])
		m.VFNMADD213PS(one, scratch[2], scratch[2])
		m.VMULPS(scratch[2], sum(i, v), sum(i, v))
	})

	m.Label(store)
	each(c, "cStride", func(i, v int, mem operand.Mem, mask *lastMask) { m.store(sum(i, v), mask, mem) })
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
		"func(c *float32, cStride int, a *float32, aStride int, b *float32, bStride int, r, rows, cols int)",
		fmt.Sprintf("C += Aᵀ·B for up to %d columns of B, strides in bytes:", vectors*m.lanes),
		"",
		"\tc[i][j] += Σ_r a[r][i]·b[r][j], i < rows, j < cols",
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
		m.MOVQ(a, left)
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
			m.ADDQ(aStride, left)
			m.ADDQ(bStride, panel)
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
		m.ADDQ(operand.U8(4*height), a)
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
