package trainer

import (
	"context"
	"slices"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// prefetchedCall is a call that was sent to the trainer before Train.
type prefetchedCall struct {
	call  uint64
	trial sweep.TrialID
}

// Prefetch sends the trainer a trial that Train is called with soon, and reports whether
// it did. Train must be called with prefetched trials in the same order, or Forget before
// any other. Prefetch and Train must not be called at the same time.
func (c *client) Prefetch(request sweep.TrainRequest) bool {
	if c.stream == nil || len(c.prefetched) >= c.prefetch || len(request.Checkpoint) > 0 {
		return false
	}
	call, err := c.send(context.Background(), &request)
	if err != nil {
		return false // Train fails too, and says why
	}
	c.prefetched = append(c.prefetched, prefetchedCall{call, request.TrialID})
	return true
}

// Forget has the trainer drop the prefetched trials.
func (c *client) Forget() {
	if n := len(c.prefetched); n > 0 {
		_ = c.stream.Send(&trainerpb.TrainCommand{Cancel: c.prefetched[n-1].call}) // an error is Train's, too
		c.prefetched = c.prefetched[:0]
	}
}

// sent returns the call of the request if it is the next of the prefetched ones, else 0.
func (c *client) sent(request *sweep.TrainRequest) (call uint64) {
	if len(c.prefetched) == 0 || c.prefetched[0].trial != request.TrialID || len(request.Checkpoint) > 0 {
		return 0
	}
	call = c.prefetched[0].call
	c.prefetched = slices.Delete(c.prefetched, 0, 1)
	return call
}

// Prefetch implements worker.Prefetcher. It does not prefetch for a trainer that writes to
// standard error: the output is assigned to the trial that runs.
func (p *process) Prefetch(request sweep.TrainRequest) bool {
	return p.command.stderr.empty() && p.client.Prefetch(request)
}
