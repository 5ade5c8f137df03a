// Package layer holds the parts of networks, each with its forward and backward pass side by side:
// recurrent cells over whole sequences ([Elman], [ScalarGated], [GatedSpectral], [ModReLU], [LSTM],
// [MatrixLSTM], [GRU]), [Affine], [Embedding], [Dropout], and the [Stack] and [Residual] block of others.
//
// A [Layer] has the weights, tensors of a [weight.Arena]; a [Pass] runs a part of a minibatch
// through it and has that part's history. A training step, which allocates nothing, as in the
// example of this package:
//
//	net.Load() // form the weights for the present parameters
//	logits, _ := pass.Forward(layer.Input[float32]{Steps: T, Batch: B, X: x}, nil, true)
//	…               // a loss, which writes its gradient in the place of the logits
//	pass.Backward(logits, nil, kernel.Matrix[float32]{})
//	net.Join(1)
//
// A minibatch of B sequences over T steps is a matrix whose row t·B+b is step t of sequence b.
// States are rows, so a product with a weight that is written W h in the papers is h Wᵀ here.
// A wrong shape is a mistake of the calling program and panics; a wrong option is an error.
package layer

import (
	"context"
	"sweep/model/kernel"
	"sweep/model/random"
)

// Layer maps sequences to sequences, or to what their last step comes to.
type Layer[F kernel.Float] interface {
	// Outputs returns the width of an output, and whether there is one for every
	// step of the input or for the last alone.
	Outputs() (width int, every bool)

	// Carried returns how many matrices a step hands to the next; 0 for a layer
	// whose steps know nothing of each other.
	Carried() int

	// Init sets all parameters for the beginning of a training.
	Init(ctx context.Context, source *random.Source) error

	// Load forms the weights from the present parameters. It is due
	// before the first Forward after any change of them, and before every Forward
	// that a Backward follows. No pass may be running.
	Load()

	// NewPass returns a pass for parts of minibatches within limits. The arena is
	// allocated.
	NewPass(limits Limits) Pass[F]

	// Join ends the Backward of the first so many passes, in the order in which
	// they were made: it adds their gradients up, in that order, and carries them
	// to the parameters.
	Join(used int)

	// Constrain restores what an optimiser's step of that learning rate may have
	// lost; see [weight.Matrix].
	Constrain(rate float64)

	// Cost returns what the work of a pass of such limits comes to.
	Cost(limits Limits) Cost
}

// free are the methods of a layer that needs no more than its passes: its steps know
// nothing of each other, and its parameters, if it has any, are used as they are and free.
type free struct{}

func (free) Carried() int      { return 0 }
func (free) Load()             {}
func (free) Join(int)          {}
func (free) Constrain(float64) {}

// A Pass runs one part of a minibatch through a [Layer], forward and back. It is
// for one goroutine at a time; those of one layer may run at once.
type Pass[F kernel.Float] interface {
	// Forward returns the outputs, [B × width] or, where there is one for every
	// step, [T·B × width], and the state after the last step. Both are the pass's
	// own and valid until its next Forward. from is the state before the first
	// step, nil for the start; it may be what an earlier Forward returned. With
	// keep what Backward needs is retained, in.X included, which must not change until
	// then; without, a layer that has no output for every step takes any number of
	// steps.
	Forward(in Input[F], from State[F], keep bool) (out kernel.Matrix[F], to State[F])

	// Backward adds the gradients of all parameters, given those of the outputs
	// and of the state after the last step, nil if nothing depends on it. If dx is
	// not the zero Matrix it is set to the gradient of the input. It returns the
	// gradient of the state before the first step, valid until the next Backward;
	// where that was the start it has been added to the start's. At most one
	// Backward may follow a Forward that keeps, and a [Layer.Join] is due after it.
	Backward(dout kernel.Matrix[F], dto State[F], dx kernel.Matrix[F]) (dfrom State[F])
}

// State is what a layer hands from one step to the next, [B × n] each: the hidden
// state and, in an LSTM, the memory. A stack has its layers' states one after the
// other.
type State[F kernel.Float] []kernel.Matrix[F]

// Input is a part of a minibatch.
type Input[F kernel.Float] struct {
	Steps, Batch int
	X            kernel.Matrix[F] // [Steps·Batch × width]
	Tokens       []int            // [Steps·Batch], in place of X for an [Embedding]
	Place        Place
	Still        bool // nothing is dropped, whatever is kept for Backward
}

// Place says where in a training an input stands, which is what dropout depends
// on.
type Place struct {
	Step  int // of the training
	First int // the first sequence's number in the minibatch
	Batch int // sequences in the minibatch; 0 if the input is all of it
}

// Limits are the largest sizes that a pass is asked for.
type Limits struct {
	Steps int // time steps
	Batch int // sequences
	// History is the number of time steps, or a few more, whose history is retained
	// at once; all if 0. If they are fewer than Steps a sequence is cut into
	// segments: Forward keeps the state before each of them, and Backward runs
	// forward again through one after the other, the last first. That costs
	// about a third more time and changes no bit.
	History int
}

// Cost is what the work of a layer comes to.
type Cost struct {
	// Weights is the number of products with a weight of one sequence; each costs 2
	// operations forward and 4 back.
	Weights float64
	// Inputs is how many of them are with the layer's input, whose gradient, 2 of
	// the 4 operations, is not always asked for.
	Inputs float64
	// Minibatch is the number of operations for a minibatch of any size.
	Minibatch float64
	// Values is the number of values that a pass keeps.
	Values int64

	// The memory that it takes, in values. Shared is of all passes together, such as
	// packed weights and the buffers of a matrix. Pass is of each pass, its history
	// included, and Fork what each but the first takes besides, for gradients of its
	// own. Inject is of each pass that has to give the gradient of its input, and
	// Lent what the layers of a pass use one after the other.
	Shared, Pass, Fork, Inject, Lent int64
}

// Memory returns how many values a layer takes with so many passes, each giving the
// gradient of its input or not as in a stack.
func (c *Cost) Memory(passes int) int64 {
	return c.Shared + int64(passes)*(c.Pass+c.Lent) + int64(passes-1)*c.Fork
}

// Add adds the cost of a further layer of the same passes, but for its Inputs and Inject.
func (c *Cost) Add(further *Cost) {
	c.Weights += further.Weights
	c.Minibatch += further.Minibatch
	c.Values += further.Values
	c.Shared += further.Shared
	c.Pass += further.Pass
	c.Fork += further.Fork
	c.Lent = max(c.Lent, further.Lent)
}

// rowsOf is the number of rows of an input of these limits.
func rowsOf(limits Limits) int64 { return int64(limits.Steps) * int64(limits.Batch) }
