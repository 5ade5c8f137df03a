package store

import (
	"context"
	"math"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

const decisionColumns = "trial_no, observation_no, position, rule, metric, value, threshold, trials, reason, " +
	"pending, decided_at"

// saveMarks adds what was observed of trials. Of one that runs it comes again with every event, and is stored if the
// trial has got further.
func (r *recording) saveMarks() {
	var running, ended, stopped, added []*ledger.Trial
	last := map[int64]observation{}
	for _, t := range r.ledger.Trials {
		switch {
		case t.Marks == nil:
			continue
		case len(t.Marks.Bands) > 0:
			running = append(running, t)
		case t.State == sweep.Stopped:
			stopped = append(stopped, t)
		}
		if added = append(added, t); t.Outcome != nil {
			ended = append(ended, t)
		}
	}
	r.each(func(row database.Row) error {
		var o observation
		err := row.Scan(&o.trial, &o.values, &o.best)
		last[o.trial] = o
		return err
	}, `SELECT o.trial_no, o.value_array, coalesce(o.best, 0.0) FROM {v} JOIN stored_observations AS o USING (trial_no)
		WHERE NOT EXISTS (SELECT 1 FROM stored_observations AS l
			WHERE l.trial_no = o.trial_no AND l.observation_no > o.observation_no)`, keyBatch(running))
	added = slices.DeleteFunc(added, func(t *ledger.Trial) bool {
		before, known := last[t.Key]
		return known && before.best == t.Marks.BestOr(0) && slices.Equal(before.values, t.Marks.Values)
	})
	observed := make([]observation, len(added))
	r.insert("stored_observations", database.Rows(len(added), observationColumns, func(i int, row []any) []any {
		t := added[i]
		observed[i] = observation{t.Key, t.Marks.Metric, len(t.Marks.Bands) > 0, t.Marks.Positions(), t.Marks.Values,
			t.Marks.BestOr(math.NaN())} // NULL
		return observed[i].columns(row)
	}))
	r.run(carriedOut, keyBatch(ended))
	r.saveStopped(stopped)
}

// observation is a row of stored_observations, but for its number.
type observation struct {
	trial     int64
	metric    string
	running   bool
	positions []int64
	values    []float32
	best      float64
}

const observationColumns = "trial_no, metric, running, position_array, value_array, best"

func (o *observation) columns(row []any) []any {
	return append(row, &o.trial, &o.metric, &o.running, &o.positions, &o.values, &o.best)
}

const carriedOut = `UPDATE stored_decisions SET pending = FALSE
	WHERE pending AND trial_no IN (SELECT v.trial_no FROM {v})`

// saveStopped writes the decisions of workers, by the thresholds of the trials' generations.
func (r *recording) saveStopped(stopped []*ledger.Trial) {
	at, best := make([]int64, len(stopped)), make([]float64, len(stopped))
	r.run(`INSERT INTO stored_decisions (`+decisionColumns+`)
		SELECT v.trial_no, (SELECT max(o.observation_no) FROM stored_observations AS o WHERE o.trial_no = v.trial_no),
			v.position, g.rule, g.metric, v.value, g.threshold, g.trials, v.reason, FALSE, $1
		FROM {v} JOIN trials AS t USING (trial_no) JOIN stored_decisions AS g
			ON g.observation_no = 0 AND g.position = v.position AND g.value IS NULL AND g.trial_no = (
			SELECT f.trial_no FROM trials AS f JOIN stored_decisions AS l ON l.trial_no = f.trial_no
				AND l.observation_no = 0 AND l.position = v.position AND l.value IS NULL
			WHERE f.sweep_no = t.sweep_no AND f.trial_index <= t.trial_index
			ORDER BY f.trial_index DESC LIMIT 1)
		WHERE TRUE ON CONFLICT (trial_no, observation_no, position) DO NOTHING`, r.now, database.Rows(len(stopped),
		"trial_no, position, value, reason", func(i int, row []any) []any {
			t := stopped[i]
			at[i], best[i] = sweep.StopPosition(len(t.Marks.Values)-1), t.Marks.BestOr(0)
			return append(row, &t.Key, &at[i], &best[i], &t.Outcome.Error)
		}))
}

// startAgain forgets what was observed of trials that are retried, and what was decided.
func (t *transaction) startAgain(trials database.Batch) {
	known := collect(t, func(o *observation) []any { return []any{&o.trial, &o.metric, &o.running} },
		`SELECT DISTINCT o.trial_no, o.metric, o.running FROM {v} JOIN stored_observations AS o USING (trial_no)`,
		trials)
	t.insert("stored_observations", database.Rows(len(known), observationColumns, func(i int, row []any) []any {
		return known[i].columns(row)
	}))
	t.run(carriedOut, trials)
}

// saveRule stores by what the trials from an index on are stopped.
func (t *transaction) saveRule(number, first int64, rule *sweep.StopRule) {
	t.run(`INSERT INTO stored_decisions (`+decisionColumns+`)
		SELECT t.trial_no, 0, v.position, $1, $2, NULL, v.threshold, v.trials, '', FALSE, $3
		FROM {v} JOIN trials AS t ON t.sweep_no = $4 AND t.trial_index = $5`, rule.Rule, rule.Metric, t.now, number,
		first, database.Rows(len(rule.Limits), "position, threshold, trials", func(i int, row []any) []any {
			l := &rule.Limits[i]
			return append(row, &l.At, &l.Value, &l.Trials)
		}))
}

// StopLimits implements sweep.Store.
func (s *Store) StopLimits(ctx context.Context, id string, first int64) (rule string, limits []sweep.StopLimit,
	err error) {
	err = s.viewSweep(ctx, "look for what stops trials of", id, func(t *transaction, number int64) {
		limits = collect(t, func(l *sweep.StopLimit) []any { return []any{&rule, &l.At, &l.Value, &l.Trials} },
			`SELECT d.rule, d.position, d.threshold, d.trials
			FROM trials AS t JOIN stored_decisions AS d USING (trial_no)
			WHERE t.sweep_no = $1 AND t.trial_index = $2 AND d.value IS NULL ORDER BY d.position`, number, first)
	})
	return rule, limits, err
}

// Observations implements sweep.Store.
func (s *Store) Observations(ctx context.Context, id, metric string, running bool, from,
	until int64) (all []sweep.Observation, err error) {
	err = s.viewSweep(ctx, "read what was observed of", id, func(t *transaction, number int64) {
		t.each(func(row database.Row) error {
			var o sweep.Observation
			var best float64
			err := row.Scan(&o.Number, &o.Trial, &o.Positions, &o.Values, &best, &o.Open)
			o.Best = float32(best)
			all = append(all, o)
			return err
		}, `SELECT o.observation_no, t.trial_index, o.position_array, o.value_array, coalesce(o.best, 0.0),
				t.state = 'running'
				AND NOT EXISTS (SELECT 1 FROM stored_decisions AS d WHERE d.trial_no = t.trial_no AND d.pending)
			FROM trials AS t JOIN stored_observations AS o USING (trial_no)
			WHERE t.sweep_no = $1 AND t.trial_index >= $2 AND t.trial_index < $3 AND o.metric = $4 AND o.running = $5
				AND ($5 OR t.state IN ('completed', 'stopped'))
			ORDER BY o.observation_no`, number, from, until, metric, running)
	})
	return all, err
}

// AddStops implements sweep.Store.
func (s *Store) AddStops(ctx context.Context, id string, stops []sweep.Stop) error {
	return s.updateSweep(ctx, "decide about trials of", id, func(t *transaction, number int64) {
		const columns = "observation_no, position, rule, metric, value, threshold, trials, reason"
		t.run(`INSERT INTO stored_decisions (trial_no, `+columns+`, pending, decided_at)
			SELECT t.trial_no, `+qualified("v", columns)+`, t.state = 'running', $1
			FROM {v} JOIN trials AS t ON t.sweep_no = $2 AND t.trial_index = v.trial_index WHERE TRUE
			ON CONFLICT (trial_no, observation_no, position) DO NOTHING`, t.now, number, database.Rows(len(stops),
			"trial_index, "+columns, func(i int, row []any) []any {
				p := &stops[i]
				return append(row, &p.Index, &p.Observation, &p.Band, &p.Rule, &p.Metric, &p.Value, &p.Threshold,
					&p.Trials, &p.Reason)
			}))
	})
}

// Stops implements sweep.Store. There are few decisions: SQLite is to begin with them, not with the pending trials,
// which it does where the joins are called CROSS.
func (s *Store) Stops(ctx context.Context) (all []sweep.Stop, err error) {
	err = s.view(ctx, "look for trials that are to stop", func(t *transaction) {
		all = collect(t, func(stop *sweep.Stop) []any {
			return []any{&stop.Sweep, &stop.Index, (*string)(&stop.State), &stop.Reason, &stop.Band}
		}, `SELECT s.sweep_id, t.trial_index, t.state, p.reason, p.position
			FROM stored_decisions AS p CROSS JOIN trials AS t CROSS JOIN sweeps AS s
			WHERE p.pending AND t.trial_no = p.trial_no AND s.sweep_no = t.sweep_no AND s.state IN ('active', 'paused')
				AND s.deleted_at IS NULL AND t.state IN ('pending', 'queued', 'running')
			ORDER BY p.trial_no`)
	})
	return all, err
}
