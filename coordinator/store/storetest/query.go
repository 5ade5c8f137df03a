package storetest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
)

func testQuery(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	f.create("s1", 3, 3)
	f.complete(trialID("s1", 0), completed(0.5, "a"))

	t.Run("Values", func(t *testing.T) {
		for sql, want := range map[string][]any{
			`SELECT 1, 1.5, 'x', NULL`:      {int64(1), 1.5, "x", nil},
			`SELECT count(*) FROM results;`: {int64(3)},
			`SELECT sum(CAST(summary ->> 'validation_loss' AS double precision)), avg(trial_index), max(seed)
				FROM results`: {0.5, 1.0, int64(2)},
			`SELECT parameters, summary FROM results WHERE trial_index = 1`: {`{"lr":0.002,"model":"rnn","seed":1}`, nil},
			`SELECT diverged, state FROM results
				WHERE NOT diverged AND CAST(summary ->> 'train_loss' AS double precision) = 0.6`: {false, "completed"},
			`SELECT started_at, finished_at FROM results WHERE trial_index = 0`: {"2026-03-01T12:00:00.124456Z",
				"2026-03-01T12:00:00.125456Z"},
			`SELECT 'a;b' /* ; */ AS "x;y" -- ; end`:          {"a;b"},
			"WITH c AS (SELECT 7 AS n)\nSELECT n FROM c\n;\n": {int64(7)},
		} {
			if rows := f.rows(sql); len(rows) != 1 || !reflect.DeepEqual(rows[0], want) {
				t.Errorf("%s: %#v, want %#v", sql, rows, want)
			}
		}
	})

	t.Run("Columns", func(t *testing.T) {
		n := 0
		f.must(f.Query(f.ctx, `SELECT trial_index AS i, state FROM results ORDER BY 1`,
			func(columns []string, row []any) error {
				if !reflect.DeepEqual(columns, []string{"i", "state"}) || row[0] != int64(n) {
					t.Errorf("%v %v", columns, row)
				}
				n++
				return nil
			}))
		if n != 3 {
			t.Errorf("%d rows", n)
		}
		stop := errors.New("enough")
		err := f.Query(f.ctx, `SELECT trial_index FROM results`, func([]string, []any) error { return stop })
		if err == nil || !errors.Is(err, stop) {
			t.Errorf("%v", err)
		}
	})

	t.Run("OnlyReading", func(t *testing.T) {
		for _, sql := range []string{
			`DELETE FROM trials`,
			`UPDATE trials SET state = 'failed'`,
			`INSERT INTO counters (sweep_no) VALUES (99)`,
			`INSERT INTO counters (sweep_no) VALUES (99) RETURNING sweep_no`,
			`WITH x AS (SELECT 1) DELETE FROM trials`,
			`DROP TABLE trials`,
			`CREATE TABLE t (a INTEGER)`,
			`CREATE TEMP TABLE t (a INTEGER)`,
			`CREATE INDEX i ON trials (state)`,
			`ALTER TABLE trials ADD COLUMN x TEXT`,
			`VACUUM`, `ANALYZE`, `REINDEX`,
			`BEGIN`, `COMMIT`, `ROLLBACK`, `SAVEPOINT x`,
			`SELECT 1; DELETE FROM trials`,
			`SELECT 1; SELECT 2`,
			`SELECT 1;; SELECT 2`,
			`; SELECT 1; SELECT 2`,
			`SELECT 'it''s; fine'; DELETE FROM trials`,
			`/* a */ DELETE FROM trials -- b`,
			``, ` ;; `, `-- nothing`, `/* nothing`,
			`SELECT nil FROM nowhere`, `garbage`, `SELECT 'open`,
		} {
			rows := 0
			if err := f.Query(f.ctx, sql, func([]string, []any) error { rows++; return nil }); err == nil {
				t.Errorf("%q was taken", sql)
			}
			if rows != 0 {
				t.Errorf("%q gave %d rows", sql, rows)
			}
		}
		f.wantProgress("s1", sweep.Progress{Pending: 2, Completed: 1})
		f.complete(trialID("s1", 1), completed(0.5, "b")) // and the store still writes
		if rows := f.rows(`SELECT count(*) FROM results WHERE state = 'completed'`); rows[0][0] != int64(2) {
			t.Errorf("%v", rows)
		}
	})

	t.Run("Cancelled", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(f.ctx, 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := f.Query(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`,
			func([]string, []any) error { return nil })
		if err == nil || time.Since(start) > time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})

	t.Run("Error", func(t *testing.T) {
		err := f.Query(f.ctx, `SELECT nil_column FROM results`, func([]string, []any) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "nil_column") {
			t.Errorf("the error does not name the column: %v", err)
		}
	})
}
