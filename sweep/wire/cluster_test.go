package wire_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// In a cluster of three servers the requests that end a delivery, remove a message and
// tell what was delivered are applied by different servers at different times: what is
// withdrawn was given to no worker all the same, however many pull meanwhile.
func TestWithdrawReplicated(t *testing.T) {
	servers := wiretest.Cluster(t, 3)
	w := open(t, servers[0].Connect(t), wire.Options{Replicas: 3})
	const rounds, jobs, pullers = 20, 60, 4
	var mu sync.Mutex
	given := map[sweep.TrialID]int{}
	ctx, cancel := context.WithCancel(t.Context())
	var pulling sync.WaitGroup
	defer pulling.Wait()
	defer cancel()
	for i := range pullers {
		worker, err := wire.New(servers[i%3].Connect(t), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := consumer(t, worker, "cpu")
		pulling.Go(func() {
			for ctx.Err() == nil {
				d, err := take(ctx, c)
				if err != nil {
					continue
				}
				mu.Lock()
				given[d.TrialID]++
				mu.Unlock()
				if err := d.DoubleAck(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("acknowledge %s: %v", d.TrialID, err)
				}
			}
		})
	}
	withdrawn := map[sweep.TrialID]bool{}
	for round := range rounds {
		list := jobsOf(jobs)
		for i := range list {
			list[i].Sweep = fmt.Sprint("s", round)
		}
		publish(t, w, list...)
		taken, err := w.Withdraw(t.Context(), queue("cpu"), list[0].Sweep)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range taken {
			withdrawn[id] = true
		}
	}
	// What was picked before is delivered before what is published now.
	last := job(0)
	last.Sweep = "last"
	publish(t, w, last)
	eventually(t, "the job that was published last is given out", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return given[last.TrialID] > 0
	})
	cancel()
	pulling.Wait()
	twice := 0
	for id := range withdrawn {
		if given[id] > 0 {
			twice++
		}
	}
	if twice > 0 {
		t.Errorf("%d of %d withdrawn jobs were given to a worker", twice, len(withdrawn))
	}
	if len(withdrawn) == 0 {
		t.Error("nothing was left to withdraw")
	}
	t.Logf("%d of %d jobs withdrawn, %d given to workers", len(withdrawn), rounds*jobs, len(given))
}
