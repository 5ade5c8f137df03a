package cell

import (
	"fmt"
	"math"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// Head is the output layer, a row of outputs (logits) for each row of hidden
// states
//
//	ŷ = Y h + c
//
// and the losses on it. Usually its rows are the last states of a batch;
// they may as well be the states of all steps.
type Head[F kernel.Float] struct {
	set           *kernel.Set[F]
	size, outputs int
	y             *weight.View[F] // [n_y × n]
	c             *weight.View[F] // [n_y]

	ahead kernel.Packed[F] // Yᵀ
	back  kernel.Packed[F] // Y

	hidden   kernel.Matrix[F] // the states as the product saw them
	logits   kernel.Matrix[F]
	dlogits  kernel.Matrix[F]
	dhidden  kernel.Matrix[F]
	rows     int  // of the last Forward or Evaluate
	training bool // the last was a Forward

	dropout float64
	random  *weight.Random
	dropped kernel.Matrix[F] // states after dropout
	mask    []F              // of each element of dropped: 0 or 1/(1-dropout)
}

// HeadOptions are the choices of a [Head].
type HeadOptions struct {
	// Dropout is the probability in [0, 1) with which an element of the hidden
	// state is set to 0 in training; what stays is scaled by 1/(1-Dropout). 0
	// means none.
	Dropout float64

	// Random draws what is dropped. It must be given if Dropout is not 0.
	Random *weight.Random
}

// NewHead declares the tensors "Y" [n_y × n] and "c" and makes buffers for up
// to rows hidden states of size n.
func NewHead[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], size, outputs, rows int, options HeadOptions) (*Head[F], error) {
	if size < 1 || outputs < 1 || rows < 1 {
		return nil, fmt.Errorf("cell: head of %d outputs for %d states of size %d: want at least 1 of each", outputs, rows, size)
	}
	if !(options.Dropout >= 0 && options.Dropout < 1) {
		return nil, fmt.Errorf("cell: dropout %v: want a number from 0 up to, not including, 1", options.Dropout)
	}
	if options.Dropout > 0 && options.Random == nil {
		return nil, fmt.Errorf("cell: dropout %v without a source of random numbers", options.Dropout)
	}
	h := &Head[F]{
		set:     set,
		size:    size,
		outputs: outputs,
		y:       arena.Declare("Y", outputs, size),
		c:       arena.Declare("c", 1, outputs),
		logits:  newMatrix[F](rows, outputs),
		dlogits: newMatrix[F](rows, outputs),
		dhidden: newMatrix[F](rows, size),
	}
	if options.Dropout > 0 {
		h.dropout, h.random = options.Dropout, options.Random
		h.dropped = newMatrix[F](rows, size)
		h.mask = make([]F, rows*size)
	}
	return h, nil
}

// Outputs returns n_y.
func (h *Head[F]) Outputs() int { return h.outputs }

// Start sets Y to N(0, scale²/n) and c to 0.
func (h *Head[F]) Start(scale float64, random *weight.Random) {
	weight.Gaussian(h.y.Value, scale/math.Sqrt(float64(h.size)), random)
	clear(h.c.Value)
}

// Load packs Y. It is due after any change of the parameters.
func (h *Head[F]) Load() {
	h.set.PackTransposedBias(&h.ahead, h.y.Matrix(), h.c.Value)
	h.set.Pack(&h.back, h.y.Matrix())
}

// Forward computes the outputs for states [rows × n] with dropout, and keeps
// the states for Backward: they must not change until then. The result is
// valid until the next Forward or Evaluate.
func (h *Head[F]) Forward(states kernel.Matrix[F]) kernel.Matrix[F] {
	if h.dropout > 0 {
		states = h.drop(states)
	}
	h.training = true
	return h.multiply(states)
}

// Evaluate computes the outputs for states [rows × n] without dropout.
func (h *Head[F]) Evaluate(states kernel.Matrix[F]) kernel.Matrix[F] {
	h.training = false
	return h.multiply(states)
}

func (h *Head[F]) multiply(states kernel.Matrix[F]) kernel.Matrix[F] {
	if states.Rows < 1 || states.Rows > h.logits.Rows || states.Cols != h.size {
		panic(fmt.Sprintf("cell: states of %d × %d in a head made for %d × %d", states.Rows, states.Cols, h.logits.Rows, h.size))
	}
	h.hidden, h.rows = states, states.Rows
	logits := h.logits.Slice(0, h.rows)
	h.set.MultiplyBias(logits, states, &h.ahead)
	return logits
}

// drop returns the states with a random part of their elements set to 0.
func (h *Head[F]) drop(states kernel.Matrix[F]) kernel.Matrix[F] {
	dropped := h.dropped.Slice(0, states.Rows)
	keep := F(1 / (1 - h.dropout))
	for i := range states.Rows {
		dst, mask := dropped.Row(i), h.mask[i*h.size:(i+1)*h.size]
		for j, v := range states.Row(i) {
			mask[j] = keep
			if h.random.Uniform() < h.dropout {
				mask[j] = 0
			}
			dst[j] = v * mask[j]
		}
	}
	return dropped
}

// CrossEntropy returns the mean over the rows of the cross entropy between the
// softmax of the last outputs and the labels, one class for each row, and the
// number of rows whose largest output is the label's. After a Forward it also
// prepares Backward.
func (h *Head[F]) CrossEntropy(labels []int) (loss float64, correct int) {
	var dlogits kernel.Matrix[F]
	if h.training {
		dlogits = h.dlogits.Slice(0, h.rows)
	}
	loss, correct = h.set.SoftmaxCrossEntropy(dlogits, h.logits.Slice(0, h.rows), labels, 1/F(h.rows))
	return loss / float64(h.rows), correct
}

// SquaredError returns the mean of (ŷ - target)² over all elements of the last
// outputs. After a Forward it also prepares Backward.
func (h *Head[F]) SquaredError(targets kernel.Matrix[F]) (loss float64) {
	if targets.Rows != h.rows || targets.Cols != h.outputs {
		panic(fmt.Sprintf("cell: targets of %d × %d for outputs of %d × %d", targets.Rows, targets.Cols, h.rows, h.outputs))
	}
	scale := 2 / F(h.rows*h.outputs)
	for i := range h.rows {
		gradient, target := h.dlogits.Row(i), targets.Row(i)
		for j, v := range h.logits.Row(i) {
			difference := v - target[j]
			loss += float64(difference) * float64(difference)
			gradient[j] = scale * difference
		}
	}
	return loss / float64(h.rows*h.outputs)
}

// Backward adds the gradients of Y and c for the last loss and returns the
// gradient of the states, [rows × n], valid until the next Backward:
//
//	∂L/∂Y = Σ ∂L/∂ŷ hᵀ   ∂L/∂c = Σ ∂L/∂ŷ   ∂L/∂h = Yᵀ ∂L/∂ŷ
func (h *Head[F]) Backward() kernel.Matrix[F] {
	if !h.training {
		panic("cell: Backward of a head without Forward")
	}
	dlogits, dhidden := h.dlogits.Slice(0, h.rows), h.dhidden.Slice(0, h.rows)
	h.set.TransposedAdd(h.y.GradientMatrix(), dlogits, h.hidden, nil)
	h.set.ColumnSumsAdd(h.c.Gradient, dlogits)
	h.set.Multiply(dhidden, dlogits, &h.back)
	if h.dropout > 0 {
		for i := range h.rows {
			mask := h.mask[i*h.size : (i+1)*h.size]
			for j, m := range mask {
				dhidden.Data[i*dhidden.Stride+j] *= m
			}
		}
	}
	return dhidden
}
