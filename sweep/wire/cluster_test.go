package wire_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

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
				// A leader that is replaced meanwhile, as on a busy machine, does not answer.
				for err := errors.New("not yet"); err != nil && ctx.Err() == nil; {
					bound, cancel := context.WithTimeout(ctx, 5*time.Second)
					err = d.DoubleAck(bound)
					cancel()
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
		// Without an answer, too, what is returned is withdrawn.
		places, err := w.PublishJobs(t.Context(), queue("cpu"), list)
		if err != nil {
			t.Logf("round %d: %v", round, err)
		} else if slices.Contains(places, 0) {
			t.Fatalf("PublishJobs = %v", places)
		}
		taken, err := w.Withdraw(t.Context(), queue("cpu"), list[0].Sweep)
		if err != nil {
			t.Logf("round %d: %v", round, err)
		}
		for _, id := range taken {
			withdrawn[id] = true
		}
	}
	// What was picked before is delivered before what is published now.
	last := job(0)
	last.Sweep = "last"
	eventually(t, "the last job is published", func() bool {
		_, err := w.PublishJobs(t.Context(), queue("cpu"), []wire.Job{last})
		return err == nil
	})
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
