package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"sweep/coordinator/store"
	"sweep/sweep"
)

// ends waits for a channel to be closed.
func ends(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: nothing happened", what)
	}
}

func testLeading(t *testing.T, address func(t *testing.T) string) {
	t.Run("Identity", func(t *testing.T) {
		here, there := address(t), address(t)
		f := newFixture(t, openStore(t, store.Open, here))
		first, err := f.Cluster(f.ctx)
		f.must(err)
		if len(first.ID) != 32 || first.Database == "" || time.Since(first.MadeAt) > time.Minute || time.Since(first.MadeAt) < -time.Minute ||
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
		here := address(t)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		first, second, third := openStore(t, store.Connect, here), openStore(t, store.Connect, here), openStore(t, store.Connect, here)
		lead, err := first.Lead(ctx, "host 1", func(string) { t.Error("the first one waits") })
		if err != nil {
			t.Fatal(err)
		}
		// The schema was made under the lead.
		if _, err := first.CreateSweep(ctx, "s1", submission("one"), 1); err != nil {
			t.Fatal(err)
		}
		c, err := third.Cluster(ctx)
		if err != nil || lead.Term() != 1 || c.Term != 1 || c.Leader != "host 1" || time.Since(c.LedSince) > time.Minute {
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
		if name := leader(); name != "host 1" {
			t.Errorf("%q leads", name)
		}
		waits := make(chan string, 2)
		type answer struct {
			lead sweep.Lead
			err  error
		}
		answers := make(chan answer, 1)
		go func() {
			l, err := second.Lead(ctx, "host 2", func(holder string) { waits <- holder })
			answers <- answer{l, err}
		}()
		if holder := <-waits; holder != "host 1" {
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
		if _, err := third.Lead(short, "host 3", func(string) { stop() }); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}

		resigned := time.Now()
		if err := lead.Resign(ctx); err != nil {
			t.Fatal(err)
		}
		ends(t, "resigned", lead.Lost())
		a := <-answers
		if a.err != nil {
			t.Fatal(a.err)
		}
		if took := time.Since(resigned); took > 10*time.Second {
			t.Errorf("the second one took over after %v", took)
		}
		if c, err := third.Cluster(ctx); err != nil || a.lead.Term() != 2 || c.Term != 2 || c.Leader != "host 2" {
			t.Errorf("term %d, %+v: %v", a.lead.Term(), c, err)
		}
		// Another database has a leader of its own.
		other, err := openStore(t, store.Open, address(t)).Lead(ctx, "host 4", nil)
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
			l, err := first.Lead(ctx, "host 1", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Resign(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("ClosedStore", func(t *testing.T) { // a store that is closed gives up nothing that another has
		here := address(t)
		ctx := context.Background()
		s := openStore(t, store.Open, here)
		lead, err := openStore(t, store.Open, here).Lead(ctx, "host", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := openStore(t, store.Open, here).Lead(short, "other", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if err := lead.Resign(ctx); err != nil {
			t.Error(err)
		}
	})
}
