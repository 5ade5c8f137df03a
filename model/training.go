package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sweep/model/kernel"
	"sweep/model/loss"
	"sweep/model/network"
	"sweep/model/optim"
	"sweep/model/protocol"
	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

const (
	// evaluationBatch is the number of series evaluated at once.
	evaluationBatch = 64
	// divergedLoss ends a trial whose loss in a step is no loss any more.
	divergedLoss = 1e6
	// reportInterval is the time between batches of points.
	reportInterval = 250 * time.Millisecond
)

// training is one trial on its way.
type training struct {
	s         *settings
	task      task.Task
	shape     task.Shape
	measures  []*task.Measure
	plan      task.Schedule
	net       *network.Network[float32]
	request   *sweep.TrainRequest
	cost      cost
	optimizer *optim.Optimizer[float32]
	started   time.Time // earlier by what earlier executions took

	// made once
	batch *task.Batch[float32]
	// streams are those of the parts. The position of that of training is the steps
	// done.
	streams [3]task.Stream

	sum       epochSum
	gradients gradients
	diverged  bool
	best      best
	// validated is what the last weights before the refit make of the validation rows,
	// if it is asked for.
	validated []safetensors.Tensor
	curves    curves
	// spaced are the points of the curves whose spacing depends on where the trial ends; nil unless it
	// is open-ended.
	spaced map[string]*sweep.Curve
	// kept is the state at the end of the trial, if it is asked for.
	kept []byte
}

// epochSum is what the steps of the present epoch come to so far.
type epochSum struct {
	Loss, Gradient       float64
	Correct, Rows, Steps int
	// Gradients are those at the watched time steps.
	Gradients []float64
}

// best is the snapshot that the epoch rule keeps, what the last validation said of it
// or, after a refit, of the weights before, and the smallest validation loss seen, which
// selections compare.
type best struct {
	Epoch        int // counted from 1; 0 before the first
	Error        float64
	Loss         float64
	Measured     []float64 // by the task's measures
	TrainLoss    float64
	SmallestLoss float64
	Values       []float32
}

// newTraining prepares a trial on so many threads, with so many bytes for the
// history of a minibatch. What it returns has to be closed.
func newTraining(ctx context.Context, set *kernel.Set[float32], s *settings, t task.Task, threads int, history int64,
	started time.Time) (*training, error) {
	cost, err := s.costOf(t, history)
	if err != nil {
		return nil, err
	}
	shape, plan, batch := t.Shape(), t.Schedule(), s.room(t)
	net, err := network.New(ctx, set, s.spec(shape), network.Room{Batch: batch, History: history, Threads: threads})
	if err != nil {
		return nil, err
	}
	optimizer, err := optim.New(set, net.Arena, s.optimizer)
	if err != nil {
		net.Close()
		return nil, err
	}
	run := &training{
		s: s, task: t, shape: shape, plan: plan, net: net, cost: cost, optimizer: optimizer, started: started,
		measures: task.Of(fmt.Sprint(s.parameters["dataset"])).Measures, request: &sweep.TrainRequest{},
		batch: task.NewBatch[float32](shape, batch, net.Rows()),
		best:  best{Error: math.Inf(1), Loss: math.Inf(1), SmallestLoss: math.Inf(1)},
	}
	run.gradients = watchGradients(net, s.gradientNorms, shape.Steps)
	run.curves = newCurves(run.request)
	evaluated := evaluationBatch
	if batch > net.Rows() {
		evaluated = batch // several slices
	}
	for part, size := range []int{task.Train: s.batch, task.Validation: evaluated, task.Test: evaluated} {
		if run.streams[part], err = t.Open(task.Part(part), size); err != nil {
			net.Close()
			return nil, err
		}
	}
	return run, nil
}

// close ends the trial's threads.
func (t *training) close() { t.net.Close() }

// run takes the remaining steps and returns the result.
func (t *training) run(ctx context.Context, sink sweep.Sink, checkpointInterval time.Duration) (*sweep.Result, error) {
	if err := t.curves.flush(sink); err != nil { // what an earlier execution measured
		return nil, err
	}
	reported, saved, pause := time.Now(), time.Now(), checkpointInterval
	if err := t.endResumed(ctx); err != nil {
		return nil, err
	}
	for t.position() < t.plan.Steps && !t.diverged && !t.exhausted() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		loss, gradient := t.step()
		if err := t.reportStep(ctx, loss, gradient); err != nil {
			return nil, err
		}
		if err := t.end(ctx); err != nil {
			return nil, err
		}
		now := time.Now()
		if now.Sub(reported) >= reportInterval {
			if err := t.curves.flush(sink); err != nil {
				return nil, err
			}
			reported = now
		}
		if now.Sub(saved) >= pause && t.position() < t.plan.Steps && !t.diverged {
			state, err := t.checkpoint()
			if err != nil {
				return nil, err
			}
			if err := sink.Checkpoint(int64(t.position()), state); err != nil {
				return nil, err
			}
			saved, pause = now, checkpointPause(checkpointInterval, len(state))
		}
	}
	result, err := t.result(ctx)
	if err != nil {
		return nil, err
	}
	return result, t.curves.flush(sink)
}

// exhausted says whether so many validations as the parameter patience says have brought no better
// weights.
func (t *training) exhausted() bool {
	if t.s.patience == 0 || t.best.Epoch == 0 || !t.atInterval() {
		return false
	}
	since := t.mark() - t.best.Epoch
	if !t.plan.Epochs {
		since /= t.plan.Interval
	}
	return since >= t.s.patience
}

// position is the number of steps done.
func (t *training) position() int { return t.streams[task.Train].Position() }

// atInterval says whether an interval ends here.
func (t *training) atInterval() bool {
	return t.position()%t.plan.Interval == 0 || t.position() == t.plan.Steps
}

// mark is where the training stands in curves: in epochs, or in steps.
func (t *training) mark() int { return t.plan.Mark(t.position()) }

// interval is the number of intervals that are done, or due.
func (t *training) interval() int { return (t.position() + t.plan.Interval - 1) / t.plan.Interval }

// holdsOut says whether there are validation rows.
func (t *training) holdsOut() bool { return t.task.Count(task.Validation) > 0 }

// validates says whether there are validation rows that no step so far trained on.
func (t *training) validates() bool { return t.holdsOut() && !t.plan.Refits(t.position()) }

// step trains the next minibatch, and returns its mean loss and the norm of the gradient at h(0).
// One whose loss is none ends the trial and leaves the parameters as they were before it.
func (t *training) step() (mean, gradient float64) {
	step := t.position()
	t.streams[task.Train].Next(t.batch)
	score, gradient := t.net.Differentiate(t.batch, step)
	if mean = score.Mean(); math.IsNaN(mean) || mean > divergedLoss {
		t.diverged = true
		return mean, gradient
	}
	t.net.Update(t.optimizer, t.s.rate.at(step, t.plan), t.s.clip)
	t.sum.Loss += score.Loss
	t.sum.Correct += score.Correct
	t.sum.Rows += score.Rows
	t.sum.Gradient += gradient
	t.sum.Steps++
	t.gradients.add(t.net, &t.sum)
	return mean, gradient
}

// endInterval validates, and keeps the snapshot if the epoch rule says so. In the refit
// the validation rows tell no more than whether the weights are any; where none are held
// out, the last minibatch does.
func (t *training) endInterval(ctx context.Context) error {
	sum := t.sum
	t.sum = epochSum{}
	var score loss.Score
	if t.holdsOut() {
		var err error
		if score, err = t.evaluate(ctx, task.Validation); err != nil {
			return err
		}
	} else {
		score = t.net.Evaluate(t.batch)
	}
	if loss := score.Mean(); math.IsNaN(loss) || math.IsInf(loss, 0) {
		t.diverged = true
		return nil
	}
	trainLoss := sum.Loss / float64(sum.Rows)
	t.gradients.record(&t.curves, t.mark(), &sum)
	if err := t.record(ctx, trainLoss, &score, sum.Gradient/float64(sum.Steps)); err != nil {
		return err
	}
	if t.validates() {
		t.keep(trainLoss, &score)
		if err := t.keepValidated(ctx); err != nil {
			return err
		}
	} else {
		t.keepWeights(trainLoss)
	}
	if t.testDue(t.interval()) {
		test, err := t.evaluate(ctx, task.Test)
		if err != nil {
			return err
		}
		t.addQuality("test", &test)
		if t.s.gapCurves {
			t.addGaps(&sum, &test)
		}
	}
	return nil
}

// testDue says whether the test curve has a point at the end of an interval.
func (t *training) testDue(interval int) bool {
	every := t.s.testInterval(t.plan, t.task.Count(task.Train), t.task.Count(task.Test))
	return every > 0 && interval%every == 0
}

// record adds the points of an epoch, or of the time since the last validation.
func (t *training) record(ctx context.Context, trainLoss float64, validation *loss.Score, gradient float64) error {
	epoch := t.mark()
	t.curves.add("train_loss", epoch, trainLoss)
	for _, m := range t.measures {
		if m.Train != "" {
			t.curves.add(m.Metric("train"), epoch, m.Of(&loss.Score{Loss: trainLoss, Rows: 1}))
		}
	}
	if t.validates() {
		t.curves.add("validation_loss", epoch, validation.Mean())
		t.addQuality("validation", validation)
	}
	if t.net.Recurs() {
		t.curves.add("gradient_norm", epoch, gradient)
	}
	t.curves.add("learning_rate", epoch, t.s.rate.at(t.position()-1, t.plan))
	t.curves.add("seconds", epoch, time.Since(t.started).Seconds())
	if t.marginDue(t.interval()) {
		margin, ok, err := t.net.SpectralMargin(ctx)
		if err != nil {
			return err
		}
		if ok {
			t.add("spectral_margin", margin)
		}
	}
	return nil
}

// addQuality adds what a part's evaluation is compared by besides its loss.
func (t *training) addQuality(part string, score *loss.Score) {
	for _, m := range t.measures {
		t.add(m.Metric(part), m.Of(score))
	}
}

// marginDue says whether the spectral margin at the end of an interval is recorded: so often that it
// stays cheap.
func (t *training) marginDue(interval int) bool {
	return interval%t.s.spacing(t.plan, 1) == 0 || interval == 1 || interval == t.plan.Intervals()
}

// keep applies the epoch rule.
func (t *training) keep(trainLoss float64, validation *loss.Score) {
	loss, failed := validation.Mean(), 1-validation.Accuracy()
	t.best.SmallestLoss = min(t.best.SmallestLoss, loss)
	if t.s.protocol.Rule.Better(protocol.Score{Error: failed, Loss: loss},
		protocol.Score{Error: t.best.Error, Loss: t.best.Loss}) {
		t.best.Error, t.best.Loss, t.best.Measured = failed, loss, nil
		for _, m := range t.measures {
			t.best.Measured = append(t.best.Measured, m.Of(validation))
		}
		t.keepWeights(trainLoss)
	}
}

// keepWeights keeps the present weights or, in the last intervals, the mean of those
// at the end of each.
func (t *training) keepWeights(trainLoss float64) {
	t.best.Epoch, t.best.TrainLoss = t.mark(), trainLoss
	if k := t.interval() - t.plan.Intervals() + t.plan.Average; k > 1 {
		for i, v := range t.net.Arena.Values() {
			t.best.Values[i] += (v - t.best.Values[i]) / float32(k)
		}
		return
	}
	t.best.Values = append(t.best.Values[:0], t.net.Arena.Values()...)
}

// evaluate returns the score of a part.
func (t *training) evaluate(ctx context.Context, part task.Part) (score loss.Score, err error) {
	stream := t.streams[part]
	for stream.Seek(0); stream.Next(t.batch); {
		if err := ctx.Err(); err != nil {
			return score, err
		}
		score.Add(t.net.Evaluate(t.batch))
	}
	return score, nil
}

// result tests the kept weights and sums the trial up.
func (t *training) result(ctx context.Context) (*sweep.Result, error) {
	r := &sweep.Result{
		State: sweep.Completed, Diverged: t.diverged,
		KernelLevel:   t.net.Level().String(),
		WeightsDigest: digest(t.net.Arena.Values()),
		Summary:       t.task.Facts(),
		Error:         strings.Join(t.task.Notes(), "; "),
	}
	r.Summary[sweep.ParameterCountMetric] = float64(t.net.Arena.Count())
	r.Summary[sweep.FlopsMetric] = t.cost.flops * float64(t.position()) / float64(t.plan.Steps)
	if t.best.Epoch > 0 {
		copy(t.net.Arena.Values(), t.best.Values)
		t.net.Changed()
		if t.plan.Average > 1 {
			t.net.Project() // the mean of several weights need not be allowed
		}
		score, err := t.evaluate(ctx, task.Test)
		if err != nil {
			return nil, err
		}
		margin, ok, err := t.net.SpectralMargin(ctx)
		if err != nil {
			return nil, err
		}
		summary := t.summary(score)
		summary[sweep.BestEpochMetric] = float64(t.best.Epoch)
		if ok {
			summary["spectral_margin"] = margin
		}
		if t.s.fgsm > 0 {
			attacked, err := t.attack(ctx)
			if err != nil {
				return nil, err
			}
			summary["fgsm_accuracy"] = attacked.Accuracy()
		}
		if t.s.classes && t.votes() {
			c, err := t.confusion(ctx)
			if err != nil {
				return nil, err
			}
			summary["test_f1_macro"] = c.MacroF1()
		}
		for name, value := range summary {
			if !math.IsNaN(value) && !math.IsInf(value, 0) {
				r.Summary[name] = value
			}
		}
	}
	r.Seconds = time.Since(t.started).Seconds()
	return r, nil
}

// summary are the metrics of the kept weights, with those of their test. What no row was held out for is not there.
func (t *training) summary(test loss.Score) map[string]float64 {
	s := map[string]float64{"train_loss": t.best.TrainLoss, "test_loss": test.Mean()}
	if t.holdsOut() {
		s["validation_loss"] = t.best.SmallestLoss
	}
	for i, m := range t.measures {
		s[m.Metric("test")] = m.Of(&test)
		if m.Train != "" {
			s[m.Metric("train")] = m.Of(&loss.Score{Loss: t.best.TrainLoss, Rows: 1})
		}
		if t.holdsOut() {
			s[m.Metric("validation")] = t.best.Measured[i]
		}
	}
	return s
}

// digest is the hexadecimal SHA-256 of the values' bits.
func digest(values []float32) string {
	sum := sha256.Sum256(sweep.EncodeValues(values))
	return hex.EncodeToString(sum[:])
}

// curves are the points of a trial so far, as many as are retained.
type curves struct {
	recorder *sweep.Recorder
	// thinned says that the sink takes what the recorder has thinned; else it thins
	// nothing.
	thinned bool
}

// newCurves returns the curves of a trial for the sink of a request.
func newCurves(request *sweep.TrainRequest) curves {
	if request.Thinned && request.Points > 0 {
		return curves{sweep.NewRecorder(request.Points), true}
	}
	return curves{sweep.NewRecorder(math.MaxInt32), false}
}

func (c *curves) add(metric string, epoch int, value float64) {
	c.recorder.AddPoint(metric, int64(epoch), float32(value))
}

// flush sends what has not been sent yet.
func (c *curves) flush(sink sweep.Sink) error {
	news := slices.DeleteFunc(c.recorder.News(), func(part sweep.Curve) bool { return len(part.Steps) == 0 })
	if len(news) == 0 {
		return nil
	}
	for i := range news {
		news[i].Replaces = c.thinned
	}
	if err := sink.Points(news); err != nil {
		return fmt.Errorf("report points: %w", err)
	}
	return nil
}

// resume takes over the curves of a checkpoint.
func (c *curves) resume(points []byte) error {
	kept := &sweep.Recorder{}
	if err := kept.UnmarshalBinary(points); err != nil {
		return err
	}
	switch {
	case !c.thinned && !kept.Whole():
		return errors.New("its curves lack points, by which this trial may be stopped")
	case !c.thinned, kept.Limit() == math.MaxInt32: // all points, as of a trial that could be stopped
		c.recorder.Add(kept.Curves())
	case kept.Limit() != c.recorder.Limit():
		return fmt.Errorf("its curves have at most %d points, and those of this trial %d", kept.Limit(),
			c.recorder.Limit())
	default:
		c.recorder = kept
	}
	return nil
}
