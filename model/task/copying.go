package task

import (
	"math"

	"sweep/model/random"
	"sweep/sweep"
)

var copying = Kind{
	Name:       "copy",
	Doc:        "ten symbols seen at the beginning, to be said in order when T steps have passed; generated",
	Source:     "Arjovsky, Shah and Bengio 2016, §4.1; Zhang, Lei and Dhillon 2018, §7.1",
	Datasets:   []string{"copy"},
	Parameters: []*sweep.ParameterSchema{&length, &examples, &held, &steps, &validateEvery},
	Defaults: map[string]any{"hidden": int64(128), "batch": int64(64), "epoch_rule": smallestLoss,
		"length": int64(100)},
	Measures: []*Measure{&accuracy},
	open:     openCopy,
}

const (
	copied    = 10 // symbols to remember
	symbols   = 8  // a0 … a7, of which they are
	blank     = 8  // a8
	delimiter = 9  // a9
	alphabet  = 10
)

func openCopy(o *Options) (Task, error) {
	lag := o.Integer("length")
	all := lag + 2*copied
	if err := o.checkGenerated(all); err != nil {
		return nil, err
	}
	return &generated{
		options: o, name: "copy 1",
		shape: Shape{Steps: all, Inputs: alphabet, Outputs: alphabet, Every: true, Classes: true,
			Loss: "cross_entropy"},
		// Blanks for certain, then one of eight at random ten times.
		baseline: copied * math.Log(symbols) / float64(all),
		write:    writeCopy,
	}, nil
}

// writeCopy makes one sequence of T + 20 symbols, each the row of the unit matrix that
// its number says: x_1 … x_10 of a0 … a7, each equally likely, x_{T+10} = a9, all
// others a8. The targets are a8 T + 10 times and then x_1 … x_10.
func writeCopy(b *Batch[float32], sequence int, source *random.Source) {
	first, apart := b.rowsOf(sequence)
	var remembered [copied]int
	for i := range remembered {
		remembered[i] = source.Below(symbols)
	}
	for t := range b.Steps {
		symbol, answer := blank, blank
		switch {
		case t < copied:
			symbol = remembered[t]
		case t == b.Steps-copied-1:
			symbol = delimiter
		}
		if back := t - (b.Steps - copied); back >= 0 {
			answer = remembered[back]
		}
		at := first + t*apart
		x := b.X.Row(at)
		clear(x)
		x[symbol] = 1
		b.Targets.Classes[at] = answer
	}
}
