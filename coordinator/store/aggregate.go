package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sweep/coordinator/store/database"
	"sweep/sweep/statistics"
)

// aggregate has what the replicates of a grid point come to.
type aggregate struct {
	sweepKey
	group                int64
	trial                int64
	replicates, diverged int64
	// score is the mean of the metric that the sweep selects by, diverged replicates included.
	score   float64
	metrics []metricAggregate // in the order of their names
	text    database.JSON     // metrics as JSON, while it is written
	// stored reports whether the table has it.
	stored bool
}

// metricAggregate has the moments of a metric over those replicates that did not diverge.
type metricAggregate struct {
	name string
	statistics.Moments
}

// add adds a replicate.
func (a *aggregate) add(by *comparison, e *entry, names metricNumbers) {
	if a.replicates == 0 || a.replicates == a.diverged && !e.diverged {
		a.trial = e.trial
	}
	score := e.metric(by.By)
	if e.diverged {
		score = by.score
		a.diverged++
	} else {
		a.addMetrics(by, e, names)
	}
	a.replicates++
	a.score += (score - a.score) / float64(a.replicates)
}

// addMetrics adds the metrics of a replicate.
func (a *aggregate) addMetrics(by *comparison, e *entry, names metricNumbers) {
	if a.metrics == nil {
		a.metrics = make([]metricAggregate, 0, len(e.summary))
	}
	for name, value := range e.summary {
		if names.of(by, name) < 0 {
			continue
		}
		at, found := slices.BinarySearchFunc(a.metrics, name, func(m metricAggregate, name string) int {
			return strings.Compare(m.name, name)
		})
		if !found {
			a.metrics = slices.Insert(a.metrics, at, metricAggregate{name: name})
		}
		a.metrics[at].Add(value)
	}
}

const aggregateColumns = "sweep_no, point_key, group_key, trial_no, replicates, diverged, score_mean, " +
	"metrics"

// columns are those before metrics.
func (a *aggregate) columns(row []any) []any {
	return append(row, &a.sweep, &a.key, &a.group, &a.trial, &a.replicates, &a.diverged, &a.score)
}

func aggregateBatch(all []*aggregate) database.Batch {
	for _, a := range all {
		a.text = database.JSON(encodeMetrics(a.metrics))
	}
	return database.Rows(len(all), aggregateColumns, func(i int, row []any) []any {
		return append(all[i].columns(row), &all[i].text)
	})
}

// encodeMetrics writes aggregates as {"NAME":[n,mean,squares,smallest,largest],…}, those of one value as [1,value].
func encodeMetrics(all []metricAggregate) []byte {
	text := make([]byte, 0, 2+64*len(all))
	text = append(text, '{')
	for i := range all {
		m := &all[i]
		if i > 0 {
			text = append(text, ',')
		}
		name, _ := json.Marshal(m.name) // a text has a form
		text = append(append(text, name...), ":["...)
		text = strconv.AppendInt(text, m.N, 10)
		values := []float64{m.Mean, m.Squares, m.Min, m.Max}
		if m.N == 1 {
			values = values[:1]
		}
		for _, v := range values {
			text = append(text, ',')
			if math.IsInf(v, 0) || math.IsNaN(v) { // the square of a large number
				text = append(text, "null"...)
			} else {
				text = strconv.AppendFloat(text, v, 'g', -1, 64)
			}
		}
		text = append(text, ']')
	}
	return append(text, '}')
}

// decodeMetrics reads what encodeMetrics has written.
func decodeMetrics(text []byte) (all []metricAggregate, err error) {
	for rest := string(bytes.TrimSpace(text)); rest != ""; {
		var quoted, member string
		quoted, member, rest = cutMember(rest)
		if quoted == "" {
			continue
		}
		m := metricAggregate{}
		if err := json.Unmarshal([]byte(quoted), &m.name); err != nil {
			return nil, fmt.Errorf("aggregates of a grid point: %w", err)
		}
		list := strings.Split(strings.Trim(member[len(quoted):], ":[]"), ",")
		values := [5]float64{}
		if len(list) == 2 && list[0] == "1" {
			list = append(list, "0", list[1], list[1])
		}
		if len(list) != len(values) {
			return nil, fmt.Errorf("aggregates of a grid point: %d values of metric %s", len(list), m.name)
		}
		for i, word := range list {
			if values[i], err = strconv.ParseFloat(word, 64); err != nil {
				values[i] = math.NaN() // null
			}
		}
		m.N, m.Mean, m.Squares, m.Min, m.Max = int64(values[0]), values[1], values[2], values[3], values[4]
		all = append(all, m)
	}
	return all, nil
}
