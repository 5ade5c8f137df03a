package task

import (
	"sweep/model/dataset"
	"sweep/sweep"
)

var language = Kind{
	Name:       "language",
	Doc:        "the next word of a text at every word; minibatches hand on the state unless carry is false",
	Source:     "Zaremba, Sutskever and Vinyals 2014; Zhang, Lei and Dhillon 2018, §7.3; SGORNN paper, §3.3",
	Datasets:   []string{dataset.PTB, dataset.GeneratedText},
	Parameters: []*sweep.ParameterSchema{&length, &carry, &epochs, &testEvery, &gapCurves},
	Defaults: map[string]any{
		"hidden": int64(128), "batch": int64(20), "epochs": int64(10), "epoch_rule": smallestLoss, "activation": "tanh",
		"lr": 0.003, "decay": 0.8, "input_scale": 1.0,
	},
	Measures: []*Measure{&perplexity},
	open:     openLanguage,
}

var carry = sweep.ParameterSchema{
	Name: "carry", Type: sweep.BooleanType, Default: true, Neutral: true,
	Doc: "whether a minibatch of text starts from the state at the end of the one before; false starts each from " +
		"h(0), in training, validation and test, as the code of the SGORNN paper does",
}

// languageDefaults are for an lstm, which from a small start stays at the frequencies of words for
// epochs; rnn and spectral-rnn learn from it, and overfit less.
var languageDefaults = sweep.Defaults{
	When: sweep.Match{"task": {"language"}, "model": {"lstm"}}, Values: map[string]any{"output_scale": 2.0},
}

// corpus is a text made ready for one trial. For training it is cut into as many rows
// as a minibatch has sequences; a minibatch is the next so many words of each row, so
// that the state can carry over, and what is left at the end of the rows is left out.
// For validation and test every word counts, the first too: the rows are as many as
// part the words without a rest.
type corpus struct {
	text    *dataset.Text
	options *Options
	steps   int // words of a minibatch's sequences
	epoch   int // minibatches
}

func openLanguage(o *Options) (Task, error) {
	if err := o.refuseFeedForward(); err != nil {
		return nil, err
	}
	text, err := o.Cache.OpenText(o.DataDir, o.Text("dataset"))
	if err != nil {
		return nil, &sweep.DataError{Dataset: o.Text("dataset"), Err: err}
	}
	// A row's last word is only a target.
	pairs := len(text.Train)/o.Batch - 1
	if pairs < 1 {
		return nil, o.Refuse("batch", "is too large for the %d words of %s: want at most %d", len(text.Train),
			text.Name, len(text.Train)/2)
	}
	steps := min(o.Integer("length"), pairs)
	return &corpus{text: text, options: o, steps: steps, epoch: pairs / steps}, nil
}

func (s *corpus) Shape() Shape {
	words := len(s.text.Words)
	return Shape{
		Steps: s.steps, Vocabulary: words, Outputs: words, Every: true, Classes: true, Loss: "cross_entropy",
		Carries: s.options.Boolean(carry.Name),
	}
}

func (s *corpus) Schedule() Schedule {
	return Schedule{Steps: s.options.Integer("epochs") * s.epoch, Interval: s.epoch, Epochs: true}
}

// words are those of a part.
func (s *corpus) words(part Part) []int32 {
	return [...][]int32{Train: s.text.Train, Validation: s.text.Validation, Test: s.text.Test}[part]
}

func (s *corpus) Count(part Part) int {
	if part == Train {
		return s.epoch * s.options.Batch
	}
	return (len(s.words(part)) + s.steps - 1) / s.steps
}

// Batch is what was asked for in training; an evaluation has no more rows than that.
func (s *corpus) Batch(part Part, _ int) int {
	rows := s.options.Batch
	if part != Train {
		words := len(s.words(part))
		for rows = min(rows, words); words%rows > 0; rows-- {
		}
	}
	return rows
}

func (s *corpus) Digest() string { return s.text.Digest }

func (s *corpus) Facts() map[string]float64 {
	return map[string]float64{
		"train_size": float64(len(s.text.Train)), "test_size": float64(len(s.text.Test)), "length": float64(s.steps),
		"vocabulary": float64(len(s.text.Words)), "depth": float64(s.steps),
	}
}

func (s *corpus) Notes() []string { return s.text.Notes }

func (s *corpus) Memory() int64 { return s.text.Size() }

func (s *corpus) Open(part Part, wanted int) (Stream, error) {
	r := &reading{words: s.words(part), rows: s.Batch(part, wanted), steps: s.steps, before: s.text.LineEnd,
		training: part == Train, carry: s.options.Boolean(carry.Name)}
	r.row = len(r.words) / r.rows
	r.minibatches = (r.row + r.steps - 1) / r.steps
	if r.training {
		r.minibatches = s.epoch
	}
	return r, nil
}

// reading goes through a text, the rows side by side.
type reading struct {
	cursor
	words       []int32
	rows, row   int   // rows, and words of each
	steps       int   // of a minibatch
	minibatches int   // of one time through
	before      int32 // the word before the first
	carry       bool  // the state from minibatch to minibatch
	training    bool  // for ever, and from the first word of each row to the second
}

func (r *reading) Next(b *Batch[float32]) bool {
	place := r.position
	if r.training {
		place %= r.minibatches
	} else if place >= r.minibatches {
		return false
	}
	r.position++
	start := place * r.steps
	steps := min(r.steps, r.row-start)
	b.Reset(steps, r.rows, r.carry && place > 0)
	for i := range r.rows {
		first, apart := b.rowsOf(i)
		at := i*r.row + start // of the first word to be said
		if r.training {
			at++
		}
		seen := r.before
		if at > 0 {
			seen = r.words[at-1]
		}
		for t, due := range r.words[at : at+steps] {
			b.Tokens[first+t*apart] = int(seen)
			b.Targets.Classes[first+t*apart] = int(due)
			seen = due
		}
	}
	return true
}
