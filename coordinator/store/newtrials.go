package store

import (
	"context"
	"fmt"
	"time"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// AddTrials implements sweep.Store.
func (s *Store) AddTrials(ctx context.Context, id string, ordinal int, from int64, trials []sweep.Trial,
	classes map[int]sweep.Requirement) (reused int, err error) {
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
		page := page{transaction: t, number: number, trials: trials, parameters: parameters, state: sweep.Pending}
		if cancelled {
			page.state = sweep.Cancelled
		} else if reuse {
			names, err := artifactNames(wanted)
			if err != nil {
				t.fail(err)
			}
			page.findSources(names)
		}
		deltas := page.write(classes)
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
	sources    map[sweep.Fingerprint]source
}

// source is a trial whose result can be reused.
type source struct {
	trialNo  int64
	diverged bool
}

// reusable finds the first completed trial of each fingerprint, which an index
// has by its beginning, that left the artifacts of a list: $1 as JSON, $2 of them.
const reusable = `SELECT s.fingerprint, s.trial_no, s.diverged FROM trials AS s WHERE s.trial_no IN (
	SELECT (SELECT t.trial_no FROM trials AS t
		WHERE substr(t.fingerprint, 1, 16) = substr(v.fingerprint, 1, 16) AND t.fingerprint = v.fingerprint
			AND t.state = 'completed' AND t.source_no IS NULL
			AND NOT EXISTS (SELECT 1 FROM sweeps AS d WHERE d.sweep_no = t.sweep_no AND d.deleted_at IS NOT NULL)
			AND ($1 = '' OR (SELECT count(*) FROM trial_artifacts AS a
				WHERE a.trial_no = t.trial_no AND a.problem = '' AND replace($1, '"' || a.name || '"', '') <> $1) = $2)
		ORDER BY t.trial_no LIMIT 1)
	FROM {v})`

// findSources looks for results to reuse, of trials that have these artifacts.
func (p *page) findSources(artifacts []string) {
	p.sources = map[sweep.Fingerprint]source{}
	var fingerprints []sweep.Fingerprint
	for i := range p.trials {
		if p.trials[i].Fingerprint != "" {
			fingerprints = append(fingerprints, p.trials[i].Fingerprint)
		}
	}
	p.each(func(row database.Row) error {
		var fingerprint string
		var found source
		err := row.Scan(&fingerprint, &found.trialNo, &found.diverged)
		p.sources[sweep.Fingerprint(fingerprint)] = found
		return err
	}, reusable, p.encodeArtifacts(artifacts), len(artifacts), list("fingerprint", fingerprints))
}

// write inserts the trials, and returns how many of each class are in which state.
func (p *page) write(requirements map[int]sweep.Requirement) map[class]*sweep.Progress {
	deltas := map[class]*sweep.Progress{}
	if len(p.trials) == 0 {
		return deltas
	}
	of := func(i int) source { return p.sources[p.trials[i].Fingerprint] }
	state := func(i int) sweep.State {
		if of(i).trialNo != 0 {
			return sweep.Completed
		}
		return p.state
	}
	reused := false
	for i := range p.trials {
		counts := deltas[class{p.number, int64(p.trials[i].Class)}]
		if counts == nil {
			counts = &sweep.Progress{}
			deltas[class{p.number, int64(p.trials[i].Class)}] = counts
		}
		ledger.Count(counts, state(i), 1)
		if state(i) == sweep.Pending {
			p.s.taken.back(class{p.number, int64(p.trials[i].Class)}, p.trials[i].Index)
		}
		if found := of(i); found.trialNo != 0 {
			reused = true
			counts.Reused++
			if found.diverged {
				counts.Diverged++
			}
		}
	}
	p.addClasses(deltas, requirements)
	by := p.comparison(p.number)
	p.insert("trials", database.Batch{Rows: len(p.trials), Columns: append([]database.Column{
		{Name: "sweep_no", Int: func(int) int64 { return p.number }},
		{Name: "trial_index", Int: func(i int) int64 { return p.trials[i].Index }},
		{Name: "state", Text: func(i int) string { return string(state(i)) }},
		{Name: "diverged", Bool: func(i int) bool { return of(i).diverged }},
		{Name: "finished_at", Time: func(i int) time.Time {
			if of(i).trialNo != 0 {
				return p.now
			}
			return time.Time{}
		}},
		{Name: "source_no", Key: func(i int) int64 { return of(i).trialNo }},
		{Name: "fingerprint", Text: func(i int) string { return string(p.trials[i].Fingerprint) }},
		{Name: "dataset_digest", Text: func(i int) string { return p.trials[i].DatasetDigest }},
		{Name: "class_no", Int32: func(i int) int64 { return int64(p.trials[i].Class) }},
		{Name: "parameters", JSON: func(i int) string { return p.parameters[i] }},
		{Name: "point_key", Int: func(i int) int64 { return by.pointKey(p.parameters[i]) }},
	}, parameterColumns(len(p.trials), func(i int) sweep.Parameters { return p.trials[i].Parameters }, false)...)})
	if reused {
		p.run(`INSERT INTO outcomes (trial_no, summary, best_epoch, parameter_count, weights_digest, kernel_level,
			seconds, flops, error, stderr, digest)
			SELECT t.trial_no, o.summary, o.best_epoch, o.parameter_count, o.weights_digest, o.kernel_level,
			o.seconds, o.flops, o.error, o.stderr, o.digest
			FROM trials AS t JOIN outcomes AS o ON o.trial_no = t.source_no
			WHERE t.sweep_no = $1 AND t.trial_index BETWEEN $2 AND $3`,
			p.number, p.trials[0].Index, p.trials[len(p.trials)-1].Index)
		p.score(p.entries(p.number,
			selectEntries+` WHERE t.sweep_no = $1 AND t.trial_index BETWEEN $2 AND $3 AND t.source_no IS NOT NULL`,
			p.number, p.trials[0].Index, p.trials[len(p.trials)-1].Index))
	}
	return deltas
}

// addClasses makes the classes of the trials that the sweep does not have yet.
// The default requirement is the sweep's trainer.
func (p *page) addClasses(deltas map[class]*sweep.Progress, requirements map[int]sweep.Requirement) {
	for class := range deltas {
		requirement, given := requirements[int(class.number)]
		if !given {
			p.one([]any{&requirement.Trainer}, `SELECT trainer FROM sweeps WHERE sweep_no = $1`, p.number)
		}
		p.run(`INSERT INTO classes (sweep_no, class_no, requirement) VALUES ($1, $2, $3)
			ON CONFLICT (sweep_no, class_no) DO NOTHING`,
			p.number, class.number, p.encode(requirement))
	}
}
