package store

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// Three tables are updated in the transaction of each result, so that no query has to read
// all trials: scores has the metrics of each trial, point_aggregates the means of each grid
// point, groups the best trial and the best grid point of each group. A completed trial
// never changes, so nothing is ever subtracted.

// entry is a trial whose result is recorded.
type entry struct {
	sweep, trial, index int64
	// point is the key of its grid point, seed 0 if it has none.
	point, seed         int64
	completed, diverged bool
	// repeated is set if the sweep has the same trial already: it is not counted twice.
	repeated   bool
	parameters string // as JSON
	summary    map[string]float64
	notFinite  []string // names of metrics without a value that can be compared
}

// metric returns a metric of the trial, NaN if it has none.
func (e *entry) metric(metric string) float64 {
	if value, ok := e.summary[metric]; ok {
		return value
	}
	return math.NaN()
}

// score enters trials into the three tables.
func (t *transaction) score(entries []entry) {
	names := t.numberMetrics(entries)
	t.saveScores(slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return len(e.summary) == 0 }), names)
	entries = slices.DeleteFunc(entries, func(e entry) bool {
		return !e.completed || e.repeated || !e.diverged && math.IsNaN(e.metric(t.comparison(e.sweep).By))
	})
	if t.err != nil || len(entries) == 0 {
		return
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.sweep, b.sweep), cmp.Compare(a.index, b.index))
	})
	s := scoring{transaction: t, aggregates: map[sweepKey]*aggregate{}, groups: map[sweepKey]*group{}}
	s.load(entries)
	for i := range entries {
		e := &entries[i]
		a := s.aggregates[sweepKey{e.sweep, e.point}]
		if a == nil { // the transaction failed
			return
		}
		by := t.comparison(e.sweep)
		a.add(by, e, names)
		if g := s.groups[sweepKey{e.sweep, a.group}]; !e.diverged {
			g.addTrial(by, e)
		}
	}
	for key, a := range s.aggregates {
		s.groups[sweepKey{key.sweep, a.group}].addPoint(t.comparison(key.sweep), a)
	}
	s.save()
}

// sweepKey identifies a grid point or a group: a sweep's number, and the key there.
type sweepKey struct{ sweep, key int64 }

// group has the best trial, 0 if all diverged, and the best grid point of a group.
type group struct {
	sweepKey
	trial, trialIndex      int64
	trialScore             float64
	trialPoint, trialSeed  int64
	trialTies              int64 // other trials with the same score
	point, pointReplicates int64
	pointScore             float64
	pointTies              int64 // other points with the same score
	stored                 bool
}

// addTrial compares a trial with the best one. Of equal ones the one with the smallest key
// and seed is the best.
func (g *group) addTrial(by *comparison, e *entry) {
	score := e.metric(by.By)
	switch {
	case g.trial == 0 || by.Better(score, g.trialScore):
		g.trialTies = 0
	case score != g.trialScore:
		return
	default:
		g.trialTies++
		if cmp.Or(cmp.Compare(g.trialPoint, e.point), cmp.Compare(g.trialSeed, e.seed),
			cmp.Compare(g.trialIndex, e.index)) <= 0 {
			return
		}
	}
	g.trial, g.trialIndex, g.trialScore, g.trialPoint, g.trialSeed = e.trial, e.index, score, e.point, e.seed
}

// addPoint compares a grid point that has further replicates with the best one. Only the
// points with the most replicates are candidates, and each comes here once when it has as
// many as the best one.
func (g *group) addPoint(by *comparison, a *aggregate) {
	switch {
	case a.replicates > g.pointReplicates ||
		a.replicates == g.pointReplicates && by.BetterMean(a.score, g.pointScore):
		g.pointTies = 0
	case a.replicates < g.pointReplicates || !sweep.Tied(a.score, g.pointScore):
		return
	default:
		g.pointTies++
		if a.key > g.point {
			return
		}
	}
	g.point, g.pointReplicates, g.pointScore = a.key, a.replicates, a.score
}

// scoring has the grid points and groups that results change.
type scoring struct {
	*transaction
	aggregates map[sweepKey]*aggregate
	groups     map[sweepKey]*group
}

// sweepKeys is a batch of keys; name is the column of the second part.
func sweepKeys(name string, list []sweepKey) database.Batch {
	return database.Rows(len(list), "sweep_no, "+name, func(i int, row []any) []any {
		return append(row, &list[i].sweep, &list[i].key)
	})
}

var loadAggregates = `SELECT ` + qualified("p", aggregateColumns) + `
	FROM {v} JOIN point_aggregates AS p USING (sweep_no, point_key)`

var loadGroups = `SELECT ` + qualified("g", groupColumns) + `, coalesce(g.best_trial_no, 0),
		coalesce(b.point_key, 0), coalesce(b.seed, 0)
	FROM {v} JOIN groups AS g USING (sweep_no, group_key) LEFT JOIN trials AS b ON b.trial_no = g.best_trial_no`

const loadParameters = `SELECT t.trial_no, t.parameters FROM {v} JOIN trials AS t USING (trial_no)`

// load loads the grid points and groups of entries, and makes those that do not exist yet.
func (s *scoring) load(entries []entry) {
	var wanted []sweepKey
	first := map[sweepKey]int64{} // a trial of each point
	for i := range entries {
		key := sweepKey{entries[i].sweep, entries[i].point}
		if _, seen := first[key]; !seen {
			first[key] = entries[i].trial
			wanted = append(wanted, key)
		}
	}
	s.each(func(row database.Row) error {
		a := &aggregate{stored: true}
		var metrics []byte
		err := row.Scan(append(a.columns(nil), &metrics)...)
		if err == nil {
			a.metrics, err = decodeMetrics(metrics)
		}
		s.aggregates[a.sweepKey] = a
		return err
	}, loadAggregates, sweepKeys("point_key", wanted))
	var fresh []int64
	points := map[int64]sweepKey{}
	for _, key := range wanted {
		if s.aggregates[key] == nil {
			fresh = append(fresh, first[key])
			points[first[key]] = key
		}
	}
	s.each(func(row database.Row) error {
		var trial int64
		var parameters string
		err := row.Scan(&trial, &parameters)
		key := points[trial]
		s.aggregates[key] = &aggregate{sweepKey: key, group: s.comparison(key.sweep).groupKey(parameters)}
		return err
	}, loadParameters, ints("trial_no", fresh))
	wanted = wanted[:0]
	for _, a := range s.aggregates {
		key := sweepKey{a.sweep, a.group}
		if s.groups[key] == nil {
			s.groups[key] = &group{sweepKey: key}
			wanted = append(wanted, key)
		}
	}
	s.each(func(row database.Row) error {
		g := &group{stored: true}
		err := row.Scan(append(g.columns(nil), &g.trial, &g.trialPoint, &g.trialSeed)...)
		s.groups[g.sweepKey] = g
		return err
	}, loadGroups, sweepKeys("group_key", wanted))
}

func (s *scoring) save() {
	save(s.transaction, "point_aggregates", 2, slices.Collect(maps.Values(s.aggregates)), func(a *aggregate) bool {
		return a.stored
	}, aggregateBatch)
	save(s.transaction, "groups", 2, slices.Collect(maps.Values(s.groups)), func(g *group) bool {
		return g.stored
	}, groupBatch)
}

const groupColumns = "sweep_no, group_key, best_trial_index, best_trial_score, best_trial_ties, best_point_key, " +
	"best_point_replicates, best_point_score, best_point_ties"

func (g *group) columns(row []any) []any {
	return append(row, &g.sweep, &g.key, &g.trialIndex, &g.trialScore, &g.trialTies, &g.point, &g.pointReplicates,
		&g.pointScore, &g.pointTies)
}

func groupBatch(all []*group) database.Batch {
	return database.Rows(len(all), groupColumns+", best_trial_no", func(i int, row []any) []any {
		return append(all[i].columns(row), (*database.Key)(&all[i].trial))
	})
}
