package store

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// observed is a database that looks at how much each writing transaction does.
type observed struct {
	database.Database
	transactions int
	// most is how many rows a statement changed or returned at most.
	most int64
	// between, if not nil, is called after each transaction.
	between func(transaction int)
}

func (o *observed) Update(ctx context.Context, do func(tx database.Tx) error) error {
	err := o.Database.Update(ctx, func(tx database.Tx) error { return do(observedTx{tx, o}) })
	o.transactions++
	if between := o.between; between != nil && err == nil {
		o.between = nil // what it does is not looked at
		between(o.transactions)
		o.between = between
	}
	return err
}

type observedTx struct {
	database.Tx
	o *observed
}

func (t observedTx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	n, err := t.Tx.Exec(ctx, text, args...)
	t.o.most = max(t.o.most, n)
	return n, err
}

func (t observedTx) Query(ctx context.Context, each func(database.Row) error, text string, args ...any) error {
	n := int64(0)
	defer func() { t.o.most = max(t.o.most, n) }()
	return t.Tx.Query(ctx, func(row database.Row) error {
		n++
		return each(row)
	}, text, args...)
}

// TestPages: whatever is done to all trials of a sweep is done in transactions of
// a page each, between which others record.
func TestPages(t *testing.T) {
	const points = 3*pageful + 7
	ctx := context.Background()
	eachKind(t, func(t *testing.T, s *Store) {
		o := &observed{Database: s.db}
		s.db = o
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		progress := func(want sweep.Progress) {
			t.Helper()
			if got, err := s.Progress(ctx, "s"); err != nil || got != want {
				t.Fatalf("%+v (%v), want %+v", got, err, want)
			}
		}
		// bounded runs do, in which each transaction must be of a page.
		bounded := func(name string, do func() error) {
			t.Helper()
			o.transactions, o.most = 0, 0
			must(do())
			if o.transactions < points/pageful || o.most > pageful {
				t.Errorf("%s took %d transactions, with %d rows in a statement", name, o.transactions, o.most)
			}
		}
		record := func(kind sweep.EventKind, index int64, result *sweep.Result) {
			t.Helper()
			_, err := s.Record(ctx, []sweep.Event{{Kind: kind, TrialID: sweep.TrialID{Sweep: "s", Index: index},
				Execution: fmt.Sprint("x", index), Worker: "w", Time: time.Now(), Result: result}})
			must(err)
		}

		_, err := s.CreateSweep(ctx, "s", &sweep.Submission{}, 2*points)
		must(err)
		page := make([]sweep.Trial, points)
		for i := range page {
			page[i] = sweep.Trial{TrialID: sweep.TrialID{Sweep: "s", Index: int64(i)},
				Parameters: sweep.Parameters{"i": int64(i)}, Class: i % 2}
		}
		_, err = s.AddTrials(ctx, "s", 0, 0, page, nil)
		must(err)
		taken, err := s.TakePending(ctx, "s", 0, 2)
		must(err)

		var active []sweep.TrialID
		cancel := func() (err error) {
			active, err = s.CancelTrials(ctx, "s")
			return err
		}
		o.between = func(transaction int) {
			switch transaction {
			case 1: // what a worker reports and what is retried meanwhile does not escape
				record(sweep.EventStarted, points-1, nil)
			case 2:
				_, err := s.RetrySome(ctx, "s", []int64{2})
				must(err)
			}
		}
		bounded("cancel", cancel)
		o.between = nil
		if want := []sweep.TrialID{taken[0].TrialID, taken[1].TrialID,
			page[points-1].TrialID}; !slices.Equal(active, want) {
			t.Errorf("active were %v, want %v", active, want)
		}
		progress(sweep.Progress{Cancelled: 2 * points})
		if record, err := s.Sweep(ctx, "s"); err != nil || record.State != sweep.SweepCancelled {
			t.Errorf("the sweep is %v: %v", record, err)
		}

		retry := func(want int64) func() error {
			return func() error {
				n, err := s.RetryTrials(ctx, "s")
				if n != want {
					t.Errorf("%d trials were retried, want %d", n, want)
				}
				return err
			}
		}
		bounded("retry", retry(2*points))
		progress(sweep.Progress{Pending: 2 * points})

		result := &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"validation_loss": 1}}
		var events []sweep.Event
		for i := range page {
			events = append(events, sweep.Event{Kind: sweep.EventResult, TrialID: page[i].TrialID, Execution: "y",
				Worker: "w", Time: time.Now(), Result: result, Log: "its log"})
		}
		for some := range slices.Chunk(events, pageful) {
			_, err := s.Record(ctx, some)
			must(err)
		}
		must(cancel())
		progress(sweep.Progress{Completed: points, Cancelled: points})
		ahead := time.Now().Add(time.Hour)
		bounded("prune", func() error {
			removed, err := s.PruneSweeps(ctx, sweep.Retention{Events: ahead})
			if removed.Events < points {
				t.Errorf("%d events were pruned", removed.Events)
			}
			return err
		})
		bounded("delete", func() error {
			removed, err := s.DeleteSweep(ctx, "s")
			if removed.Trials != points {
				t.Errorf("%d trials were removed", removed.Trials)
			}
			return err
		})
	})
}

// TestInterruptedCancel: a sweep whose cancelling was interrupted is paused, says what
// to do, and is cancelled when it is cancelled again.
func TestInterruptedCancel(t *testing.T) {
	const points = 2 * pageful
	eachKind(t, func(t *testing.T, s *Store) {
		o := &observed{Database: s.db}
		s.db = o
		ctx := t.Context()
		for interrupted := 1; ; interrupted++ {
			id := fmt.Sprint("s", interrupted)
			if _, err := s.CreateSweep(ctx, id, &sweep.Submission{}, points); err != nil {
				t.Fatal(err)
			}
			page := make([]sweep.Trial, points)
			for i := range page {
				page[i] = sweep.Trial{TrialID: sweep.TrialID{Sweep: id, Index: int64(i)}}
			}
			if _, err := s.AddTrials(ctx, id, 0, 0, page, nil); err != nil {
				t.Fatal(err)
			}
			killed, kill := context.WithCancel(ctx)
			o.transactions = 0
			o.between = func(transaction int) {
				if transaction == interrupted {
					kill()
				}
			}
			_, err := s.CancelTrials(killed, id)
			kill()
			o.between = nil
			if err == nil { // it had ended before
				if interrupted < 3 {
					t.Errorf("cancelling took %d transactions", interrupted)
				}
				return
			}
			record, err := s.Sweep(ctx, id)
			if err != nil || record.State != sweep.SweepPaused || record.Reason != cancelling {
				t.Fatalf("after %d transactions the sweep is %+v: %v", interrupted, record, err)
			}
			if _, err := s.CancelTrials(ctx, id); err != nil {
				t.Fatal(err)
			}
			p, err := s.Progress(ctx, id)
			if err != nil || p != (sweep.Progress{Cancelled: points}) {
				t.Fatalf("%+v: %v", p, err)
			}
			if record, err := s.Sweep(ctx, id); err != nil || record.State != sweep.SweepCancelled ||
				record.Reason != "" {
				t.Fatalf("cancelled again the sweep is %+v: %v", record, err)
			}
		}
	})
}
