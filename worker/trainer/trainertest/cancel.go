package trainertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// announcing is a sink that tells of the first event.
type announcing struct {
	Sink
	first chan struct{}
}

func (a *announcing) tell() {
	select {
	case a.first <- struct{}{}:
	default:
	}
}

func (a *announcing) Points(batch []sweep.Curve) error {
	a.tell()
	return a.Sink.Points(batch)
}

func (a *announcing) Checkpoint(step int64, state []byte) error {
	a.tell()
	return a.Sink.Checkpoint(step, state)
}

// testCancel: a trial ends soon after its context, with the context's error, and
// the trainer goes on with others.
func testCancel(t *testing.T, s *suite) {
	ended, end := context.WithCancel(t.Context())
	end()
	short := s.request(t, s.resolve(t, s.Parameters))
	if _, err := s.trainer.Train(ended, short, &Sink{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Train with a context that has ended: %v, want %v", err, context.Canceled)
	}
	if s.Long == nil {
		return
	}
	request := s.request(t, s.resolve(t, s.Long))
	for _, test := range []struct {
		name string
		end  func(parent context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"cancelled", context.WithCancel, context.Canceled},
		{"timed out", func(parent context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(parent, 500*time.Millisecond)
		}, context.DeadlineExceeded},
	} {
		ctx, cancel := test.end(t.Context())
		defer cancel()
		sink := &announcing{first: make(chan struct{}, 1)}
		done := make(chan error, 1)
		go func() {
			_, err := s.trainer.Train(ctx, request, sink)
			done <- err
		}()
		select {
		case <-sink.first:
		case <-ctx.Done():
		case err := <-done:
			if ctx.Err() == nil {
				t.Fatalf("the long trial ended before its first point: %v", err)
			}
			done <- err // it ended because its time was over
		case <-time.After(sweeptest.Patience):
			sweeptest.Fail(t, "the long trial's first point")
		}
		if errors.Is(test.want, context.Canceled) {
			cancel()
		}
		<-ctx.Done()
		start := time.Now()
		if err := sweeptest.Receive(t, "the end of Train after "+test.name, done); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		t.Logf("%s: Train returned after %v", test.name, time.Since(start))
		s.train(t, s.trainer, short)
	}
}

// testSinkError: an error of the sink ends the trial and comes back.
func testSinkError(t *testing.T, s *suite) {
	short := s.request(t, s.resolve(t, s.Parameters))
	parameters := s.Long
	if parameters == nil {
		parameters = s.Parameters
	}
	request := s.request(t, s.resolve(t, parameters))
	full := errors.New("the sink is full")
	done := make(chan error, 1)
	go func() {
		_, err := s.trainer.Train(t.Context(), request, &Sink{Fail: full})
		done <- err
	}()
	if err := sweeptest.Receive(t, "the end of Train after an error of its sink", done); !errors.Is(err, full) {
		t.Errorf("Train: %v, want the sink's error", err)
	}
	s.train(t, s.trainer, short)
}
