package task

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"sweep/model/dataset"
	"sweep/model/loss"
	"sweep/model/protocol"
	"sweep/sweep"
)

// trial returns the options of a trial with the registry's defaults.
func trial(t *testing.T, point sweep.Parameters) *Options {
	t.Helper()
	d := sweep.Description{Parameters: []sweep.ParameterSchema{
		{Name: "dataset", Type: sweep.StringType, Required: true}, Parameter(),
	}}
	for _, p := range Variants().Parameters() {
		p.Defaults = slices.Concat(Variants().Defaults(p.Name), Defaults(p.Name), p.Defaults)
		d.Parameters = append(d.Parameters, p)
	}
	resolved, err := d.Resolve(point)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Parameters { // as in a trial, what does not apply has its default
		if resolved[p.Name] == nil {
			resolved[p.Name] = p.Default
		}
	}
	r := sweep.ParameterReader{Parameters: resolved}
	return &Options{
		ParameterReader: sweep.ParameterReader{Parameters: resolved},
		Seed:            7, Batch: 6, Model: "rnn", Cache: dataset.NewCache(1 << 20),
		FeedForward: resolved["task"] == multiLabel.Name,
		Protocol:    protocol.Protocol{Validation: r.Number("validation"), Split: dataset.Strategy(r.Text("split"))},
	}
}

// small are trials of all kinds, on data that need no files.
var small = []sweep.Parameters{
	{"dataset": "generated-cbf"},
	{"dataset": "generated-har-2"},
	{"dataset": "addition", "length": int64(9), "held": int64(20)},
	{"dataset": "addition", "length": int64(9), "held": int64(20), "examples": int64(25)},
	{"dataset": "copy", "length": int64(4), "held": int64(20)},
	{"dataset": "s5-words", "length": int64(40), "test_length": int64(70), "held": int64(20)},
	{"dataset": "generated-text", "length": int64(30)},
	{"dataset": "generated-queries", "alphabet": int64(20), "length": int64(18)},
	{"dataset": "generated-multilabel"},
	{"dataset": "generated-mnist", "limit": int64(40), "input_size": int64(28)},
}

// generatedTasks are those whose sequences are made as they are needed.
var generatedTasks = small[2:6]

// opened opens a task and a part, and makes room for its minibatches in slices of up
// to so many sequences.
func opened(t *testing.T, point sweep.Parameters, part Part, slice int) (Task, Stream, *Batch[float32]) {
	t.Helper()
	o := trial(t, point)
	task, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := task.Open(part, o.Batch)
	if err != nil {
		t.Fatal(err)
	}
	return task, stream, NewBatch[float32](task.Shape(), task.Batch(part, o.Batch), slice)
}

// sequence is one sequence of a minibatch, whatever slice it is in.
type sequence struct {
	x       []float32
	tokens  []int
	classes []int
	values  []float32
}

func (s sequence) equal(other sequence) bool {
	return slices.Equal(s.x, other.x) && slices.Equal(s.tokens, other.tokens) &&
		slices.Equal(s.classes, other.classes) && slices.Equal(s.values, other.values)
}

func sequencesOf(b *Batch[float32]) []sequence {
	all := make([]sequence, b.Size)
	for i := range all {
		s := &all[i]
		first, apart := b.rowsOf(i)
		for step := range b.Steps {
			row := first + step*apart
			if b.shape.Vocabulary > 0 {
				s.tokens = append(s.tokens, b.Tokens[row])
			} else {
				s.x = append(s.x, b.X.Row(row)...)
			}
			if !b.shape.Every {
				row = i
				if step > 0 {
					continue
				}
			}
			if b.shape.Classes {
				s.classes = append(s.classes, b.Targets.Classes[row])
			} else {
				s.values = append(s.values, b.Targets.Values.Row(row)...)
			}
		}
	}
	return all
}

// What a stream hands out is a function of its position, and of nothing else: it goes
// on from any, and however minibatches are cut into slices.
func TestStreams(t *testing.T) {
	for _, point := range small {
		for _, part := range []Part{Train, Validation, Test} {
			task, whole, b := opened(t, point, part, 100)
			const most = 9
			var want [][]sequence
			for len(want) < most && whole.Next(b) {
				want = append(want, sequencesOf(b))
			}
			total := 0
			for _, minibatch := range want {
				total += len(minibatch)
			}
			if part == Train && len(want) < most || part != Train && len(want) < most && task.Shape().Vocabulary == 0 &&
				total != task.Count(part) {
				t.Errorf("%v, part %d: %d minibatches of %d sequences in all, want %d", point, part, len(want), total,
					task.Count(part))
			}
			for position := range want {
				_, s, cut := opened(t, point, part, 2)
				s.Seek(position)
				for later, minibatch := range want[position:] {
					if s.Position() != position+later || !s.Next(cut) {
						t.Fatalf("%v, part %d: no minibatch at %d", point, part, position+later)
					}
					if got := sequencesOf(cut); !slices.EqualFunc(got, minibatch, sequence.equal) {
						t.Fatalf("%v, part %d: from position %d on minibatch %d is %v, want %v", point, part, position,
							position+later, got, minibatch)
					}
				}
			}
		}
	}
}

// Sequences of one part are in no other, and another seed makes others.
func TestGeneratedPartsShareNothing(t *testing.T) {
	for _, point := range generatedTasks {
		seen := map[float64]Part{}
		for _, part := range []Part{Train, Validation, Test} {
			_, stream, b := opened(t, point, part, 100)
			for n := 0; n < 4 && stream.Next(b); n++ {
				for _, s := range sequencesOf(b) {
					key := 0.0
					for i, x := range s.x {
						key += float64(x) * math.Sqrt(float64(i+1))
					}
					if other, ok := seen[key]; ok && other != part {
						t.Errorf("%v: a sequence of part %d is in part %d", point, part, other)
					}
					seen[key] = part
				}
			}
		}
		o := trial(t, point)
		o.Seed++
		task, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := task.Open(Train, o.Batch)
		if err != nil {
			t.Fatal(err)
		}
		_, same, a := opened(t, point, Train, 100)
		b := NewBatch[float32](task.Shape(), o.Batch, 100)
		if stream.Next(b); same.Next(a) && slices.EqualFunc(sequencesOf(a), sequencesOf(b), sequence.equal) {
			t.Errorf("%v: another seed gives the same sequences", point)
		}
	}
}

// Every example of a fixed number comes once before any comes again.
func TestExamplesTakeTurns(t *testing.T) {
	_, stream, b := opened(t, small[3], Train, 100)
	var rounds [2][]float32 // the targets tell the examples apart
	for i := range rounds {
		for len(rounds[i]) < 25 {
			stream.Next(b)
			for _, s := range sequencesOf(b) {
				rounds[i] = append(rounds[i], s.values...)
			}
		}
	}
	if slices.Equal(rounds[0], rounds[1]) {
		t.Error("two rounds have one order")
	}
	slices.Sort(rounds[0])
	slices.Sort(rounds[1])
	if !slices.Equal(rounds[0], rounds[1]) || slices.Compact(rounds[0])[0] != rounds[0][0] ||
		len(slices.Compact(rounds[0])) != 25 {
		t.Errorf("rounds have %v and %v", rounds[0], rounds[1])
	}
}

// Equation 10 of the SGORNN paper: numbers uniform in [0, 1], one mark in each half,
// everywhere equally often, and the target is Σ u c.
func TestAdditionByDefinition(t *testing.T) {
	const length, count = 9, 3000
	task, stream, b := opened(t, sweep.Parameters{"dataset": "addition", "length": int64(length), "held": int64(count)},
		Test, 4)
	var marks [length]int
	var mean, square, baseline float64
	for stream.Next(b) {
		for _, s := range sequencesOf(b) {
			sum, first, second := float32(0), 0, 0
			for step := range length {
				u, c := s.x[2*step], s.x[2*step+1]
				if !(u >= 0 && u <= 1) || c != 0 && c != 1 {
					t.Fatalf("step %d is %v, %v", step, u, c)
				}
				mean += float64(u) / (length * count)
				square += float64(u) * float64(u) / (length * count)
				sum += u * c
				if c == 1 {
					marks[step]++
					if step < length/2 {
						first++
					} else {
						second++
					}
				}
			}
			if first != 1 || second != 1 || sum != s.values[0] {
				t.Fatalf("%d marks in the first half, %d in the second, target %v where the sum is %v", first, second,
					s.values[0], sum)
			}
			baseline += math.Pow(float64(sum)-1, 2) / count
		}
	}
	for step, n := range marks {
		want := count / (length / 2)
		if step >= length/2 {
			want = count / (length - length/2)
		}
		if math.Abs(float64(n-want)) > 5*math.Sqrt(float64(want)) {
			t.Errorf("step %d is marked %d times, want about %d", step, n, want)
		}
	}
	if math.Abs(mean-.5) > .01 || math.Abs(square-1./3) > .01 {
		t.Errorf("numbers have mean %v and mean square %v, want 1/2 and 1/3", mean, square)
	}
	if claimed := task.Facts()["baseline_loss"]; math.Abs(claimed-baseline) > .015 || math.Abs(claimed-.167) > .001 {
		t.Errorf("always saying 1 has the loss %v, the task claims %v", baseline, claimed)
	}
}

// Section 7.1 of Zhang, Lei and Dhillon (2018): x in A^{T+20}, x_1 … x_10 of a0 … a7,
// x_{T+10} = a9, the rest a8; the first ten are due at the last ten steps.
func TestCopyByDefinition(t *testing.T) {
	const lag, count = 13, 1200
	task, stream, b := opened(t, sweep.Parameters{"dataset": "copy", "length": int64(lag), "held": int64(count)}, Test,
		4)
	if b.shape.Steps != lag+20 {
		t.Fatalf("%d steps", b.shape.Steps)
	}
	var often [8]int
	baseline := 0.0
	for stream.Next(b) {
		for _, s := range sequencesOf(b) {
			var x []int
			for step := range lag + 20 {
				row := s.x[10*step : 10*step+10]
				symbol := slices.Index(row, 1)
				ones := slices.Clone(row)
				slices.Sort(ones)
				if symbol < 0 || ones[8] != 0 {
					t.Fatalf("step %d is no row of the unit matrix: %v", step, row)
				}
				x = append(x, symbol)
			}
			for step, symbol := range x {
				want, due := 8, 8 // a8
				switch {
				case step < 10:
					want = symbol
					if symbol > 7 {
						t.Fatalf("step %d is a%d", step, symbol)
					}
					often[symbol]++
				case step == lag+10-1: // x_{T+10}, counted from 1
					want = 9
				}
				if step >= lag+10 {
					due = x[step-lag-10]
					baseline += math.Log(8) / (count * (lag + 20))
				}
				if symbol != want || s.classes[step] != due {
					t.Fatalf("step %d: a%d, due a%d, want a%d and a%d", step, symbol, s.classes[step], want, due)
				}
			}
		}
	}
	for symbol, n := range often {
		if want := count * 10 / 8; math.Abs(float64(n-want)) > 5*math.Sqrt(float64(want)) {
			t.Errorf("a%d comes %d times, want about %d", symbol, n, want)
		}
	}
	if claimed := task.Facts()["baseline_loss"]; math.Abs(claimed-baseline) > 1e-12 {
		t.Errorf("without memory the loss is %v, the task claims %v", baseline, claimed)
	}
}

// A class is a product of permutations: two words have one class if and only if the permutations that they stand for,
// carried out one after the other, bring every point to the same place.
func TestWordsByDefinition(t *testing.T) {
	const length, longer, count = 12, 60, 3000
	transposition := map[string][]int{"parity": {1, 0}, "s3-words": {1, 0, 2}, "s5-words": {1, 0, 2, 3, 4}}
	order := map[string]int{"parity": 2, "s3-words": 6, "s5-words": 120} // n!
	for name, swap := range transposition {
		classes, products := map[string]int{}, map[int]string{}
		often := make([]float64, order[name])
		for part, steps := range []int{Train: length, Validation: length, Test: longer} {
			task, stream, b := opened(t, sweep.Parameters{"dataset": name, "length": int64(length),
				"test_length": int64(longer), "held": int64(count)}, Part(part), 4)
			if got, want := task.Facts()["baseline_loss"], math.Log(float64(order[name])); math.Abs(got-want) > 1e-12 ||
				task.Shape().Steps != longer {
				t.Fatalf("%s: without memory the loss is %v, the task claims %v, at %d steps", name, want, got,
					task.Shape().Steps)
			}
			for sequences := 0; sequences < count && stream.Next(b); {
				for _, s := range sequencesOf(b) {
					sequences++
					points := []int{0, 1, 2, 3, 4}[:len(swap)]
					if len(s.x) != 2*steps {
						t.Fatalf("%s, part %d: %d numbers, want two for each of %d steps", name, part, len(s.x), steps)
					}
					for step := range steps {
						after := make([]int, len(points))
						for i, p := range points {
							switch x := [2]float32(s.x[2*step:]); {
							case name == "parity" && x == [2]float32{1, 0}:
								after[i] = p
							case x == [2]float32{1, 0} || name == "parity" && x == [2]float32{0, 1}:
								after[i] = swap[p]
							case x == [2]float32{0, 1}:
								after[i] = (p + 1) % len(points)
							default:
								t.Fatalf("%s: step %d is %v", name, step, x)
							}
						}
						points = after
						class := s.classes[step]
						if Part(part) != Train && step < steps-1 {
							if class != loss.NoTarget {
								t.Fatalf("%s, part %d: step %d has the target %d", name, part, step, class)
							}
							continue
						}
						key := fmt.Sprint(points)
						if known, ok := classes[key]; ok && known != class || class < 0 || class >= order[name] {
							t.Fatalf("%s: the product %v has the classes %d and %d", name, points, known, class)
						}
						if known, ok := products[class]; ok && known != key {
							t.Fatalf("%s: class %d has the products %s and %s", name, class, known, key)
						}
						classes[key], products[class] = class, key
						if Part(part) == Test {
							often[class]++
						}
					}
				}
			}
		}
		if len(classes) != order[name] {
			t.Errorf("%s: %d products, want all %d", name, len(classes), order[name])
		}
		for class, n := range often {
			if want := float64(count) / float64(order[name]); math.Abs(n-want) > 5*math.Sqrt(want) {
				t.Errorf("%s: class %d comes %v times of %d at the end of long words, want about %v", name, class, n, count,
					want)
			}
		}
	}
}

// A minibatch allocates nothing.
func TestNextAllocatesNothing(t *testing.T) {
	for _, point := range small {
		_, stream, b := opened(t, point, Train, 4)
		stream.Next(b)
		if n := testing.AllocsPerRun(3, func() { stream.Next(b) }); n > 1 { // the order of a new epoch
			t.Errorf("%v: %v allocations", point, n)
		}
	}
}

// Every kind says what it is and where it comes from, under a name of its own; each
// data set is of one.
func TestRegistry(t *testing.T) {
	seen := map[string]bool{}
	for i, k := range All {
		if k.Name == "" || seen[k.Name] || k.Doc == "" || k.Source == "" || k.open == nil ||
			(len(k.Datasets) == 0) != (i == 0) {
			t.Errorf("task %q: twice, or incomplete", k.Name)
		}
		seen[k.Name] = true
		for _, name := range k.Datasets {
			if Of(name) != k || seen[name+"'s"] {
				t.Errorf("data set %s is not %s's", name, k.Name)
			}
			seen[name+"'s"] = true
		}
		for name := range maps.Keys(k.Defaults) {
			if name == "" {
				t.Errorf("task %s: default of nothing", k.Name)
			}
		}
	}
	if Of("CBF") != All[0] {
		t.Error("CBF is no classification")
	}
	var refused *sweep.ParameterError
	o := trial(t, sweep.Parameters{"dataset": "addition", "task": "copy"})
	if _, err := Open(o); !errors.As(err, &refused) || refused.Parameter != "task" {
		t.Errorf("addition as copy: %v", err)
	}
	o = trial(t, small[2])
	o.FeedForward = true
	if _, err := Open(o); !errors.As(err, &refused) || refused.Parameter != "model" {
		t.Errorf("a feed-forward network on addition: %v", err)
	}
	o = trial(t, small[2])
	o.Batch = math.MaxInt64
	if _, err := Open(o); !errors.As(err, &refused) || refused.Parameter != "batch" {
		t.Errorf("a minibatch of any size: %v", err)
	}
}

// Without carry each minibatch starts afresh, in every part, from the same words as with it.
func TestLanguageWithoutCarry(t *testing.T) {
	point := sweep.Parameters{"dataset": "generated-text", "length": int64(30)}
	for _, part := range []Part{Train, Validation, Test} {
		_, with, b := opened(t, point, part, 4)
		task, without, c := opened(t, sweep.Parameters{"dataset": "generated-text", "length": int64(30),
			"carry": false}, part, 4)
		if shape := task.Shape(); shape.Carries {
			t.Error("it hands on states")
		}
		for n := range 4 {
			with.Next(b)
			without.Next(c)
			if c.Carry || !slices.Equal(b.Tokens, c.Tokens) || !slices.Equal(b.Targets.Classes, c.Targets.Classes) {
				t.Fatalf("part %d, minibatch %d: carry %v, other words %v", part, n, c.Carry,
					!slices.Equal(b.Tokens, c.Tokens))
			}
		}
	}
}

// Training reads each row on from where the minibatch before ended, and says the next
// word; an evaluation says every word of its part once, the first too.
func TestLanguageByDefinition(t *testing.T) {
	text := dataset.GenerateText(0)
	task, stream, b := opened(t, sweep.Parameters{"dataset": "generated-text", "length": int64(30)}, Train, 4)
	const rows, row, epoch = 6, 2000, 1999 / 30
	if s := task.Schedule(); s.Interval != epoch || !s.Epochs || s.Steps != 10*epoch {
		t.Errorf("schedule %+v", s)
	}
	for n := range 2*epoch + 1 {
		stream.Next(b)
		place := n % epoch
		if b.Carry != (place > 0) || b.Size != rows || b.Steps != 30 {
			t.Fatalf("minibatch %d: %d × %d, carry %v", n, b.Size, b.Steps, b.Carry)
		}
		for i, s := range sequencesOf(b) {
			for step, token := range s.tokens {
				at := i*row + place*30 + step
				if token != int(text.Train[at]) || s.classes[step] != int(text.Train[at+1]) {
					t.Fatalf("minibatch %d, row %d, step %d: %d and %d, want words %d and %d of the text", n, i, step,
						token, s.classes[step], at, at+1)
				}
			}
		}
	}
	for part, words := range map[Part][]int32{Validation: text.Validation, Test: text.Test} {
		_, stream, b := opened(t, sweep.Parameters{"dataset": "generated-text", "length": int64(30)}, part, 4)
		said := make([]int, len(words))
		for n := 0; stream.Next(b); n++ {
			if b.Carry != (n > 0) {
				t.Fatalf("minibatch %d: carry %v", n, b.Carry)
			}
			for i, s := range sequencesOf(b) {
				for step, due := range s.classes {
					at := i*len(words)/b.Size + n*30 + step
					before := int(text.LineEnd)
					if at > 0 {
						before = int(words[at-1])
					}
					if due != int(words[at]) || s.tokens[step] != before {
						t.Fatalf("part %d, word %d: %d after %d, want %d after %d", part, at, due, s.tokens[step],
							words[at], before)
					}
					said[at]++
				}
			}
		}
		if len(words)%b.Size != 0 || slices.Min(said) != 1 || slices.Max(said) != 1 {
			t.Errorf("part %d: words are said from %d to %d times", part, slices.Min(said), slices.Max(said))
		}
	}
	o := trial(t, sweep.Parameters{"dataset": "generated-text"})
	var refused *sweep.ParameterError
	if o.Batch = 6001; func() bool {
		_, err := Open(o)
		return !errors.As(err, &refused) ||
			refused.Parameter != "batch"
	}() {
		t.Error("rows of a single word were taken")
	}
}

// Every prefix of a query asks its next character, and the last its end, whatever else is in the minibatch; a query
// that is longer than the limit never asks its end. Every query comes once an epoch.
func TestQueriesByDefinition(t *testing.T) {
	const codes, most = 20, 16
	set := dataset.GenerateQueries(0, 4000)
	point := sweep.Parameters{"dataset": "generated-queries", "alphabet": int64(codes), "length": int64(most)}
	asked := func(line []uint16) (query []int) {
		for _, number := range line {
			code := 2 + int(number)
			if code >= codes {
				code = 1
			}
			query = append(query, code)
		}
		if len(query) <= most {
			return append(query, 0)
		}
		return query[:most]
	}
	want, cut := map[string]int{}, 0
	for part, lines := range map[Part]*dataset.Lines{Train: &set.Train, Test: &set.Test} {
		for i := range lines.Count() {
			want[fmt.Sprint(part == Test, asked(lines.Line(i)))]++
			if len(lines.Line(i)) > most {
				cut++
			}
		}
	}
	for _, part := range []Part{Train, Validation, Test} {
		task, stream, b := opened(t, point, part, 4)
		if f := task.Facts(); f["cut_lines"] != float64(cut) || f["vocabulary"] != codes-2 || f["length"] != most+1 {
			t.Errorf("facts %v, want %d cut", f, cut)
		}
		for count := 0; count < task.Count(part) && stream.Next(b); count += b.Size {
			for _, s := range sequencesOf(b) {
				query := s.classes
				if at := slices.Index(query, loss.NoTarget); at >= 0 {
					query = query[:at]
				}
				want[fmt.Sprint(part == Test, query)]--
				read := 0
				for step, class := range s.classes {
					x, sum := s.x[step*codes:(step+1)*codes], float32(0)
					for _, v := range x {
						sum += v
					}
					if padded := step >= len(query); padded && (sum != 0 || class != loss.NoTarget) ||
						!padded && (sum != 1 || x[read] != 1) {
						t.Fatalf("%v: step %d reads %v and asks %d", s.classes, step, x, class)
					}
					read = class
				}
			}
		}
	}
	for query, n := range want {
		if n != 0 {
			t.Errorf("%s: %d times too few", query, n)
		}
	}
}

// A set with a list of its own validates on what it lists, whatever the seed; no other set can.
func TestListedSplit(t *testing.T) {
	set := dataset.GenerateSpeech(0)
	o := trial(t, sweep.Parameters{"dataset": "generated-speech"})
	for o.Seed = range 2 {
		task, err := Classify(set, o)
		if err != nil {
			t.Fatal(err)
		}
		if missing, has := task.Facts()["missing_files"]; !has || missing != 0 {
			t.Errorf("facts %v", task.Facts())
		}
		if task.Count(Train) != 360 || task.Count(Validation) != 120 || task.Count(Test) != 240 {
			t.Errorf("%d, %d and %d series", task.Count(Train), task.Count(Validation), task.Count(Test))
		}
		stream, err := task.Open(Validation, 6)
		if err != nil {
			t.Fatal(err)
		}
		b := NewBatch[float32](task.Shape(), 6, 6)
		stream.Next(b)
		// Row t·B+b is step t of series b.
		if b.X.Cols != 196 || !slices.Equal(b.X.Row(6), set.Train.Values[360*3920+196:360*3920+2*196]) {
			t.Errorf("seed %d: the first series is not the first that is listed", o.Seed)
		}
	}
	var refused *sweep.ParameterError
	for _, point := range []sweep.Parameters{
		{"dataset": "generated-cbf", "split": "listed"}, {"dataset": "generated-queries", "split": "stratified"},
	} {
		if _, err := Open(trial(t, point)); !errors.As(err, &refused) || refused.Parameter != "split" {
			t.Errorf("%v: %v", point, err)
		}
	}
}

// A measure has metrics of its own, each documented, of training only where the mean loss tells its value.
func TestMeasures(t *testing.T) {
	t.Parallel()
	seen, losses := map[string]bool{}, []*loss.Score{{Loss: 2, Rows: 1}, {Loss: 4, Correct: 1, Rows: 2}}
	for _, m := range Measures() {
		for _, metric := range m.Metrics(nil) {
			if seen[metric.Name] || metric.Doc == "" || metric.Goal == "" {
				t.Errorf("%+v", metric)
			}
			seen[metric.Name] = true
		}
		if m.Train != "" && m.Of(losses[0]) != m.Of(losses[1]) {
			t.Errorf("%s depends on more than the mean loss", m.Name)
		}
	}
}
