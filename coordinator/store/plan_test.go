package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

// TestPlans holds the queries of the hot paths to their indices, in Postgres
// before it has statistics of the tables and after.
func TestPlans(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		s := openFull(t, filepath.Join(t.TempDir(), "sweep.db"))
		s.wantPlans(t, "EXPLAIN QUERY PLAN ", "SCAN t\n", "SCAN s\n", "SCAN e\n", "SCAN c\n", "SCAN r\n")
	})
	t.Run("Postgres", func(t *testing.T) {
		s := openFull(t, postgrestest.Start(t, "autovacuum=off").Database(t))
		s.wantPlans(t, "EXPLAIN ", "Seq Scan")
		ctx := context.Background()
		if err := s.db.Update(ctx, func(tx database.Tx) error { return tx.Script(ctx, `ANALYZE`) }); err != nil {
			t.Fatal(err)
		}
		s.wantPlans(t, "EXPLAIN ", "Seq Scan")
	})
}

// TestLaterPages: a later page of a list does not look at the trials of the earlier ones.
func TestLaterPages(t *testing.T) {
	s := openFull(t, filepath.Join(t.TempDir(), "sweep.db"))
	for _, descending := range []bool{false, true} {
		l := selection{TrialQuery: sweep.TrialQuery{Descending: descending}, dialect: s.db.Dialect()}
		b := l.plain([]int64{1}, &place{number: 1, index: 2500}, trialPage)
		plan := ""
		err := s.db.View(t.Context(), func(tx database.Tx) error {
			return tx.Query(t.Context(), func(row database.Row) error {
				var id, parent, unused int
				var line string
				err := row.Scan(&id, &parent, &unused, &line)
				plan += line + "\n"
				return err
			}, "EXPLAIN QUERY PLAN "+b.text.String(), b.args...)
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, "(sweep_no=? AND trial_index"+strings.TrimSpace(beyond(l.direction()))+"?)") {
			t.Errorf("descending %v:\n%s", descending, plan)
		}
	}
}

// openFull opens a store with thousands of trials.
func openFull(t *testing.T, address string) *Store {
	t.Helper()
	ctx := context.Background()
	opened := openEmpty(t, address)
	for _, id := range []string{"a", "b"} {
		const points = 5000
		if _, err := opened.CreateSweep(ctx, id, &sweep.Submission{}, points); err != nil {
			t.Fatal(err)
		}
		page := make([]sweep.Trial, points)
		for i := range page {
			page[i] = sweep.Trial{
				TrialID:     sweep.TrialID{Sweep: id, Index: int64(i)},
				Parameters:  sweep.Parameters{"text": strings.Repeat("x", 200)},
				Fingerprint: sweep.Fingerprint(fmt.Sprint(id, i)),
			}
		}
		if _, err := opened.AddTrials(ctx, id, 0, 0, page, nil); err != nil {
			t.Fatal(err)
		}
	}
	return opened
}

func openEmpty(t *testing.T, address string) *Store {
	t.Helper()
	opened, err := Open(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened.(*Store)
}

// wantPlans explains the queries and looks for what must not be in the plans.
func (s *Store) wantPlans(t *testing.T, explain string, never ...string) {
	t.Helper()
	ctx := context.Background()
	two := keys{[]int64{1, 1}, []int64{3, 4}}
	some := two.batch()
	trial := &ledger.Trial{Key: 1}
	executions := database.Rows(1, "trial_no, execution", func(_ int, row []any) []any {
		return append(row, &trial.Key, new("x"))
	})
	changed := func(table string, key int, rows database.Batch) (text string, args []any) {
		return changing(table, key, rows.Names()), []any{rows}
	}
	updateTrials, trials := changed("trials", 1, trialBatch([]*ledger.Trial{trial}, time.Now()))
	updateRuns, runs := changed("stored_executions", 2, executionBatch([]*ledger.Execution{{Trial: trial}}))
	updatePoints, points := changed("point_aggregates", 2, aggregateBatch([]*aggregate{{}}))
	updateGroups, groups := changed("groups", 2, groupBatch([]*group{{}}))
	for name, query := range map[string]struct {
		text string
		args []any
	}{
		"takePending": {takePending, []any{int64(1), int64(0), int64(10), int64(7), time.Now()}},
		"requeue":     {requeue, []any{"queued", heardBatch(two, make([]sweep.Heard, 2))}},
		"states":      {states, []any{some}},
		"backlog":     {backlog + `s.state = 'active' ORDER BY s.sweep_no, c.class_no`, nil},
		"loadCurves":  {loadCurves, []any{keyBatch([]*ledger.Trial{{Key: 1}})}},
		"unheard":     {unheard, []any{int64(1), int64(7), time.Now(), time.Now(), int64(10)}},
		"reusable": {reusable, []any{"", int64(0), "", "", "", ",3,", int64(1), int64(0),
			texts("fingerprint", []string{"1", "2"})}},
		"listsOf":      {listsOf, []any{texts("fingerprint", []string{"1", "2"})}},
		"programLists": {programLists, []any{"d", sweep.MaxInputLists}},
		"selectLists": {selectLists + `t.sweep_no = $1 AND t.trial_index = $2 GROUP BY l.list_no, l.list_digest, l.unrecorded`,
			[]any{int64(1), int64(2)}},
		"cancelPending":  {cancelPending, []any{time.Now(), int64(1), int64(0), int64(7), int64(10)}},
		"cancelActive":   {cancelActive, []any{time.Now(), int64(1), "queued"}},
		"nextPage":       {nextPage, []any{int64(1), int64(7), int64(10)}},
		"missingTrial":   {missingTrial, []any{int64(1), ints("trial_index", []int64{3})}},
		"retried":        {retried, []any{int64(1), ints("trial_index", []int64{3})}},
		"forgetRuns":     {forgetExecutions, []any{executions}},
		"loadTrials":     {loadTrials, []any{some}},
		"loadExecutions": {loadExecutions, []any{executions}},
		"loadLost":       {loadLost, []any{keyBatch([]*ledger.Trial{{Key: 1}})}},
		"replaced":       {replaced, nil},
		"losses":         {`SELECT l.worker FROM losses AS l WHERE l.sweep_id = 'a'`, nil},
		"updateTrials":   {updateTrials, trials},
		"updateRuns":     {updateRuns, runs},
		"deleteCurves":   {deleteOf("curve_arrays"), []any{executions}},
		"cancelSome":     {cancelSome, []any{time.Now(), int64(1), "queued", ints("trial_index", []int64{3})}},
		"retrySome":      {retrySome, []any{int64(1), "failed", ints("trial_index", []int64{3})}},
		"executions":     {listExecutions, []any{int64(3)}},
		"executionLog":   {executionLog, []any{int64(3), ""}},
		"artifacts": {artifacts +
			` AND t.trial_index IN (SELECT v.trial_index FROM {v}) ORDER BY t.trial_index, a.name`,
			[]any{int64(1), "", int64(0), int64(1000), ints("trial_index", []int64{3})}},
		"beyondBest":     {beyondBest, []any{int64(1), "weights", int64(10), int64(noLimit)}},
		"dropArtifacts":  {dropArtifacts, []any{"weights", "", ints("trial_no", []int64{3})}},
		"droppedFirst":   {droppedFirst, []any{int64(1), int64(10)}},
		"trial":          {trialColumns + ` WHERE t.sweep_no = $1 AND t.trial_index = $2`, []any{int64(1), int64(1)}},
		"loadAggregates": {loadAggregates, []any{sweepKeys("point_key", []sweepKey{{1, 2}})}},
		"loadGroups":     {loadGroups, []any{sweepKeys("group_key", []sweepKey{{1, 2}})}},
		"loadParameters": {loadParameters, []any{keyBatch([]*ledger.Trial{{Key: 1}})}},
		"updatePoints":   {updatePoints, points},
		"updateGroups":   {updateGroups, groups},
		"deleteScores":   {deleteMetrics[0], []any{executions}},
		"deleteMetrics":  {deleteMetrics[1], []any{executions}},
		"selectReused":   {selectReused, []any{int64(1), int64(1), int64(9)}},
		"newOwners":      {newOwners, []any{int64(1), keyBatch([]*ledger.Trial{{Key: 1}})}},
		"removeCurves":   {removeCurves, []any{keyBatch([]*ledger.Trial{{Key: 1}})}},
		"curves": {`SELECT c.step, c.value FROM curves AS c WHERE c.sweep_id = $1 AND c.trial_index = $2 AND c.metric = $3`,
			[]any{"a", int64(5), "loss"}},
	} {
		var plan []string
		err := s.db.Update(ctx, func(tx database.Tx) error {
			return tx.Query(ctx, func(row database.Row) error {
				var id, parent, unused int
				var line string
				dest := []any{&id, &parent, &unused, &line}
				if explain == "EXPLAIN " {
					dest = dest[3:]
				}
				err := row.Scan(dest...)
				plan = append(plan, line)
				return err
			}, explain+query.text, query.args...)
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := strings.Join(plan, "\n")
		sorts := (name == "takePending" || name == "cancelPending" || name == "nextPage") &&
			(strings.Contains(text, "Sort") || strings.Contains(text, "ORDER BY"))
		if sorts || slices.ContainsFunc(never, func(bad string) bool { return strings.Contains(text+"\n", bad) }) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
