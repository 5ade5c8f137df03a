package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// describeWait is how long a worker waits for its trainers before it takes
	// jobs; those that take longer to start are offered when they have.
	describeWait = 5 * time.Second
	// firstRetry is after what a worker looks again whether it has what it lacked,
	// twice as long each time, up to longestRetry.
	firstRetry   = time.Minute
	longestRetry = time.Hour
	// rememberedRefusals are shown of a worker.
	rememberedRefusals = 10
)

// offer is what a worker announces, and learns of itself.
type offer struct {
	launcher sweep.Launcher
	// changed is called, without locks, when what decides about placement changes.
	changed func()

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
	until, wait time.Duration // since the start of the process
	digest      string        // of a data set; "" for a trainer
}

// clock is the time since the start of the process: it never goes back.
var processStart = time.Now()

func clock() time.Duration { return time.Since(processStart) }

func newOffer(o Options, changed func()) *offer {
	first := &offer{
		launcher: o.Launcher, changed: changed, lacks: map[string]*lacking{}, ran: map[string]bool{},
		offer: sweep.Offer{Pool: o.Pool, Slots: o.Slots, Memory: sweep.RoundMemory(o.Memory), Labels: o.Labels,
			Datasets: map[string]string{}},
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
	c.Datasets = map[string]string{}
	for key, digest := range o.offer.Datasets {
		c.Datasets[key] = digest
	}
	return c, slices.Clone(o.refusals)
}

// queue is the queue of the jobs that are meant for such workers.
func (o *offer) queue() wire.Queue {
	o.mu.Lock()
	defer o.mu.Unlock()
	return wire.Queue{Pool: o.offer.Pool, Offer: o.key}
}

// unmet says why a job cannot run here as far as is known; "" if it can.
func (o *offer) unmet(r *sweep.Requirement) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return r.Unmet(o.offer.Pool, []sweep.Offer{o.offer})
}

// change applies a change and tells if it matters to placement.
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

// discover asks every trainer there is for its description, and returns when all
// have answered, or after a while. The rest answers until ctx ends; wait waits
// for that.
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
	timer := time.NewTimer(describeWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// describe starts a trainer and notes what it says of itself, or why it does not start.
func (o *offer) describe(ctx context.Context, name string) {
	process, err := o.launcher.Launch(ctx, name)
	var d *sweep.Description
	if err == nil {
		d, err = process.Describe(ctx)
		_ = process.Close() // it has answered, or has not
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		o.broken(name, err)
	default:
		o.started(name, d)
	}
}

// started notes what a trainer says of itself, started for a job or to be asked.
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

// broken notes that a trainer does not start here.
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

// read notes that a trial has read its data set.
func (o *offer) read(r *sweep.Requirement) {
	if r.DatasetDigest == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.offer.Datasets[r.Dataset] = r.DatasetDigest
}

// otherData notes that the worker does not have the data that a job needs; found
// is the digest of what it has in their place, "" if it cannot be read.
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
		l = &lacking{wait: firstRetry, digest: digest}
		o.lacks[key] = l
	} else if clock() >= l.until {
		l.wait = min(2*l.wait, longestRetry)
	}
	l.until = clock() + l.wait
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

// retry looks again whether the worker has what it lacked: trainers are started,
// and jobs with other data are taken once more.
func (o *offer) retry(ctx context.Context, running *sync.WaitGroup) {
	var trainers []string
	o.change(func() {
		for key, l := range o.lacks {
			switch {
			case clock() < l.until:
			case l.digest == "":
				l.until = clock() + l.wait // while it is being asked
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

// refusal is the error of a job that this worker cannot run: nobody's failure.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }

// isRefusal returns the refusal that err is, nil if it is none.
func isRefusal(err error) *refusal {
	var r *refusal
	errors.As(err, &r)
	return r
}
