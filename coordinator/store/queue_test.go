package store

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

// TestTakePendingOverDeadTrials takes trials while a reader keeps Postgres from clearing
// away those that were taken: the last ones cost as few pages as the first.
func TestTakePendingOverDeadTrials(t *testing.T) {
	ctx := context.Background()
	s := openFull(t, postgrestest.Start(t, "autovacuum=off").Database(t))
	err := s.db.View(ctx, func(reader database.Tx) error {
		if err := reader.Query(ctx, func(row database.Row) error {
			return row.Scan(new(int64))
		}, `SELECT count(*) FROM trials`); err != nil {
			return err
		}
		first := s.takePages(t)
		for range 48 {
			if taken, err := s.TakePending(ctx, "a", 0, 100); err != nil || len(taken) != 100 {
				return fmt.Errorf("took %d trials: %w", len(taken), err)
			}
		}
		if last := s.takePages(t); last > 2*first {
			t.Errorf("taking 100 trials reads %d pages at first, %d pages after 4,800 were taken", first, last)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// takePages counts the pages that finding the next 100 trials of sweep a reads.
func (s *Store) takePages(t *testing.T) (pages int) {
	t.Helper()
	ctx := context.Background()
	err := s.view(ctx, "explain", func(tx *transaction) {
		number := tx.number("a")
		hit := regexp.MustCompile(`shared hit=(\d+)|read=(\d+)`)
		tx.each(func(row database.Row) error {
			var line string
			if err := row.Scan(&line); err != nil || pages > 0 {
				return err
			}
			for _, found := range hit.FindAllStringSubmatch(line, -1) { // the first are the whole plan's
				n, err := strconv.Atoi(found[1] + found[2])
				if err != nil {
					return err
				}
				pages += n
			}
			return nil
		}, `EXPLAIN (ANALYZE, BUFFERS) `+pendingTrials, number, int64(0), int64(100), s.taken.of(class{Sweep: number}))
	})
	if err != nil || pages == 0 {
		t.Fatalf("explaining which trials are taken: %d pages, %v", pages, err)
	}
	return pages
}

// TestTakePendingFindsWhatCameBack has trials come back to pending behind those that were
// taken, in this process and in another one.
func TestTakePendingFindsWhatCameBack(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		id := func(i int64) sweep.TrialID { return sweep.TrialID{Sweep: "s1", Index: i} }
		event := func(kind sweep.EventKind, i int64) sweep.Event {
			return sweep.Event{Kind: kind, TrialID: id(i), Execution: fmt.Sprint(i), Worker: "w", Time: time.Now()}
		}
		_, err := s.CreateSweep(ctx, "s1", &sweep.Submission{Spec: sweep.Spec{Limits: sweep.Limits{Attempts: 3}}}, 12)
		must(err)
		var page []sweep.Trial
		for i := range int64(12) {
			page = append(page, sweep.Trial{TrialID: id(i)})
		}
		_, err = s.AddTrials(ctx, "s1", 0, 0, page, nil)
		must(err)
		take := func(limit int, want string) {
			t.Helper()
			trials, err := s.TakePending(ctx, "s1", 0, limit)
			must(err)
			got := []int64{}
			for i := range trials {
				got = append(got, trials[i].Index)
			}
			if fmt.Sprint(got) != want {
				t.Errorf("took %v, want %s", got, want)
			}
		}
		take(6, "[0 1 2 3 4 5]")
		_, err = s.Requeue(ctx, []sweep.TrialID{id(3), id(1)})
		must(err)
		take(1, "[1]")
		take(2, "[3 6]")
		released := event(sweep.EventReleased, 2)
		released.Release = &sweep.Release{Charged: true, Reason: "the trainer ended"}
		_, err = s.Record(ctx, []sweep.Event{event(sweep.EventStarted, 2), released})
		must(err)
		take(2, "[2 7]")
		_, _, err = s.CancelSome(ctx, "s1", []int64{0})
		must(err)
		_, err = s.RetrySome(ctx, "s1", []int64{0})
		must(err)
		take(2, "[0 8]")
		must(s.update(ctx, "put trials back as another process does", func(tx *transaction) {
			tx.move(sweep.Queued, sweep.Queued,
				`UPDATE trials SET state = 'pending' WHERE trial_index IN (1, 4, 5) RETURNING sweep_no, class_no, trial_index`)
			tx.count(map[class]*sweep.Progress{{Sweep: tx.number("s1")}: {Pending: 3, Queued: -3}})
		}))
		take(4, "[1 9 10 11]")
		take(1, "[4]")
		take(3, "[5]")
		take(3, "[]")
	})
}
