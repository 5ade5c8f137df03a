package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sweep/coordinator/web/frame"
	"sweep/sweep"
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
func (q *query) filter() (f frame.Filter) {
	states, where, err := parseFilter(q.list("state"), q.list("where"))
	if err != nil && q.err == nil {
		q.err = bad(err)
	}
	return frame.Filter{States: states, Where: where}
}

// mostConditions bounds a filter.
const mostConditions = 50

func parseFilter(states, where []string) (list []frame.State, conditions []sweep.TrialCondition, err error) {
	for _, name := range states {
		at := slices.Index(frame.StateNames[:], name)
		if at <= 0 {
			return nil, nil, fmt.Errorf("state=%.40q: expected one of %s", name,
				strings.Join(frame.StateNames[1:], ", "))
		}
		list = append(list, frame.State(at))
	}
	if len(where) > mostConditions {
		return nil, nil, fmt.Errorf("more than %d conditions", mostConditions)
	}
	for _, text := range where {
		c, err := parseCondition(text)
		if err != nil {
			return nil, nil, err
		}
		conditions = append(conditions, c)
	}
	return list, conditions, nil
}

// parseCondition reads NAME OPERATOR VALUE; a value that is JSON is taken as that,
// anything else as text.
func parseCondition(text string) (sweep.TrialCondition, error) {
	at := strings.IndexAny(text, "=!<>")
	if at <= 0 {
		return sweep.TrialCondition{},
			fmt.Errorf("where=%.100q: expected NAME=VALUE, with one of = != < <= > >=", text)
	}
	operator := text[at : at+1]
	if at+1 < len(text) && text[at+1] == '=' {
		operator = text[at : at+2]
	}
	word := strings.TrimSpace(text[at+len(operator):])
	switch operator {
	case "!":
		return sweep.TrialCondition{}, fmt.Errorf("where=%.100q: the operator is != and not ! alone", text)
	case "==":
		operator = "="
	}
	value, err := sweep.DecodeValue([]byte(word))
	if err != nil {
		value = word
	}
	return sweep.TrialCondition{Name: strings.TrimSpace(text[:at]), Operator: operator, Value: value}, nil
}

// trialOf returns the trial of a sweep whose index the address has.
func trialOf(r *http.Request, sweepID string) (sweep.TrialID, error) {
	index, err := strconv.ParseInt(r.PathValue("index"), 10, 64)
	if err != nil || index < 0 {
		return sweep.TrialID{}, bad(fmt.Errorf("%.40q is not a trial index", r.PathValue("index")))
	}
	return sweep.TrialID{Sweep: sweepID, Index: index}, nil
}
