package network

import (
	"math"
	"slices"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/loss"
	"sweep/model/random"
	"sweep/model/weight"
)

// Sizes of the parts that a wide output layer is worked on in. They are part of every
// result: what is added up, and in which order, follows from them.
const (
	WideOutputs  = 512               // outputs from which on a layer is wide
	blockRows    = 512               // rows whose outputs are there at once
	blockOutputs = 96                // outputs of a row that lie together
	pieceOutputs = 10 * blockOutputs // outputs, with their weights, that a thread takes
)

// head is an output layer ŷ = Y h + c so wide that its outputs are never there all at
// once, together with the softmax and its cross entropy. It takes the states of a slice
// in blocks of rows, and all threads work on each. The outputs of a block of rows lie in
// blocks of columns, each of which is in the cache while it is worked on:
//
//	for each block of outputs:
//		outputs = h Yᵀ + c; largest = max(largest, outputs)
//	for each block of outputs:
//		outputs = exp(outputs − largest); sums += outputs; dh += outputs Y
//	dh = dh scale/sums − scale Y[class]
//	for each block of outputs:
//		dY += outputsᵀ (h scale/sums) − scale h at the class; dc likewise
//
// While the products work on one block the memory of the next is prefetched.
type head[F kernel.Float] struct {
	set   *kernel.Set[F]
	y, c  *weight.View[F] // [outputs × n], [outputs]
	scale float64

	into    []kernel.Packed[F] // Yᵀ with c, of each block of outputs
	outOf   []kernel.Packed[F] // Y, likewise
	pool    *pool
	outputs []F // of a block of rows, one block of outputs after the other
	// The states of a block of rows, each by the weight of its row.
	weighted kernel.Matrix[F]
	states   kernel.Packed[F]
	dx       []kernel.Matrix[F]
	scratch  []kernel.Scratch[F]
	applied  []F // what apply returns; made by its first call
	// Of each row of the block: its largest output, Σ exp(output − largest), the output of its
	// class, and 1/sum over the rows of the minibatch.
	largest, sums, picked, factors []F
	correct                        []bool

	// What is being worked on.
	x, gradient kernel.Matrix[F] // of a block of rows
	classes     []int
	of          F // 1 over the rows of the minibatch
	rows        func(piece int)
	validate    func(piece int)
	weights     func(piece int)
}

// declareHead declares Y and c for so many outputs of n numbers.
func declareHead[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], outputs, n int, scale float64) *head[F] {
	h := &head[F]{set: set, scale: scale, y: arena.Declare("Y", outputs, n), c: arena.Declare("c", 1, outputs)}
	h.rows, h.validate, h.weights = h.differentiateRows, h.scoreRows, h.addWeights
	return h
}

// init sets Y to its start and c to 0.
func (h *head[F]) init(source *random.Source) {
	clear(h.c.Value)
	random.Gaussian(h.y.Value, h.scale/math.Sqrt(float64(h.y.Cols)), source)
}

// prepare makes room for so many slices of so many rows, to be worked on by a pool.
func (h *head[F]) prepare(pool *pool, slices, rows int) {
	h.pool = pool
	for range slices {
		h.dx = append(h.dx, padded[F](rows, h.y.Cols))
	}
	blocks := pieces(h.y.Rows, blockOutputs)
	h.into, h.outOf = make([]kernel.Packed[F], blocks), make([]kernel.Packed[F], blocks)
	h.set.Reserve(h.into, h.y.Cols, blockOutputs, true)
	h.set.Reserve(h.outOf, blockOutputs, h.y.Cols, false)
	h.scratch = make([]kernel.Scratch[F], pieces(h.y.Rows, pieceOutputs))
	rows = min(rows, blockRows)
	h.outputs = kernel.Make[F](blocks * rows * blockOutputs)
	h.weighted = kernel.NewMatrix[F](rows, h.y.Cols)
	for _, values := range []*[]F{&h.largest, &h.sums, &h.picked, &h.factors} {
		*values = make([]F, rows)
	}
	h.correct = make([]bool, rows)
}

// padded returns a matrix whose rows do not compete for the same places of the cache.
func padded[F kernel.Float](rows, cols int) kernel.Matrix[F] {
	stride := (cols+15)/16*16 + 16
	return kernel.Matrix[F]{Data: kernel.Make[F](rows * stride), Rows: rows, Cols: cols, Stride: stride}
}

// pieces is how many parts of a size make up n.
func pieces(n, size int) int { return (n + size - 1) / size }

// load packs the weights.
func (h *head[F]) load() {
	y := h.y.Matrix()
	for i := range h.into {
		from, to := h.outputsOf(i)
		block := y.Slice(from, to)
		h.set.PackTransposedBias(&h.into[i], block, h.c.Value[from:to])
		h.set.Pack(&h.outOf[i], block)
	}
}

// outputsOf are the outputs of a block.
func (h *head[F]) outputsOf(block int) (from, to int) {
	return block * blockOutputs, min((block+1)*blockOutputs, h.y.Rows)
}

// block is the outputs of a block, of some of its rows.
func (h *head[F]) block(number, from, to int) kernel.Matrix[F] {
	first, end := h.outputsOf(number)
	rows := len(h.largest)
	return kernel.Matrix[F]{
		Data: h.outputs[(number*rows+from)*blockOutputs : (number*rows+to)*blockOutputs],
		Rows: to - from, Cols: end - first, Stride: blockOutputs,
	}
}

// differentiate returns the score of a slice's states, of a minibatch of so many rows,
// adds the gradients of Y and c and returns those of the states.
func (h *head[F]) differentiate(
	slice int, x kernel.Matrix[F], targets loss.Targets[F], of int,
) (loss.Score, kernel.Matrix[F]) {
	dx := h.dx[slice].Slice(0, x.Rows)
	h.of = 1 / F(of)
	return h.run(x, dx, targets.Classes, h.rows), dx
}

// score returns the score of states.
func (h *head[F]) score(x kernel.Matrix[F], targets loss.Targets[F]) loss.Score {
	return h.run(x, kernel.Matrix[F]{}, targets.Classes, h.validate)
}

// run does the work of each block's rows, and adds to the weights if there is a
// gradient.
func (h *head[F]) run(x, dx kernel.Matrix[F], classes []int, work func(piece int)) loss.Score {
	total := loss.Score{Rows: x.Rows}
	for from := 0; from < x.Rows; from += blockRows {
		to := min(from+blockRows, x.Rows)
		h.x, h.classes = x.Slice(from, to), classes[from:to]
		if dx.Data != nil {
			h.gradient = dx.Slice(from, to)
		}
		h.pool.run(pieces(to-from, h.pieceRows()), work)
		for i := range h.classes {
			total.Loss += math.Log(float64(h.sums[i])) + float64(h.largest[i]-h.picked[i])
			if h.correct[i] {
				total.Correct++
			}
		}
		if dx.Data != nil {
			weighted := h.weighted.Slice(0, h.x.Rows)
			for i, factor := range h.factors[:h.x.Rows] {
				copy(weighted.Row(i), h.x.Row(i))
				h.set.Scale(weighted.Row(i), factor)
			}
			h.set.Pack(&h.states, weighted)
			h.pool.run(len(h.scratch), h.weights)
		}
	}
	return total
}

// apply returns the outputs of a few states, valid until the next call.
func (h *head[F]) apply(x kernel.Matrix[F]) kernel.Matrix[F] {
	stride := len(h.into) * blockOutputs
	if len(h.applied) < x.Rows*stride {
		h.applied = kernel.Make[F](x.Rows * stride)
	}
	outputs := kernel.Matrix[F]{Data: h.applied[:x.Rows*stride], Rows: x.Rows, Cols: h.y.Rows, Stride: stride}
	for i := range h.into {
		h.set.MultiplySum(outputs.Columns(h.outputsOf(i)), kernel.Sum[F]{X: x, M: &h.into[i]})
	}
	return outputs
}

// pieceRows is how many rows of a block a thread takes: no bit depends on it.
func (h *head[F]) pieceRows() int { return max(blockRows/h.pool.threads(), 64) }

// piece is the rows of a piece.
func (h *head[F]) piece(number int) (from, to int) {
	return number * h.pieceRows(), min((number+1)*h.pieceRows(), h.x.Rows)
}

// forward computes the outputs of rows, and what is largest.
func (h *head[F]) forward(from, to int) {
	x, largest := h.x.Slice(from, to), h.largest[from:to]
	for i := range largest {
		largest[i] = F(math.Inf(-1))
	}
	for i := range h.into {
		outputs, next := h.block(i, from, to), min(i+1, len(h.into)-1)
		prefetch := [2][]F{h.into[next].Memory(), h.block(next, from, to).Data}
		h.set.MultiplySum(outputs, kernel.Sum[F]{X: x, M: &h.into[i], Prefetch: prefetch})
		h.set.RowMaxima(largest, outputs)
	}
	for i := from; i < to; i++ {
		h.picked[i], h.correct[i] = h.pick(i, h.classes[i])
	}
}

// pick returns a row's output of a class, and whether it is the largest; of equal ones
// the lowest class counts.
func (h *head[F]) pick(row, class int) (output F, largest bool) {
	number := class / blockOutputs
	in := h.block(number, row, row+1).Data
	output = in[class%blockOutputs]
	largest = output == h.largest[row] && !slices.Contains(in[:class%blockOutputs], output)
	for number--; largest && number >= 0; number-- {
		largest = !slices.Contains(h.block(number, row, row+1).Data, output)
	}
	return output, largest
}

func (h *head[F]) scoreRows(number int) {
	from, to := h.piece(number)
	h.forward(from, to)
	sums := h.sums[from:to]
	clear(sums)
	for i := range h.into {
		h.set.ExpSums(sums, h.block(i, from, to), h.largest[from:to])
	}
}

func (h *head[F]) differentiateRows(number int) {
	from, to := h.piece(number)
	h.forward(from, to)
	sums, gradient := h.sums[from:to], h.gradient.Slice(from, to)
	clear(sums)
	for i := range h.outOf {
		outputs, next := h.block(i, from, to), min(i+1, len(h.outOf)-1)
		h.set.ExpSums(sums, outputs, h.largest[from:to])
		sum := kernel.Sum[F]{A: outputs, B: &h.outOf[i],
			Prefetch: [2][]F{h.outOf[next].Memory(), h.block(next, from, to).Data}}
		if i > 0 {
			sum.H = gradient
		}
		h.set.MultiplySum(gradient, sum)
	}
	y := h.y.Matrix()
	for i, sum := range sums {
		h.factors[from+i] = h.of / sum
		row := gradient.Row(i)
		h.set.Scale(row, h.of/sum)
		h.set.Axpy(row, -h.of, y.Row(h.classes[from+i]))
	}
}

// addWeights adds the block's part of the gradients of some outputs' weights.
func (h *head[F]) addWeights(number int) {
	const blocks = pieceOutputs / blockOutputs
	gradient := h.y.GradientMatrix()
	for i := number * blocks; i < min((number+1)*blocks, len(h.outOf)); i++ {
		from, to := h.outputsOf(i)
		deltas := h.block(i, 0, h.x.Rows)
		h.set.RowWeightedSumsAdd(h.c.Gradient[from:to], deltas, h.factors[:h.x.Rows])
		h.set.TransposedAddPacked(gradient.Slice(from, to), deltas, &h.states, &h.scratch[number])
		for row, class := range h.classes {
			if class >= from && class < to {
				h.set.Axpy(gradient.Row(class), -h.of, h.x.Row(row))
				h.c.Gradient[class] -= h.of
			}
		}
	}
}

// cost is what the work on sequences comes to.
func (h *head[F]) cost(limits layer.Limits) layer.Cost {
	rows := int64(limits.Steps) * int64(limits.Batch)
	return layer.Cost{
		Weights: float64(limits.Steps) * float64(h.y.Rows) * float64(h.y.Cols),
		Shared:  h.footprint(int(rows)),
		Pass:    int64(int(rows) * ((h.y.Cols+15)/16*16 + 16)), // dx
		Values:  min(rows, blockRows)*int64(h.y.Rows) + rows*int64(h.y.Cols) + 2*int64(h.y.Rows)*int64(h.y.Cols),
	}
}

// footprint is the values that prepare takes for all slices, and the packed states.
func (h *head[F]) footprint(rows int) int64 {
	blocks, n := pieces(h.y.Rows, blockOutputs), h.y.Cols
	rows = min(rows, blockRows)
	packed := h.set.PackedSize(n, blockOutputs, true) + h.set.PackedSize(blockOutputs, n, false)
	scratch := pieces(h.y.Rows, pieceOutputs) * kernel.ScratchSize(blockOutputs, rows)
	return int64(blocks*(packed+rows*blockOutputs) + rows*n + h.set.PackedSize(rows, n, false) + scratch + 5*rows)
}
