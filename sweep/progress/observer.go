package progress

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"sweep/sweep"
)

// Observer looks at one sweep. It is not for concurrent use.
type Observer struct {
	store  sweep.Reader
	record *sweep.SweepRecord
	began  time.Time

	// estimate is the trainer's estimate of the whole sweep in flop, 0 if there is none: then all
	// trials count the same.
	estimate float64
	work     forecast
	trials   forecast
	// expected is the speed of a slot in earlier trials in flop a second, 0 if unknown.
	expected float64

	details, whole, costs, best, causes pace

	state   sweep.SweepState
	reason  string
	running []Running
	// bases are where executions resumed from checkpoints.
	bases   map[int64]base
	spent   spent
	leaders []Best
	failed  []Cause
	refused []Cause
	told    sweep.Progress // of which failed and refused tell
}

// base is the step at which an execution was seen first, and after how long. share is the part of
// the trial that earlier executions have done, skipped the work that the speed leaves out for it.
type base struct {
	started        time.Time
	step           int64
	seconds        float64
	share, skipped float64
}

// spent is what the trials that have ended have cost.
type spent struct {
	// flops is the work of the trials that ended without diverging, by estimates; diverged counts
	// the others. measured and seconds are the work, 0 without estimates, and the time of those that ran for
	// this sweep, timed their number.
	flops             float64
	ended, diverged   int64
	measured, seconds float64
	timed             int64
}

// The most entries of the lists of a snapshot.
const (
	maxRunning = 16
	maxBest    = 8
	maxCauses  = 3
)

// pace keeps a query from running too often: not before a pause, nor so often that it costs
// more than a few percent of the time.
type pace struct{ next time.Time }

const costFactor = 50

// run runs the query, which returns the pause, if it is due.
func (p *pace) run(now time.Time, query func() time.Duration) {
	if now.Before(p.next) {
		return
	}
	start := time.Now()
	pause := query()
	p.next = now.Add(max(pause, costFactor*time.Since(start)))
}

// NewObserver returns an observer of a sweep, whose record has its submissions.
func NewObserver(store sweep.Reader, record *sweep.SweepRecord) *Observer {
	o := &Observer{store: store, record: record, state: record.State, reason: record.Reason}
	for i := range record.Grids {
		flops := record.Grids[i].Submission.Flops
		if flops <= 0 {
			o.estimate = 0
			break
		}
		o.estimate += flops
	}
	return o
}

// Look returns how far the sweep is. Counts are current; what costs more to query may be some
// seconds old. An error is that of the counts: the next look may work.
func (o *Observer) Look(ctx context.Context, now time.Time) (*Snapshot, error) {
	counts, err := o.store.Progress(ctx, o.record.ID)
	if err != nil {
		return nil, err
	}
	if o.began.IsZero() {
		o.began = now
	}
	o.lookAtWork(ctx, now, counts)
	o.best.run(now, func() time.Duration { return o.lookAtBest(ctx) })
	if counts.Failed != o.told.Failed || counts.Refused != o.told.Refused {
		o.causes.run(now, func() time.Duration { return o.lookAtCauses(ctx, counts) })
	}
	s := &Snapshot{
		Time: now.UTC(), Sweep: o.record.ID, Name: o.record.Name, State: o.state, Reason: o.reason,
		Done: counts.Done(), Total: counts.Total(), Counts: counts, Seconds: now.Sub(o.began).Seconds(),
		BestBy: o.choice().By, Best: o.leaders, Failures: o.failed, Refusals: o.refused,
	}
	if counts.Running > 0 {
		s.Running = o.running
	}
	o.foresee(s, now)
	return s, nil
}

// Left returns the time to the end of the sweep in seconds, by counts that are current; 0 if that is unknown. It asks
// for nothing else than Look does for it.
func (o *Observer) Left(ctx context.Context, now time.Time, counts sweep.Progress) float64 {
	o.lookAtWork(ctx, now, counts)
	s := &Snapshot{Done: counts.Done(), Total: counts.Total(), Counts: counts}
	if counts.Running > 0 {
		s.Running = o.running
	}
	o.foresee(s, now)
	return s.Left
}

// lookAtWork queries what runs and what has run have cost, if it is time.
func (o *Observer) lookAtWork(ctx context.Context, now time.Time, counts sweep.Progress) {
	o.details.run(now, func() time.Duration { return o.lookAtRunning(ctx, now, counts) })
	o.costs.run(now, func() time.Duration {
		o.lookAtCosts(ctx)
		return 0 // until then a trial that has ended counts as one of the mean size
	})
}

// Hurry makes the next look query everything again.
func (o *Observer) Hurry() {
	o.details, o.whole, o.costs, o.best, o.causes = pace{}, pace{}, pace{}, pace{}, pace{}
}

func (o *Observer) choice() sweep.Select { return o.record.Grids[0].Submission.Spec.Select }

// foresee fills in how much of the work is done, the rate and the time left.
func (o *Observer) foresee(s *Snapshot, now time.Time) {
	if s.Total == 0 {
		return
	}
	o.trials.grain = 1
	o.trials.add(now, float64(s.Done))
	s.Rate, _ = o.trials.speed()

	total, done, grain := float64(s.Total), float64(s.Done), 1.0
	if o.estimate > 0 {
		mean := o.estimate / total
		total = o.estimate
		// Results that came since costs were asked for, and those that diverged, count as
		// trials of the mean size.
		others := max(s.Done-o.spent.ended, 0) + o.spent.diverged
		done = min(o.spent.flops+float64(others)*mean, total)
		grain = mean
		if left := s.Total - s.Done; left > 0 {
			grain = (total - done) / float64(left)
		}
	}
	expected := o.expected // of a slot
	switch {
	case o.estimate > 0 && o.spent.measured > 0:
		expected = o.spent.measured / o.spent.seconds
	case o.estimate == 0 && o.spent.timed > 0:
		expected = float64(o.spent.timed) / o.spent.seconds
	}
	done = min(done+o.underway(s, total-done, grain, expected), total)
	o.work.grain = grain
	o.work.add(now, done)
	s.Share = done / total
	if s.Done == s.Total {
		s.Share = 1
		return
	}
	slots := max(s.Counts.Running, 1)
	s.Left = o.work.left(total-done, expected*float64(slots), slots)
	// Where sizes differ, as where small trials ended or diverged first, the mean says too little.
	if s.Left > 0 || int64(len(s.Running)) == s.Total-s.Done {
		for _, r := range s.Running {
			s.Left = max(s.Left, r.Left)
		}
	}
}

// underway returns the work that running trials have done, of the remaining work of those that have not ended. With
// estimates, the size of a trial is the speed of a slot times the time that it takes at its pace; while these are not
// known, and without estimates, it is the grain. Trials that are not looked at count like the others.
func (o *Observer) underway(s *Snapshot, remaining, grain, speed float64) (work float64) {
	if len(s.Running) == 0 {
		return 0
	}
	var all float64
	sizes := make([]float64, len(s.Running))
	for i, r := range s.Running {
		sizes[i] = grain
		if o.estimate > 0 && speed > 0 && r.whole > 0 {
			sizes[i] = speed * r.whole
		}
		all += sizes[i]
	}
	scale := float64(s.Counts.Running) / float64(len(s.Running))
	all *= scale
	if all > remaining || all > 0 && s.Counts.Running == s.Total-s.Done { // the last ones have just what is left
		scale *= remaining / all
	}
	for i, r := range s.Running {
		work += r.Share() * sizes[i] * scale
		if from, resumed := o.bases[r.Index]; resumed {
			before := from.share * sizes[i] * scale
			o.work.skip(before - from.skipped)
			from.skipped = before
			o.bases[r.Index] = from
		}
	}
	return work
}

// lookAtRunning queries the running trials, their progress, and the sweep's state.
func (o *Observer) lookAtRunning(ctx context.Context, now time.Time, counts sweep.Progress) (pause time.Duration) {
	if counts.Running == 0 {
		o.whole = pace{} // otherwise the state, whose record has the submissions, can wait
	}
	o.whole.run(now, func() time.Duration {
		if record, err := o.store.Sweep(ctx, o.record.ID); err == nil {
			o.state, o.reason = record.State, record.Reason
		}
		return 5 * time.Second
	})
	o.running = o.running[:0:0]
	if counts.Running == 0 {
		return time.Second
	}
	metrics := o.curveMetrics()
	varied := Varied(o.record, true)
	bases := map[int64]base{}
	defer func() { o.bases = bases }()
	_ = o.store.Trials(ctx, sweep.TrialQuery{ // none are shown if they cannot be asked for
		Sweeps: []string{o.record.ID}, States: []sweep.State{sweep.Running}, Limit: maxRunning,
	}, func(t *sweep.TrialRecord) error {
		r := Running{Index: t.Index, Label: Label(t.Parameters, o.choice().Group, varied), Steps: Steps(t.Parameters)}
		if !t.StartedAt.IsZero() {
			r.Seconds = max(now.Sub(t.StartedAt).Seconds(), 0)
		}
		if t.Executions > 1 {
			bases[r.Index] = base{started: t.StartedAt}
		}
		o.running = append(o.running, r)
		return nil
	})
	for i := range o.running {
		r := &o.running[i]
		if r.Seconds < 1 {
			continue // no points are stored of the first second
		}
		curves, err := o.store.Curves(ctx, sweep.TrialID{Sweep: o.record.ID, Index: r.Index}, metrics...)
		if err != nil {
			continue
		}
		r.take(curves, o.choice().By)
		from, resumed := bases[r.Index]
		if resumed && r.Step > 0 {
			if known := o.bases[r.Index]; known.started.Equal(from.started) && known.step > 0 {
				from = known
			} else {
				from.step, from.seconds, from.share = r.Step, r.Seconds, r.Share()
			}
			bases[r.Index] = from
		}
		if r.Share() > 0 && r.Step > from.step {
			pace := (r.Seconds - from.seconds) / float64(r.Step-from.step)
			r.Left, r.whole = pace*float64(r.Steps-r.Step), pace*float64(r.Steps)
		}
	}
	return time.Second
}

// take notes the last step of a trial's curves, and the last value of the metric that trials are compared
// by or, while that has none, of the first curve.
func (r *Running) take(curves []sweep.Curve, by string) {
	for _, c := range curves {
		n := len(c.Steps)
		if n == 0 {
			continue
		}
		r.Step = max(r.Step, c.Steps[n-1])
		if r.Metric != "" && c.Metric != by {
			continue
		}
		r.Metric, r.Value = c.Metric, nil
		if v := float64(c.Values[n-1]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			r.Value = &v
		}
	}
}

// curveMetrics are the metrics that tell how far a trial is: the one that trials are compared by and the
// first with curves; nil, which stands for all, if the trainer names none.
func (o *Observer) curveMetrics() (names []string) {
	for _, m := range o.record.Grids[0].Submission.Description.Metrics {
		if m.Curve && (len(names) == 0 || m.Name == o.choice().By) {
			names = append(names, m.Name)
		}
	}
	return names
}

// lookAtCosts queries what the trials that ended have cost.
func (o *Observer) lookAtCosts(ctx context.Context) {
	if s, err := costs(ctx, o.store, o.record.ID); err == nil {
		o.spent = s
		if o.estimate > 0 && s.measured == 0 && o.expected == 0 {
			o.expected, _, _ = Speed(ctx, o.store, o.record.Trainer)
		}
	}
}

// flops is that metric of a row of results.
const flops = `CAST(summary ->> '` + sweep.FlopsMetric + `' AS double precision)`

// costs asks what a sweep's ended trials have cost.
func costs(ctx context.Context, store sweep.Reader, id string) (s spent, err error) {
	const text = `SELECT count(*) AS ended,
		sum(CASE WHEN diverged THEN 1 ELSE 0 END) AS diverged,
		sum(CASE WHEN diverged THEN 0 ELSE ` + flops + ` END) AS flops,
		sum(CASE WHEN executions > 0 AND seconds > 0 THEN ` + flops + ` END) AS measured,
		sum(CASE WHEN executions > 0 AND seconds > 0 THEN seconds END) AS seconds,
		sum(CASE WHEN executions > 0 AND seconds > 0 THEN 1 ELSE 0 END) AS timed
		FROM results WHERE state IN ('completed', 'failed') AND sweep_id = `
	err = store.Query(ctx, text+sweep.QuoteSQL(id), func(_ []string, row []any) error {
		s.ended, s.diverged = int64(number(row[0])), int64(number(row[1]))
		s.flops, s.measured, s.seconds = number(row[2]), number(row[3]), number(row[4])
		s.timed = int64(number(row[5]))
		return nil
	})
	return s, err
}

// earlierSweeps is how many sweeps are asked for the speed of a trainer.
const earlierSweeps = 5

// shortTrial is a time that start and test may take much of.
const shortTrial = 1 // second

// Speed is the flop a second of a slot with a trainer in its newest sweeps with results; 0 if
// there are none. Those whose trials took a second or more are preferred; without any it is short:
// longer trials are faster.
func Speed(ctx context.Context, store sweep.Reader, trainer string) (rate float64, short bool, err error) {
	records, err := store.Sweeps(ctx)
	if err != nil {
		return 0, false, err
	}
	asked := 0
	for i := range records {
		if records[i].Trainer != trainer {
			continue
		}
		if asked++; asked > earlierSweeps {
			break
		}
		s, err := costs(ctx, store, records[i].ID)
		if err != nil {
			return 0, false, err
		}
		if s.seconds >= shortTrial*float64(s.timed) && s.measured > 0 {
			return s.measured / s.seconds, false, nil
		}
		if s.measured > 0 && rate == 0 {
			rate = s.measured / s.seconds
		}
	}
	return rate, rate > 0, nil
}

// lookAtBest queries the best trial of each group.
func (o *Observer) lookAtBest(ctx context.Context) (pause time.Duration) {
	choice := o.choice()
	if choice.By == "" {
		return 0
	}
	var leaders []Best
	varied := Varied(o.record, true)
	err := o.store.Trials(ctx, sweep.TrialQuery{
		Sweeps: []string{o.record.ID}, Best: true, OrderBy: sweep.MetricKind.Of(choice.By),
		Descending: choice.Goal == sweep.Maximize,
		Limit:      maxBest,
	}, func(t *sweep.TrialRecord) error {
		if value, ok := t.Result.Summary[choice.By]; ok {
			leaders = append(leaders, Best{Label(t.Parameters, choice.Group, varied), t.Index, value})
		}
		return nil
	})
	if err == nil {
		o.leaders = leaders
	}
	if len(leaders) == 0 {
		return 300 * time.Millisecond
	}
	return 2 * time.Second
}

// lookAtCauses queries why trials failed and were refused.
func (o *Observer) lookAtCauses(ctx context.Context, counts sweep.Progress) (pause time.Duration) {
	o.told = counts
	o.failed, o.refused = nil, nil
	ask := func(text string) (causes []Cause) {
		_ = o.store.Query(ctx, text, func(_ []string, row []any) error { // none are shown if they cannot be asked for
			reason, _ := row[0].(string)
			causes = append(causes, Cause{cmp.Or(FirstLine(reason), "no reason given"), int64(number(row[1]))})
			return nil
		})
		return causes
	}
	end := fmt.Sprintf(" ORDER BY 2 DESC, 1 LIMIT %d", maxCauses)
	if counts.Failed > 0 {
		o.failed = ask("SELECT error, count(*) AS trials FROM results WHERE state = 'failed' AND sweep_id = " +
			sweep.QuoteSQL(o.record.ID) + " GROUP BY error" + end)
	}
	if counts.Refused > 0 {
		o.refused = ask("SELECT reason, sum(refusals) AS times FROM refusals WHERE sweep_id = " +
			sweep.QuoteSQL(o.record.ID) + " GROUP BY reason" + end)
	}
	return time.Second
}

// number reads a number of a query's row; 0 if it is none.
func number(value any) float64 {
	n, _ := sweep.Number(value)
	return n
}
