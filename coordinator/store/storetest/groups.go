package storetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// testGroups: the views show the best of each group, by each sweep's select, in whatever
// order and batches the results were recorded.
func testGroups(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	choices := []sweep.Select{
		{},
		{By: "validation_loss", Goal: sweep.Minimize, Group: []string{"dataset", "model"}},
		{By: "test_accuracy", Goal: sweep.Maximize},
		{By: "reward", Goal: sweep.Maximize, Group: []string{"dataset"}},
		{By: "test_accuracy", Goal: sweep.Minimize, Group: []string{"model", "seed"}},
		{By: "nothing has it"},
	}
	random := rand.New(rand.NewPCG(1, 2))
	type run struct {
		parameters sweep.Parameters
		result     *sweep.Result
	}
	var runs []run
	for _, seed := range []int64{3, 1, 2} { // the slowest axis
		for _, dataset := range []string{"CBF", `a "b", {c}: [d\`} {
			for _, model := range []string{"rnn", "lstm"} {
				for _, lr := range []float64{0.1, 0.01, 0.001} {
					p := sweep.Parameters{"dataset": dataset, "model": model, "lr": lr, "seed": seed,
						"nested": map[string]any{"seed": int64(1)}}
					r := &sweep.Result{State: sweep.Completed, Digest: fmt.Sprint(len(runs)),
						Summary: map[string]float64{
							"validation_loss": float64(random.IntN(8)) / 8,
							"test_accuracy":   float64(random.IntN(8)) / 8,
							"reward":          random.NormFloat64(), "train_size": 30}}
					switch random.IntN(8) {
					case 0:
						r.Diverged = true
					case 1:
						r = &sweep.Result{State: sweep.Failed, Error: "broken"}
					case 2:
						delete(r.Summary, "validation_loss")
					}
					runs = append(runs, run{p, r})
				}
			}
		}
	}
	for s, choice := range choices {
		id := fmt.Sprint("s", s)
		submitted := compared(id, choice)
		f.makeSweep(id, submitted, int64(len(runs)))
		page := trials(id, 0, int64(len(runs)))
		for i := range page {
			page[i].Parameters = runs[i].parameters
			page[i].Fingerprint = sweep.Fingerprint(fmt.Sprint("group-", s, "-", i))
		}
		f.write(id, 0, 0, page)
		var events []sweep.Event
		for _, i := range random.Perm(len(runs)) {
			events = append(events, f.finished(page[i].TrialID, fmt.Sprint("x", i), runs[i].result))
		}
		for len(events) > 0 {
			n := min(1+random.IntN(7), len(events))
			f.record(events[:n]...)
			f.record(events[:n]...) // a repeat counts nothing twice
			events = events[n:]
		}
		var done []ended
		for i, r := range runs {
			done = append(done, ended{int64(i), r.parameters, r.result})
		}
		f.wantGroups(id, choice, &submitted.Description, done)

		means := `SELECT metric, n, mean, sd, diverged, grid_point FROM point_means WHERE sweep_id = '` + id +
			`' ORDER BY grid_point, metric`
		before := f.rows(means)

		// An extension with the same trials again, whose results are reused, changes nothing.
		if _, err := f.AddGrid(f.ctx, id, submitted, 2*int64(len(runs))); err != nil {
			t.Fatal(err)
		}
		again := trials(id, int64(len(runs)), 2*int64(len(runs)))
		for i := range again {
			again[i].Parameters, again[i].Fingerprint = runs[i%len(runs)].parameters, page[i%len(runs)].Fingerprint
		}
		f.write(id, 1, 0, again)
		f.wantGroups(id, choice, &submitted.Description, done)
		if got := f.rows(means); !equalRows(got, before) || len(got) == 0 {
			t.Errorf("point_means %v, want %v", got, before)
		}
	}

	// Reused by another sweep they count there, once each, by its own select.
	for s := range choices {
		id := fmt.Sprint("t", s)
		submitted := submission(id) // which does not say what a diverged trial counts as
		submitted.Spec.Select = choices[(s+1)%len(choices)]
		f.makeSweep(id, submitted, 2*int64(len(runs)))
		page := trials(id, 0, 2*int64(len(runs)))
		var done []ended
		for i := range page {
			r := runs[i%len(runs)]
			page[i].Parameters, page[i].Fingerprint = r.parameters,
				sweep.Fingerprint(fmt.Sprint("group-", s, "-", i%len(runs)))
			if i < len(runs) && r.result.State == sweep.Completed {
				done = append(done, ended{int64(i), r.parameters, r.result})
			}
		}
		f.write(id, 0, 0, page[:len(runs)])
		f.write(id, 0, int64(len(runs)), page[len(runs):])
		f.wantGroups(id, submitted.Spec.Select, &submitted.Description, done)
	}
}

// compared is a submission whose trials are compared by some metrics; two of them say what a
// diverged trial counts as.
func compared(id string, choice sweep.Select) *sweep.Submission {
	s := submission(id)
	s.Spec.Select = choice
	s.Description.Metrics = append(s.Description.Metrics,
		sweep.MetricSchema{Name: "reward", Goal: "maximize", Summary: true},
		sweep.MetricSchema{Name: "validation_loss", Goal: "minimize", Summary: true, Diverged: new(7.0)},
		sweep.MetricSchema{Name: "test_accuracy", Goal: "maximize", Summary: true, Diverged: new(0.25)})
	return s
}

// ended is a trial that ended.
type ended struct {
	index      int64
	parameters sweep.Parameters
	result     *sweep.Result
}

// wantGroups compares the views with what it computes from all trials.
func (f *fixture) wantGroups(id string, choice sweep.Select, description *sweep.Description, done []ended) {
	f.t.Helper()
	loss, accuracy := description.Diverged("validation_loss", nil), description.Diverged("test_accuracy", nil)
	if choice.By == "" {
		choice.By = "validation_loss"
	}
	if len(choice.Group) == 0 {
		choice.Group = []string{"dataset", "model"}
	}
	type point struct {
		key                int64
		score, losses, acc []float64
		diverged           int64
	}
	groups := map[string]map[string]*point{}
	best := map[string]ended{}
	// Of equal ones the one with the smallest key is the best, then that with the smallest
	// seed: nothing that depends on the order of the file.
	type place struct{ key, seed, index int64 }
	places := map[string]place{}
	ties := map[string]int{}
	for _, s := range done {
		score, ok := s.result.Summary[choice.By]
		if s.result.State != sweep.Completed || !ok && !s.result.Diverged {
			continue
		}
		group := ""
		for _, name := range choice.Group {
			group += fmt.Sprint(name, "=", s.parameters[name], ";")
		}
		parameters := s.parameters.Clone()
		if !slices.Contains(choice.Group, "seed") {
			delete(parameters, "seed")
		}
		key, err := parameters.Canonical()
		f.must(err)
		if groups[group] == nil {
			groups[group] = map[string]*point{}
		}
		p := groups[group][string(key)]
		if p == nil {
			p = &point{key: sweep.PointKey(append(key[1:len(key)-1:len(key)-1], ','))}
			groups[group][string(key)] = p
		}
		if s.result.Diverged {
			p.diverged++
			p.score, p.losses, p.acc = append(p.score, choice.Diverged(description)), append(p.losses, loss), append(p.acc, accuracy)
			continue
		}
		p.score = append(p.score, score)
		if loss, ok := s.result.Summary["validation_loss"]; ok {
			p.losses = append(p.losses, loss)
		}
		p.acc = append(p.acc, s.result.Summary["test_accuracy"])
		own, than := place{p.key, s.parameters["seed"].(int64), s.index}, places[group]
		b, ok := best[group]
		better := !ok || choice.Better(score, b.result.Summary[choice.By])
		if ok && score == b.result.Summary[choice.By] {
			ties[group]++
			better = cmp.Or(cmp.Compare(own.key, than.key), cmp.Compare(own.seed, than.seed),
				cmp.Compare(own.index, than.index)) < 0
		} else if better {
			ties[group] = 0
		}
		if better {
			best[group], places[group] = s, own
		}
	}
	var want []string
	for group, b := range best {
		want = append(want, fmt.Sprintf("single %d ties %d", b.index, ties[group]))
	}
	mean := func(values []float64) float64 {
		sum := 0.0
		for _, v := range values {
			sum += v / float64(len(values))
		}
		return sum
	}
	for _, points := range groups {
		fullest := 0
		for _, p := range points {
			fullest = max(fullest, len(p.score))
		}
		var top *point
		tied := 0
		for _, p := range points {
			if len(p.score) < fullest {
				continue
			}
			score := mean(p.score)
			switch {
			case top == nil || choice.BetterMean(score, mean(top.score)):
				top, tied = p, 0
			case sweep.Tied(score, mean(top.score)):
				tied++
				if p.key < top.key {
					top = p
				}
			}
		}
		spread := math.NaN()
		if n := len(top.acc); n > 1 {
			spread = 0
			for _, a := range top.acc {
				spread += (a - mean(top.acc)) * (a - mean(top.acc)) / float64(n-1)
			}
			spread = math.Sqrt(spread)
		}
		loss := math.NaN()
		if len(top.losses) > 0 {
			loss = mean(top.losses)
		}
		want = append(want, fmt.Sprintf("mean %d %d %.9f %.9f %.9f ties %d", len(top.score), top.diverged, loss,
			mean(top.acc), spread, tied))
	}
	var got []string
	number := func(v any) float64 {
		if v, ok := v.(float64); ok {
			return v
		}
		return math.NaN()
	}
	for _, row := range f.rows(`SELECT replicates, diverged, validation_loss, test_accuracy, test_accuracy_sd, ties
		FROM accuracy_table WHERE sweep_id = '` + id + `' AND selection = 'mean'`) {
		got = append(got, fmt.Sprintf("mean %d %d %.9f %.9f %.9f ties %d", row[0], row[1], number(row[2]),
			number(row[3]), number(row[4]), row[5]))
	}
	for _, row := range f.rows(`SELECT trial_index, ties FROM accuracy_table WHERE sweep_id = '` + id +
		`' AND selection = 'single'`) {
		got = append(got, fmt.Sprintf("single %d ties %d", row[0], row[1]))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.t.Errorf("sweep %s, %+v:\n got %s\nwant %s", id, choice, strings.Join(got, "; "), strings.Join(want, "; "))
	}
	var listed []int64
	f.must(f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{id}, Best: true}, func(r *sweep.TrialRecord) error {
		listed = append(listed, r.Index)
		return nil
	}))
	var bests []int64
	for _, b := range best {
		bests = append(bests, b.index)
	}
	slices.Sort(bests)
	if !slices.Equal(listed, bests) {
		f.t.Errorf("sweep %s: the best are %v, listed %v", id, bests, listed)
	}
}
