package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/sweep"
	"sweep/sweep/progress"
)

// speed is how fast a core of this machine trains, in flop a second of the
// trainer's estimates, and how that is known.
type speed struct {
	rate float64
	from string
}

// speedOf is the speed that earlier trials of a plan's trainer reached here, or what
// a second of training says; its rate is 0 if neither is known.
// The error is that of an interruption.
func (s *settings) speedOf(cmd *cobra.Command, p *plan) (speed, error) {
	if p.submission.Flops <= 0 {
		return speed{}, nil
	}
	if rate := s.earlierRate(cmd, p.submission.Description.Name); rate > 0 {
		return speed{rate, "earlier trials here"}, nil
	}
	if p.submission.Description.Name != model.Name {
		return speed{}, nil // only the built-in trainer is known to leave nothing behind
	}
	var rate float64
	var err error
	tried := make(chan struct{})
	go func() { // a step of a large network takes minutes: it is not waited for
		defer close(tried)
		rate, err = s.tryOut(cmd.Context(), p)
	}()
	select {
	case <-tried:
	case <-cmd.Context().Done():
	}
	if cmd.Context().Err() != nil {
		return speed{}, cmd.Context().Err()
	}
	if err != nil {
		return speed{}, nil //nolint:nilerr // only a reckoning: what is wrong with the trainer shows when it is run
	}
	return speed{rate, "a second of training"}, nil
}

// earlierRate is the flop rate of a core that this store's finished trials of
// the trainer reached; 0 if there are none.
func (s *settings) earlierRate(cmd *cobra.Command, trainer string) float64 {
	results, err := s.openReader(cmd.Context())
	if err != nil {
		return 0 // only a reckoning: expand works without a store
	}
	defer func() { _ = results.Close() }()                     // it was only read
	rate, _ := progress.Speed(cmd.Context(), results, trainer) // nor does it need an answer
	return rate
}

// tryTime is how long each of tryPoints points is trained to find the speed.
const (
	tryTime   = 300 * time.Millisecond
	tryPoints = 4
)

// tryOut trains a few points, from the first to the last, for a moment.
func (s *settings) tryOut(ctx context.Context, p *plan) (rate float64, err error) {
	dataDir, err := s.dataDir()
	if err != nil {
		return 0, err
	}
	trainer, err := model.NewTrainer()
	if err != nil {
		return 0, err
	}
	count := p.grid.Count()
	points := min(tryPoints, count)
	var flops, seconds float64
	for i := range points {
		point, err := p.grid.At(i * ((count - 1) / max(points-1, 1)))
		if err != nil {
			return 0, err
		}
		resolved, err := p.submission.Description.Resolve(point)
		if err != nil {
			return 0, err
		}
		request := sweep.ValidateRequest{Parameters: resolved, DataDir: dataDir}
		v, err := trainer.Validate(ctx, request)
		if err != nil {
			return 0, err
		}
		took, err := trainer.Speed(ctx, request, tryTime)
		if err != nil {
			return 0, err
		}
		flops += v.Flops
		seconds += took.Seconds()
	}
	if seconds <= 0 {
		return 0, fmt.Errorf("%d points took no time", points)
	}
	return flops / seconds, nil
}
