// Package network puts layers together into what a trial trains: an embedding where steps are
// tokens, a system's layers with dropout between them, and an output layer with its loss.
//
// A [Spec] says what a network is. A [Network] made from it trains and evaluates minibatches, cut
// into slices that go through passes of their own on several threads; results do not depend on
// how many. It can be loaded from an artifact's weights, and stepped through tokens:
//
//	net, err := network.New(ctx, kernel.Float32(), spec, network.Room{Batch: 64, History: 1 << 30, Threads: 2})
//	defer net.Close()
//	score, _ := net.Differentiate(batch, step) // gradients are in net.Arena
//	net.Update(optimizer, rate, clip)
//	outputs, state := net.Step(tokens, nil) // one step of several sequences
package network

import (
	"context"
	"fmt"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/loss"
	"sweep/model/optim"
	"sweep/model/random"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/model/weight"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// Spec says what a network is.
type Spec struct {
	Shape  task.Shape
	System *system.System
	// Options are the system's, but for Inputs and Every, which follow from a layer's place.
	Options system.Options
	Layers  int // of a recurrent system
	// Top is the system of a further layer on top of these, nil for none; TopOptions are as Options.
	Top        *system.System
	TopOptions system.Options
	// Embedding is how many numbers stand for a token; 0 for as many as the hidden units of the
	// lowest layer.
	Embedding                 int
	Dropout, EmbeddingDropout float64 // shares that are dropped
	OutputScale               float64 // of the output layer's start
}

// Room is what a network is made for.
type Room struct {
	Batch   int   // most sequences of a minibatch
	History int64 // bytes that a minibatch's history may take
	Threads int   // that work on a minibatch which is large enough
	Rows    int   // most sequences of a slice; 0 for as many as are fast

	// Products has the threads share the products of the layers, not slices: steps of few sequences
	// through large weights are faster so. It changes no bit.
	Products bool
}

// Network is the layers of a trial, their parameters and their loss.
type Network[F kernel.Float] struct {
	Arena    *weight.Arena[F]
	Stack    *layer.Stack[F]
	Matrices []weight.Matrix[F] // of all layers of the system
	Loss     loss.Loss[F]

	spec   Spec
	set    *kernel.Set[F]
	head   *head[F] // the output layer where it is wide; else the stack's last
	codes  []F      // what Step reads in place of tokens; made by its first call
	formed bool     // the weights are formed from the present parameters
	sliced[F]
}

// Declare makes a network without memory: enough to count parameters and to estimate what it costs.
func Declare[F kernel.Float](set *kernel.Set[F], spec Spec) (*Network[F], error) {
	return declare(set, spec, nil)
}

// declare is Declare with fixed permutations by name, nil to draw them.
func declare[F kernel.Float](set *kernel.Set[F], spec Spec, permutations map[string][]int) (*Network[F], error) {
	n := &Network[F]{spec: spec, set: set, Arena: weight.NewArena[F]()}
	n.Arena.Give(permutations)
	specs, hidden, err := spec.layers()
	if err != nil {
		return nil, err
	}
	var layers []layer.Layer[F]
	if layers, n.Matrices, err = layer.Declare(set, n.Arena, specs); err != nil {
		return nil, err
	}
	if n.Loss, err = loss.New(set, spec.Shape.Loss); err != nil {
		return nil, err
	}
	outputs := spec.Shape.Outputs
	// The wide output layer has a target for every row.
	if outputs >= WideOutputs && spec.Shape.Loss == "cross_entropy" && !spec.Shape.Padded {
		n.head = declareHead(set, n.Arena, outputs, hidden, spec.OutputScale)
		n.Stack = layer.NewStack(layers...)
		return n, nil
	}
	y, err := weight.NewDense(set, n.Arena, "Y", outputs, hidden)
	if err != nil {
		return nil, err
	}
	output, err := layer.NewAffine(set, n.Arena, y, layer.AffineOptions{Bias: "c", Scale: spec.OutputScale})
	n.Stack = layer.NewStack(append(layers, output)...)
	return n, err
}

// layers are those below the output layer, and the width of the last: what turns tokens into
// numbers, and the system, as often as there are recurrent layers, and the one on top, each with
// dropout above it.
func (s *Spec) layers() (all []layer.Spec, width int, err error) {
	width, depth := s.Shape.Inputs, s.Layers
	if s.Shape.Vocabulary > 0 {
		if width = s.Embedding; width == 0 {
			width = s.Options.Hidden
		}
		all = append(all, layer.Spec{Options: layer.EmbeddingSpec{
			Tokens: s.Shape.Vocabulary, Width: width, Deviation: embeddingDeviation,
		}})
		all = s.drop(all, width, s.EmbeddingDropout, inputDropout)
	}
	if s.System.FeedForward {
		depth = 1 // it counts its own
	}
	own := depth
	if s.Top != nil {
		depth++
	}
	for number := range depth {
		of, options := s.System, s.Options
		if number == own {
			of, options = s.Top, s.TopOptions
		}
		options.Inputs, options.Every = width, s.Shape.Every || number < depth-1
		options.Seed += uint64(number) << 32
		layers, err := of.Layers(&options)
		if err != nil {
			return nil, 0, err
		}
		dropout := topDropout
		if number < depth-1 {
			dropout += 1 + number
		}
		if width = of.Width(options.Hidden); depth > 1 {
			for i := range layers {
				layers[i].Prefix = fmt.Sprintf("%d.%s", number, layers[i].Prefix)
			}
		}
		all = s.drop(append(all, layers...), width, s.Dropout, dropout)
	}
	return all, width, nil
}

// embeddingDeviation is the standard deviation of the start of embeddings.
const embeddingDeviation = .1

// Numbers of dropout layers, which tell their masks apart: the one below the output layer, before
// those between recurrent layers, and the one of the input.
const (
	topDropout   = 0
	inputDropout = 1 << 20
)

// drop puts a dropout layer on top of others, if any is to be dropped.
func (s *Spec) drop(layers []layer.Spec, width int, share float64, number int) []layer.Spec {
	if share == 0 {
		return layers
	}
	return append(layers, layer.Spec{Options: layer.DropoutSpec{
		Width: width, Probability: share, Seed: s.Options.Seed, Number: number,
	}})
}

// New makes a network at its start. It has threads, until it is closed.
func New[F kernel.Float](ctx context.Context, set *kernel.Set[F], spec Spec, room Room) (*Network[F], error) {
	n, err := declareIn(room, set, spec, nil)
	if err != nil {
		return nil, err
	}
	source := random.New(spec.Options.Seed, random.Weights)
	if err := n.Stack.Init(ctx, source); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &sweep.ParameterError{Parameter: "start", Value: spec.Options.Parameters["start"],
			Problem: err.Error()}
	}
	if n.head != nil {
		n.head.init(source)
	}
	n.prepare(room)
	return n, nil
}

// Load makes the network of the weights in the tensors of an artifact, and of its fixed
// permutations, which are those of integers. It has threads, until it is closed.
func Load(set *kernel.Set[float32], spec Spec, room Room, artifact *safetensors.File) (*Network[float32], error) {
	permutations := map[string][]int{}
	for i := range artifact.Tensors {
		if t := &artifact.Tensors[i]; t.DType == safetensors.I32 {
			permutations[t.Name] = t.Integers()
		}
	}
	n, err := declareIn(room, set, spec, permutations)
	if err != nil {
		return nil, err
	}
	for _, v := range n.Arena.Views() {
		tensor, err := artifact.Tensor(v.Name, safetensors.F32)
		if err != nil {
			return nil, err
		}
		if tensor.Rows != v.Rows || tensor.Cols != v.Cols {
			return nil, fmt.Errorf("network: tensor %s is %d × %d, want %d × %d",
				v.Name, tensor.Rows, tensor.Cols, v.Rows, v.Cols)
		}
		values, err := sweep.DecodeValues(tensor.Data)
		if err != nil {
			return nil, fmt.Errorf("network: tensor %s: %w", v.Name, err)
		}
		copy(v.Value, values)
	}
	n.prepare(room)
	return n, nil
}

// declareIn declares a network in memory of its own, with fixed permutations by name, nil to draw them.
func declareIn[F kernel.Float](room Room, set *kernel.Set[F], spec Spec, permutations map[string][]int) (*Network[F],
	error) {
	products := new(pool)
	if room.Products {
		set = set.Shared(room.Threads, products.run)
	}
	n, err := declare(set, spec, permutations)
	if err != nil {
		return nil, err
	}
	n.products = products
	n.Arena.Allocate()
	return n, nil
}

// Close ends the network's threads.
func (n *Network[F]) Close() {
	n.pool.close()
	n.products.close()
}

// Level returns the kernel level at which the network computes.
func (n *Network[F]) Level() kernel.Level { return n.set.Level() }

// SumSquares returns the sum of the squares of some values.
func (n *Network[F]) SumSquares(values []F) float64 { return n.set.SumSquares(values) }

// Recurs says whether a step hands anything to the next.
func (n *Network[F]) Recurs() bool { return n.Stack.Carried() > 0 }

// Rows returns the most sequences of a slice.
func (n *Network[F]) Rows() int { return n.rows }

// Carried returns the states that the slices of the last minibatch of training hand to the next,
// where the task asks for it. They are the network's own.
func (n *Network[F]) Carried() []layer.State[F] { return n.trained }

// Carry sets the state that a slice of the next minibatch of training starts from.
func (n *Network[F]) Carry(slice int, state layer.State[F]) { n.trained.set(slice, state) }

// Changed says that parameters have changed by other means than [Network.Update].
func (n *Network[F]) Changed() { n.formed = false }

// Form forms the weights from the present parameters, unless they are.
func (n *Network[F]) Form() {
	if !n.formed {
		n.Stack.Load()
		if n.head != nil {
			n.head.load()
		}
		n.formed = true
	}
}

// Step reads one token of each of several sequences, at most [Network.Rows], or where steps are
// numbers the token's row of the unit matrix, and returns the outputs, [sequences × outputs], and
// the states after it. from is what the Step before returned, nil at the start. What is returned
// is the network's own and valid until its next use.
func (n *Network[F]) Step(tokens []int, from layer.State[F]) (outputs kernel.Matrix[F], to layer.State[F]) {
	n.Form()
	in := layer.Input[F]{Steps: 1, Batch: len(tokens), Tokens: tokens}
	if n.spec.Shape.Vocabulary == 0 {
		in.Tokens, in.X = nil, n.oneHot(tokens)
	}
	outputs, to = n.passes[0].Forward(in, from, false)
	if n.head != nil {
		outputs = n.head.apply(outputs)
	}
	return outputs, to
}

// oneHot returns the rows of the unit matrix that tokens name, valid until the next call.
func (n *Network[F]) oneHot(tokens []int) kernel.Matrix[F] {
	width := n.spec.Shape.Inputs
	if n.codes == nil {
		n.codes = kernel.Make[F](n.rows * width)
	}
	x := kernel.Dense(n.codes[:len(tokens)*width], len(tokens), width)
	clear(x.Data)
	for i, token := range tokens {
		x.Row(i)[token] = 1
	}
	return x
}

// Update clips the gradients and moves the parameters along them.
func (n *Network[F]) Update(optimizer *optim.Optimizer[F], rate, clip float64) {
	if clip > 0 {
		optim.Clip(n.set, n.Arena.Gradients(), clip)
	}
	optimizer.Step(rate)
	n.Stack.Constrain(rate)
	n.formed = false
}

// Project moves the parameters to the nearest ones that are allowed, as from a mean of allowed
// ones.
func (n *Network[F]) Project() {
	for _, m := range n.Matrices {
		m.Project()
	}
	n.formed = false
}

// Gates returns α and β of the lowest layer with scalar gates; ok is false for systems that have none.
func (n *Network[F]) Gates() (alpha, beta float64, ok bool) {
	for _, l := range n.Stack.Layers() {
		if gated, has := l.(interface {
			Gates() (alpha, beta float64, bounded bool)
		}); has {
			alpha, beta, _ = gated.Gates()
			return alpha, beta, true
		}
	}
	return 0, 0, false
}

// SpectralMargin returns the largest |σ_i − 1| of the transition matrices of all layers, as the
// layers apply them; ok is false for systems that have none.
func (n *Network[F]) SpectralMargin(ctx context.Context) (margin float64, ok bool, err error) {
	n.Form()
	for _, l := range n.Stack.Layers() {
		recurrent, has := l.(interface {
			SpectralMargin(ctx context.Context) (float64, error)
		})
		if !has {
			continue
		}
		own, err := recurrent.SpectralMargin(ctx)
		if err != nil {
			return 0, false, err
		}
		margin, ok = max(margin, own), true
	}
	return margin, ok, nil
}
