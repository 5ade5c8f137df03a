package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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

// prefetchDistance is how many steps before their use rows are prefetched. They lie apart
// from each other, where no cache foresees them.
const prefetchDistance = 24

// column is a column of an operand, gone over in pairs of steps, each of which prefetches.
type column struct {
	p, stride, two reg.GPVirtual    // the place of a pair, and the distance to the next step and pair
	prefetch       [2]reg.GPVirtual // the distance to what each step of a pair prefetches
}

func (m *machine) newColumn(p, stride reg.GPVirtual) *column {
	c := &column{p: p, stride: stride, two: m.GP64(), prefetch: [2]reg.GPVirtual{m.GP64(), m.GP64()}}
	m.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 1}, c.two)
	for i, r := range c.prefetch {
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

// later is the place that a step prefetches.
func (c *column) later(step int) operand.Mem {
	return operand.Mem{Base: c.p, Index: c.prefetch[step%2], Scale: 1}
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
		m.joinChains(chains, height, vectors, sum)
		if height == m.tileRows()[0] {
			m.ADDQ(m.argument("aTile"), a)
		} else {
			m.ADDQ(operand.U8(4*height), a)
		}
		m.storeTile(height, vectors, c, right(0), maskOf, func(i, v int) reg.VecPhysical { return sum(0, i, v) })
	})
}

// joinChains adds the sums of all chains to those of the first.
func (m *machine) joinChains(chains, height, vectors int, sum func(chain, i, v int) reg.VecPhysical) {
	for half := chains / 2; half > 0; half /= 2 {
		for q := range half {
			for i := range height {
				for v := range vectors {
					m.VADDPS(sum(q+half, i, v), sum(q, i, v), sum(q, i, v))
				}
			}
		}
	}
}

// storeTile stores sums in C, or adds them to it.
func (m *machine) storeTile(height, vectors int, c reg.GPVirtual, free reg.VecPhysical, maskOf func(v int) *lastMask,
	sum func(i, v int) reg.VecPhysical) {
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
	each(func(i, v int, mem operand.Mem) { m.store(sum(i, v), maskOf(v), mem) })
	m.JMP(operand.LabelRef(done))
	m.Label(add)
	each(func(i, v int, mem operand.Mem) {
		m.load(mem, maskOf(v), free)
		m.VADDPS(free, sum(i, v), sum(i, v))
		m.store(sum(i, v), maskOf(v), mem)
	})
	m.Label(done)
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
