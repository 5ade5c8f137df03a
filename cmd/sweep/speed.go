package main

import (
	"context"
	"fmt"
	"time"

	"sweep/model"
	"sweep/sweep"
	"sweep/sweep/progress"
)

// speedOf estimates how fast a core of this machine trains, in flop a second of the trainer's estimates,
// from earlier trials of a plan's trainer or a second of training, and says which. The rate is 0 if
// neither is possible. The error is that of an interruption.
func (s *settings) speedOf(ctx context.Context, p *plan) (rate float64, from string, err error) {
	if p.submission.Flops <= 0 {
		return 0, "", nil
	}
	var short bool
	_ = using(ctx, s.openReader, func(results reader) (err error) { // expand works without a store
		rate, short, err = progress.Speed(ctx, results, p.submission.Description.Name)
		return err
	})
	tries := p.submission.Description.Name == model.Name // only the built-in trainer is known to leave nothing behind
	if rate > 0 && (!short || !tries) {
		return rate, "earlier trials here", nil
	}
	if !tries {
		return 0, "", nil
	}
	tried := make(chan float64, 1)
	go func() { // a step of a large network takes minutes: it is not waited for
		rate, _ := s.tryOut(ctx, p) // what is wrong with the trainer shows when it is run
		tried <- rate
	}()
	select {
	case rate := <-tried:
		return rate, "a second of training", ctx.Err()
	case <-ctx.Done():
		return 0, "", ctx.Err()
	}
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
