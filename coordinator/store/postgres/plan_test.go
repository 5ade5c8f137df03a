package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sweep/coordinator/store/postgres"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

// TestPlans holds the queries of the hot paths to their indices, before
// Postgres has statistics of the tables and after.
func TestPlans(t *testing.T) {
	server := postgrestest.Start(t, "autovacuum=off")
	address := server.Database(t)
	s := open(t, address)
	ctx := context.Background()
	const points = 5000
	if err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, points); err != nil {
		t.Fatal(err)
	}
	page := make([]sweep.Trial, points)
	for i := range page {
		page[i] = sweep.Trial{
			TrialID: sweep.TrialID{Sweep: "s1", Index: int64(i)}, Parameters: sweep.Parameters{"text": strings.Repeat("x", 200)},
			Fingerprint: sweep.Fingerprint(fmt.Sprint(i)),
		}
	}
	if _, err := s.AddTrials(ctx, "s1", 0, 0, page); err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["enable_bitmapscan"] = "off" // as the store's own connections
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	for _, statistics := range []bool{false, true} {
		if statistics {
			if _, err := conn.Exec(ctx, `ANALYZE`); err != nil {
				t.Fatal(err)
			}
		}
		for name, args := range map[string][]any{
			"pendingTrials": {int64(1), 10},
			"markQueued":    {time.Now(), []int64{1, 1}, []int64{3, 4}},
			"unheard":       {int64(1), int64(7), time.Now(), 10},
			"reusable":      {[]string{"1", "2"}},
			"activeTrials":  {int64(1)},
			"loadTrials":    {[]int64{1, 1}, []int64{3, 4}},
		} {
			rows, err := conn.Query(ctx, "EXPLAIN "+postgres.Statements[name], args...)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(plan, "\n")
			if strings.Contains(text, "Seq Scan on trials") || name == "pendingTrials" && strings.Contains(text, "Sort") {
				t.Errorf("%s (statistics: %v):\n%s", name, statistics, text)
			}
		}
	}
}
