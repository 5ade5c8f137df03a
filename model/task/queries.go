package task

import (
	"slices"

	"sweep/model/dataset"
	"sweep/model/loss"
	"sweep/sweep"
)

var queries = Kind{
	Name: "queries",
	Doc: "the next character of a query after each of its prefixes, and its end; P(prefix → query) is the product, " +
		"which \"sweep complete\" searches",
	Source:     "Dhillon 2018 (slides), Auto-complete Task",
	Datasets:   []string{dataset.Queries, dataset.GeneratedQueries},
	Parameters: []*sweep.ParameterSchema{&length, &alphabetSize, &split, &validation, &epochs, &testEvery, &gapCurves},
	Defaults: map[string]any{
		"hidden": int64(128), "batch": int64(64), "epochs": int64(10), "epoch_rule": smallestLoss, "activation": "tanh",
		"lr": 0.003, "input_scale": 1.0, "validation": 0.1, "length": int64(60),
	},
	Measures: []*Measure{&perplexity, &accuracy},
	open:     openQueries,
}

var alphabetSize = sweep.ParameterSchema{
	Name: "alphabet", Measures: true, Type: sweep.IntegerType, Default: int64(200), Minimum: new(3.0),
	Maximum: new(60_000.0),
	Doc: "width of the one-hot code of a character, and classes of the next: the end of a query, any rare character, " +
		"and one each for the most frequent characters of the training part",
}

// Codes of characters. Before the first character of a query its end is read.
const (
	// EndOfQuery is the code of a query's end.
	EndOfQuery = iota
	// RareCharacter is the code of all characters that have none of their own.
	RareCharacter
	// FirstCharacter is the code of the most frequent character. The others follow.
	FirstCharacter
)

// Alphabet returns the characters that have codes of their own among so many codes, from
// [FirstCharacter] on.
func Alphabet(characters []rune, codes int) []rune {
	return characters[:min(len(characters), codes-FirstCharacter)]
}

// CharacterShape is the shape of queries of up to so many steps, in so many codes.
func CharacterShape(steps, codes int) Shape {
	return Shape{Steps: steps, Inputs: codes, Outputs: codes, Every: true, Classes: true, Loss: "cross_entropy",
		Padded: true}
}

// typed is a set of queries made ready for one trial. A query of n characters has n + 1
// steps: at the first its first character is asked, at the last its end. One that is
// longer than the parameter length has as many steps as that, and its end is not asked.
type typed struct {
	parts
	set   *dataset.QuerySet
	codes int
	most  int // characters of a query
	steps int // of the longest
	cut   int // queries that are longer
}

func openQueries(o *Options) (Task, error) {
	if err := o.refuseFeedForward(); err != nil {
		return nil, err
	}
	if o.Text("split") != string(dataset.SplitRandom) {
		return nil, o.Refuse("split", "cannot be used with queries, which have no classes and no list: want random")
	}
	set, err := o.Cache.OpenQueries(o.DataDir, o.Text("dataset"))
	if err != nil {
		return nil, &sweep.DataError{Dataset: o.Text("dataset"), Err: err}
	}
	q := &typed{set: set, parts: parts{options: o}, codes: o.Integer("alphabet"), most: o.Integer("length")}
	train := set.Train.Count()
	q.rows[Train], q.rows[Validation] = dataset.Split(make([]int, train), dataset.SplitRandom, o.Number("validation"),
		o.Seed)
	q.rows[Test] = upTo(set.Test.Count())
	for _, lines := range []*dataset.Lines{&set.Train, &set.Test} {
		for i := range lines.Count() {
			if len(lines.Line(i)) > q.most {
				q.cut++
			}
			q.steps = max(q.steps, q.stepsOf(lines, i))
		}
	}
	if o.Batch > maxRows/q.steps {
		return nil, o.Refuse("batch", "is too large for queries of %d steps: want at most %d", q.steps,
			maxRows/q.steps)
	}
	// The longest first, so that minibatches have little to pad.
	q.sort(&set.Train, q.rows[Validation])
	q.sort(&set.Test, q.rows[Test])
	return q, nil
}

// sort puts the longest first. Queries of one length keep their order.
func (q *typed) sort(lines *dataset.Lines, rows []int) {
	slices.SortStableFunc(rows, func(a, b int) int { return q.stepsOf(lines, b) - q.stepsOf(lines, a) })
}

// stepsOf returns the steps of a query.
func (q *typed) stepsOf(lines *dataset.Lines, row int) int {
	if n := len(lines.Line(row)); n <= q.most {
		return n + 1
	}
	return q.most
}

func (q *typed) Shape() Shape { return CharacterShape(q.steps, q.codes) }

func (q *typed) Digest() string { return q.set.Digest }

func (q *typed) Facts() map[string]float64 {
	return map[string]float64{
		"train_size": float64(q.set.Train.Count()), "test_size": float64(q.set.Test.Count()),
		"vocabulary": float64(len(q.Alphabet())), "depth": float64(q.steps), "input_size": float64(q.codes),
		"length": float64(q.steps), "cut_lines": float64(q.cut),
	}
}

func (q *typed) Notes() []string { return nil }

func (q *typed) Memory() int64 { return q.set.Size() }

// Alphabet returns the characters that have codes of their own, from [FirstCharacter] on.
func (q *typed) Alphabet() []rune { return Alphabet(q.set.Characters, q.codes) }

func (q *typed) Open(part Part, wanted int) (Stream, error) {
	s := &typing{of: q, lines: &q.set.Train, minibatches: q.minibatches(part, wanted)}
	if part == Test {
		s.lines = &q.set.Test
	}
	return s, nil
}

// typing is a stream of queries, the longest of a minibatch first.
type typing struct {
	minibatches
	of     *typed
	lines  *dataset.Lines
	sorted []int // rows of a minibatch of training
}

func (s *typing) Next(b *Batch[float32]) bool {
	rows := s.next()
	if len(rows) == 0 {
		return false
	}
	if s.order != nil {
		s.sorted = append(s.sorted[:0], rows...)
		rows = s.sorted
		s.of.sort(s.lines, rows)
	}
	b.Reset(s.of.stepsOf(s.lines, rows[0]), len(rows), false)
	clear(b.X.Data)
	for i, row := range rows {
		first, apart := b.rowsOf(i)
		line, steps := s.lines.Line(row), s.of.stepsOf(s.lines, row)
		read := EndOfQuery
		for t := range b.Steps {
			at, next := first+t*apart, loss.NoTarget
			if t < steps {
				b.X.Row(at)[read] = 1
				next = EndOfQuery
				if t < len(line) {
					next = s.of.code(line[t])
				}
				read = next
			}
			b.Targets.Classes[at] = next
		}
	}
	return true
}

// code is that of a character's number.
func (q *typed) code(number uint16) int {
	if code := FirstCharacter + int(number); code < q.codes && int(number) < len(q.set.Characters) {
		return code
	}
	return RareCharacter
}
