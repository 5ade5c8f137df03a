package worker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// describeWait is how long a worker waits for its trainers before it takes jobs. Those
	// that take longer to start are offered later.
	describeWait = 5 * time.Second
	// firstRetry is after how long a worker tries again what it could not run, twice as long
	// each time, up to longestRetry.
	firstRetry   = time.Minute
	longestRetry = time.Hour
	// rememberedRefusals is how many refusals are shown of a worker.
	rememberedRefusals = 10
)

// offer is what a worker can run, and what it cannot.
type offer struct {
	launcher sweep.Launcher
	// changed is called, without locks, when the offer's key changes.
	changed func()
	// describeWait and firstRetry are the constants, but in tests.
	describeWait, firstRetry time.Duration

	mu    sync.Mutex
	offer sweep.Offer
	// key is the offer's Key.
	key      string
	refusals []wire.WorkerRefusal
	// lacks are the trainers that do not start and the data sets that differ.
	lacks map[string]*lacking
	// ran are the trainers that have been started here.
	ran map[string]bool
}

// lacking is something that a worker does not have, and may have later.
type lacking struct {
	until  time.Time // of the next attempt
	wait   time.Duration
	digest string // of a data set; "" for a trainer
}

func newOffer(o Options, changed func()) *offer {
	first := &offer{
		launcher: o.Launcher, changed: changed, describeWait: describeWait, firstRetry: firstRetry,
		lacks: map[string]*lacking{}, ran: map[string]bool{},
		offer: sweep.Offer{Pool: o.Pool, Slots: o.Slots, Memory: sweep.RoundMemory(o.Memory), Labels: o.Labels,
			Devices: o.Devices.Offers(), Datasets: map[string]string{}},
	}
	first.key = first.offer.Key()
	return first
}

// current returns a copy of the offer, and the latest refusals.
func (o *offer) current() (sweep.Offer, []wire.WorkerRefusal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.offer
	c.Trainers, c.OtherData = slices.Clone(c.Trainers), slices.Clone(c.OtherData)
	c.Datasets = maps.Clone(c.Datasets)
	return c, slices.Clone(o.refusals)
}

// queue returns the queue of the offer.
func (o *offer) queue() wire.Queue {
	o.mu.Lock()
	defer o.mu.Unlock()
	return wire.Queue{Pool: o.offer.Pool, Offer: o.key}
}

// unmet returns why a job cannot run here, "" if it can as far as is known.
func (o *offer) unmet(r *sweep.Requirement) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return r.Unmet(o.offer.Pool, []sweep.Offer{o.offer})
}

// change applies a change, and calls changed if it matters to placement.
func (o *offer) change(apply func()) {
	o.mu.Lock()
	before := o.key
	apply()
	o.key = o.offer.Key()
	changed := o.key != before
	o.mu.Unlock()
	if changed {
		o.changed()
	}
}

// discover requests the description of every trainer. It returns when all have answered, or after
// describeWait; running includes the rest, until ctx ends.
func (o *offer) discover(ctx context.Context, running *sync.WaitGroup) {
	done := make(chan struct{})
	var asking sync.WaitGroup
	for _, name := range o.launcher.Names() {
		asking.Go(func() { o.describe(ctx, name) })
	}
	running.Go(func() {
		asking.Wait()
		close(done)
	})
	select {
	case <-done:
	case <-time.After(o.describeWait):
	case <-ctx.Done():
	}
}

// describe records the description of a trainer, or why it does not start.
func (o *offer) describe(ctx context.Context, name string) {
	d, err := describe(ctx, o.launcher, name)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		o.broken(name, err)
	default:
		o.started(name, d)
	}
}

// describe returns what a trainer says of itself; it is started unless the launcher knows it without.
func describe(ctx context.Context, launcher sweep.Launcher, name string) (*sweep.Description, error) {
	if knows, ok := launcher.(sweep.Describer); ok {
		return knows.Describe(ctx, name)
	}
	process, err := launcher.Launch(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = process.Close() }() // it has answered
	return process.Describe(ctx)
}

// started records the description of a trainer that has started.
func (o *offer) started(name string, d *sweep.Description) {
	o.change(func() {
		o.ran[name] = true
		delete(o.lacks, name)
		o.set(sweep.TrainerOffer{
			Name: name, Version: d.Version, ResultVersion: d.ResultVersion, Schema: d.SchemaDigest(),
			KernelLevel: d.KernelLevel,
		})
	})
}

// broken records that a trainer does not start here.
func (o *offer) broken(name string, err error) {
	o.change(func() {
		o.lack(name, "")
		o.set(sweep.TrainerOffer{Name: name, Problem: err.Error()})
	})
}

// hasRun reports whether a trainer has ever been started here.
func (o *offer) hasRun(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ran[name]
}

func (o *offer) set(t sweep.TrainerOffer) {
	i := slices.IndexFunc(o.offer.Trainers, func(there sweep.TrainerOffer) bool { return there.Name == t.Name })
	if i < 0 {
		o.offer.Trainers = append(o.offer.Trainers, t)
	} else {
		o.offer.Trainers[i] = t
	}
}

// read records that a trial has read its data set.
func (o *offer) read(r *sweep.Requirement) {
	if r.DatasetDigest == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.offer.Datasets[r.Dataset] = r.DatasetDigest
}

// otherData records that the worker does not have the data that a job needs. found is the digest
// of the data that it has instead, "" if there are none that it can read.
func (o *offer) otherData(r *sweep.Requirement, found string) {
	o.change(func() {
		if found == "" {
			delete(o.offer.Datasets, r.Dataset)
		} else {
			o.offer.Datasets[r.Dataset] = found
		}
		o.lack(r.DatasetDigest, r.DatasetDigest)
		if !slices.Contains(o.offer.OtherData, r.DatasetDigest) {
			o.offer.OtherData = append(o.offer.OtherData, r.DatasetDigest)
		}
	})
}

func (o *offer) lack(key, digest string) {
	l := o.lacks[key]
	if l == nil {
		l = &lacking{wait: o.firstRetry, digest: digest}
		o.lacks[key] = l
	} else if !time.Now().Before(l.until) {
		l.wait = min(2*l.wait, longestRetry)
	}
	l.until = time.Now().Add(l.wait)
}

// refused remembers a refusal.
func (o *offer) refused(id sweep.TrialID, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refusals = append(o.refusals, wire.WorkerRefusal{TrialID: id, Reason: reason, At: time.Now().UTC()})
	if n := len(o.refusals); n > rememberedRefusals {
		o.refusals = o.refusals[n-rememberedRefusals:]
	}
}

// retry tries again what the worker lacked, if it is time: it starts trainers, and accepts jobs
// with data that it did not have.
func (o *offer) retry(ctx context.Context, running *sync.WaitGroup) {
	var trainers []string
	o.change(func() {
		for key, l := range o.lacks {
			switch {
			case time.Now().Before(l.until):
			case l.digest == "":
				l.until = time.Now().Add(l.wait) // while it is being described
				trainers = append(trainers, key)
			default:
				o.offer.OtherData = slices.DeleteFunc(o.offer.OtherData, func(digest string) bool {
					return digest == l.digest
				})
			}
		}
	})
	for _, name := range trainers {
		running.Go(func() { o.describe(ctx, name) })
	}
}

// refusal is the error of a job that this worker cannot run. It is not charged.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }
