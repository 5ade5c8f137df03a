package store

import (
	"context"
	"encoding/json"
	"math"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// saveArtifacts writes the artifacts of trials that ended, in place of what there
// was of them before.
func (r *recording) saveArtifacts() {
	type artifact struct {
		trial *ledger.Trial
		sweep.Artifact
		location string
	}
	var all []artifact
	pools := map[int64]string{}
	for _, t := range r.ledger.Trials {
		if t.Outcome == nil || len(t.Outcome.Artifacts) == 0 {
			continue
		}
		number := t.Class.Sweep
		if pools[number] == "" {
			var pool string
			r.one([]any{&pool}, `SELECT pool FROM sweeps WHERE sweep_no = $1`, number)
			pools[number] = pool
		}
		for _, a := range t.Outcome.Artifacts {
			location := ""
			if a.Problem == "" {
				location = sweep.ArtifactLocation(pools[number], t.ID, a.Digest)
			}
			all = append(all, artifact{t, a, location})
		}
	}
	r.insert("trial_artifacts", database.Rows(len(all),
		"trial_no, name, media_type, size, digest, store, location, problem", func(i int, row []any) []any {
			a := &all[i]
			return append(row, &a.trial.Key, &a.Name, &a.MediaType, &a.Size, &a.Digest, &a.Store, &a.location,
				&a.Problem)
		}))
}

// artifactNames are the names in a grid's column artifacts.
func artifactNames(text string) (names []string, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &names)
	}
	return names, err
}

// encodeArtifacts is a grid's column artifacts.
func (t *transaction) encodeArtifacts(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return t.encode(names)
}

// encodeKeep is a sweep's column keep.
func (t *transaction) encodeKeep(keep map[string]int64) string {
	if len(keep) == 0 {
		return ""
	}
	return t.encode(keep)
}

// ArtifactLocations implements sweep.Store.
func (s *Store) ArtifactLocations(ctx context.Context, prefix string, yield func(location string) error) error {
	return s.view(ctx, "list the places of artifacts", func(t *transaction) {
		collate := " COLLATE " + s.db.Dialect().Collation
		t.each(func(row database.Row) error {
			var location string
			if err := row.Scan(&location); err != nil {
				return err
			}
			return yielded(yield(location))
		},
			`SELECT location FROM trial_artifacts
				WHERE location <> '' AND location`+collate+` >= $1 AND location`+collate+` < $2`,
			prefix, prefix+"\U0010FFFF")
	})
}

const artifacts = `SELECT t.trial_index, a.name, a.media_type, a.size, a.digest, a.store, a.location, a.problem,
		a.dropped > 0
	FROM trials AS t JOIN trial_artifacts AS a ON a.trial_no = coalesce(t.source_no, t.trial_no)
	WHERE t.sweep_no = $1 AND ($2 = '' OR a.name = $2) AND t.trial_index >= $3 AND t.trial_index < $4`

// unrecorded are the completed trials of a grid that lack an artifact which the
// grid asks for.
const unrecorded = `SELECT t.trial_index FROM trials AS t
	WHERE t.sweep_no = $1 AND t.trial_index >= $2 AND t.trial_index < $3 AND t.state = 'completed' AND NOT EXISTS (
		SELECT 1 FROM trial_artifacts AS a WHERE a.trial_no = coalesce(t.source_no, t.trial_no) AND a.name = $4)`

// Artifacts implements sweep.Store. An artifact that should be there and was never
// recorded comes behind those that were.
func (s *Store) Artifacts(ctx context.Context, query sweep.ArtifactQuery,
	yield func(*sweep.ArtifactRecord) error) error {
	return s.viewSweep(ctx, "list the artifacts of sweep "+query.Sweep, query.Sweep,
		func(t *transaction, number int64) {
			where, only := "", []any{}
			until := query.Until
			if until == 0 {
				until = math.MaxInt64
			}
			if len(query.Indices) > 0 {
				where = ` AND t.trial_index IN (SELECT v.trial_index FROM {v})`
				only = []any{ints("trial_index", query.Indices)}
				t.known(number, query.Indices)
			}
			give := func(r *sweep.ArtifactRecord) error {
				r.Sweep = query.Sweep
				return yielded(yield(r))
			}
			t.each(func(row database.Row) error {
				var r sweep.ArtifactRecord
				if err := row.Scan(&r.Index, &r.Name, &r.MediaType, &r.Size, &r.Digest, &r.Store, &r.Location,
					&r.Problem, &r.Dropped); err != nil {
					return err
				}
				return give(&r)
			}, artifacts+where+` ORDER BY t.trial_index, a.name`,
				append([]any{number, query.Name, query.From, until}, only...)...)
			for _, g := range collect(t, func(g *wantedGrid) []any {
				return []any{&g.first, &g.points, &g.artifacts}
			}, wantedGrids, number) {
				names, err := artifactNames(g.artifacts)
				if err != nil {
					t.fail(err)
				}
				for _, name := range names {
					if query.Name != "" && query.Name != name {
						continue
					}
					t.each(func(row database.Row) error {
						r := sweep.ArtifactRecord{Artifact: sweep.Artifact{Name: name,
							Problem: "its worker reported nothing of it"}}
						if err := row.Scan(&r.Index); err != nil {
							return err
						}
						return give(&r)
					}, unrecorded+where+` ORDER BY t.trial_index`,
						append([]any{number, max(g.first, query.From), min(g.first+g.points, until), name}, only...)...)
				}
			}
		})
}

// wantedGrid is a grid whose trials leave artifacts.
type wantedGrid struct {
	first, points int64
	artifacts     string // as in the column
}

const wantedGrids = `SELECT first_index, points, artifacts FROM grids
	WHERE sweep_no = $1 AND artifacts <> '' ORDER BY ordinal`

// missingTrial is the first trial of a batch without a row.
const missingTrial = `SELECT v.trial_index FROM {v} WHERE (SELECT t.trial_no FROM trials AS t
	WHERE t.sweep_no = $1 AND t.trial_index = v.trial_index) IS NULL ORDER BY v.trial_index LIMIT 1`

// known fails with ErrNotFound unless all these trials have rows.
func (t *transaction) known(number int64, indices []int64) {
	for _, index := range t.integers(missingTrial, number, ints("trial_index", indices)) {
		t.fail(t.unknown(number, index))
	}
}

// unknown says why there is no row of a trial.
func (t *transaction) unknown(number, index int64) error {
	var points int64
	t.one([]any{&points}, `SELECT CAST(sum(points) AS bigint) FROM grids WHERE sweep_no = $1`, number)
	if index >= 0 && index < points {
		return notFound("trial %d does not exist yet: a sweep's trials are written shortly before they run", index)
	}
	return notFound("there is no trial %d: the sweep's trials are 0 to %d", index, points-1)
}
