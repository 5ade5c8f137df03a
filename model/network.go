package model

import (
	"context"
	"fmt"
	"math"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/loss"
	"sweep/model/optim"
	"sweep/model/random"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/model/weight"
	"sweep/sweep"
)

// network is the layers of a trial, their parameters and their loss.
type network[F kernel.Float] struct {
	set      *kernel.Set[F]
	arena    *weight.Arena[F]
	stack    *layer.Stack[F]
	head     *head[F] // the output layer where it is wide; else the stack's last
	loss     loss.Loss[F]
	matrices []weight.Matrix[F] // of all layers of the system
	slices   *sliced[F]
	loaded   bool // the weights are formed from the present parameters
}

// declare makes the network of the settings without room for what it trains on.
func declare[F kernel.Float](set *kernel.Set[F], s *settings, shape task.Shape) (*network[F], error) {
	n := &network[F]{set: set, arena: weight.NewArena[F]()}
	layers, width, err := n.declareInput(s, shape)
	if err != nil {
		return nil, err
	}
	if layers, err = n.declareSystem(s, shape, layers, width); err != nil {
		return nil, err
	}
	if layers, err = drop(layers, s.hidden, s.dropout, s.seed, topDropout); err != nil {
		return nil, err
	}
	if n.loss, err = loss.New(set, shape.Loss); err != nil {
		return nil, err
	}
	if shape.Outputs >= wideOutputs && shape.Loss == "cross_entropy" {
		n.head = declareHead(set, n.arena, shape.Outputs, s.hidden, s.outputScale)
		n.stack = layer.NewStack(layers...)
		return n, nil
	}
	y, err := weight.NewDense(set, n.arena, "Y", shape.Outputs, s.hidden)
	if err != nil {
		return nil, err
	}
	head, err := layer.NewAffine(set, n.arena, y, layer.AffineOptions{Bias: "c", Scale: s.outputScale})
	n.stack = layer.NewStack(append(layers, head)...)
	return n, err
}

// declareInput declares what turns tokens into numbers, and returns how many a step
// then has.
func (n *network[F]) declareInput(s *settings, shape task.Shape) (layers []layer.Layer[F], width int, err error) {
	if shape.Vocabulary == 0 {
		return nil, shape.Inputs, nil
	}
	if width = s.embedding; width == 0 {
		width = s.hidden
	}
	embedding, err := layer.NewEmbedding(n.set, n.arena, shape.Vocabulary, width, embeddingDeviation)
	if err != nil {
		return nil, 0, err
	}
	layers, err = drop([]layer.Layer[F]{embedding}, width, s.embeddingDropout, s.seed, inputDropout)
	return layers, width, err
}

// embeddingDeviation is the standard deviation of the start of embeddings.
const embeddingDeviation = .1

// declareSystem declares the system on what reads inputs of that width: as often as
// there are recurrent layers, with dropout between them.
func (n *network[F]) declareSystem(s *settings, shape task.Shape, layers []layer.Layer[F], width int) ([]layer.Layer[F], error) {
	depth := s.layers
	if s.system.FeedForward {
		depth = 1 // it counts its own
	}
	defer n.arena.SetPrefix("")
	for number := range depth {
		options := s.options(width)
		options.Every = shape.Every || number < depth-1
		options.Seed += uint64(number) << 32
		if depth > 1 {
			n.arena.SetPrefix(fmt.Sprintf("%d.", number))
		}
		built, err := system.Build(s.system, n.set, n.arena, options)
		if err != nil {
			return nil, err
		}
		n.matrices = append(n.matrices, built.Matrices...)
		layers, width = append(layers, built.Layers...), s.hidden
		if number < depth-1 {
			if layers, err = drop(layers, width, s.dropout, s.seed, topDropout+1+number); err != nil {
				return nil, err
			}
		}
	}
	return layers, nil
}

// Numbers of dropout layers, which tell their masks apart: the one below the output
// layer, before those between recurrent layers, and the one of the input.
const (
	topDropout   = 0
	inputDropout = 1 << 20
)

// drop puts a dropout layer on top of others, if any is to be dropped.
func drop[F kernel.Float](layers []layer.Layer[F], width int, probability float64, seed uint64, number int) ([]layer.Layer[F], error) {
	if probability == 0 {
		return layers, nil
	}
	dropout, err := layer.NewDropout[F](width, probability, seed, number)
	return append(layers, dropout), err
}

// newNetwork makes the network of the settings at its start, with room for
// minibatches of so many sequences, of which it keeps so many bytes of history. It trains
// with so many threads, where the minibatch is large enough, until it is closed.
func newNetwork[F kernel.Float](ctx context.Context, set *kernel.Set[F], s *settings, shape task.Shape, batch int, history int64, threads int) (*network[F], error) {
	n, err := declare(set, s, shape)
	if err != nil {
		return nil, err
	}
	n.arena.Allocate()
	if err := n.init(ctx, s); err != nil {
		return nil, err
	}
	limits := withHistory[F](n.stack, layer.Limits{Steps: shape.Steps, Batch: batch}, history)
	n.slices = newSliced(n, limits, sliceRows(s.hidden, s.system.FeedForward), threads)
	return n, nil
}

// init sets all parameters to their start.
func (n *network[F]) init(ctx context.Context, s *settings) error {
	source := random.New(s.seed, random.Weights)
	if err := n.stack.Init(ctx, source); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &sweep.ParameterError{Parameter: "start", Value: s.parameters["start"], Problem: err.Error()}
	}
	if n.head != nil {
		n.head.init(source)
	}
	return nil
}

// close ends the network's threads.
func (n *network[F]) close() { n.slices.close() }

// newOptimizer makes the optimiser of all parameters: the settings', but for tensors
// that have a rule of their own.
func (n *network[F]) newOptimizer(s *settings) (optim.Optimizer[F], error) {
	return optim.New(n.set, n.arena, s.optimizerOptions())
}

// optimizerOptions are those of the settings.
func (s *settings) optimizerOptions() optim.Options {
	return optim.Options{
		Rule:     weight.Rule(s.optimizer),
		Adam:     optim.AdamOptions{Beta1: s.beta1, Beta2: s.beta2, Epsilon: s.epsilon},
		RMSprop:  optim.RMSpropOptions{Decay: s.rmsDecay, Epsilon: s.epsilon, Uncorrected: !s.rmsCorrection},
		Momentum: s.momentum,
	}
}

// cost is what the work on sequences comes to.
func (n *network[F]) cost(limits layer.Limits) layer.Cost {
	c := n.stack.Cost(limits)
	if n.head != nil {
		wide := n.head.cost(limits)
		c.Weights += wide.Weights
		c.Values += wide.Values
		c.Shared += wide.Shared
		c.Pass += wide.Pass
	}
	return c
}

// recurs says whether a step hands anything to the next.
func (n *network[F]) recurs() bool { return n.stack.Carried() > 0 }

// load forms the weights from the present parameters, unless they are.
func (n *network[F]) load() {
	if !n.loaded {
		n.stack.Load()
		if n.head != nil {
			n.head.load()
		}
		n.loaded = true
	}
}

// differentiate returns the score of a minibatch in the training step of that
// number, and the root mean square over its series of ‖∂L/∂h(0)‖, and sets the
// gradients.
func (n *network[F]) differentiate(b *task.Batch[F], step int) (score loss.Score, gradient float64) {
	n.load()
	n.arena.ZeroGradients()
	score, sum := n.slices.differentiate(b, step)
	return score, math.Sqrt(sum * float64(b.Size))
}

// classify calls yield with the outputs of a batch, a slice after the other, and the
// classes that they are held to.
func (n *network[F]) classify(b *task.Batch[F], yield func(outputs kernel.Matrix[F], classes []int)) {
	n.load()
	n.slices.classify(b, yield)
}

// evaluate returns the score of a batch.
func (n *network[F]) evaluate(b *task.Batch[F]) loss.Score {
	n.load()
	return n.slices.evaluate(b)
}

// update clips the gradients and moves the parameters along them.
func (n *network[F]) update(optimizer optim.Optimizer[F], rate, clip float64) {
	if clip > 0 {
		optim.Clip(n.set, n.arena.Gradients(), clip)
	}
	optimizer.Step(rate)
	n.stack.Constrain(rate)
	n.loaded = false
}

// project moves the parameters to the nearest ones that are allowed, as from a mean of
// allowed ones.
func (n *network[F]) project() {
	for _, m := range n.matrices {
		m.Project()
	}
	n.loaded = false
}

// spectralMargin returns the largest |σ_i − 1| of the transition matrices of all layers,
// as the layers apply them; ok is false for systems that have none.
func (n *network[F]) spectralMargin(ctx context.Context) (margin float64, ok bool, err error) {
	n.load()
	for _, l := range n.stack.Layers() {
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
