package lead

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sweep/coordinator"
	"sweep/sweep"
	"sweep/sweep/wire"
)

// controlPoll is how often a coordinator looks whether it leads yet.
const controlPoll = 100 * time.Millisecond

// errLate is why a lease has expired that no attempt failed to renew.
var errLate = errors.New("it was not renewed in time: this process was stopped, or the database is too slow")

// control answers clients until ctx ends. While the lease does not hold they hear at
// once that nobody answers; what was begun goes on, since nothing is written after
// another coordinator has taken over.
func (c *Candidate) control(ctx context.Context, leader sweep.Lead, led *coordinator.Coordinator, results sweep.Store) {
	var service *wire.Control
	defer func() {
		if service != nil {
			service.Close()
		}
	}()
	serving := false
	tick := time.NewTicker(controlPoll)
	defer tick.Stop()
	for ctx.Err() == nil {
		c.watch(leader)
		switch holds := leader.Holds(); {
		case holds && !serving:
			var err error
			lapsed := service != nil
			if lapsed {
				err = service.Resume()
			} else {
				service, err = c.Wire.ServeControl(led, results, leader.Holds)
			}
			if serving = err == nil; !serving {
				c.Logger.Debug("clients are not answered", "error", err)
			} else if lapsed {
				c.Logger.Info("the leader's lease is renewed again")
			}
		case !holds && serving:
			c.Logger.Warn("the leader's lease has expired; another coordinator may lead",
				"reason", cmp.Or(leader.Problem(), errLate))
			service.Pause()
			serving = false
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
