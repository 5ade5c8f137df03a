package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

func TestDivide(t *testing.T) {
	t.Parallel()
	refused, down := errors.New("refused"), errors.New("down")
	general := func(err error) bool { return errors.Is(err, down) }
	for _, c := range []struct {
		name   string
		items  int
		refuse []int
		downAt int // the call that fails for all
		want   []int
		err    error
	}{
		{"nothing", 0, nil, 0, nil, nil},
		{"all are taken", 9, nil, 0, nil, nil},
		{"one of many", 1000, []int{617}, 0, []int{617}, nil},
		{"first and last", 64, []int{0, 63}, 0, []int{0, 63}, nil},
		{"one alone", 1, []int{0}, 0, []int{0}, nil},
		{"the database is down", 8, []int{3}, 2, nil, down},
		{"none is taken", 1000, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0, nil, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			var items, done []int
			for i := range c.items {
				items = append(items, i)
			}
			calls := 0
			guilty, _, err := divide(items, func(part []int) error {
				if calls++; calls == c.downAt {
					return down
				}
				if slices.ContainsFunc(part, func(i int) bool { return slices.Contains(c.refuse, i) }) {
					return refused
				}
				done = append(done, part...)
				return nil
			}, general)
			if !slices.Equal(guilty, c.want) || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("%v, %v; want %v, %v", guilty, err, c.want, c.err)
			}
			if err == nil && len(done)+len(guilty) != c.items {
				t.Errorf("%d of %d are done", len(done), c.items)
			}
		})
	}
}

// refusing is a store that does not do one thing for one sweep, for a reason that it does not tell.
type refusing struct {
	*faulty
	mu     sync.Mutex
	guilty string
}

var errUnknown = errors.New("cache lookup failed for relation 4711: XX000")

func (r *refusing) blame(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guilty = id
}

func (r *refusing) blames(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id == r.guilty {
		return errUnknown
	}
	return nil
}

func (r *refusing) TakePending(ctx context.Context, id string, class, limit int) ([]sweep.Trial, error) {
	if err := r.blames(id); err != nil {
		return nil, err
	}
	return r.faulty.TakePending(ctx, id, class, limit)
}

func (r *refusing) AddTrials(ctx context.Context, id string, ordinal int, from int64, trials []sweep.Trial,
	classes map[int]sweep.Requirement) (int, error) {
	if err := r.blames(id + " rows"); err != nil {
		return 0, err
	}
	return r.faulty.AddTrials(ctx, id, ordinal, from, trials, classes)
}

func (r *refusing) Requeue(ctx context.Context, trials []sweep.TrialID) (int64, error) {
	for _, id := range trials {
		if err := r.blames("requeue " + id.Sweep); err != nil {
			return 0, err
		}
	}
	return r.Store.Requeue(ctx, trials)
}

// A sweep that the database does nothing for is paused with the reason, and the others go on.
func TestOneSweepOfMany(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"", " rows"} {
		t.Run("dispatch"+what, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			store := &refusing{faulty: newFaulty(b.store)}
			w := &crew{b: b, slots: 2, begin: make(chan struct{})}
			w.start()
			c, _ := b.start(Options{Store: store, Window: 16, Page: 20})
			id := b.submit(c, submission("guilty", 0, 200))
			store.blame(id + what)
			beside := b.submit(c, submission("beside", 1000, 100))
			close(w.begin)
			b.finish(c, beside)
			b.check(beside, 100)
			b.until("the sweep is paused with the reason", func() bool {
				record, err := b.store.Sweep(t.Context(), id)
				return err == nil && record.State == sweep.SweepPaused && strings.Contains(record.Reason, "XX000")
			})
			store.blame("")
			if err := c.Resume(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			b.finish(c, id)
			b.check(id, 200)
		})
	}
}

// Trials that the database does not requeue do not keep the others waiting: the reconciler finds them later.
func TestOneTrialIsNotRequeued(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	store := &refusing{faulty: newFaulty(b.store)}
	c, _ := b.start(Options{Store: store, Window: 16, Lease: time.Second})
	idle := &crew{b: b, begin: make(chan struct{})} // its jobs wait
	stop := idle.start()
	id, other := b.submit(c, submission("guilty", 0, 4)), b.submit(c, submission("other", 100, 4))
	b.until("all are queued", func() bool { return b.progress(id).Queued == 4 && b.progress(other).Queued == 4 })
	store.blame("requeue " + id)
	for _, sweep := range []string{id, other} {
		if err := c.Pause(t.Context(), sweep); err != nil {
			t.Fatal(err)
		}
	}
	b.until("the others are pending", func() bool { return b.progress(other).Pending == 4 })
	if p := b.progress(id); p.Queued == 0 {
		t.Errorf("none was refused: %+v", p)
	}
	store.blame("")
	stop()
	for _, sweep := range []string{id, other} {
		if err := c.Resume(t.Context(), sweep); err != nil {
			t.Fatal(err)
		}
	}
	w := &crew{b: b}
	w.start()
	b.finish(c, id)
	b.finish(c, other)
	b.check(id, 4)
	b.check(other, 4)
}

// deleting is a store from which somebody else deletes sweeps, before any of its methods.
type deleting struct {
	sweep.Store
	mu      sync.Mutex
	random  *rand.Rand
	victims []string
	gone    int
}

// before deletes a sweep now and then, often one that the call is about.
func (d *deleting) before(about ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.victims) == 0 || d.random.IntN(4) > 0 {
		return
	}
	i := d.random.IntN(len(d.victims))
	if len(about) > 0 && d.random.IntN(2) > 0 {
		if k := slices.Index(d.victims, about[0]); k >= 0 {
			i = k
		}
	}
	ctx := context.Background()
	if _, err := d.CancelTrials(ctx, d.victims[i]); err != nil {
		return
	}
	if _, err := d.DeleteSweep(ctx, d.victims[i]); err == nil {
		d.victims = slices.Delete(d.victims, i, i+1)
		d.gone++
	}
}

func (d *deleting) add(id string) (gone int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id != "" {
		d.victims = append(d.victims, id)
	}
	return d.gone
}

func (d *deleting) Backlog(ctx context.Context, ids ...string) ([]sweep.Backlog, error) {
	d.before(ids...)
	return d.Store.Backlog(ctx, ids...)
}

func (d *deleting) AddTrials(ctx context.Context, id string, ordinal int, from int64, trials []sweep.Trial,
	classes map[int]sweep.Requirement) (int, error) {
	d.before(id)
	return d.Store.AddTrials(ctx, id, ordinal, from, trials, classes)
}

func (d *deleting) TakePending(ctx context.Context, id string, class, limit int) ([]sweep.Trial, error) {
	d.before(id)
	return d.Store.TakePending(ctx, id, class, limit)
}

func (d *deleting) Requeue(ctx context.Context, trials []sweep.TrialID) (int64, error) {
	if len(trials) > 0 {
		d.before(trials[0].Sweep)
	}
	return d.Store.Requeue(ctx, trials)
}

func (d *deleting) RequeueUnheard(ctx context.Context, trials []sweep.Heard) (int64, error) {
	if len(trials) > 0 {
		d.before(trials[0].Sweep)
	}
	return d.Store.RequeueUnheard(ctx, trials)
}

func (d *deleting) SetWaiting(ctx context.Context, id string, waiting bool, reason string) error {
	d.before(id)
	return d.Store.SetWaiting(ctx, id, waiting, reason)
}

func (d *deleting) Suspend(ctx context.Context, id, reason string) error {
	d.before(id)
	return d.Store.Suspend(ctx, id, reason)
}

func (d *deleting) Record(ctx context.Context, events []sweep.Event) (sweep.RecordReport, error) {
	d.before()
	return d.Store.Record(ctx, events)
}

// Whatever sweeps are deleted between two actions of the coordinator, the others go on: nothing that it remembers
// has to exist.
func TestDeletedBetweenActions(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			store := &deleting{Store: b.store, random: rand.New(rand.NewPCG(seed, 7))}
			w := &crew{b: b, slots: 2}
			w.run = func(ctx context.Context, d *wire.Delivery) error {
				pause(ctx, time.Millisecond)
				return w.report(ctx, d)
			}
			w.start()
			c, _ := b.start(Options{Store: store, Window: 8, Page: 15, Lease: time.Second})
			last := ""
			for i := range 30 {
				s := submission(fmt.Sprint("victim ", i), int64(3000*i), 3000)
				s.Spec.Priority = i % 3 // so that jobs are withdrawn
				before := store.add("")
				id := b.submit(c, s)
				store.add(id)
				switch i % 4 {
				case 2:
					_ = c.Pause(t.Context(), last) // it may be gone
				case 3:
					_ = c.SetPriority(t.Context(), last, 5)
				}
				last = id
				b.until("a sweep is deleted", func() bool { return store.add("") > before })
			}
			for i := range 3 {
				id := b.submit(c, submission(fmt.Sprint("last ", i), int64(100_000+1000*i), 40))
				b.finish(c, id)
				b.check(id, 40)
			}
			b.until("nothing fails", func() bool { return c.Outage() == nil })
		})
	}
}
