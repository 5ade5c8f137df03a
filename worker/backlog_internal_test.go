package worker

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
)

// waitingFor is a job of a trial with so many lost executions.
func waitingFor(lost int) *wire.Delivery {
	return &wire.Delivery{Job: wire.Job{Trial: sweep.Trial{Lost: lost}}}
}

// Nothing runs beside a job that runs alone, and every job runs, in whatever order jobs come.
func TestBacklogRunsJobsAlone(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		slots, jobs := 1+r.IntN(5), int64(1+r.IntN(60))
		b := newBacklog(slots)
		ctx, cancel := context.WithCancel(t.Context())
		var running, alone, done atomic.Int64
		var ending sync.WaitGroup
		for range slots {
			ending.Go(func() {
				for d := b.pop(ctx, func() {}); d != nil; d = b.pop(ctx, func() {}) {
					beside := running.Add(1) - 1
					if d.Alone() {
						alone.Add(1)
					}
					if alone.Load() > 0 && beside > 0 {
						t.Errorf("seed %d: %d jobs run beside one that runs alone", seed, beside)
					}
					runtime.Gosched()
					if d.Alone() {
						alone.Add(-1)
					}
					running.Add(-1)
					done.Add(1)
					if d.Alone() {
						b.end()
					}
				}
			})
		}
		for range jobs {
			b.push(waitingFor(r.IntN(sweep.DefaultLosses)))
			if r.IntN(3) == 0 {
				runtime.Gosched()
			}
			if r.IntN(9) == 0 { // one is returned, and comes again
				for _, d := range b.remove(func(d *wire.Delivery, _ time.Duration) bool { return d.Alone() }) {
					b.push(d)
				}
			}
		}
		sweeptest.Until(t, "all jobs run", func() bool { return done.Load() == jobs })
		cancel()
		ending.Wait()
	}
}

// While a job waits to run alone, no other begins, is fetched or is handed to a trainer ahead.
func TestBacklogBlocks(t *testing.T) {
	b := newBacklog(2)
	b.push(waitingFor(0))
	first := b.pop(t.Context(), func() {})
	b.push(waitingFor(0))
	b.push(waitingFor(2))
	if free, waiting := b.room(); free != 0 || waiting != 2 {
		t.Errorf("room %d %d", free, waiting)
	}
	if d := b.next(0, func(*wire.Delivery) bool { return true }); d != nil {
		t.Error("a job is handed to a trainer")
	}
	got := make(chan *wire.Delivery, 2)
	idle := make(chan struct{}, 2)
	pop := func() { got <- b.pop(t.Context(), func() { idle <- struct{}{} }) }
	go pop()
	sweeptest.Receive(t, "a slot waits", idle)
	go pop() // the other slot is free now
	if d := sweeptest.Receive(t, "a job begins", got); d == nil || !d.Alone() || first.Alone() {
		t.Error("not the one that runs alone")
	}
	b.end()
	if d := sweeptest.Receive(t, "the next job begins", got); d == nil || d.Alone() {
		t.Error("not the other one")
	}
}
