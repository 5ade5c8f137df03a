package task

import (
	"math"
	"slices"

	"sweep/model/loss"
	"sweep/model/random"
	"sweep/sweep"
)

var stateTracking = Kind{
	Name: "state-tracking",
	Doc: "the product of a word of generators of a group: training asks for it after each generator, validation and " +
		"test after the last; words to test on may be longer; generated",
	Source: "Liu, Ash, Goel, Krishnamurthy and Zhang 2023 (word problems of groups); Merrill, Petty and Sabharwal 2024; " +
		"Siems et al. 2025 (DeltaProduct)",
	Datasets:   []string{"parity", "s3-words", "s5-words"},
	Parameters: []*sweep.ParameterSchema{&length, &testLength, &examples, &held, &steps, &validateEvery},
	Defaults: map[string]any{"hidden": int64(64), "batch": int64(64), "epoch_rule": smallestLoss, "length": int64(40),
		"steps": int64(5000)},
	Measures: []*Measure{&accuracy},
	open:     openWords,
}

var testLength = sweep.ParameterSchema{
	Name: "test_length", Measures: true, Type: sweep.IntegerType, Default: int64(0), Minimum: new(0.0),
	Maximum: new(100_000.0),
	Doc:     "generators of a word to test on; 0 for as many as of one to train on",
}

// generators are those of each group, as permutations: a transposition and a cycle of all, which generate every
// permutation. Words of the group of two elements are of both, so that the product is the parity of a string of bits.
var generators = map[string][][]int{
	"parity":   {{0, 1}, {1, 0}},
	"s3-words": {{1, 0, 2}, {1, 2, 0}},
	"s5-words": {{1, 0, 2, 3, 4}, {1, 2, 3, 4, 0}},
}

// products returns, for each element of the group and each generator, the number of their product. Elements are numbered
// in the order in which words of growing length reach them; 0 is the neutral one.
func products(generators [][]int) (next [][]int) {
	neutral := make([]int, len(generators[0]))
	for i := range neutral {
		neutral[i] = i
	}
	elements := [][]int{neutral}
	for e := 0; e < len(elements); e++ {
		row := make([]int, len(generators))
		for g, generator := range generators {
			product := make([]int, len(neutral))
			for i, to := range elements[e] {
				product[i] = generator[to]
			}
			row[g] = slices.IndexFunc(elements, func(known []int) bool { return slices.Equal(known, product) })
			if row[g] < 0 {
				row[g], elements = len(elements), append(elements, product)
			}
		}
		next = append(next, row)
	}
	return next
}

// words are generated words, tested at a length of their own.
type words struct {
	generated
	test int
}

func openWords(o *Options) (Task, error) {
	dataset, steps, test := o.Text("dataset"), o.Integer("length"), o.Integer(testLength.Name)
	if test == 0 {
		test = steps
	}
	if err := o.checkGenerated(max(steps, test)); err != nil {
		return nil, err
	}
	next := products(generators[dataset])
	return &words{test: test, generated: generated{
		options: o, name: dataset + " 1",
		shape: Shape{Steps: steps, Inputs: len(next[0]), Outputs: len(next), Every: true, Classes: true, Padded: true,
			Loss: "cross_entropy"},
		baseline: math.Log(float64(len(next))), // each product is as likely
		// A generator is the row of the unit matrix that its number says, each as likely.
		write: func(b *Batch[float32], sequence int, source *random.Source) {
			first, apart := b.rowsOf(sequence)
			product := 0
			for t := range b.Steps {
				at, generator := first+t*apart, source.Below(len(next[0]))
				x := b.X.Row(at)
				clear(x)
				x[generator] = 1
				product = next[product][generator]
				b.Targets.Classes[at] = product
			}
		},
	}}, nil
}

func (w *words) Shape() Shape {
	shape := w.shape
	shape.Steps = max(shape.Steps, w.test)
	return shape
}

func (w *words) Open(part Part, wanted int) (Stream, error) {
	g := w.generated
	if part == Test {
		g.shape.Steps = w.test
	}
	if part != Train { // the last product is asked alone
		g.write = func(b *Batch[float32], sequence int, source *random.Source) {
			w.write(b, sequence, source)
			first, apart := b.rowsOf(sequence)
			for t := range b.Steps - 1 {
				b.Targets.Classes[first+t*apart] = loss.NoTarget
			}
		}
	}
	return g.Open(part, wanted)
}
