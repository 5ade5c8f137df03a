package store

import (
	"context"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// lineageLength is how much is stored of a lineage: 128 bits.
const lineageLength = 32

// lineageOf is the part of a trial's lineage that is stored.
func lineageOf(t *sweep.Trial) string { return string(t.Lineage)[:min(len(t.Lineage), lineageLength)] }

// lineages is a batch of trials that have a lineage.
func lineages(trials []sweep.Trial) (batch database.Batch, count int) {
	var own []*sweep.Trial
	for i := range trials {
		if trials[i].Lineage != "" {
			own = append(own, &trials[i])
		}
	}
	names := make([]string, len(own))
	for i := range own {
		names[i] = lineageOf(own[i])
	}
	return database.Rows(len(own), "trial_index, lineage, budget", func(i int, row []any) []any {
		return append(row, &own[i].Index, &names[i], &own[i].Budget)
	}), len(own)
}

// addLineages writes the lineages of the trials that leave their checkpoints.
func (p *page) addLineages() {
	if batch, count := lineages(p.trials); count > 0 {
		p.run(`INSERT INTO lineages (trial_no, lineage, budget)
			SELECT t.trial_no, v.lineage, v.budget FROM {v} JOIN trials AS t
			ON t.sweep_no = $1 AND t.trial_index = v.trial_index`, p.number, batch)
	}
}

// continuable finds, for each trial of sweep $1, the checkpoint of its lineage with the largest budget below
// its own, of a completed trial in the pool $2; without one that of a trial that was stopped early, whose budget may
// be equal. A trial that was charged with a failure starts from its beginning: the
// checkpoint may be what its trainer fails from.
const continuable = `SELECT c.trial_index, s.sweep_id, t.trial_index, a.media_type, a.size, a.digest, a.store,
		a.location
	FROM (SELECT v.trial_index AS trial_index, (SELECT l.trial_no FROM lineages AS l
			JOIN trials AS f ON f.trial_no = l.trial_no
			JOIN sweeps AS d ON d.sweep_no = f.sweep_no
			JOIN trial_artifacts AS k ON k.trial_no = l.trial_no
			WHERE l.lineage = v.lineage AND l.budget <= v.budget AND d.deleted_at IS NULL
				AND (f.state = 'completed' AND l.budget < v.budget OR f.state = 'stopped')
				AND d.pool = $2 AND k.name = '` + sweep.CheckpointArtifact + `' AND k.problem = ''
				AND NOT EXISTS (SELECT 1 FROM trials AS o
					WHERE o.sweep_no = $1 AND o.trial_index = v.trial_index AND o.charged > 0)
				AND (f.sweep_no = $1 OR EXISTS (SELECT 1 FROM grids AS g WHERE g.sweep_no = $1 AND g.reuse
					AND v.trial_index >= g.first_index AND v.trial_index < g.first_index + g.points))
			ORDER BY f.state, l.budget DESC, l.trial_no LIMIT 1) AS from_no
		FROM {v}) AS c
	JOIN trials AS t ON t.trial_no = c.from_no
	JOIN sweeps AS s ON s.sweep_no = t.sweep_no
	JOIN trial_artifacts AS a ON a.trial_no = c.from_no AND a.name = '` + sweep.CheckpointArtifact + `'`

// Checkpoints implements sweep.Store.
func (s *Store) Checkpoints(ctx context.Context, id string, trials []sweep.Trial) (map[int64]sweep.ArtifactRecord,
	error) {
	found := map[int64]sweep.ArtifactRecord{}
	batch, count := lineages(trials)
	if count == 0 {
		return found, nil
	}
	err := s.viewSweep(ctx, "look for checkpoints of", id, func(t *transaction, number int64) {
		var pool string
		t.one([]any{&pool}, `SELECT pool FROM sweeps WHERE sweep_no = $1`, number)
		t.each(func(row database.Row) error {
			var index int64
			r := sweep.ArtifactRecord{Artifact: sweep.Artifact{Name: sweep.CheckpointArtifact}}
			err := row.Scan(&index, &r.Sweep, &r.Index, &r.MediaType, &r.Size, &r.Digest, &r.Store, &r.Location)
			found[index] = r
			return err
		}, continuable, number, pool, batch)
	})
	return found, err
}
