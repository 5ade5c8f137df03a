package store

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"sweep/coordinator/store/database"
)

// Metrics of trials are stored outside of JSON, so that sorting by one reads a narrow table:
// eight of each sweep in columns of the table scores, one row per trial, and further ones in
// the table metrics, one row per trial and metric.

// scoreColumns are the columns of scores: four with the name of their metric, which the views
// show, and four for other metrics of a sweep.
var scoreColumns = []string{"validation_loss", "validation_accuracy", "test_accuracy", "train_loss", "metric1",
	"metric2", "metric3", "metric4"}

const namedScores = 4

// mostMetrics bounds how many metrics of a sweep are numbered. Sorting by another one reads
// JSON.
const mostMetrics = 1000

// metricPlace is where a metric is stored: in a column of scores, or, if column is empty, in
// the rows of metrics with its number.
type metricPlace struct {
	column string
	number int64
}

// saveScores writes the metrics of trials.
func (t *transaction) saveScores(entries []entry) {
	if len(entries) == 0 {
		return
	}
	values := make([]float64, len(entries)*len(scoreColumns))
	for i := range values {
		values[i] = math.NaN()
	}
	var further []furtherMetric
	for i := range entries {
		by := t.comparison(entries[i].sweep)
		for name, value := range entries[i].summary {
			if place, ok := by.metrics[name]; ok {
				values[i*len(scoreColumns)+place] = value
			} else if by.further(name) {
				further = append(further, furtherMetric{entry: &entries[i], name: name, value: value})
			}
		}
	}
	t.insert("scores", database.Rows(len(entries), "sweep_no, trial_index, trial_no, "+strings.Join(scoreColumns, ", "),
		func(i int, row []any) []any {
			row = append(row, &entries[i].sweep, &entries[i].index, &entries[i].trial)
			for place := range scoreColumns {
				row = append(row, &values[i*len(scoreColumns)+place])
			}
			return row
		}).WithoutEmpty())
	t.saveFurther(further)
}

// furtherMetric is a row of metrics.
type furtherMetric struct {
	entry  *entry
	name   string
	number int64
	value  float64
}

// saveFurther writes metrics that have no column. The rows of a metric are neighbours.
func (t *transaction) saveFurther(rows []furtherMetric) {
	if len(rows) == 0 || t.err != nil {
		return
	}
	names := map[int64]map[string]int64{}
	for i := range rows {
		number := rows[i].entry.sweep
		if names[number] == nil {
			names[number] = map[string]int64{}
		}
		names[number][rows[i].name] = -1
	}
	for number, wanted := range names {
		t.numberMetrics(number, wanted)
	}
	for i := range rows {
		rows[i].number = names[rows[i].entry.sweep][rows[i].name]
	}
	rows = slices.DeleteFunc(rows, func(r furtherMetric) bool { return r.number < 0 })
	slices.SortFunc(rows, func(a, b furtherMetric) int {
		return cmp.Or(cmp.Compare(a.entry.sweep, b.entry.sweep), cmp.Compare(a.number, b.number),
			cmp.Compare(a.entry.index, b.entry.index))
	})
	const columns = "sweep_no, metric_no, trial_index, trial_no, value"
	t.insert("metrics", database.Rows(len(rows), columns, func(i int, row []any) []any {
		e := rows[i].entry
		return append(row, &e.sweep, &rows[i].number, &e.index, &e.trial, &rows[i].value)
	}))
}

// numberMetrics fills in the numbers of a sweep's metrics, and gives one to those that are
// new, in the order of their names. Those beyond mostMetrics keep -1.
func (t *transaction) numberMetrics(sweep int64, wanted map[string]int64) {
	known := int64(0)
	t.each(func(row database.Row) error {
		var name string
		var number int64
		err := row.Scan(&name, &number)
		if _, ok := wanted[name]; ok {
			wanted[name] = number
		}
		known++
		return err
	}, `SELECT metric, metric_no FROM metric_names WHERE sweep_no = $1`, sweep)
	var added []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[name] < 0 && known < mostMetrics {
			wanted[name] = known
			added = append(added, name)
			known++
		}
	}
	t.insert("metric_names", database.Rows(len(added), "sweep_no, metric, metric_no", func(i int, row []any) []any {
		return append(row, &sweep, &added[i], new(wanted[added[i]]))
	}))
}

// metrics returns a function that finds where a metric is stored, if all the sweeps store it
// in the same place; else it returns nil.
func (t *transaction) metrics(numbers []int64) func(name string) *metricPlace {
	places := map[string]*metricPlace{}
	return func(name string) *metricPlace {
		if _, asked := places[name]; !asked {
			places[name] = t.metricPlace(numbers, name)
		}
		return places[name]
	}
}

func (t *transaction) metricPlace(numbers []int64, name string) (place *metricPlace) {
	if len(numbers) == 0 && slices.Contains(scoreColumns[:namedScores], name) {
		return &metricPlace{column: name}
	}
	for i, number := range numbers {
		var found metricPlace
		if column, ok := t.comparison(number).metrics[name]; ok {
			found.column = scoreColumns[column]
		} else if !t.comparison(number).further(name) ||
			!t.one([]any{&found.number}, `SELECT metric_no FROM metric_names WHERE sweep_no = $1 AND metric = $2`,
				number, name) {
			return nil
		}
		if i > 0 && found != *place {
			return nil
		}
		place = &found
	}
	return place
}
