package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"sweep/coordinator/store"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// ends waits for a channel to be closed.
func ends(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	sweeptest.Receive(t, what, done)
}

// testLeading makes databases by address where it is their identity that counts, else by copied, which is quicker.
func testLeading(t *testing.T, address, copied func(t *testing.T) string) {
	t.Run("Identity", func(t *testing.T) {
		here, there := address(t), address(t)
		f := newFixture(t, openStore(t, store.Open, here))
		first, err := f.Cluster(f.ctx)
		f.must(err)
		if len(first.ID) != 32 || first.Database == "" || time.Since(first.MadeAt) > time.Minute ||
			time.Since(first.MadeAt) < -time.Minute ||
			first.Term != 0 || first.Leader != "" || !first.LedSince.IsZero() {
			t.Errorf("%+v", first)
		}
		again, err := openStore(t, store.Open, here).Cluster(f.ctx)
		if err != nil || again != first {
			t.Errorf("%+v, then %+v: %v", first, again, err)
		}
		other, err := openStore(t, store.Open, there).Cluster(f.ctx)
		if err != nil || other.ID == first.ID || other.Database == first.Database {
			t.Errorf("%+v and %+v: %v", first, other, err)
		}
	})

	t.Run("OneLeads", func(t *testing.T) {
		here := copied(t)
		ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
		defer cancel()
		first, second, third := openStore(t, store.Connect, here), openStore(t, store.Connect, here),
			openStore(t, store.Connect, here)
		// The others may not lead before the first one resigns: on a busy machine its lease may run out before.
		var mayLead atomic.Bool
		waitsForTurn := func(context.Context) (int64, error) {
			if !mayLead.Load() {
				return 0, errors.New("not yet")
			}
			return 0, nil
		}
		lead, err := first.Lead(ctx, sweep.LeadOptions{Holder: "host 1", Waiting: func(string) {
			t.Error("the first one waits")
		}})
		if err != nil {
			t.Fatal(err)
		}
		// The schema was made under the lead.
		if _, err := first.CreateSweep(ctx, "s1", submission("one"), 1); err != nil {
			t.Fatal(err)
		}
		c, err := third.Cluster(ctx)
		if err != nil || lead.Term() != 1 || c.Term != 1 || c.Leader != "host 1" ||
			time.Since(c.LedSince) > time.Minute {
			t.Errorf("term %d, %+v: %v", lead.Term(), c, err)
		}
		leader := func() string {
			t.Helper()
			name, _, err := third.(*store.Store).Leader(ctx)
			if err != nil {
				t.Error(err)
			}
			return name
		}
		sweeptest.Until(t, "host 1 leads", func() bool { return leader() == "host 1" })
		waits := make(chan string, 2)
		type answer struct {
			lead sweep.Lead
			err  error
		}
		answers := make(chan answer, 1)
		go func() {
			l, err := second.Lead(ctx, sweep.LeadOptions{Holder: "host 2", Check: waitsForTurn,
				Waiting: func(holder string) { waits <- holder }})
			answers <- answer{l, err}
		}()
		if holder := sweeptest.Receive(t, "the second one sees the first one's lease", waits); holder != "host 1" {
			t.Errorf("it waits for %q", holder)
		}
		select {
		case <-answers:
			t.Fatal("two lead")
		case <-lead.Lost():
			t.Fatal("the first one lost the lead")
		case <-time.After(50 * time.Millisecond):
		}
		// Who is up to date may come and go meanwhile.
		openStore(t, store.Open, here)

		// One that stands by can leave.
		short, stop := context.WithCancel(ctx)
		if _, err := third.Lead(short, sweep.LeadOptions{Holder: "host 3", Check: func(context.Context) (int64, error) {
			return 0, errors.New("never")
		}, Waiting: func(string) { stop() }}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}

		mayLead.Store(true)
		if err := lead.Resign(ctx); err != nil {
			t.Fatal(err)
		}
		ends(t, "resigned", lead.Lost())
		a := <-answers
		if a.err != nil {
			t.Fatal(a.err)
		}
		if c, err := third.Cluster(ctx); err != nil || a.lead.Term() != 2 || c.Term != 2 || c.Leader != "host 2" {
			t.Errorf("term %d, %+v: %v", a.lead.Term(), c, err)
		}
		// Another database has a leader of its own.
		other, err := openStore(t, store.Open, address(t)).Lead(ctx, sweep.LeadOptions{Holder: "host 4"})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []sweep.Lead{other, a.lead} {
			if err := l.Resign(ctx); err != nil {
				t.Error(err)
			}
		}
		if c, err := third.Cluster(ctx); err != nil || c.Term != 2 || c.Leader != "" {
			t.Errorf("%+v: %v", c, err)
		}
		// Nobody leads once the last one has resigned, not some time later.
		for range 20 {
			if name := leader(); name != "" {
				t.Fatalf("%q leads", name)
			}
			l, err := first.Lead(ctx, sweep.LeadOptions{Holder: "host 1"})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Resign(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})

	// leading is a process that leads, or tries to: broken is what its check finds.
	type leading struct {
		sweep.Store
		broken atomic.Bool
		// known is the highest term that it knows of.
		known int64
	}
	broken := errors.New("the broker does not answer")
	connect := func(t *testing.T, address string) *leading {
		return &leading{Store: openStore(t, store.Connect, address)}
	}
	lead := func(t *testing.T, ctx context.Context, l *leading, holder string) sweep.Lead {
		t.Helper()
		led, err := l.Lead(ctx, sweep.LeadOptions{Holder: holder, Check: func(context.Context) (int64, error) {
			if l.broken.Load() {
				return 0, broken
			}
			return l.known, nil
		}})
		if err != nil {
			t.Fatalf("%s leads: %v", holder, err)
		}
		t.Cleanup(func() { _ = led.Resign(context.Background()) }) // it may have resigned
		return led
	}

	t.Run("Deposed", func(t *testing.T) { // one that cannot work is replaced, and writes nothing any more
		here := copied(t)
		ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
		defer cancel()
		first, second := connect(t, here), connect(t, here)
		old := lead(t, ctx, first, "host 1")
		if _, err := first.CreateSweep(ctx, "before", submission("before"), 1); err != nil {
			t.Fatal(err)
		}
		sweeptest.Until(t, "the first one leads", func() bool { return old.Holds() && old.Problem() == nil })
		first.broken.Store(true)
		next := lead(t, ctx, second, "host 2") // without the first one's help
		if next.Term() != 2 || old.Holds() {
			t.Errorf("term %d, the first one's lease holds: %v", next.Term(), old.Holds())
		}
		sweeptest.Until(t, "the second one's lease holds", next.Holds)
		var deposed *sweep.DeposedError
		if _, err := first.CreateSweep(ctx, "after", submission("after"), 1); !errors.As(err, &deposed) ||
			deposed.Term != 1 || deposed.Now != 2 || deposed.Leader != "host 2" {
			t.Errorf("the deposed one writes: %v", err)
		}
		ends(t, "the first one was deposed", old.Lost())
		if err := old.Problem(); !errors.As(err, &deposed) {
			t.Errorf("the first one's problem is %v", err)
		}
		if _, err := second.Sweep(ctx, "after"); !errors.Is(err, sweep.ErrNotFound) {
			t.Errorf("what the deposed one wrote is there: %v", err)
		}
		if err := second.SetSweepPriority(ctx, "before", 7); err != nil {
			t.Error(err)
		}
		// Who does not lead and never did is nobody's predecessor.
		if err := openStore(t, store.Open, here).SetSweepPriority(ctx, "before", 8); err != nil {
			t.Error(err)
		}
		if err := old.Resign(ctx); err != nil {
			t.Error(err)
		}
		// The deposed one's resignation leaves its successor's lease.
		sweeptest.Until(t, "the second one's lease holds", next.Holds)
		if c, err := second.Cluster(ctx); err != nil || c.Term != 2 || c.Leader != "host 2" {
			t.Errorf("%+v: %v", c, err)
		}
		// It may lead again, after the second.
		first.broken.Store(false)
		if err := next.Resign(ctx); err != nil {
			t.Error(err)
		}
		again := lead(t, ctx, first, "host 1")
		if err := first.SetSweepPriority(ctx, "before", 9); err != nil || again.Term() != 3 {
			t.Errorf("term %d: %v", again.Term(), err)
		}
		if err := second.SetSweepPriority(ctx, "before", 10); !errors.As(err, &deposed) {
			t.Errorf("one that resigned writes under its successor: %v", err)
		}
	})

	t.Run("Unwanted", func(t *testing.T) { // a lease that ran out and that nobody took is renewed, without a new term
		here := copied(t)
		ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
		defer cancel()
		only, other := connect(t, here), connect(t, here)
		led := lead(t, ctx, only, "host 1")
		only.broken.Store(true)
		sweeptest.Until(t, "the lease has run out as the broker does not answer", func() bool {
			return !led.Holds() && errors.Is(led.Problem(), broken)
		})
		// One that cannot do the work either leaves the lead alone.
		other.broken.Store(true)
		short, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		_, err := other.Lead(short, sweep.LeadOptions{Holder: "host 2", Check: func(context.Context) (int64, error) {
			return 0, broken
		}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one whose broker does not answer leads: %v", err)
		}
		if _, err := only.CreateSweep(ctx, "s1", submission("one"), 1); err != nil {
			t.Errorf("it wrote nothing though nobody else leads: %v", err)
		}
		only.broken.Store(false)
		sweeptest.Until(t, "the lease holds again", led.Holds)
		select {
		case <-led.Lost():
			t.Error("the lead was lost")
		default:
		}
		if c, err := other.Cluster(ctx); err != nil || c.Term != 1 || c.Leader != "host 1" {
			t.Errorf("%+v: %v", c, err)
		}
	})

	t.Run("SlowCheck", func(t *testing.T) { // one whose broker answers slowly renews its lease meanwhile
		here := copied(t)
		ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
		defer cancel()
		checks := make(chan struct{})
		led, err := openStore(t, store.Connect, here).Lead(ctx, sweep.LeadOptions{Holder: "host 1",
			Check: func(ctx context.Context) (int64, error) {
				select {
				case <-time.After(1200 * time.Millisecond):
				case <-ctx.Done():
					return 0, ctx.Err()
				}
				select {
				case checks <- struct{}{}:
				default: // before it leads, and at the end
				}
				return 0, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		other := openStore(t, store.Connect, here)
		waiting, stop := context.WithCancel(ctx)
		defer stop()
		took := make(chan error, 1)
		go func() {
			_, err := other.Lead(waiting, sweep.LeadOptions{Holder: "host 2"})
			took <- err
		}()
		for range 8 {
			select {
			case <-checks:
			case err := <-took:
				t.Fatalf("another one has taken the lead: %v", err)
			case <-led.Lost():
				t.Fatalf("the lead was lost: %v", led.Problem())
			}
		}
		sweeptest.Until(t, "the leader to say that its check is slow", func() bool {
			_, check := led.Pace()
			return check >= 1200*time.Millisecond
		})
		stop()
		if err := <-took; !errors.Is(err, context.Canceled) {
			t.Errorf("the other one: %v", err)
		}
		if err := led.Resign(ctx); err != nil || led.Term() != 1 {
			t.Errorf("term %d: %v", led.Term(), err)
		}
	})

	t.Run("HungCheck", func(t *testing.T) { // one whose broker does not answer at all is replaced
		here := copied(t)
		ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
		defer cancel()
		var hangs atomic.Bool
		first, err := openStore(t, store.Connect, here).Lead(ctx, sweep.LeadOptions{Holder: "host 1",
			Check: func(ctx context.Context) (int64, error) {
				if hangs.Load() {
					<-ctx.Done()
				}
				return 0, ctx.Err()
			}})
		if err != nil {
			t.Fatal(err)
		}
		hangs.Store(true)
		next := lead(t, ctx, connect(t, here), "host 2")
		if next.Term() != 2 || first.Holds() {
			t.Errorf("term %d, the first one's lease holds: %v", next.Term(), first.Holds())
		}
		if err := first.Resign(ctx); err != nil {
			t.Error(err)
		}
	})

	t.Run("Restored", func(t *testing.T) { // a database that is older than what it is used with
		l := connect(t, copied(t))
		l.known = 41
		if led := lead(t, context.Background(), l, "host"); led.Term() != 42 {
			t.Errorf("term %d", led.Term())
		}
	})

	t.Run("ClosedStore", func(t *testing.T) { // a store that is closed gives up nothing that another has
		here := copied(t)
		ctx := context.Background()
		s := openStore(t, store.Open, here)
		lead, err := openStore(t, store.Open, here).Lead(ctx, sweep.LeadOptions{Holder: "host"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		// Another one sees the leader, whose lease may run out for a moment on a busy machine.
		patience, cancel := context.WithTimeout(ctx, sweeptest.Patience)
		defer cancel()
		until, seen := context.WithCancel(patience)
		defer seen()
		if _, err := openStore(t, store.Connect, here).Lead(until, sweep.LeadOptions{
			Holder: "other",
			Check:  func(context.Context) (int64, error) { return 0, errors.New("it may not lead") },
			Waiting: func(holder string) {
				if holder == "host" {
					seen()
				}
			},
		}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if err := lead.Resign(ctx); err != nil {
			t.Error(err)
		}
	})
}
