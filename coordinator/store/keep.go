package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// A sweep may keep an artifact of its best trials alone. The table kept_artifacts lists these trials, and changes in
// the transaction of each result. When a trial leaves the table, its artifact is dropped: the artifact's row is marked,
// the artifact is no longer reused, and the coordinator removes its bytes.

// candidate is a trial that may be among the best of a sweep that keeps their artifacts.
type candidate struct {
	sweep, trial, index int64
	// score is the smaller the better.
	score float64
}

// lastScore is that of trials that come last, in the order of their indices: those without a value of the metric,
// diverged and stopped ones.
const lastScore = math.MaxFloat64

// candidate returns a trial as a candidate.
func (c *comparison) candidate(trial, index int64, ranked bool, summary map[string]float64) candidate {
	value, ok := summary[c.By]
	switch {
	case !ok || !ranked:
		value = lastScore
	case c.Goal == sweep.Maximize:
		value = -value
	}
	return candidate{c.number, trial, index, value}
}

// keepBest enters the trials that these events ended, as far as their sweeps keep artifacts of the best trials alone.
func (r *recording) keepBest() {
	var all []candidate
	for _, t := range r.ledger.Trials {
		o := t.Outcome
		if o == nil || o.State != sweep.Completed && o.State != sweep.Stopped {
			continue
		}
		if by := r.comparison(t.Class.Sweep); len(by.keep) > 0 {
			all = append(all, by.candidate(t.Key, t.ID.Index, o.State == sweep.Completed && !o.Diverged, o.Summary))
		}
	}
	r.rank(all)
}

// keepBest enters trials that reuse results.
func (p *page) keepBest(entries []entry) {
	by := p.comparison(p.number)
	if len(by.keep) == 0 {
		return
	}
	var all []candidate
	for i := range entries {
		if e := &entries[i]; !e.repeated {
			all = append(all, by.candidate(e.trial, e.index, !e.diverged, e.summary))
		}
	}
	p.rank(all)
}

// noLimit is more rows than there are: SQLite has no OFFSET without a LIMIT.
const noLimit = 1 << 60

// beyondBest are the trials that are not among the $3 best of a sweep, $1, that keep an artifact, $2.
const beyondBest = `SELECT trial_no FROM kept_artifacts WHERE sweep_no = $1 AND name = $2
	ORDER BY score, trial_index LIMIT $4 OFFSET $3`

// rank enters candidates among the best trials of their sweeps, and drops the artifacts of those that are no longer
// among them.
func (t *transaction) rank(all []candidate) {
	bySweep := map[int64][]candidate{}
	for _, c := range all {
		bySweep[c.sweep] = append(bySweep[c.sweep], c)
	}
	for _, number := range slices.Sorted(maps.Keys(bySweep)) {
		by, trials := t.comparison(number), bySweep[number]
		slices.SortFunc(trials, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.index, b.index))
		})
		for _, name := range slices.Sorted(maps.Keys(by.keep)) {
			t.insert("kept_artifacts", database.Rows(len(trials), "sweep_no, name, score, trial_index, trial_no",
				func(i int, row []any) []any {
					c := &trials[i]
					return append(row, &c.sweep, &name, &c.score, &c.index, &c.trial)
				}))
			beyond := ints("trial_no", t.integers(beyondBest, number, name, by.keep[name], int64(noLimit)))
			t.run(`DELETE FROM kept_artifacts WHERE sweep_no = $1 AND name = $2
				AND trial_no IN (SELECT v.trial_no FROM {v})`, number, name, beyond)
			t.run(dropArtifacts, name, fmt.Sprintf("not kept: the trial is not among the %s by %s (keep)",
				bestText(by.keep[name]), by.By), beyond)
		}
	}
}

func bestText(k int64) string {
	if k == 1 {
		return "best"
	}
	return fmt.Sprintf("%d best", k)
}

// named is whether a column of JSON, s.keep or g.artifacts, has the name of an artifact a.
func named(column string) string {
	return `replace(` + column + `, '"' || a.name || '"', '') <> ` + column
}

// wanted is whether an artifact a is kept by a sweep for its trial, or for one that reuses its trial's result: because
// that is among the best, or because the sweep keeps it of all trials.
var wanted = `(EXISTS (SELECT 1 FROM kept_artifacts AS k WHERE k.trial_no = a.trial_no AND k.name = a.name)
	OR EXISTS (SELECT 1 FROM trials AS x JOIN kept_artifacts AS k ON k.trial_no = x.trial_no AND k.name = a.name
		WHERE x.source_no = a.trial_no)
	OR EXISTS (SELECT 1 FROM trials AS x JOIN sweeps AS s ON s.sweep_no = x.sweep_no
		JOIN grids AS g ON g.sweep_no = x.sweep_no AND x.trial_index >= g.first_index
			AND x.trial_index < g.first_index + g.points
		WHERE x.source_no = a.trial_no AND s.deleted_at IS NULL AND ` + named("g.artifacts") + ` AND NOT ` +
	named("s.keep") + `))`

// dropArtifacts drops the artifacts called $1 of trials, or of those whose results they reuse, for a reason, $2: if
// their own sweep keeps those of the best trials alone, and nobody wants them.
var dropArtifacts = `UPDATE trial_artifacts AS a SET dropped = 1, problem = $2
	WHERE a.trial_no IN (SELECT coalesce(t.source_no, t.trial_no) FROM {v} JOIN trials AS t ON t.trial_no = v.trial_no)
		AND a.name = $1 AND a.problem = '' AND EXISTS (SELECT 1 FROM trials AS t JOIN sweeps AS s USING (sweep_no)
			WHERE t.trial_no = a.trial_no AND ` + named("s.keep") + `) AND NOT ` + wanted

// droppedPage is how many dropped artifacts are looked at in a transaction.
const droppedPage = 200

// droppedFirst are the artifacts that were dropped, in a state, and whose bytes may be there.
const droppedFirst = `SELECT a.trial_no, a.name, a.location FROM trial_artifacts AS a
	WHERE a.dropped = $1 AND a.location <> '' ORDER BY a.trial_no LIMIT $2`

// DroppedArtifacts implements sweep.Store.
func (s *Store) DroppedArtifacts(ctx context.Context) (locations []string, err error) {
	some := false
	err = s.view(ctx, "look for artifacts that are not kept", func(t *transaction) {
		some = t.one([]any{new(int64)},
			`SELECT trial_no FROM trial_artifacts WHERE dropped > 0 AND location <> '' LIMIT 1`)
	})
	if err != nil || !some {
		return nil, err
	}
	type artifact struct {
		trial    int64
		name     string
		location string
	}
	err = s.update(ctx, "look for artifacts that are not kept", func(t *transaction) {
		columns := func(a *artifact) []any { return []any{&a.trial, &a.name, &a.location} }
		dropped := collect(t, columns, droppedFirst, 1, droppedPage)
		if len(dropped) > 0 {
			// An AddTrials in progress may have found them before they were dropped. It claims its sweep until it
			// commits.
			t.claim(t.integers(`SELECT sweep_no FROM sweeps WHERE state = 'active'`)...)
		}
		these := database.Rows(len(dropped), "trial_no, name", func(i int, row []any) []any {
			return append(row, &dropped[i].trial, &dropped[i].name)
		})
		const where = ` FROM {v} WHERE a.trial_no = v.trial_no AND a.name = v.name AND a.dropped = 1`
		t.run(`UPDATE trial_artifacts AS a SET dropped = 0, problem = ''`+where+` AND `+wanted, these)
		// Artifacts of one trial with equal bytes are in one place.
		t.run(`UPDATE trial_artifacts AS a SET dropped = 2, location = CASE WHEN EXISTS (SELECT 1
			FROM trial_artifacts AS o WHERE o.location = a.location AND o.location <> '' AND o.dropped = 0)
			THEN '' ELSE a.location END`+where, these)
		for _, a := range collect(t, columns, droppedFirst, 2, droppedPage) {
			if n := len(locations); n > 0 && locations[n-1] == a.location {
				continue
			}
			if !t.one([]any{new(int64)},
				`SELECT trial_no FROM trial_artifacts WHERE location = $1 AND location <> '' AND dropped < 2 LIMIT 1`,
				a.location) {
				locations = append(locations, a.location)
			}
		}
	})
	return locations, err
}

// ForgetDropped implements sweep.Store.
func (s *Store) ForgetDropped(ctx context.Context, locations []string) error {
	return s.update(ctx, "note that artifacts were removed", func(t *transaction) {
		t.run(`UPDATE trial_artifacts SET location = ''
			WHERE dropped = 2 AND location <> '' AND location IN (SELECT v.location FROM {v})`,
			texts("location", locations))
	})
}
