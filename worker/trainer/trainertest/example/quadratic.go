package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"sweep/sweep"
)

// quadratic minimises f(w) = ½ Σ dᵢ (wᵢ − aᵢ)² from w = 0 by gradient descent
// with momentum. The dᵢ run evenly in their logarithms from 1/condition to 1, the
// aᵢ are drawn from the standard normal distribution.
type quadratic struct{}

var description = sweep.Description{
	Name:          "quadratic",
	Version:       "1.0",
	ResultVersion: "1",
	Parameters: []sweep.ParameterSchema{
		{Name: "dimension", Type: sweep.IntegerType, Default: int64(8), Minimum: new(1.0), Maximum: new(1_000_000.0),
			Doc: "number of weights"},
		{Name: "condition", Type: sweep.NumberType, Default: int64(10), Minimum: new(1.0), Maximum: new(1e12),
			Doc: "largest curvature over smallest"},
		{Name: "learning_rate", Type: sweep.NumberType, Default: 0.1, Minimum: new(0.0), ExclusiveMinimum: true,
			Doc: "step size; above 2 the training diverges"},
		{Name: "momentum", Type: sweep.NumberType, Default: int64(0), Minimum: new(0.0), Maximum: new(1.0),
			Doc: "share of the last step in the next"},
		{Name: "epochs", Type: sweep.IntegerType, Default: int64(100), Minimum: new(1.0), Maximum: new(1_000_000.0),
			Doc: "number of steps"},
		{Name: sweep.SeedParameter, Type: sweep.IntegerType, Default: int64(1), Doc: "seed of the minimum's place"},
		{Name: "checkpoint_every", Type: sweep.IntegerType, Default: int64(0), Minimum: new(0.0),
			Doc: "epochs between checkpoints, and one when the trial is cancelled; 0 for none"},
		{Name: "pause", Type: sweep.NumberType, Default: int64(0), Minimum: new(0.0), Maximum: new(3_600_000.0),
			Doc: "milliseconds to wait after each epoch"},
		{Name: "log_every", Type: sweep.IntegerType, Default: int64(0), Minimum: new(0.0),
			Doc: "epochs between lines on standard error; 0 for none"},
		{Name: "fault", Type: sweep.StringType, Default: "none", Enum: faults, Doc: "what goes wrong; see fault.go"},
		{Name: "fault_epoch", Type: sweep.IntegerType, Default: int64(1), Minimum: new(1.0),
			Doc: "the epoch after which it goes wrong"},
		{Name: "fault_marker", Type: sweep.StringType, Default: "",
			Doc: "a file that is made when it goes wrong; nothing goes wrong where it exists"},
		{Name: "fault_file", Type: sweep.StringType, Default: "", Doc: "the file that the fault steal wants to read"},
	},
	Metrics: []sweep.MetricSchema{
		{Name: "loss", Goal: "minimize", Curve: true, Summary: true, Doc: "f(w)"},
		{Name: "gradient_norm", Curve: true, Doc: "Euclidean norm of the gradient"},
		{Name: "distance", Goal: "minimize", Summary: true, Doc: "Euclidean distance of w from the minimum"},
		{Name: sweep.BestEpochMetric, Summary: true, Doc: "epoch with the smallest loss"},
		{Name: sweep.ParameterCountMetric, Summary: true, Doc: "numbers in w"},
		{Name: sweep.FlopsMetric, Volatile: true, Summary: true, Doc: "floating-point operations, estimated"},
		{Name: "seconds", Unit: "s", Volatile: true, Curve: true, Doc: "time since the start of this execution"},
	},
	Artifacts: []sweep.ArtifactSchema{{Name: "weights", MediaType: "application/octet-stream",
		Doc: "w, as little-endian double precision"}},
}

// Describe implements sweep.Trainer.
func (quadratic) Describe(ctx context.Context) (*sweep.Description, error) {
	d := description
	return &d, ctx.Err()
}

// Validate implements sweep.Trainer.
func (quadratic) Validate(ctx context.Context, request sweep.ValidateRequest) (*sweep.Validation, error) {
	p, err := resolve(request.Parameters)
	if err != nil {
		return nil, err
	}
	return &sweep.Validation{
		ParameterCount: p.dimension,
		Flops:          8 * float64(p.dimension) * float64(p.epochs),
		Bytes:          32 * p.dimension,
	}, ctx.Err()
}

// settings are resolved parameters.
type settings struct {
	dimension, epochs, seed, checkpointEvery int64
	logEvery                                 int64
	condition, rate, momentum                float64
	pause                                    time.Duration
	fault                                    fault
}

func resolve(parameters sweep.Parameters) (*settings, error) {
	p, err := description.Resolve(parameters)
	if err != nil {
		return nil, err
	}
	s := &settings{
		dimension:       p["dimension"].(int64),
		epochs:          p["epochs"].(int64),
		seed:            p[sweep.SeedParameter].(int64),
		checkpointEvery: p["checkpoint_every"].(int64),
		logEvery:        p["log_every"].(int64),
		condition:       p["condition"].(float64),
		rate:            p["learning_rate"].(float64),
		momentum:        p["momentum"].(float64),
		pause:           time.Duration(p["pause"].(float64) * float64(time.Millisecond)),
		fault: fault{
			kind:   p["fault"].(string),
			epoch:  p["fault_epoch"].(int64),
			marker: p["fault_marker"].(string),
			file:   p["fault_file"].(string),
		},
	}
	return s, nil
}

// Train implements sweep.Trainer.
func (quadratic) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	s, err := resolve(request.Parameters)
	if err != nil {
		return nil, err
	}
	d := newDescent(s)
	if len(request.Checkpoint) > 0 {
		if err := d.resume(request.Checkpoint); err != nil {
			return nil, err
		}
		if err := sink.Points(d.curves); err != nil {
			return nil, err
		}
	}
	result, err := d.run(ctx, sink)
	if err != nil || !slices.Contains(request.Artifacts, "weights") {
		return result, err
	}
	var weights bytes.Buffer
	if err := binary.Write(&weights, binary.LittleEndian, d.Weights); err != nil {
		return nil, err
	}
	return result, sink.Artifact(sweep.Artifact{Name: "weights", MediaType: description.Artifacts[0].MediaType},
		&weights)
}

// descent is a training: what a checkpoint holds, and what follows from the
// settings.
type descent struct {
	state
	*settings
	curvature, minimum []float64
	started            time.Time
}

func newDescent(s *settings) *descent {
	d := &descent{settings: s, started: time.Now()}
	d.Weights, d.Velocity = make([]float64, s.dimension), make([]float64, s.dimension)
	d.BestLoss = math.Inf(1)
	d.curvature, d.minimum = make([]float64, s.dimension), make([]float64, s.dimension)
	random := rand.New(rand.NewPCG(uint64(s.seed), 0))
	for i := range d.minimum {
		d.minimum[i] = random.NormFloat64()
		d.curvature[i] = math.Pow(s.condition, float64(i+1)/float64(s.dimension)-1)
	}
	for _, metric := range []string{"loss", "gradient_norm", "seconds"} {
		d.curves = append(d.curves, sweep.Curve{Metric: metric})
	}
	return d
}

// run goes on to the last epoch.
func (d *descent) run(ctx context.Context, sink sweep.Sink) (*sweep.Result, error) {
	diverged := false
	for d.Epoch < d.epochs && !diverged {
		if err := pause(ctx, d.pause); err != nil {
			return nil, d.leave(err, sink)
		}
		loss, norm := d.step()
		diverged = math.IsInf(loss, 0) || math.IsNaN(loss)
		if !diverged {
			if err := d.record(sink, loss, norm, time.Since(d.started).Seconds()); err != nil {
				return nil, err
			}
		}
		if d.logEvery > 0 && d.Epoch%d.logEvery == 0 {
			fmt.Fprintf(os.Stderr, "epoch %d: loss %g\n", d.Epoch, loss)
		}
		if err := d.fault.strike(ctx, d.Epoch); err != nil {
			return nil, err
		}
		if d.checkpointEvery > 0 && d.Epoch%d.checkpointEvery == 0 && !diverged {
			if err := d.checkpoint(sink); err != nil {
				return nil, err
			}
		}
	}
	return d.result(diverged), nil
}

// leave offers a last checkpoint to a trial that is cancelled.
func (d *descent) leave(cause error, sink sweep.Sink) error {
	if d.checkpointEvery > 0 && d.Epoch > 0 {
		if err := d.checkpoint(sink); err != nil {
			return errors.Join(cause, err)
		}
	}
	return cause
}

func (d *descent) checkpoint(sink sweep.Sink) error {
	state, err := d.encode()
	if err != nil {
		return err
	}
	return sink.Checkpoint(d.Epoch, state)
}

// step takes one step and returns the loss and the gradient's norm before it.
func (d *descent) step() (loss, norm float64) {
	for i, w := range d.Weights {
		gradient := d.curvature[i] * (w - d.minimum[i])
		loss += gradient * (w - d.minimum[i]) / 2
		norm += gradient * gradient
		d.Velocity[i] = d.momentum*d.Velocity[i] - d.rate*gradient
		d.Weights[i] += d.Velocity[i]
	}
	d.Epoch++
	if loss <= d.BestLoss {
		d.BestLoss, d.BestEpoch = loss, d.Epoch
	}
	return loss, math.Sqrt(norm)
}

// record keeps the epoch's points for checkpoints and sends them.
func (d *descent) record(sink sweep.Sink, values ...float64) error {
	batch := make([]sweep.Curve, len(d.curves))
	for i := range d.curves {
		c := &d.curves[i]
		c.Steps, c.Values = append(c.Steps, d.Epoch), append(c.Values, float32(values[i]))
		n := len(c.Steps) - 1
		batch[i] = sweep.Curve{Metric: c.Metric, Steps: c.Steps[n:], Values: c.Values[n:]}
	}
	return sink.Points(batch)
}

func (d *descent) result(diverged bool) *sweep.Result {
	h := sha256.New()
	var square float64
	var word [8]byte
	for i, w := range d.Weights {
		square += (w - d.minimum[i]) * (w - d.minimum[i])
		binary.LittleEndian.PutUint64(word[:], math.Float64bits(w))
		h.Write(word[:])
	}
	result := &sweep.Result{
		State:         sweep.Completed,
		Diverged:      diverged,
		WeightsDigest: hex.EncodeToString(h.Sum(nil)),
		Seconds:       time.Since(d.started).Seconds(),
		Summary: map[string]float64{"loss": d.BestLoss, sweep.BestEpochMetric: float64(d.BestEpoch),
			sweep.ParameterCountMetric: float64(d.dimension),
			sweep.FlopsMetric:          8 * float64(d.dimension) * float64(d.Epoch)},
	}
	if distance := math.Sqrt(square); !math.IsInf(distance, 0) && !math.IsNaN(distance) {
		result.Summary["distance"] = distance
	}
	if math.IsInf(d.BestLoss, 0) {
		delete(result.Summary, "loss")
	}
	return result
}

// pause waits, and returns the error of ctx if it has ended.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
