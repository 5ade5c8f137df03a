// Package noop is a trainer that trains nothing: its result is a function of its parameters.
// Tests and benchmarks use it as a fast and predictable trainer, and to measure what dispatching
// and recording a trial cost.
//
//	trainer.Serve(noop.New())
package noop

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"time"

	"sweep/sweep"
)

// Name is the trainer's name.
const Name = "noop"

// value is the trainer's one metric.
const value = "value"

// New returns the trainer.
func New() sweep.Trainer { return noop{} }

type noop struct{}

// description tells what the trainer takes: x, y and z only matter in that
// different values give different results, so that any grid can be tried.
var description = sweep.Description{
	Name:          Name,
	Version:       "1",
	ResultVersion: "1",
	Parameters: []sweep.ParameterSchema{
		{Name: "x", Type: sweep.NumberType, Default: int64(0), Doc: "a number; value grows with its square"},
		{Name: "y", Type: sweep.NumberType, Default: int64(0), Doc: "a number; value grows with its square"},
		{Name: "z", Type: sweep.AnyType, Default: "", Doc: "anything; a part of the noise in value depends on it"},
		{Name: sweep.SeedParameter, Type: sweep.IntegerType, Default: int64(1), Doc: "seed of the noise in value"},
		{Name: "milliseconds", Type: sweep.NumberType, Default: int64(0), Minimum: new(0.0), Maximum: new(86_400_000.0),
			Doc: "how long a trial takes"},
		{Name: "points", Type: sweep.IntegerType, Default: int64(0), Minimum: new(0.0), Maximum: new(1_000_000.0),
			Doc: "points of the curve, which falls towards value as 1/step"},
	},
	Metrics: []sweep.MetricSchema{
		{Name: value, Goal: "minimize", Curve: true, Summary: true,
			Doc: "x² + y² and noise from 0 to 1 that all parameters but milliseconds and points determine"},
	},
}

// Describe implements sweep.Trainer.
func (noop) Describe(ctx context.Context) (*sweep.Description, error) {
	d := description
	return &d, ctx.Err()
}

// Validate implements sweep.Trainer.
func (noop) Validate(ctx context.Context, request sweep.ValidateRequest) (*sweep.Validation, error) {
	if _, err := description.Resolve(request.Parameters); err != nil {
		return nil, err
	}
	return &sweep.Validation{}, ctx.Err()
}

// Train implements sweep.Trainer.
func (noop) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	start := time.Now()
	p, err := description.Resolve(request.Parameters)
	if err != nil {
		return nil, err
	}
	// Resolve has made sure of the types.
	pause := time.Duration(p["milliseconds"].(float64) * float64(time.Millisecond))
	count := p["points"].(int64)
	delete(p, "milliseconds")
	delete(p, "points")
	canonical, err := p.Canonical()
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(canonical)
	x, y := p["x"].(float64), p["y"].(float64)
	outcome := x*x + y*y + float64(binary.LittleEndian.Uint64(digest[:])>>11)/(1<<53)

	if pause > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if count > 0 {
		curve := sweep.Curve{Metric: value, Steps: make([]int64, count), Values: make([]float32, count)}
		for i := range curve.Steps {
			curve.Steps[i] = int64(i) + 1
			curve.Values[i] = float32(outcome * (1 + 1/float64(i+1)))
		}
		if err := sink.Points([]sweep.Curve{curve}); err != nil {
			return nil, err
		}
	}
	result := &sweep.Result{
		State:         sweep.Completed,
		Diverged:      math.IsInf(outcome, 0),
		WeightsDigest: hex.EncodeToString(digest[:]),
		Seconds:       time.Since(start).Seconds(),
	}
	if !result.Diverged {
		result.Summary = map[string]float64{value: outcome}
	}
	return result, nil
}
