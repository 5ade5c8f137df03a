package coordinator

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/sweep/policy"
	"sweep/sweep/wire"
)

// forgeries are submissions that no sweep file gives, by what is wrong with them.
func forgeries() map[string]*sweep.Submission {
	all := map[string]*sweep.Submission{}
	forge := func(name string, change func(*sweep.Submission)) {
		s := submission("forged", 1, 6)
		s.Spec.Select = sweep.Select{By: "loss", Goal: sweep.Minimize}
		change(s)
		all[name] = s
	}
	with := func(settings ...policy.Settings) func(*sweep.Submission) {
		return func(s *sweep.Submission) {
			for _, p := range settings {
				s.Spec.Policies = append(s.Spec.Policies, policy.Of(p))
			}
		}
	}
	hyperband := func(eta float64, bands ...int64) func(*sweep.Submission) {
		return with(&policy.Hyperband{While: byLoss, Eta: eta, Bands: bands})
	}
	median := &policy.Median{While: byLoss, Batch: 2, StartupTrials: 2}
	forge("eta below 1", hyperband(.5, 2, 4))
	forge("eta 0", hyperband(0, 2, 4))
	forge("eta infinite", hyperband(math.Inf(1), 2, 4))
	forge("no band", hyperband(3))
	forge("bands without order", hyperband(3, 4, 2))
	forge("too many bands", hyperband(3, make([]int64, policy.MaxBands+1)...))
	forge("no rule", func(s *sweep.Submission) { s.Spec.Policies = []sweep.Policy{{}} })
	forge("no kind", func(s *sweep.Submission) { s.Spec.Policies = []sweep.Policy{{Kind: "newer", Settings: []byte("{}")}} })
	forge("two rules", with(median, judgedBy))
	forge("drawn without draws", with(&policy.Sobol{}))
	forge("batch", with(&policy.Median{While: byLoss, Batch: math.MaxInt64, StartupTrials: 2}))
	forge("metric with a zero byte", with(&policy.Hyperband{While: policy.While{Metric: "a\x00"}, Eta: 3, Bands: []int64{2}}))
	forge("goal", func(s *sweep.Submission) { s.Spec.Select.Goal = "least" })
	halving := func(rungs []int64, cohort int64) func(*sweep.Submission) {
		return with(&policy.Halving{Parameter: "y", Rungs: rungs, Eta: 2, Cohort: cohort})
	}
	forge("cohort", halving([]int64{1, 2}, math.MaxInt64))
	forge("equal rungs", halving([]int64{2, 2}, 4))
	many := make([]int64, 1000)
	for i := range many {
		many[i] = int64(i + 1)
	}
	forge("too many rungs", halving(many, 4))
	forge("halving and median", func(s *sweep.Submission) {
		halving([]int64{1, 2}, 4)(s)
		with(median)(s)
	})
	forge("race with equal seeds", func(s *sweep.Submission) {
		seeds := sweep.AxisParameter{Name: sweep.SeedParameter, Values: sweep.Values{List: []any{int64(1), int64(1), int64(1),
			int64(1), int64(1), int64(1), int64(1), int64(1)}}}
		s.Spec.Axes = []sweep.Axis{{Parameters: []sweep.AxisParameter{seeds}}}
		with(&policy.Race{By: "loss", Confidence: .95})(s)
	})
	forge("race and median", func(s *sweep.Submission) {
		seeds := sweep.AxisParameter{Name: sweep.SeedParameter, Values: sweep.Values{Range: &sweep.Range{Start: 1, Step: 1,
			Count: 8, Integer: true}}}
		s.Spec.Axes = []sweep.Axis{{Parameters: []sweep.AxisParameter{seeds}}}
		with(&policy.Race{By: "loss", Confidence: .95}, median)(s)
	})
	random := func(values sweep.Values, bayes bool) func(*sweep.Submission) {
		return func(s *sweep.Submission) {
			s.Spec.Cap, s.Spec.Random = 20, &sweep.Random{}
			if bayes {
				with(&policy.Bayes{Batch: 2})(s)
			}
			s.Spec.Axes = []sweep.Axis{{Parameters: []sweep.AxisParameter{{Name: "x", Values: values}, {Name: "y",
				Values: values}}}}
		}
	}
	long := &sweep.Range{Start: 1, Step: 1, Count: 1 << 50, Integer: true}
	forge("weights of a range", random(sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: 2}, Weights: []float64{1,
		1}}, false))
	forge("choices", random(sweep.Values{Range: long}, true))
	forge("infinite draws", random(sweep.Values{Distribution: &sweep.Distribution{Kind: sweep.UniformDistribution,
		High: 1e300, Step: 1e-300}}, false))
	forge("infinite range", func(s *sweep.Submission) {
		s.Spec.Axes[0].Parameters[0].Values.Range = &sweep.Range{Start: 1e300, Count: 1, Divisor: 1e-300}
	})
	forge("run_cap", func(s *sweep.Submission) { s.Spec.Cap = -1 })
	forge("memory", func(s *sweep.Submission) { s.Spec.Memory = -1 })
	forge("bytes", func(s *sweep.Submission) { s.Bytes = map[string]int64{"": -1} })
	forge("limits", func(s *sweep.Submission) { s.Spec.Limits.Points = math.MaxInt })
	forge("program without a command", func(s *sweep.Submission) { s.Spec.Script = &sweep.Script{Program: "train.py"} })
	forge("no program", func(s *sweep.Submission) { s.Spec.Trainer = sweep.ScriptTrainer })
	return all
}

// A submission that no sweep file gives is refused.
func TestForgedSubmissions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := New(Options{Store: b.store})
	for name, forged := range forgeries() {
		if done, err := c.Submit(t.Context(), forged, false); err == nil {
			t.Errorf("%s: it is sweep %s", name, done.Sweep)
		}
	}
}

// panicking is a store that panics in one method, for one sweep.
type panicking struct {
	sweep.Store
	id, in string
}

func (f *panicking) Observations(ctx context.Context, id, metric string, running bool, from,
	until int64) ([]sweep.Observation, error) {
	if id == f.id && f.in == "Observations" {
		panic("no such index")
	}
	return f.Store.Observations(ctx, id, metric, running, from, until)
}

func (f *panicking) StopLimits(ctx context.Context, id string, first int64) (string, []sweep.StopLimit, error) {
	if id == f.id && f.in == "StopLimits" {
		panic("no such index")
	}
	return f.Store.StopLimits(ctx, id, first)
}

func (f *panicking) AddTrials(ctx context.Context, id string, ordinal int, cursor int64, trials []sweep.Trial,
	classes map[int]sweep.Requirement) (int, error) {
	if id == f.id && f.in == "AddTrials" {
		panic("no such index")
	}
	return f.Store.AddTrials(ctx, id, ordinal, cursor, trials, classes)
}

func (f *panicking) Rows(ctx context.Context, id string, from, until int64, yield func(*sweep.TrialRow) error) error {
	if id == f.id && f.in == "Rows" {
		panic("no such index")
	}
	return f.Store.Rows(ctx, id, from, until, yield)
}

// A sweep about whose trials a decision panics is paused, with the place of the fault. The coordinator and the other
// sweeps go on, also after a restart.
func TestBrokenSweepIsPaused(t *testing.T) {
	bayes := submission("bayes", 1, 6)
	bayes.Spec.Random, bayes.Spec.Cap = &sweep.Random{}, 20
	bayes.Spec.Policies = []sweep.Policy{policy.Of(&policy.Bayes{Batch: 2})}
	bayes.Spec.Select = sweep.Select{By: "loss", Goal: sweep.Minimize}
	for _, test := range []struct {
		name, in   string
		submission *sweep.Submission
		panicking  *panicking
	}{
		{"judged", "Observations", hyperbandSubmission(), &panicking{in: "Observations"}},
		{"queued", "StopLimits", stoppedSubmission(), &panicking{in: "StopLimits"}},
		{"expanded", "AddTrials", submission("expanded", 1, 6), &panicking{in: "AddTrials"}},
		{"chosen", "Rows", bayes, &panicking{in: "Rows"}},
		{"opened", "eta", forgeries()["eta below 1"], nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			const id = "broken"
			if test.panicking != nil {
				test.panicking.Store, test.panicking.id = b.store, id
				b.store = test.panicking
			}
			if _, err := b.store.CreateSweep(t.Context(), id, test.submission, 6); err != nil {
				t.Fatal(err)
			}
			w := &crew{b: b, slots: 8}
			w.run = func(ctx context.Context, d *wire.Delivery) error {
				if d.Stop == nil {
					return w.report(ctx, d)
				}
				started := event(sweep.EventStarted, d.TrialID, newExecution())
				points := event(sweep.EventPoints, d.TrialID, started.Execution)
				watch := sweep.NewWatch(d.Stop)
				watch.Cut([]sweep.Curve{{Metric: "loss", Steps: []int64{1, 2}, Values: []float32{1, float32(d.Index)}}})
				points.Marks = watch.Marks()
				if err := w.publish(ctx, started, points); err != nil {
					return err
				}
				<-ctx.Done() // it goes on
				return ctx.Err()
			}
			w.start()
			for range 2 {
				c, stop := b.start(Options{})
				other := submission("other", 1, 6)
				other.Reuse = false
				b.finish(c, b.submit(c, other))
				var record *sweep.SweepRecord
				b.until("the sweep to be paused", func() bool {
					var err error
					record, err = b.store.Sweep(t.Context(), id)
					return err == nil && record.State == sweep.SweepPaused
				})
				if fault := strings.Contains(record.Reason, "a fault of this program"); fault != (test.panicking != nil) ||
					!strings.Contains(record.Reason, test.in) {
					t.Errorf("reason %q", record.Reason)
				}
				stop()
				if err := b.store.SetSweepState(t.Context(), id, sweep.SweepActive, ""); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// FuzzSubmission decodes submissions as the control service does. What is accepted is expanded, chosen, stopped and
// judged, as far as its first generations, and panics nowhere.
func FuzzSubmission(f *testing.F) {
	add := func(s *sweep.Submission) {
		text, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint64(1))
	}
	for _, s := range forgeries() {
		add(s)
	}
	good := []*sweep.Submission{submission("good", 1, 6), stoppedSubmission(), hyperbandSubmission()}
	for _, method := range []policy.Settings{&policy.Sobol{}, &policy.Bayes{Batch: 2}} {
		s := submission("random", 1, 6)
		s.Spec.Random, s.Spec.Cap = &sweep.Random{Seed: 1, Replicated: policy.Of(method).Kind == "bayes"}, 40
		s.Spec.Policies = []sweep.Policy{policy.Of(method)}
		s.Spec.Select.By = "loss"
		s.Spec.Axes = append(s.Spec.Axes, sweep.Axis{Parameters: []sweep.AxisParameter{{Name: "y",
			Values: sweep.Values{Distribution: &sweep.Distribution{Kind: sweep.LogUniformValuesDistribution, Low: 1,
				High: 2}}}}}, sweep.Axis{Parameters: []sweep.AxisParameter{{Name: "z", Values: sweep.Values{List: []any{"a", "b"},
			Weights: []float64{1, 2}}}}}, stoppedSubmission().Spec.Axes[1])
		s.Spec.Conditions = []sweep.Condition{{Parameter: "y", When: sweep.Match{"z": {"a"}}}}
		good = append(good, s)
	}
	halved := submission("halved", 1, 9)
	halved.Spec.Select.By = "loss"
	halved.Spec.Policies = []sweep.Policy{policy.Of(policy.NewHalving("y", 1, 9, 3, 0))}
	raced := stoppedSubmission()
	raced.Spec.Policies = []sweep.Policy{policy.Of(&policy.Race{By: "loss", Confidence: .5})}
	raced.Spec.Axes[0], raced.Spec.Axes[1] = raced.Spec.Axes[1], raced.Spec.Axes[0]
	raced.Spec.Axes[0].Parameters[0].Values.Range.Count = 4
	program := submission("program", 1, 3)
	program.Spec.Trainer, program.Spec.Script = sweep.ScriptTrainer, &sweep.Script{Command: []string{"true"}}
	for _, s := range append(good, halved, raced, program) {
		if _, err := policy.Check(s); err != nil {
			f.Fatalf("%s: %v", s.Spec.Name, err)
		}
		add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		var s sweep.Submission
		if json.Unmarshal(data, &s) != nil {
			return
		}
		grid, err := policy.Check(&s)
		if err != nil || grid.Count() > 1<<12 && policy.ByResults(&s.Spec) {
			return // the time of a decision grows with the trials
		}
		decide(t, &s, grid, rand.New(rand.NewPCG(seed, 1)))
	})
}

// decide decides all about the first trials of a submission, with results that are drawn.
func decide(t *testing.T, s *sweep.Submission, grid *sweep.Grid, random *rand.Rand) {
	record := &sweep.SweepRecord{ID: "s", Pool: s.Spec.Pool, Grids: []sweep.GridRecord{{Submission: *s,
		Points: grid.Count()}}}
	a := newActiveSweep(record)
	if err := a.open(0); err != nil {
		t.Fatal(err)
	}
	const most = 100
	p := newPage(record.ID, &record.Grids[0], nil)
	if err := p.fill(a.grids[0].All(0), min(grid.Count(), most)); err != nil {
		t.Fatal(err)
	}
	for i := range p.trials {
		a.job(p.trials[i], nil)
	}
	value := func() float64 {
		return []float64{1, 2, random.Float64(), math.NaN(), -1e300}[random.IntN(5)]
	}
	for _, own := range a.policies[0] {
		var seen policy.Observations
		switch wants := own.Wants(); {
		case wants.Trials:
			for range 4 {
				own.Generation(seen.Written)
				step, err := own.Step(t.Context(), seen)
				if err != nil {
					t.Fatal(err)
				}
				for _, point := range step.Next {
					parameters, err := s.Description.Resolve(point.Parameters)
					if err != nil {
						parameters = point.Parameters
					}
					seen.Trials = append(seen.Trials, policy.Trial{Parameters: parameters, Value: value(), Skipped: point.Skip})
				}
				seen.Written = int64(len(seen.Trials))
			}
		default:
			for i := range 20 {
				var marks []float32
				for range random.IntN(10) {
					marks = append(marks, float32(random.IntN(4)))
				}
				bands := wants.Bands[:min(len(marks), len(wants.Bands))]
				seen.Observed = append(seen.Observed, sweep.Observation{Number: int64(i), Trial: random.Int64N(15),
					Positions: bands, Values: marks[:len(bands)], Best: float32(random.IntN(4)), Open: i%2 == 0},
					sweep.Observation{Number: int64(i), Trial: 20 + int64(i), Values: marks, Open: true})
			}
			own.Generation(0)
			if _, err := own.Step(t.Context(), seen); err != nil {
				t.Fatal(err)
			}
		}
	}
}
