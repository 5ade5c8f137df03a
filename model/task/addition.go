package task

import (
	"crypto/sha256"
	"encoding/hex"

	"sweep/model/protocol"
	"sweep/model/random"
	"sweep/sweep"
)

var addition = Kind{
	Name:       "addition",
	Doc:        "the sum of the two marked numbers of a sequence, asked after its last step; generated",
	Source:     "Hochreiter and Schmidhuber 1997; Arjovsky, Shah and Bengio 2016, §4.2; SGORNN paper, §3.1 and eq. 10",
	Datasets:   []string{"addition"},
	Parameters: []*sweep.ParameterSchema{&length, &examples, &held, &steps, &validateEvery},
	Defaults:   map[string]any{"hidden": int64(128), "batch": int64(64), "epoch_rule": smallestLoss},
	open:       openAddition,
}

// smallestLoss is the epoch rule of tasks that have no accuracy to go by.
const smallestLoss = string(protocol.SmallestLoss)

var (
	length = sweep.ParameterSchema{
		Name: "length", Measures: true,
		MeasuresWhen: sweep.Match{"task": {"addition", "copy", "state-tracking", "queries"}},
		Type:         sweep.IntegerType, Default: int64(300), Minimum: new(2.0), Maximum: new(100_000.0),
		Doc: "T: steps of an addition sequence; of copy the time lag, with sequences of T + 20 steps; generators of a " +
			"word to train on; words of a minibatch of text; most characters of a query, the rest of which is not read",
	}
	examples = sweep.ParameterSchema{
		Name: "examples", Type: sweep.IntegerType, Default: int64(0), Minimum: new(0.0), Maximum: new(10_000_000.0),
		Doc: "training sequences, which come in a new order every time round (Arjovsky et al. 2016: 100000); 0 makes " +
			"new ones for every minibatch",
	}
	held = sweep.ParameterSchema{
		Name: "held", Measures: true, Type: sweep.IntegerType, Default: int64(640), Minimum: new(1.0),
		Maximum: new(10_000_000.0),
		Doc:     "sequences to validate on, and as many others to test on (SGORNN paper: 10 minibatches of 64)",
	}
	steps = sweep.ParameterSchema{
		Name: "steps", Budget: true, Type: sweep.IntegerType, Default: int64(20_000), Minimum: new(1.0),
		Maximum: new(1_000_000_000.0),
		Doc:     "minibatches to train on",
	}
	validateEvery = sweep.ParameterSchema{
		Name: "validate_every", Type: sweep.IntegerType, Default: int64(100), Minimum: new(1.0),
		Maximum: new(1_000_000_000.0),
		Doc:     "minibatches between validations; the decay of the learning rate counts by it, too",
	}
)

// maxRows bounds the time steps of a minibatch of generated sequences: beyond, no
// machine has the memory.
const maxRows = 1 << 27

// checkGenerated refuses what no network can be trained on with sequences of so many
// steps.
func (o *Options) checkGenerated(steps int) error {
	if o.Batch > maxRows/steps {
		return o.Refuse("batch", "is too large for sequences of %d steps: want at most %d", steps, maxRows/steps)
	}
	return o.refuseFeedForward()
}

// generated is what tasks whose sequences are made as they are needed have in common.
type generated struct {
	options *Options
	name    string // of the definition, with its version
	shape   Shape
	memory  int64
	// baseline is the loss of the best that can be said without remembering
	// anything.
	baseline float64
	// write makes the sequence of that number in a batch from its own source.
	write func(b *Batch[float32], sequence int, source *random.Source)
}

func openAddition(o *Options) (Task, error) {
	t := o.Integer("length")
	if err := o.checkGenerated(t); err != nil {
		return nil, err
	}
	return &generated{
		options: o, name: "addition 1",
		shape:    Shape{Steps: t, Inputs: 2, Outputs: 1, Loss: "mse"},
		baseline: 1. / 6, // the variance of the sum of two numbers, each 1/12
		write:    writeAddition,
	}, nil
}

// writeAddition makes one sequence of x(t) = (u(t), c(t)): numbers u uniform in
// (0, 1), and marks c of which two are 1, one in the first half and one in the second,
// each place equally likely. The target is u·c.
func writeAddition(b *Batch[float32], sequence int, source *random.Source) {
	first, apart := b.rowsOf(sequence)
	half := b.Steps / 2
	marks := [2]int{source.Below(half), half + source.Below(b.Steps-half)}
	row := func(t int) []float32 { return b.X.Row(first + t*apart) }
	for t := range b.Steps {
		x := row(t)
		x[0], x[1] = float32(source.Uniform()), 0
	}
	var sum float32
	for _, t := range marks {
		x := row(t)
		x[1] = 1
		sum += x[0]
	}
	b.Targets.Values.Row(sequence)[0] = sum
}

func (g *generated) Shape() Shape { return g.shape }

func (g *generated) Schedule() Schedule {
	all := g.options.Integer("steps")
	return Schedule{Steps: all, Interval: min(g.options.Integer("validate_every"), all)}
}

func (g *generated) Count(part Part) int {
	if part == Train {
		return g.Schedule().Interval * g.options.Batch
	}
	return g.options.Integer("held")
}

func (g *generated) Batch(part Part, wanted int) int {
	if part == Train {
		if all := g.options.Integer("examples"); all > 0 {
			return min(wanted, all)
		}
		return wanted
	}
	return min(wanted, g.options.Integer("held"))
}

// Digest is that of the definition: there are no data. What its parameters make of it
// is told by the parameters.
func (g *generated) Digest() string {
	sum := sha256.Sum256([]byte("sweep generated " + g.name))
	return hex.EncodeToString(sum[:])
}

func (g *generated) Facts() map[string]float64 {
	return map[string]float64{
		"length": float64(g.options.Integer("length")), "depth": float64(g.shape.Steps),
		"input_size": float64(g.shape.Inputs),
		"test_size":  float64(g.options.Integer("held")), "baseline_loss": g.baseline,
	}
}

func (g *generated) Notes() []string { return nil }

func (g *generated) Memory() int64 { return g.memory }

func (g *generated) Open(part Part, wanted int) (Stream, error) {
	s := &sequences{of: g, part: part, batch: g.Batch(part, wanted)}
	if all := g.options.Integer("examples"); part == Train && all > 0 {
		s.order = newOrder(upTo(all), s.batch, g.options.Seed)
	}
	return s, nil
}

// sequences is a stream of generated sequences. Each is a function of seed, part and its
// number.
type sequences struct {
	cursor
	of     *generated
	part   Part
	batch  int
	order  *order // of a fixed number of training sequences
	source random.Source
}

func (s *sequences) Next(b *Batch[float32]) bool {
	first, count := s.position*s.batch, s.batch
	var numbers []int
	switch {
	case s.order != nil:
		numbers = s.order.minibatch(s.position)
		count = len(numbers)
	case s.part != Train:
		count = min(count, s.of.options.Integer("held")-first)
	}
	if count <= 0 {
		return false
	}
	s.position++
	b.Reset(s.of.shape.Steps, count, false)
	for i := range count {
		number := first + i
		if numbers != nil {
			number = numbers[i]
		}
		// The parts take turns, so that none has a sequence of another.
		s.source.Begin(s.of.options.Seed, random.Examples.At(3*number+int(s.part)))
		s.of.write(b, i, &s.source)
	}
	return true
}
