package kernel

import (
	"math"
	"unsafe"
)

// simd is the set at a level above plain.
func simd(l Level) *Set[float32] { return simdSets[l] }

var simdSets = [...]*Set[float32]{
	AVX2:   assemblies[AVX2].set(),
	AVX512: assemblies[AVX512].set(),
}

func (k *assembly) set() *Set[float32] {
	return &Set[float32]{level: k.level, width: 2 * k.lanes, narrow: k.lanes, backend: k, loops: &k.loops}
}

// first is where the elements of x begin.
func first(x []float32) *float32 { return unsafe.SliceData(x) }

// gatherPanels is the number of panels of B from which on it pays to gather A,
// which is read once for each.
const gatherPanels = 8

func (k *assembly) multiplyTransposed(c, a, b Matrix[float32], scratch *Scratch[float32], add bool) {
	k.transposedBlocks(c, a, transposedRight{b.Data, b.Stride, b.Stride, 1}, scratch, add)
}

func (k *assembly) multiplyTransposedPacked(c, a Matrix[float32], b *Packed[float32], scratch *Scratch[float32]) {
	k.transposedBlocks(c, a, transposedRight{b.data, 2 * k.lanes, k.lanes, b.K}, scratch, true)
}

// transposedRight is B, or B in panels. Element j of row r, j being a panel's first
// column, is data[r·stride+j·column], in a panel of one vector data[r·narrow+j·column].
type transposedRight struct {
	data                   []float32
	stride, narrow, column int
}

// transposedBlocks cuts A into blocks that the caches hold.
func (k *assembly) transposedBlocks(c, a Matrix[float32], b transposedRight, scratch *Scratch[float32], add bool) {
	const block = scratchBlock
	gathers := scratch != nil && c.Cols >= gatherPanels*2*k.lanes
	for r := 0; r < a.Rows; r += rowBlock {
		steps := min(rowBlock, a.Rows-r)
		for i := 0; i < c.Rows; i += block {
			rows := min(block, c.Rows-i)
			part := transposedPart{c: &c.Data[i*c.Stride], a: &a.Data[r*a.Stride+i], stride: float * a.Stride,
				tile: float * k.tile, rows: rows}
			if add || r > 0 {
				part.add = 1
			}
			if tiles := rows / k.tile; gathers && tiles > 0 {
				whole := part
				whole.rows = tiles * k.tile
				whole.a = &scratch.room(whole.rows * steps)[0]
				k.gather(whole.a, part.a, part.stride, steps, tiles)
				whole.stride, whole.tile = part.tile, steps*part.tile
				k.transposedPanels(&whole, &c, &b, r, steps)
				if part.rows -= whole.rows; part.rows > 0 {
					part.c, part.a = plus(part.c, float*whole.rows*c.Stride), plus(part.a, float*whole.rows)
				}
			}
			if part.rows > 0 {
				k.transposedPanels(&part, &c, &b, r, steps)
			}
		}
	}
}

// transposedPart is a part of A and of C's rows, strides of A in bytes.
type transposedPart struct {
	c, a         *float32
	stride, tile int // from row to row and from tile to tile
	rows         int // of C
	add          int // 1 where it is added to C, 0 where C is set
}

// transposedPanels takes so many steps from r on.
func (k *assembly) transposedPanels(p *transposedPart, c *Matrix[float32], b *transposedRight, r, steps int) {
	for j := 0; j < c.Cols; j += 2 * k.lanes {
		transposed, stride, cols := k.transposed, b.stride, min(c.Cols-j, 2*k.lanes)
		if cols <= k.lanes {
			transposed, stride = k.transposedNarrow, b.narrow
		}
		transposed(plus(p.c, float*j), float*c.Stride, p.a, p.stride, p.tile, &b.data[r*stride+j*b.column],
			float*stride, steps, p.rows, cols, p.add)
	}
}

// blockAt is where block t of rows begins, or the only one.
func blockAt(m *Matrix[float32], rows, t int) *float32 {
	if m.Rows == rows {
		t = 0
	}
	return &m.Data[t*rows*m.Stride]
}

// The memory of an LSTM is prefetched one step before its use: going forward that of the
// next step, going backward that of the one before.

func (k *assembly) lstmForward(gates, cells, states Matrix[float32], rows int, w *Packed[float32], x Matrix[float32],
	m *Packed[float32]) {
	p := productArguments{
		cStride: float * gates.Stride, aStride: float * states.Stride, k: w.K,
		xStride: float * x.Stride, inputs: m.K,
	}
	next := 0 // bytes
	if cells.Rows > rows {
		next = float * rows * cells.Stride
	}
	for t := range x.Rows / rows {
		gate := blockAt(&gates, rows, t)
		p.c, p.a, p.b = gate, blockAt(&states, rows, t), first(w.data)
		p.x, p.m = first(x.Data[t*rows*x.Stride:]), first(m.data)
		k.panels(&p, rows, gates.Cols, elements(&gates, (t+1)*rows, (t+2)*rows), nil)
		k.lstmGates(gate, float*gates.Stride, blockAt(&cells, rows, t), float*cells.Stride,
			blockAt(&cells, rows, t+1), float*cells.Stride, blockAt(&states, rows, t+1), float*states.Stride,
			rows, cells.Cols, next)
	}
}

func (k *assembly) lstmBackward(deltas, gates, cells, states Matrix[float32], rows int, w *Packed[float32],
	dh, dc Matrix[float32], prefetch, then []float32) {
	p := productArguments{cStride: float * dh.Stride, aStride: float * deltas.Stride, k: w.K}
	for t := gates.Rows/rows - 1; t >= 0; t-- {
		delta, cell := &deltas.Data[t*rows*deltas.Stride], &cells.Data[t*rows*cells.Stride]
		k.lstmGatesBackward(&gates.Data[t*rows*gates.Stride], float*gates.Stride, delta, float*deltas.Stride,
			cell, float*cells.Stride, &states.Data[(t+1)*rows*states.Stride], float*states.Stride,
			&dh.Data[0], float*dh.Stride, &dc.Data[0], float*dc.Stride, rows, dc.Cols, -float*rows*cells.Stride)
		p.c, p.a, p.b = &dh.Data[0], delta, first(w.data)
		if t > 0 {
			k.panels(&p, rows, dh.Cols, elements(&gates, (t-1)*rows, t*rows), elements(&states, t*rows, (t+1)*rows))
		} else {
			k.panels(&p, rows, dh.Cols, prefetch, then)
		}
	}
}

// softmaxRows is how many rows softmaxCrossEntropy takes at a time.
const softmaxRows = 64

func (k *assembly) softmaxCrossEntropy(dlogits, logits Matrix[float32], labels []int,
	scale float32) (loss float64, correct int) {
	var largest, sums, picked [softmaxRows]float32
	for from := 0; from < logits.Rows; from += softmaxRows {
		rows := min(softmaxRows, logits.Rows-from)
		part := logits.Slice(from, from+rows)
		y := labels[from : from+rows]
		for i, class := range y { // dlogits may overwrite the logits
			row := part.Row(i)
			picked[i] = row[class]
			if isArgmax(row, class) {
				correct++
			}
		}
		var d *float32
		if dlogits.Data != nil {
			d = &dlogits.Data[from*dlogits.Stride]
		}
		// Called by name, not through the table, so that the arrays stay on the stack.
		if k.level == AVX512 {
			softmaxAVX512(d, float*dlogits.Stride, &part.Data[0], float*part.Stride, rows, part.Cols, scale,
				&largest[0], &sums[0])
		} else {
			softmaxAVX2(d, float*dlogits.Stride, &part.Data[0], float*part.Stride, rows, part.Cols, scale,
				&largest[0], &sums[0])
		}
		for i, class := range y {
			loss += math.Log(float64(sums[i])) + float64(largest[i]-picked[i])
			if d != nil {
				dlogits.Data[(from+i)*dlogits.Stride+class] -= scale
			}
		}
	}
	return loss, correct
}

// Functions that take slices of slices are called by name, not through the table,
// so that those may lie on the stack.

func (k *assembly) reflectLeftAll(q Matrix[float32], us [][]float32) {
	if k.level == AVX512 {
		reflectAllAVX512(&q.Data[0], float*q.Stride, unsafe.SliceData(us), len(us), q.Rows, q.Cols)
		return
	}
	reflectAllAVX2(&q.Data[0], float*q.Stride, unsafe.SliceData(us), len(us), q.Rows, q.Cols)
}

func (k *assembly) reflectLeftAllBackward(q, g Matrix[float32], us, dus [][]float32) {
	if k.level == AVX512 {
		reflectAllBackwardAVX512(&q.Data[0], float*q.Stride, &g.Data[0], float*g.Stride, unsafe.SliceData(us),
			unsafe.SliceData(dus), len(us), g.Rows, g.Cols)
		return
	}
	reflectAllBackwardAVX2(&q.Data[0], float*q.Stride, &g.Data[0], float*g.Stride, unsafe.SliceData(us),
		unsafe.SliceData(dus), len(us), g.Rows, g.Cols)
}

func (k *assembly) normalizeAll(us [][]float32) {
	if k.level == AVX512 {
		normalizeAllAVX512(unsafe.SliceData(us), len(us))
		return
	}
	normalizeAllAVX2(unsafe.SliceData(us), len(us))
}

func (k *assembly) transposeMatrix(dst, src Matrix[float32]) {
	rows, cols := src.Rows&^7, src.Cols&^7
	if rows > 0 && cols > 0 {
		k.transpose(&dst.Data[0], float*dst.Stride, &src.Data[0], float*src.Stride, rows, cols)
	}
	plainTransposePart(dst, src, rows, cols)
}

func (k *assembly) runScalarGate(next, f, h Matrix[float32], alpha, beta float32) {
	k.scalarGate(&next.Data[0], float*next.Stride, &f.Data[0], float*f.Stride, &h.Data[0], float*h.Stride, alpha, beta,
		next.Rows, next.Cols)
}
