// Command minirocket is a trainer of one's own, of a model that the built-in trainer does not have: MiniRocket
// (Dempster, Schmidt and Webb, "MINIROCKET: A Very Fast (Almost) Deterministic Transform for Time Series
// Classification", KDD 2021), which turns series into some 10,000 features for a ridge classifier.
//
//	go build -o trainers/minirocket ./examples/minirocket
//	sweep run examples/minirocket/sweep.yaml --trainer-path trainers --data DIR
//
// trainer.go implements the contract, transform.go and ridge.go the model. docs/trainers.md explains the former.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/mat"

	"sweep/model/dataset"
	"sweep/sweep"
	"sweep/worker/trainer"
)

func main() { trainer.Serve(rocket{}) }

// description is what the trainer says of itself. Sweep files are checked against it before anything runs; tables,
// figures and the dashboard know from it what the metrics are.
var description = sweep.Description{
	Name:    "minirocket",
	Version: "1.0",
	// Raise it when equal parameters give other results: earlier ones are then not reused.
	ResultVersion: "1",
	Parameters: []sweep.ParameterSchema{
		{Name: "dataset", Type: sweep.StringType, Required: true, Dataset: true,
			Doc: "a set of the UCR archive, from the folder ucr of the data directory, or generated-cbf"},
		// Tables have a column for each value of a parameter of this name.
		{Name: "model", Type: sweep.StringType, Default: "MiniRocket", Enum: []any{"MiniRocket"},
			Doc: "the model, of which there is one"},
		{Name: "features", Type: sweep.IntegerType, Default: int64(10_000), Minimum: new(float64(kernels)),
			Maximum: new(100_000.0), Doc: "most features; each of the 84 kernels has the same number"},
		{Name: sweep.SeedParameter, Type: sweep.IntegerType, Default: int64(1),
			Doc: "seed of the choice of the training series from which biases are taken"},
	},
	Metrics: []sweep.MetricSchema{
		{Name: "validation_loss", Goal: sweep.Minimize, Part: sweep.ValidationPart, Curve: true, Summary: true,
			Doc: "mean squared error of the training series, each left out once, by penalty; in summaries the smallest"},
		{Name: "test_accuracy", Goal: sweep.Maximize, Part: sweep.TestPart, Summary: true, Doc: "test accuracy"},
		{Name: "penalty", Summary: true, Doc: "the penalty with the smallest validation loss"},
		{Name: sweep.ParameterCountMetric, Summary: true, Doc: "weights of the classifier"},
		{Name: "train_size", Summary: true, Doc: "training series"},
		{Name: "test_size", Summary: true, Doc: "test series"},
		{Name: "length", Summary: true, Doc: "values of a series"},
		{Name: "classes", Summary: true, Doc: "classes"},
		// Times and costs are volatile: no part of a result's digest.
		{Name: sweep.FlopsMetric, Volatile: true, Summary: true, Doc: "floating-point operations, estimated"},
		{Name: "train_seconds", Unit: "s", Volatile: true, Summary: true, Doc: "time until the classifier is fitted"},
	},
}

// maxSeries bounds the training series: the classifier's matrices have a row and a column for each.
const maxSeries = 1000

type rocket struct{}

// Describe implements sweep.Trainer.
func (rocket) Describe(ctx context.Context) (*sweep.Description, error) {
	d := description
	return &d, ctx.Err()
}

// open checks the parameters of a trial and reads its data set. It refuses a parameter by a *sweep.ParameterError and
// data by a *sweep.DataError: the trial fails. After any other error it is retried, on another machine if there is one.
func open(given sweep.Parameters, dataDir string) (*sweep.ParameterReader, *dataset.Set, error) {
	resolved, err := description.Resolve(given) // checks names, types and bounds; fills in defaults
	if err != nil {
		return nil, nil, err
	}
	p := &sweep.ParameterReader{Parameters: resolved}
	s, err := dataset.Open(dataDir, dataset.Reference{Name: p.Text("dataset")})
	switch {
	case err != nil:
		return nil, nil, &sweep.DataError{Dataset: p.Text("dataset"), Err: err}
	case s.Train.N > maxSeries || s.Length < taps || s.Channels > 1 || s.Train.Values == nil:
		return nil, nil, p.Refuse("dataset", "has %d training series of %d values: want at most %d series of at least "+
			"%d values, of one channel and no images", s.Train.N, s.Length, maxSeries, taps)
	}
	return p, s, nil
}

// Validate implements sweep.Trainer. By its estimates a worker knows whether it has the memory for a trial, and progress
// how much work is left.
func (rocket) Validate(ctx context.Context, request sweep.ValidateRequest) (*sweep.Validation, error) {
	p, s, err := open(request.Parameters, request.DataDir)
	if err != nil {
		return nil, err
	}
	return estimate(s, p.Integer("features")/kernels*kernels), ctx.Err()
}

func estimate(s *dataset.Set, features int) *sweep.Validation {
	f, n, all := float64(features), float64(s.Train.N), float64(s.Train.N+s.Test.N)
	return &sweep.Validation{DatasetDigest: s.Digest, ParameterCount: int64(s.Classes * (features + 1)),
		Flops: f*(2*all*float64(s.Length)+n*n) + 9*n*n*n,
		Bytes: int64(8*(f*(n+float64(s.Classes))+5*n*n)) + s.Size()}
}

// Train implements sweep.Trainer. It has no checkpoints: a trial takes seconds.
func (rocket) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	started := time.Now()
	p, s, err := open(request.Parameters, request.DataDir)
	if err != nil {
		return nil, err
	}
	if want := request.DatasetDigest; want != "" && want != s.Digest {
		return nil, fmt.Errorf("%w: %s is %.12s here, %.12s there", sweep.ErrDatasetChanged, s.Name, s.Digest, want)
	}
	random := rand.New(rand.NewPCG(uint64(p.Integer(sweep.SeedParameter)), 0))
	f := fit(s, p.Integer("features")/kernels, random)
	x, features := mat.NewDense(s.Train.N, f.count, nil), make([]float64, f.count)
	for i := range s.Train.N {
		f.features(series(&s.Train, s.Length, i), x.RawRowView(i))
		if err := ctx.Err(); err != nil { // the trial is cancelled, or its worker is interrupted
			return nil, err
		}
	}
	c, err := classify(x, s.Train.Labels, s.Classes)
	if err != nil {
		return nil, err
	}
	if err := sink.Points([]sweep.Curve{c.losses}); err != nil { // curves are sent as they grow
		return nil, err
	}
	trained := time.Since(started).Seconds()
	right := 0
	for i := range s.Test.N {
		if f.features(series(&s.Test, s.Length, i), features); c.class(features) == s.Test.Labels[i] {
			right++
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return &sweep.Result{State: sweep.Completed, Seconds: time.Since(started).Seconds(), Summary: map[string]float64{
		"validation_loss": c.loss, "test_accuracy": float64(right) / float64(s.Test.N), "penalty": c.penalty,
		sweep.ParameterCountMetric: float64(s.Classes * (f.count + 1)), sweep.FlopsMetric: estimate(s, f.count).Flops,
		"train_size": float64(s.Train.N), "test_size": float64(s.Test.N), "length": float64(s.Length),
		"classes": float64(s.Classes), "train_seconds": trained,
	}}, nil
}

// series is one series of a part.
func series(p *dataset.Part, length, i int) []float32 { return p.Values[i*length:][:length] }
