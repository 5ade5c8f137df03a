package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// AddTrials implements sweep.Store.
func (s *Store) AddTrials(ctx context.Context, id string, ordinal int, from int64, trials []sweep.Trial,
	classes map[int]sweep.Requirement) (reused int, err error) {
	return s.AddGeneration(ctx, id, ordinal, from, trials, classes, "", nil)
}

// AddGeneration implements sweep.Store.
func (s *Store) AddGeneration(ctx context.Context, id string, ordinal int, from int64, trials []sweep.Trial,
	classes map[int]sweep.Requirement, metric string, rule *sweep.StopRule) (reused int, err error) {
	parameters := make([]string, len(trials))
	for i := range trials {
		if parameters[i], err = ledger.EncodeParameters(trials[i].Parameters); err != nil {
			return 0, fmt.Errorf("add trials to sweep %s: trial %d: %w", id, trials[i].Index, err)
		}
	}
	err = s.updateSweep(ctx, "add trials to", id, func(t *transaction, number int64) {
		var first, points, written int64
		var cancelled, reuse bool
		var wanted string
		found := t.one([]any{&first, &points, &written, &cancelled, &reuse, &wanted},
			`SELECT first_index, points, written, cancelled, reuse, artifacts FROM grids
				WHERE sweep_no = $1 AND ordinal = $2`, number, ordinal)
		switch {
		case !found:
			t.fail(fmt.Errorf("grid %d: %w", ordinal, sweep.ErrNotFound))
		case written != from:
			return
		case int64(len(trials)) > points-from:
			t.fail(fmt.Errorf("%d trials from point %d on: grid %d has %d points", len(trials), from, ordinal, points))
		}
		for i := range trials {
			if want := first + from + int64(i); trials[i].Index != want {
				t.fail(fmt.Errorf("trial %d where trial %d was expected", trials[i].Index, want))
			}
		}
		page := page{transaction: t, number: number, trials: trials, parameters: parameters, state: sweep.Pending,
			marked: metric}
		if cancelled {
			page.state = sweep.Cancelled
		} else if reuse {
			names, err := artifactNames(wanted)
			if err != nil {
				t.fail(err)
			}
			page.findSources(names, ordinal, first)
		}
		deltas := page.write(classes)
		if rule != nil {
			t.saveRule(number, first+from, rule)
		}
		t.run(`UPDATE grids SET written = written + $1 WHERE sweep_no = $2 AND ordinal = $3`, int64(len(trials)),
			number, ordinal)
		t.count(deltas)
		t.finish(number)
		for _, counts := range deltas {
			reused += int(counts.Reused)
		}
	})
	return reused, err
}

// page writes the trials of one AddTrials.
type page struct {
	*transaction
	number     int64
	trials     []sweep.Trial
	parameters []string
	state      sweep.State
	// marked is the metric of which reused results must have marks, if it is not empty.
	marked  string
	sources map[sweep.Fingerprint]source
}

// source is a trial whose result can be reused.
type source struct {
	trialNo  database.Key
	diverged bool
}

// reusable finds the newest completed trial of each fingerprint, which an index
// has by its beginning, whose curves were not removed, that left the artifacts of a list: $1 as JSON, $2 of them, and
// has marks of a metric, $3, for the median. Those of a list $4 may have been dropped. A program's result has a
// metric, $5 as JSON has it before the value, and a list of inputs that is among those of $6, by their numbers, unless
// it has none or is of the sweep $7 from trial $8 on.
const reusable = `SELECT s.fingerprint, s.trial_no, s.diverged FROM trials AS s WHERE s.trial_no IN (
	SELECT (SELECT t.trial_no FROM trials AS t
		WHERE substr(t.fingerprint, 1, 16) = substr(v.fingerprint, 1, 16) AND t.fingerprint = v.fingerprint
			AND t.state = 'completed' AND t.source_no IS NULL
			AND NOT EXISTS (SELECT 1 FROM pruned_curves AS c WHERE c.trial_no = t.trial_no)
			AND NOT EXISTS (SELECT 1 FROM sweeps AS d WHERE d.sweep_no = t.sweep_no AND d.deleted_at IS NOT NULL)
			AND ($1 = '' OR (SELECT count(*) FROM trial_artifacts AS a
				WHERE a.trial_no = t.trial_no AND replace($1, '"' || a.name || '"', '') <> $1
					AND (a.problem = '' OR a.dropped > 0 AND replace($4, '"' || a.name || '"', '') <> $4)) = $2)
			AND ($3 = '' OR EXISTS (SELECT 1 FROM stored_observations AS m
				WHERE m.trial_no = t.trial_no AND m.metric = $3 AND NOT m.running))
			AND ($5 = '' OR t.diverged OR EXISTS (SELECT 1 FROM outcomes AS o WHERE o.trial_no = t.trial_no
				AND replace(CAST(o.summary AS text), $5, '') <> CAST(o.summary AS text)))
			AND ($6 = '' OR t.sweep_no = $7 AND t.trial_index >= $8 OR NOT EXISTS (SELECT 1 FROM trial_inputs AS n
				WHERE n.trial_no = t.trial_no AND replace($6, ',' || CAST(n.list_no AS text) || ',', '') = $6))
		ORDER BY t.trial_no DESC LIMIT 1)
	FROM {v})`

// findSources looks for results to reuse, of trials that have these artifacts. first is the index of the grid's first
// trial.
func (p *page) findSources(artifacts []string, ordinal int, first int64) {
	p.sources = map[sweep.Fingerprint]source{}
	var fingerprints []string
	for i := range p.trials {
		if p.trials[i].Fingerprint != "" {
			fingerprints = append(fingerprints, string(p.trials[i].Fingerprint))
		}
	}
	var fingerprint string
	var found source
	by, needed := p.comparison(p.number), ""
	if by.needed != "" {
		needed = p.encode(by.needed) + ":"
	}
	p.each(func(row database.Row) error {
		err := row.Scan(&fingerprint, (*int64)(&found.trialNo), &found.diverged)
		p.sources[sweep.Fingerprint(fingerprint)] = found
		return err
	}, reusable, p.encodeArtifacts(artifacts), len(artifacts), p.marked,
		p.encodeArtifacts(slices.Sorted(maps.Keys(by.keep))), needed, p.unchanged(ordinal), p.number, first,
		texts("fingerprint", fingerprints))
}

// write inserts the trials, and returns how many of each class are in which state.
func (p *page) write(requirements map[int]sweep.Requirement) ledger.Counts[class] {
	deltas := ledger.Counts[class]{}
	if len(p.trials) == 0 {
		return deltas
	}
	reused := false
	var skipped []*sweep.Trial
	by := p.comparison(p.number)
	const columns = "sweep_no, trial_index, state, diverged, finished_at, source_no, fingerprint, dataset_digest, " +
		"class_no, parameters, point_key, " + allParameterColumns
	values := make([]struct {
		source
		state    string
		finished time.Time
		pointKey int64
		parameterRow
	}, len(p.trials))
	for i := range p.trials {
		trial, v := &p.trials[i], &values[i]
		class := class{Sweep: p.number, Number: int64(trial.Class)}
		v.source, v.state, v.pointKey = p.sources[trial.Fingerprint], string(p.state), by.pointKey(p.parameters[i])
		if trial.Skipped != "" && p.state == sweep.Pending {
			skipped = append(skipped, trial)
			v.source, v.state, v.finished = source{}, string(sweep.Skipped), p.now
		}
		if v.trialNo != 0 {
			reused, v.state, v.finished = true, string(sweep.Completed), p.now
			deltas.Of(class).Reused++
			if v.diverged {
				deltas.Of(class).Diverged++
			}
		}
		ledger.Count(deltas.Of(class), sweep.State(v.state), 1)
		if v.state == string(sweep.Pending) {
			p.s.taken.back(class, trial.Index)
		}
		v.parameterRow = by.parameterRow(p.parameters[i])
	}
	p.addClasses(deltas, requirements)
	p.insert("trials", database.Rows(len(p.trials), columns, func(i int, row []any) []any {
		trial, v := &p.trials[i], &values[i]
		return v.columns(append(row, &p.number, &trial.Index, &v.state, &v.diverged, &v.finished, &v.trialNo,
			(*string)(&trial.Fingerprint), &trial.DatasetDigest, &trial.Class, (*database.JSON)(&p.parameters[i]),
			&v.pointKey))
	}).WithoutEmpty())
	p.skip(skipped)
	p.addLineages()
	if reused {
		p.tried(deltas)
		first, last := p.trials[0].Index, p.trials[len(p.trials)-1].Index
		// What an earlier sweep found unusual, such as a metric that it lacks, means nothing in this one.
		copied := strings.Replace(qualified("o", outcomeColumns), "o.error", "''", 1)
		const observed = "metric, running, position_array, value_array, best"
		p.run(`INSERT INTO stored_observations (trial_no, `+observed+`) SELECT t.trial_no, `+qualified("o", observed)+`
			FROM trials AS t JOIN stored_observations AS o ON o.trial_no = t.source_no
			WHERE t.sweep_no = $1 AND t.trial_index BETWEEN $2 AND $3 ORDER BY t.trial_no, o.observation_no`,
			p.number, first, last)
		p.run(`INSERT INTO outcomes (trial_no, `+outcomeColumns+`) SELECT t.trial_no, `+copied+`
			FROM trials AS t JOIN outcomes AS o ON o.trial_no = t.source_no
			WHERE t.sweep_no = $1 AND t.trial_index BETWEEN $2 AND $3`, p.number, first, last)
		entries := p.reusedEntries(first, last)
		p.score(entries)
		p.keepBest(entries)
	}
	return deltas
}

// selectReused reads trials that reuse a result, with whether the sweep has that result already.
const selectReused = `SELECT t.trial_no, t.trial_index, t.diverged, t.parameters, o.summary,
		EXISTS (SELECT 1 FROM trials AS f WHERE f.trial_no = t.source_no AND f.sweep_no = t.sweep_no)
			OR EXISTS (SELECT 1 FROM trials AS e
			WHERE e.source_no = t.source_no AND e.sweep_no = t.sweep_no AND e.trial_no < t.trial_no)
	FROM trials AS t JOIN outcomes AS o USING (trial_no)
	WHERE t.sweep_no = $1 AND t.trial_index BETWEEN $2 AND $3 AND t.source_no IS NOT NULL`

func (p *page) reusedEntries(first, last int64) (all []entry) {
	by := p.comparison(p.number)
	p.each(func(row database.Row) error {
		e := entry{sweep: p.number, completed: true}
		var summary []byte
		err := row.Scan(&e.trial, &e.index, &e.diverged, &e.parameters, &summary, &e.repeated)
		if err == nil {
			e.summary, e.notFinite, err = decodeSummary(summary)
		}
		if err != nil {
			return fmt.Errorf("summary of trial %d: %w", e.index, err)
		}
		e.point, e.seed = by.pointKey(e.parameters), by.parameterRow(e.parameters).seed.V
		all = append(all, e)
		return nil
	}, selectReused, p.number, first, last)
	return all
}

// skip writes the results of trials that do not run: their reasons.
func (p *page) skip(trials []*sweep.Trial) {
	if len(trials) == 0 {
		return
	}
	result := sweep.Result{State: sweep.Skipped}
	reasons := database.Rows(len(trials), "trial_index, error", func(i int, row []any) []any {
		return append(row, &trials[i].Index, &trials[i].Skipped)
	})
	p.run(`INSERT INTO outcomes (trial_no, `+outcomeColumns+`)
		SELECT t.trial_no, '{}', '', '', 0, v.error, '', $1, '', '', '', ''
		FROM {v} JOIN trials AS t ON t.sweep_no = $2 AND t.trial_index = v.trial_index`,
		result.ComputeDigest(nil), p.number, reasons)
}

// tried notes which classes have a completed trial.
func (p *page) tried(deltas ledger.Counts[class]) {
	var classes []class
	for class, d := range deltas {
		if d.Completed > 0 {
			classes = append(classes, class)
		}
	}
	p.run(`UPDATE classes AS c SET tried = TRUE`+whereClass+` AND NOT c.tried`,
		database.Rows(len(classes), "sweep_no, class_no", func(i int, row []any) []any {
			return append(row, &classes[i].Sweep, &classes[i].Number)
		}))
}

// addClasses makes the classes of the trials that the sweep does not have yet.
// The default requirement is the sweep's trainer.
func (p *page) addClasses(deltas ledger.Counts[class], requirements map[int]sweep.Requirement) {
	for class := range deltas {
		requirement, given := requirements[int(class.Number)]
		if !given {
			p.one([]any{&requirement.Trainer}, `SELECT trainer FROM sweeps WHERE sweep_no = $1`, p.number)
		}
		p.run(`INSERT INTO classes (sweep_no, class_no, requirement) VALUES ($1, $2, $3)
			ON CONFLICT (sweep_no, class_no) DO NOTHING`,
			p.number, class.Number, p.encode(requirement))
	}
}
