package trainer

import (
	"context"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// aheadCall is a call that the trainer was sent before it was asked for.
type aheadCall struct {
	call  uint64
	trial sweep.TrialID
}

// Prefetch sends the trainer a trial that Train is going to ask for soon, and
// reports whether it did. What is prefetched is asked for in the same order, or
// forgotten. It is called by who calls Train, in between.
func (c *client) Prefetch(request sweep.TrainRequest) bool {
	if c.stream == nil || len(c.ahead) >= c.prefetch || len(request.Checkpoint) > 0 {
		return false
	}
	call, err := c.send(context.Background(), &request)
	if err != nil {
		return false // Train fails too, and says why
	}
	c.ahead = append(c.ahead, aheadCall{call, request.TrialID})
	return true
}

// Forget has the trainer drop what was prefetched and not asked for since.
func (c *client) Forget() {
	if n := len(c.ahead); n > 0 {
		_ = c.stream.Send(&trainerpb.TrainCommand{Cancel: c.ahead[n-1].call}) // an error is Train's, too
		c.ahead = c.ahead[:0]
	}
}

// sent returns the call of a request that was prefetched, 0 if it is not the next
// of those.
func (c *client) sent(request *sweep.TrainRequest) (call uint64) {
	if len(c.ahead) == 0 || c.ahead[0].trial != request.TrialID || len(request.Checkpoint) > 0 {
		return 0
	}
	call = c.ahead[0].call
	c.ahead = append(c.ahead[:0], c.ahead[1:]...)
	return call
}

// Prefetch implements worker.Prefetcher. Of a trainer that writes to standard
// error it prefetches nothing: what is written belongs to the trial that runs.
func (p *process) Prefetch(request sweep.TrainRequest) bool {
	return p.command.stderr.empty() && p.client.Prefetch(request)
}
