package store

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// What a question would have to read all trials for is kept up to date as their
// results come: the metrics of each trial (table scores), what the replicates
// of each grid point come to (points), and who leads each group (contests). A
// completed trial never changes, so nothing is ever taken back.

// entry is a trial whose result is recorded.
type entry struct {
	sweep, trial, index int64
	// point is the key of its grid point, seed 0 if it has none.
	point, seed         int64
	completed, diverged bool
	// again says that the sweep has the same trial already: it is not counted twice.
	again          bool
	parameters     sweep.Parameters
	summary        map[string]float64
	parameterCount int64
}

// worth returns a metric of the trial, NaN if it has none.
func (e *entry) worth(metric string) float64 {
	if value, ok := e.summary[metric]; ok {
		return value
	}
	return math.NaN()
}

// score enters trials into the three tables.
func (t *transaction) score(entries []entry) {
	t.saveScores(slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return len(e.summary) == 0 }))
	entries = slices.DeleteFunc(entries, func(e entry) bool {
		return !e.completed || e.again || !e.diverged && math.IsNaN(e.worth(t.comparison(e.sweep).By))
	})
	if t.err != nil || len(entries) == 0 {
		return
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.sweep, b.sweep), cmp.Compare(a.index, b.index))
	})
	s := standings{transaction: t, tallies: map[contender]*tally{}, contests: map[contender]*contest{}}
	s.load(entries)
	for i := range entries {
		e := &entries[i]
		p := s.tallies[contender{e.sweep, e.point}]
		if p == nil { // the transaction failed
			return
		}
		by := t.comparison(e.sweep)
		p.add(by, e)
		if c := s.contests[contender{e.sweep, p.contest}]; !e.diverged {
			c.enter(by, e)
		}
	}
	for key, p := range s.tallies {
		s.contests[contender{key.sweep, p.contest}].follow(t.comparison(key.sweep), p)
	}
	s.save()
}

// contender is a grid point or a group of a sweep.
type contender struct{ sweep, key int64 }

// tally is what the replicates of a grid point come to: means, and the sum of the
// squares of the accuracies' distances from theirs (Welford's way, which a
// result can be added to).
type tally struct {
	contender
	contest              int64
	first, sample        int64
	replicates, diverged int64
	score                float64
	losses               int64
	loss                 float64
	accuracies           int64
	accuracy, spread     float64
	parameterCount       int64
	// stored says that the table has it.
	stored bool
}

// add counts a replicate.
func (p *tally) add(by *comparison, e *entry) {
	if p.replicates == 0 || e.index < p.first {
		p.first = e.index
	}
	if p.replicates == 0 || p.replicates == p.diverged && !e.diverged {
		p.sample = e.trial
	}
	score, loss, accuracy := e.worth(by.By), e.worth("validation_loss"), e.worth("test_accuracy")
	if e.diverged {
		score, loss, accuracy = by.Worst(), sweep.LossOfDiverged, 0
		p.diverged++
	}
	p.replicates++
	p.score += (score - p.score) / float64(p.replicates)
	if !math.IsNaN(loss) {
		p.losses++
		p.loss += (loss - p.loss) / float64(p.losses)
	}
	if !math.IsNaN(accuracy) {
		p.accuracies++
		off := accuracy - p.accuracy
		p.accuracy += off / float64(p.accuracies)
		p.spread += float64(off * (accuracy - p.accuracy))
	}
	p.parameterCount = max(p.parameterCount, e.parameterCount)
}

// contest is a group with who leads it.
type contest struct {
	contender
	best, bestIndex           int64
	bestScore                 float64
	bestPoint, bestSeed       int64 // of the best trial
	bestTies                  int64 // others that are as good
	lead, replicates, leading int64 // the point, its replicates and first index
	leadScore                 float64
	leadTies                  int64 // others that are as good
	stored                    bool
}

// enter lets a trial compete. Of equal ones the one with the smallest key and seed is
// the best.
func (c *contest) enter(by *comparison, e *entry) {
	score := e.worth(by.By)
	switch {
	case c.best == 0 || by.Better(score, c.bestScore):
		c.bestTies = 0
	case score != c.bestScore:
		return
	default:
		c.bestTies++
		if cmp.Or(cmp.Compare(c.bestPoint, e.point), cmp.Compare(c.bestSeed, e.seed),
			cmp.Compare(c.bestIndex, e.index)) <= 0 {
			return
		}
	}
	c.best, c.bestIndex, c.bestScore, c.bestPoint, c.bestSeed = e.trial, e.index, score, e.point, e.seed
}

// follow lets a grid point compete that has more replicates now: the fullest
// alone do. Every point comes here once when it has as many as the leader.
func (c *contest) follow(by *comparison, p *tally) {
	switch {
	case p.replicates > c.replicates || p.replicates == c.replicates && by.BetterMean(p.score, c.leadScore):
		c.leadTies = 0
	case p.replicates < c.replicates || !sweep.Tied(p.score, c.leadScore):
		return
	default:
		c.leadTies++
		if p.key > c.lead {
			return
		}
	}
	c.lead, c.replicates, c.leading, c.leadScore = p.key, p.replicates, p.first, p.score
}

// standings are the grid points and groups that results are about to change.
type standings struct {
	*transaction
	tallies  map[contender]*tally
	contests map[contender]*contest
}

// contenders is a batch of them.
func contenders(name string, list []contender) database.Batch {
	return database.Batch{Rows: len(list), Columns: []database.Column{
		{Name: "sweep_no", Int: func(i int) int64 { return list[i].sweep }},
		{Name: name, Int: func(i int) int64 { return list[i].key }},
	}}
}

const loadPoints = `SELECT p.sweep_no, p.point_key, p.contest_key, p.first_index, p.sample_no, p.replicates,
	p.diverged, p.score, p.losses, p.loss,
		p.accuracies, p.accuracy, p.accuracy_spread, p.parameter_count
	FROM {v} JOIN points AS p USING (sweep_no, point_key)`

const loadContests = `SELECT c.sweep_no, c.contest_key, coalesce(c.best_no, 0), c.best_index, c.best_score,
	coalesce(b.point_key, 0), coalesce(b.seed, 0), c.best_ties,
		c.lead_key, c.lead_replicates, c.lead_index, c.lead_score, c.lead_ties
	FROM {v} JOIN contests AS c USING (sweep_no, contest_key) LEFT JOIN trials AS b ON b.trial_no = c.best_no`

const loadParameters = `SELECT t.trial_no, t.parameters FROM {v} JOIN trials AS t USING (trial_no)`

// load loads the grid points and groups of entries, and makes those that are not
// there yet.
func (s *standings) load(entries []entry) {
	var wanted []contender
	first := map[contender]int64{} // a trial of each point
	for i := range entries {
		key := contender{entries[i].sweep, entries[i].point}
		if _, seen := first[key]; !seen {
			first[key] = entries[i].trial
			wanted = append(wanted, key)
		}
	}
	s.each(func(row database.Row) error {
		p := &tally{stored: true}
		err := row.Scan(&p.sweep, &p.key, &p.contest, &p.first, &p.sample, &p.replicates, &p.diverged, &p.score,
			&p.losses, &p.loss,
			&p.accuracies, &p.accuracy, &p.spread, &p.parameterCount)
		s.tallies[p.contender] = p
		return err
	}, loadPoints, contenders("point_key", wanted))
	var fresh []int64
	points := map[int64]contender{}
	for _, key := range wanted {
		if s.tallies[key] == nil {
			fresh = append(fresh, first[key])
			points[first[key]] = key
		}
	}
	if len(fresh) > 0 {
		s.each(func(row database.Row) error {
			var trial int64
			var parameters string
			err := row.Scan(&trial, &parameters)
			key := points[trial]
			s.tallies[key] = &tally{contender: key, contest: s.comparison(key.sweep).contestKey(parameters)}
			return err
		}, loadParameters, numberBatch(fresh))
	}
	wanted = wanted[:0]
	for _, p := range s.tallies {
		key := contender{p.sweep, p.contest}
		if s.contests[key] == nil {
			s.contests[key] = &contest{contender: key}
			wanted = append(wanted, key)
		}
	}
	s.each(func(row database.Row) error {
		c := &contest{stored: true}
		err := row.Scan(&c.sweep, &c.key, &c.best, &c.bestIndex, &c.bestScore, &c.bestPoint, &c.bestSeed, &c.bestTies,
			&c.lead, &c.replicates, &c.leading, &c.leadScore, &c.leadTies)
		s.contests[c.contender] = c
		return err
	}, loadContests, contenders("contest_key", wanted))
}

func (s *standings) save() {
	save(s.transaction, "points", 2, slices.Collect(maps.Values(s.tallies)), func(p *tally) bool {
		return p.stored
	}, tallyBatch)
	save(s.transaction, "contests", 2, slices.Collect(maps.Values(s.contests)), func(c *contest) bool {
		return c.stored
	}, contestBatch)
}

func tallyBatch(all []*tally) database.Batch {
	return database.Batch{Rows: len(all), Columns: []database.Column{
		{Name: "sweep_no", Int: func(i int) int64 { return all[i].sweep }},
		{Name: "point_key", Int: func(i int) int64 { return all[i].key }},
		{Name: "contest_key", Int: func(i int) int64 { return all[i].contest }},
		{Name: "first_index", Int: func(i int) int64 { return all[i].first }},
		{Name: "sample_no", Int: func(i int) int64 { return all[i].sample }},
		{Name: "replicates", Int: func(i int) int64 { return all[i].replicates }},
		{Name: "diverged", Int: func(i int) int64 { return all[i].diverged }},
		{Name: "score", Float: func(i int) float64 { return all[i].score }},
		{Name: "losses", Int: func(i int) int64 { return all[i].losses }},
		{Name: "loss", Float: func(i int) float64 { return all[i].loss }},
		{Name: "accuracies", Int: func(i int) int64 { return all[i].accuracies }},
		{Name: "accuracy", Float: func(i int) float64 { return all[i].accuracy }},
		{Name: "accuracy_spread", Float: func(i int) float64 { return all[i].spread }},
		{Name: "parameter_count", Int: func(i int) int64 { return all[i].parameterCount }},
	}}
}

func contestBatch(all []*contest) database.Batch {
	return database.Batch{Rows: len(all), Columns: []database.Column{
		{Name: "sweep_no", Int: func(i int) int64 { return all[i].sweep }},
		{Name: "contest_key", Int: func(i int) int64 { return all[i].key }},
		{Name: "best_no", Key: func(i int) int64 { return all[i].best }},
		{Name: "best_index", Int: func(i int) int64 { return all[i].bestIndex }},
		{Name: "best_score", Float: func(i int) float64 { return all[i].bestScore }},
		{Name: "best_ties", Int: func(i int) int64 { return all[i].bestTies }},
		{Name: "lead_key", Int: func(i int) int64 { return all[i].lead }},
		{Name: "lead_replicates", Int: func(i int) int64 { return all[i].replicates }},
		{Name: "lead_index", Int: func(i int) int64 { return all[i].leading }},
		{Name: "lead_score", Float: func(i int) float64 { return all[i].leadScore }},
		{Name: "lead_ties", Int: func(i int) int64 { return all[i].leadTies }},
	}}
}
