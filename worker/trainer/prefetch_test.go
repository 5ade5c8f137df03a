package trainer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"sweep/sweep"
	"sweep/worker"
)

// counted is a trainer that notes which trials it trained, and in trial 0 waits
// until it is allowed to go on.
type counted struct {
	stub
	mu      sync.Mutex
	trained []int64
	begun   chan int64
	allow   chan struct{}
}

func newCounted() *counted {
	c := &counted{begun: make(chan int64, 100), allow: make(chan struct{})}
	c.describe = func() (*sweep.Description, error) {
		return &sweep.Description{Name: "counted", Version: "1", ResultVersion: "1"}, nil
	}
	c.train = func(ctx context.Context, r sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.begun <- r.Index
		if r.Index == 0 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-c.allow:
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.trained = append(c.trained, r.Index)
		return &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"index": float64(r.Index)}}, nil
	}
	return c
}

func (c *counted) list() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.trained)
}

func request(index int64) sweep.TrainRequest {
	return sweep.TrainRequest{Trial: sweep.Trial{TrialID: sweep.TrialID{Sweep: "s", Index: index},
		Parameters: sweep.Parameters{}}}
}

// prefetching returns a trainer behind the wire that has been asked for its
// description and for a first trial, 100.
func prefetching(t *testing.T) (*counted, sweep.Trainer, worker.Prefetcher) {
	t.Helper()
	c := newCounted()
	wired := loopback(t, c)
	prefetcher := wired.(worker.Prefetcher)
	if prefetcher.Prefetch(request(1)) {
		t.Error("prefetched before the trainer said that it allows that")
	}
	if _, err := wired.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	train(t, wired, 100)
	return c, wired, prefetcher
}

func train(t *testing.T, wired sweep.Trainer, index int64) {
	t.Helper()
	result, err := wired.Train(t.Context(), request(index), nil)
	if err != nil || result.Summary["index"] != float64(index) {
		t.Fatalf("trial %d: %+v, %v", index, result, err)
	}
}

func prefetch(t *testing.T, prefetcher worker.Prefetcher, indices ...int64) {
	t.Helper()
	for _, i := range indices {
		if !prefetcher.Prefetch(request(i)) {
			t.Fatalf("trial %d is not prefetched", i)
		}
	}
}

func TestPrefetchInOrder(t *testing.T) {
	c, wired, prefetcher := prefetching(t)
	prefetch(t, prefetcher, 1, 2, 3)
	for i := range int64(3) {
		train(t, wired, i+1)
	}
	train(t, wired, 4)
	if got, want := c.list(), []int64{100, 1, 2, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("trained %v, want %v", got, want)
	}
}

// What is prefetched and never asked for does no harm, be it trained or not.
func TestPrefetchedAndNotAskedFor(t *testing.T) {
	c, wired, prefetcher := prefetching(t)
	prefetch(t, prefetcher, 0, 1, 2)
	if got := []int64{<-c.begun, <-c.begun}; !slices.Equal(got, []int64{100, 0}) {
		t.Fatalf("begun %v", got)
	}
	train(t, wired, 3) // 0 is under way, 1 and 2 wait
	if got, want := c.list(), []int64{100, 3}; !slices.Equal(got, want) {
		t.Errorf("trained %v, want %v", got, want)
	}
	prefetch(t, prefetcher, 4)
	prefetcher.Forget()
	train(t, wired, 5)
	prefetcher.Forget() // nothing
	train(t, wired, 6)
	if got := c.list(); !slices.Equal(got[len(got)-2:], []int64{5, 6}) {
		t.Errorf("trained %v", got)
	}
	resumed := request(7)
	resumed.Checkpoint = []byte("state")
	if prefetcher.Prefetch(resumed) {
		t.Error("a trial with a checkpoint is prefetched")
	}
}

// The end of a trial's context ends that trial and not those prefetched behind it.
func TestCancelledBeforePrefetched(t *testing.T) {
	c, wired, prefetcher := prefetching(t)
	prefetch(t, prefetcher, 0, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for i := range c.begun {
			if i == 0 {
				cancel()
				return
			}
		}
	}()
	if _, err := wired.Train(ctx, request(0), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled trial: %v", err)
	}
	train(t, wired, 1)
	if got, want := c.list(), []int64{100, 1}; !slices.Equal(got, want) {
		t.Errorf("trained %v, want %v", got, want)
	}
}

func TestPrefetchIsBounded(t *testing.T) {
	c, wired, prefetcher := prefetching(t)
	n := int64(0)
	for prefetcher.Prefetch(request(n)) {
		if n++; n > 1000 {
			t.Fatal("there is no end of prefetching")
		}
	}
	close(c.allow)
	for i := range n {
		train(t, wired, i)
	}
	if n < 8 {
		t.Errorf("only %d trials are prefetched", n)
	}
}
