package coordinator

import (
	"context"
	"sync"
	"testing"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/sweeptest"
)

// hangs is an artifact store that does not answer for one pool until it is released: the
// publication of that pool's jobs waits for it.
type hangs struct {
	artifact.Backend
	pool    string
	began   chan struct{}
	release chan struct{}
	once    sync.Once
}

func (h *hangs) Prepare(_ context.Context, pool string) error {
	if pool == h.pool {
		h.once.Do(func() { close(h.began) })
		<-h.release
	}
	return nil
}

// TestPoolThatHangs has the publication of one pool's jobs hang: the other pool's sweeps
// begin, are paused, go on and finish meanwhile. A pause of the first pool's sweep waits
// behind the publication, and leaves no job of it.
func TestPoolThatHangs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := &hangs{pool: "gpu", began: make(chan struct{}), release: make(chan struct{})}
	release := sync.OnceFunc(func() { close(h.release) })
	c, _ := b.start(Options{Artifacts: artifact.New(h, logger(t))})
	t.Cleanup(release) // before the coordinator stops
	gpu := &crew{b: b, pool: "gpu", begin: make(chan struct{})}
	gpu.start()
	(&crew{b: b}).start()
	slow := submission("hangs", 1000, 10)
	slow.Spec.Pool, slow.Spec.Artifacts = "gpu", []string{"weights"}
	hanging := b.submit(c, slow)
	sweeptest.Receive(t, "the first pool's jobs to be published", h.began)

	id := b.submit(c, submission("beside", 0, 20))
	if err := c.Pause(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := c.Resume(t.Context(), id); err != nil {
		t.Error(err)
	}
	b.finish(c, id)
	b.check(id, 20)
	if p := b.progress(hanging); p.Queued != 10 {
		t.Errorf("of the jobs whose publication hangs the trials are %+v, want all queued", p)
	}

	paused := make(chan error, 1)
	go func() { paused <- c.Pause(t.Context(), hanging) }()
	b.until("the sweep to be paused in the database", func() bool {
		record, err := b.store.Sweep(t.Context(), hanging)
		return err == nil && record.State == sweep.SweepPaused
	})
	release()
	if err := sweeptest.Receive(t, "the pause to be done", paused); err != nil {
		t.Error(err)
	}
	if jobs, err := b.wire.JobCounts(t.Context()); err != nil || jobs["gpu"] != 0 {
		t.Errorf("%d jobs are left in the broker, %v", jobs["gpu"], err)
	}
	b.until("its trials to be put back", func() bool { return b.progress(hanging).Pending == 10 })
	close(gpu.begin)
	if err := c.Resume(t.Context(), hanging); err != nil {
		t.Error(err)
	}
	b.finish(c, hanging)
	b.check(hanging, 10)
	if n := gpu.runs.Load(); n != 10 {
		t.Errorf("%d executions of 10 trials", n)
	}
}
