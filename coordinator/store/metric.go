package store

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"sweep/coordinator/store/database"
)

// Metrics of trials are stored outside of JSON, so that sorting by one reads a narrow table. Each
// metric of a sweep has a number, in the table metric_names: the first ones are columns of the table
// scores, one row per trial, and further ones are rows of metric_values, one per trial and metric.

// scoreColumns are the columns of scores, by the metric's number.
var scoreColumns = [...]string{"metric0", "metric1", "metric2", "metric3", "metric4", "metric5", "metric6", "metric7"}

// maxMetrics bounds how many metrics of a sweep are numbered. Sorting by another one reads
// JSON.
const maxMetrics = 1000

// metricPlace is where a metric is stored: in a column of scores, or, if column is empty, in
// the rows of metric_values with its number.
type metricPlace struct {
	column string
	number int64
}

// placeOf returns where the metric with a number is stored.
func placeOf(number int64) *metricPlace {
	if number < int64(len(scoreColumns)) {
		return &metricPlace{column: scoreColumns[number]}
	}
	return &metricPlace{number: number}
}

// metricRow is a row of metric_values.
type metricRow struct {
	entry  *entry
	number int64
	value  float64
}

// metricNumbers are the numbers of metrics that are not described, by sweep and name.
type metricNumbers map[int64]map[string]int64

// of returns the number of a sweep's metric, -1 if it has none.
func (n metricNumbers) of(by *comparison, name string) int64 {
	if number, ok := by.metrics[name]; ok {
		return number
	}
	if number, ok := n[by.number][name]; ok {
		return number
	}
	return -1
}

// saveScores writes the metrics of trials.
func (t *transaction) saveScores(entries []entry, names metricNumbers) {
	if len(entries) == 0 || t.err != nil {
		return
	}
	values := make([]float64, len(entries)*len(scoreColumns))
	for i := range values {
		values[i] = math.NaN()
	}
	var further []metricRow
	for i := range entries {
		by := t.comparison(entries[i].sweep)
		for name, value := range entries[i].summary {
			switch number := names.of(by, name); {
			case number >= int64(len(scoreColumns)):
				further = append(further, metricRow{&entries[i], number, value})
			case number >= 0:
				values[i*len(scoreColumns)+int(number)] = value
			}
		}
	}
	all := "sweep_no, trial_index, trial_no, " + strings.Join(scoreColumns[:], ", ")
	t.insert("scores", database.Rows(len(entries), all, func(i int, row []any) []any {
		row = append(row, &entries[i].sweep, &entries[i].index, &entries[i].trial)
		for place := range scoreColumns {
			row = append(row, &values[i*len(scoreColumns)+place])
		}
		return row
	}).WithoutEmpty())
	// The rows of a metric are neighbours.
	slices.SortFunc(further, func(a, b metricRow) int {
		return cmp.Or(cmp.Compare(a.entry.sweep, b.entry.sweep), cmp.Compare(a.number, b.number),
			cmp.Compare(a.entry.index, b.entry.index))
	})
	const columns = "sweep_no, metric_no, trial_index, trial_no, value"
	t.insert("metric_values", database.Rows(len(further), columns, func(i int, row []any) []any {
		e := further[i].entry
		return append(row, &e.sweep, &further[i].number, &e.index, &e.trial, &further[i].value)
	}))
}

// numberMetrics returns the numbers of the metrics of trials that their trainers do not describe, by
// sweep and name. Those that are new get one in the order of their names; those beyond maxMetrics
// have -1.
func (t *transaction) numberMetrics(entries []entry) metricNumbers {
	names := metricNumbers{}
	for i := range entries {
		by := t.comparison(entries[i].sweep)
		for _, name := range slices.AppendSeq(slices.Clone(entries[i].notFinite), maps.Keys(entries[i].summary)) {
			if _, known := by.metrics[name]; known || !by.further(name) {
				continue
			}
			if names[by.number] == nil {
				names[by.number] = map[string]int64{}
			}
			names[by.number][name] = -1
			if number, read := by.undescribed.Load(name); read {
				names[by.number][name] = number.(int64)
			}
		}
	}
	for sweep, wanted := range names {
		if !slices.Contains(slices.Collect(maps.Values(wanted)), -1) {
			continue // all are known
		}
		by := t.comparison(sweep)
		known := int64(0)
		t.each(func(row database.Row) error {
			var name string
			var number int64
			err := row.Scan(&name, &number)
			if _, ok := wanted[name]; ok {
				wanted[name] = number
				by.undescribed.Store(name, number) // others have committed it
			}
			known++
			return err
		}, `SELECT metric, metric_no FROM metric_names WHERE sweep_no = $1`, sweep)
		var added []string
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			if wanted[name] < 0 && known < maxMetrics {
				wanted[name] = known
				added = append(added, name)
				known++
			}
		}
		t.nameMetrics(by, added, wanted)
	}
	return names
}

// describeMetrics writes the numbers of the metrics that a sweep's trainer describes.
func (t *transaction) describeMetrics(by *comparison) {
	t.nameMetrics(by, slices.SortedFunc(maps.Keys(by.metrics), func(a, b string) int {
		return cmp.Compare(by.metrics[a], by.metrics[b])
	}), by.metrics)
}

func (t *transaction) nameMetrics(by *comparison, names []string, numbers map[string]int64) {
	t.insert("metric_names", database.Rows(len(names), "sweep_no, metric, metric_no, diverged",
		func(i int, row []any) []any {
			return append(row, &by.number, &names[i], new(numbers[names[i]]),
				new(by.description.Diverged(names[i], by.fixed)))
		}))
}

// metrics returns a function that finds where a metric is stored, if all the sweeps store it
// in the same place; else it returns nil.
func (t *transaction) metrics(sweeps []int64) func(name string) *metricPlace {
	places := map[string]*metricPlace{}
	return func(name string) *metricPlace {
		if _, asked := places[name]; !asked {
			places[name] = t.metricPlace(sweeps, name)
		}
		return places[name]
	}
}

func (t *transaction) metricPlace(sweeps []int64, name string) (place *metricPlace) {
	const numberOf = `SELECT metric_no FROM metric_names WHERE sweep_no = $1 AND metric = $2`
	for i, sweep := range sweeps {
		by := t.comparison(sweep)
		number, described := by.metrics[name]
		if !described && (!by.further(name) || !t.one([]any{&number}, numberOf, sweep, name)) {
			return nil
		}
		found := placeOf(number)
		if i > 0 && *found != *place {
			return nil
		}
		place = found
	}
	return place
}
