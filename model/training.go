package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"sweep/model/cell"
	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/optim"
	"sweep/model/weight"
	"sweep/sweep"
)

const (
	// evaluationBatch is the number of series evaluated at once.
	evaluationBatch = 64
	// divergedLoss ends a trial whose mean training loss is no loss any more.
	divergedLoss = 1e6
	// marginPoints bounds how often the singular values of a dense transition
	// matrix are computed; where they are parameters they cost nothing.
	marginPoints = 20
	// reportInterval is the time between batches of points.
	reportInterval = 250 * time.Millisecond
)

// training is one trial on its way.
type training struct {
	s         *settings
	task      *task
	net       *network
	evaluated int // series evaluated at once
	optimizer optim.Optimizer[float32]
	schedule  optim.Exponential
	started   time.Time

	// buffers, made once
	x      []float32
	rows   []int
	labels []int
	sigma  []float64

	epoch    int // epochs done
	diverged bool
	best     best
	curves   curves
}

// best is the snapshot that the epoch rule keeps, and the smallest validation
// loss seen, which selections compare.
type best struct {
	Epoch        int // counted from 1; 0 before the first
	Error        float64
	Loss         float64
	Accuracy     float64
	TrainLoss    float64
	SmallestLoss float64
	Values       []float32
}

// newTraining prepares a trial on so many threads, with so many bytes for the
// history of a minibatch. What it returns has to be closed.
func newTraining(set *kernel.Set[float32], s *settings, task *task, threads int, history int64, started time.Time) (*training, error) {
	batch := max(min(s.batch, len(task.trainRows)), min(evaluationBatch, max(len(task.validationRows), len(task.testRows))))
	net, err := newNetwork(set, s, task.inputs, task.set.OutputWidth, s.keep(cell.Limits{Steps: task.steps, Batch: batch}, history), threads)
	if err != nil {
		return nil, err
	}
	if err := net.start(s); err != nil {
		net.close()
		return nil, err
	}
	optimizer, err := net.newOptimizer(s)
	if err != nil {
		net.close()
		return nil, err
	}
	evaluated := evaluationBatch
	if batch > net.slices.rows {
		evaluated = batch // several slices
	}
	t := &training{
		s: s, task: task, net: net, evaluated: evaluated, optimizer: optimizer, started: started,
		schedule: optim.Exponential{Initial: s.lr, Decay: s.decay},
		x:        make([]float32, batch*task.steps*task.inputs),
		rows:     make([]int, len(task.trainRows)),
		labels:   make([]int, batch),
		sigma:    make([]float64, s.hidden),
		best:     best{Error: math.Inf(1), Loss: math.Inf(1), SmallestLoss: math.Inf(1)},
	}
	return t, nil
}

// close ends the trial's threads.
func (t *training) close() { t.net.close() }

// run trains the remaining epochs and returns the result.
func (t *training) run(ctx context.Context, sink sweep.Sink, checkpointInterval time.Duration) (*sweep.Result, error) {
	if err := t.curves.flush(sink); err != nil { // what an earlier execution measured
		return nil, err
	}
	reported, saved := time.Now(), time.Now()
	testEvery := t.s.testInterval(len(t.task.trainRows), t.task.set.Test.N)
	for t.epoch < t.s.epochs && !t.diverged {
		if err := t.trainEpoch(ctx, testEvery); err != nil {
			return nil, err
		}
		now := time.Now()
		if now.Sub(reported) >= reportInterval {
			if err := t.curves.flush(sink); err != nil {
				return nil, err
			}
			reported = now
		}
		if now.Sub(saved) >= checkpointInterval && t.epoch < t.s.epochs && !t.diverged {
			state, err := t.checkpoint()
			if err != nil {
				return nil, err
			}
			if err := sink.Checkpoint(int64(t.epoch), state); err != nil {
				return nil, err
			}
			saved = now
		}
	}
	result, err := t.result(ctx)
	if err != nil {
		return nil, err
	}
	return result, t.curves.flush(sink)
}

// trainEpoch trains one pass over the training rows, validates, and keeps the
// snapshot if the epoch rule says so.
func (t *training) trainEpoch(ctx context.Context, testEvery int) error {
	copy(t.rows, t.task.trainRows)
	weight.NewRandom(t.s.seed, streamShuffle+uint64(t.epoch)).Shuffle(t.rows)
	rate := t.schedule.Rate(t.epoch)
	var lossSum, gradientSum float64
	minibatches := 0
	for first := 0; first < len(t.rows); first += t.s.batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := t.rows[first:min(first+t.s.batch, len(t.rows))]
		loss, gradient := t.step(rows, rate)
		lossSum += loss * float64(len(rows))
		gradientSum += gradient
		minibatches++
	}
	t.epoch++
	trainLoss := lossSum / float64(len(t.rows))
	if math.IsNaN(trainLoss) || trainLoss > divergedLoss {
		t.diverged = true
		return nil
	}
	t.net.load()
	loss, accuracy, err := t.evaluate(ctx, t.task.train, t.task.labels, t.task.validationRows)
	if err != nil {
		return err
	}
	if len(t.task.validationRows) > 0 && (math.IsNaN(loss) || math.IsInf(loss, 0)) {
		t.diverged = true
		return nil
	}
	t.record(trainLoss, loss, accuracy, gradientSum/float64(minibatches), rate)
	t.keep(trainLoss, loss, accuracy)
	if testEvery > 0 && t.epoch%testEvery == 0 {
		_, test, err := t.evaluate(ctx, t.task.test, t.task.testLabel, t.task.testRows)
		if err != nil {
			return err
		}
		t.curves.add("test_accuracy", t.epoch, test)
	}
	return nil
}

// record adds the epoch's points.
func (t *training) record(trainLoss, loss, accuracy, gradient, rate float64) {
	t.curves.add("train_loss", t.epoch, trainLoss)
	t.curves.add("validation_loss", t.epoch, loss)
	t.curves.add("validation_accuracy", t.epoch, accuracy)
	t.curves.add("gradient_norm", t.epoch, gradient)
	t.curves.add("learning_rate", t.epoch, rate)
	t.curves.add("seconds", t.epoch, time.Since(t.started).Seconds())
	if t.marginDue() {
		if margin, ok := t.net.spectralMargin(t.sigma); ok {
			t.curves.add("spectral_margin", t.epoch, margin)
		}
	}
}

// marginDue says whether this epoch's singular values are recorded: always
// where they are known, else so often that their SVD stays cheap.
func (t *training) marginDue() bool {
	if t.s.usesReflectors() {
		return true
	}
	every := max((t.s.epochs+marginPoints-1)/marginPoints, 1)
	return t.epoch%every == 0 || t.epoch == 1 || t.epoch == t.s.epochs
}

// keep applies the epoch rule.
func (t *training) keep(trainLoss, loss, accuracy float64) {
	failed := 1 - accuracy
	var better bool
	switch t.s.epochRule {
	case "first-smallest-error":
		better = failed < t.best.Error
	case "smallest-loss":
		better = loss < t.best.Loss
	case "final":
		better = true
	default: // last-smallest-error
		better = failed <= t.best.Error
	}
	t.best.SmallestLoss = min(t.best.SmallestLoss, loss)
	if better {
		t.best.Epoch, t.best.Error, t.best.Loss, t.best.Accuracy, t.best.TrainLoss = t.epoch, failed, loss, accuracy, trainLoss
		t.best.Values = append(t.best.Values[:0], t.net.arena.Values()...)
	}
}

// step trains one minibatch and returns its mean loss and the root mean square
// over its series of ‖∂L/∂h(0)‖.
func (t *training) step(rows []int, rate float64) (loss, gradient float64) {
	x := t.gather(t.task.train, rows)
	labels := t.labels[:len(rows)]
	for i, r := range rows {
		labels[i] = t.task.labels[r]
	}
	net := t.net
	net.load()
	loss, gradient = net.differentiate(x, t.task.steps, labels, t.s.loss)
	net.update(t.optimizer, rate, t.s.clip)
	return loss, gradient
}

// gather copies the rows' sequences into the input buffer, slice after slice.
func (t *training) gather(from *dataset.Sequences, rows []int) kernel.Matrix[float32] {
	size := len(rows) * t.task.steps * t.task.inputs
	_, part := t.net.slices.cut(len(rows))
	for first := 0; first < len(rows); first += part {
		from.Gather(t.x[first*t.task.steps*t.task.inputs:size], rows[first:min(first+part, len(rows))])
	}
	return kernel.Dense(t.x[:size], len(rows)*t.task.steps, t.task.inputs)
}

// evaluate returns mean loss and accuracy over rows; the weights are loaded.
func (t *training) evaluate(ctx context.Context, from *dataset.Sequences, labels, rows []int) (loss, accuracy float64, err error) {
	if len(rows) == 0 {
		return 0, 0, nil
	}
	correct := 0
	size := min(t.evaluated, len(rows))
	for first := 0; first < len(rows); first += size {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		part := rows[first:min(first+size, len(rows))]
		x := t.gather(from, part)
		batch := t.labels[:len(part)]
		for i, r := range part {
			batch[i] = labels[r]
		}
		mean, right := t.net.evaluate(x, t.task.steps, batch, t.s.loss)
		loss += mean * float64(len(part))
		correct += right
	}
	return loss / float64(len(rows)), float64(correct) / float64(len(rows)), nil
}

// result tests the kept snapshot and sums the trial up.
func (t *training) result(ctx context.Context) (*sweep.Result, error) {
	set := t.task.set
	r := &sweep.Result{
		State: sweep.Completed, Diverged: t.diverged,
		ParameterCount: int64(t.net.arena.Count()),
		KernelLevel:    t.net.set.Level().String(),
		WeightsDigest:  digest(t.net.arena.Values()),
		Flops:          t.s.flops(set, t.task.steps, t.task.inputs) * float64(t.epoch) / float64(t.s.epochs),
		Summary: map[string]float64{
			"train_size": float64(set.Train.N), "test_size": float64(set.Test.N),
			"length": float64(set.Length), "classes": float64(set.Classes),
			"depth": float64(t.task.steps), "input_size": float64(t.task.inputs),
		},
	}
	if t.best.Epoch > 0 {
		copy(t.net.arena.Values(), t.best.Values)
		t.net.loaded = false
		t.net.load()
		loss, accuracy, err := t.evaluate(ctx, t.task.test, t.task.testLabel, t.task.testRows)
		if err != nil {
			return nil, err
		}
		margin, ok := t.net.spectralMargin(t.sigma)
		r.BestEpoch = int64(t.best.Epoch)
		for name, value := range map[string]float64{
			"train_loss": t.best.TrainLoss, "validation_loss": t.best.SmallestLoss,
			"validation_accuracy": t.best.Accuracy, "test_accuracy": accuracy, "test_loss": loss,
		} {
			if !math.IsNaN(value) && !math.IsInf(value, 0) {
				r.Summary[name] = value
			}
		}
		if ok {
			r.Summary["spectral_margin"] = margin
		}
	}
	r.Seconds = time.Since(t.started).Seconds()
	return r, nil
}

// digest is the hexadecimal SHA-256 of the values' bits.
func digest(values []float32) string {
	sum := sha256.Sum256(sweep.EncodeValues(values))
	return hex.EncodeToString(sum[:])
}

// curves are all points of a trial so far, and how many of them were sent.
type curves struct {
	All  []sweep.Curve
	sent []int
}

func (c *curves) add(metric string, epoch int, value float64) {
	for i := range c.All {
		if c.All[i].Metric == metric {
			c.All[i].Steps = append(c.All[i].Steps, int64(epoch))
			c.All[i].Values = append(c.All[i].Values, float32(value))
			return
		}
	}
	c.All = append(c.All, sweep.Curve{Metric: metric, Steps: []int64{int64(epoch)}, Values: []float32{float32(value)}})
	c.sent = append(c.sent, 0)
}

// flush sends what has not been sent yet.
func (c *curves) flush(sink sweep.Sink) error {
	var batch []sweep.Curve
	for i, all := range c.All {
		if from := c.sent[i]; from < len(all.Steps) {
			batch = append(batch, sweep.Curve{Metric: all.Metric, Steps: all.Steps[from:], Values: all.Values[from:]})
			c.sent[i] = len(all.Steps)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	if err := sink.Points(batch); err != nil {
		return fmt.Errorf("report points: %w", err)
	}
	return nil
}
