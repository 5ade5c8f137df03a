package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// query reads what an address asks for; the first error stays.
type query struct {
	values map[string][]string
	err    error
}

func queryOf(r *http.Request) *query { return &query{values: r.URL.Query()} }

func (q *query) text(name string) string {
	if list := q.values[name]; len(list) > 0 {
		return list[0]
	}
	return ""
}

// textAt reads the i-th of a list, "" if there are fewer.
func (q *query) textAt(name string, i int) string {
	if list := q.values[name]; i < len(list) {
		return list[i]
	}
	return ""
}

// numberAt reads the i-th whole number of a list, 0 if there are fewer.
func (q *query) numberAt(name string, i int) int64 {
	part := query{values: map[string][]string{name: {q.textAt(name, i)}}}
	n := part.number(name, 0)
	q.err = cmp.Or(q.err, part.err)
	return n
}

// list reads a list, whose items are given one by one.
func (q *query) list(name string) []string { return q.values[name] }

func (q *query) flag(name string) bool { return q.text(name) == "1" || q.text(name) == "true" }

func (q *query) number(name string, otherwise int64) int64 {
	return parsed(q, name, otherwise, "a whole number", func(text string) (int64, error) {
		return strconv.ParseInt(text, 10, 64)
	})
}

func (q *query) fraction(name string, otherwise float64) float64 {
	return parsed(q, name, otherwise, "a number", func(text string) (float64, error) {
		return strconv.ParseFloat(text, 64)
	})
}

// parsed returns a value that parse reads, otherwise if there is none.
func parsed[T any](q *query, name string, otherwise T, expected string, parse func(text string) (T, error)) T {
	text := q.text(name)
	if text == "" {
		return otherwise
	}
	v, err := parse(text)
	if err != nil && q.err == nil {
		q.err = bad(fmt.Errorf("%s=%.40q: expected %s", name, text, expected))
	}
	return v
}

// filter reads which trials are meant: state=…, where=NAME OPERATOR VALUE, each any
// number of times.
func (q *query) filter() frame.Filter {
	f, err := parseFilter(q.list("state"), q.list("where"))
	if err != nil && q.err == nil {
		q.err = bad(err)
	}
	return f
}

// maxConditions bounds a filter.
const maxConditions = 50

func parseFilter(states, where []string) (f frame.Filter, err error) {
	for _, name := range states {
		at := slices.Index(frame.StateNames[:], name)
		if at <= 0 {
			return f, fmt.Errorf("state=%.40q: expected one of %s", name, strings.Join(frame.StateNames[1:], ", "))
		}
		f.States = append(f.States, frame.State(at))
	}
	if len(where) > maxConditions {
		return f, fmt.Errorf("more than %d conditions", maxConditions)
	}
	f.Written = where
	return f, nil
}

// conditions reads the conditions of a filter about sweeps with these names.
func conditions(names *sweep.Names, f frame.Filter) (list []sweep.TrialCondition, err error) {
	for _, text := range f.Written {
		c, _, err := names.Condition(text)
		if err != nil {
			return nil, bad(fmt.Errorf("where=%w", err))
		}
		list = append(list, c)
	}
	return list, nil
}

// trialOf returns the trial of a sweep whose index the address has.
func trialOf(r *http.Request, sweepID string) (sweep.TrialID, error) {
	index, err := strconv.ParseInt(r.PathValue("index"), 10, 64)
	if err != nil || index < 0 {
		return sweep.TrialID{}, bad(fmt.Errorf("%.40q is not a trial index", r.PathValue("index")))
	}
	return sweep.TrialID{Sweep: sweepID, Index: index}, nil
}
