package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// sql answers the statement behind a list of trials, as the database of this
// dashboard takes it: for "sweep sql", and for whoever has the database.
func (s *Server) sql(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	filter := q.filter()
	asked := q.list("column")
	by := cmp.Or(q.text("sort"), string(sweep.FieldKind.Of("index")))
	var names []sweep.Name
	var where []sweep.TrialCondition
	_, err := s.useFor(r, q, func(f *frame.Frame) (err error) {
		names, where, err = f.Resolve(append(slices.Clone(asked), by), filter.Written)
		return err
	})
	if err != nil {
		return nil, err
	}
	d := dialect{postgres: s.options.Postgres, sweep: record}
	columns := []string{"trial_index", "state", "diverged"}
	for i, name := range names[:len(asked)] {
		if name != "trial.index" && name != "trial.state" {
			columns = append(columns, d.value(name)+" AS "+quoteName(asked[i]))
		}
	}
	text := "SELECT " + strings.Join(columns, ",\n       ") + "\nFROM results" + d.join(names, where) +
		"\nWHERE results.sweep_id = " + quoteText(record.ID)
	if len(filter.States) > 0 {
		var parts []string
		for _, state := range filter.States {
			parts = append(parts, cmp.Or(divergence[state], "state = "+quoteText(state.String())))
		}
		text += "\n  AND (" + strings.Join(parts, " OR ") + ")"
	}
	for _, c := range where {
		text += "\n  AND " + d.condition(c)
	}
	direction := ""
	if q.flag("descending") {
		direction = " DESC"
	}
	order := "trial_index" + direction
	if by := names[len(asked)]; by != "trial.index" {
		order = d.order(by, direction) + ", trial_index"
	}
	text += "\nORDER BY " + order
	limit, offset := q.number("limit", 0), q.number("offset", 0)
	if limit <= 0 && offset > 0 {
		limit = math.MaxInt64 // SQLite has no OFFSET without LIMIT
	}
	if limit > 0 {
		text += fmt.Sprintf("\nLIMIT %d", limit)
	}
	if offset > 0 {
		text += fmt.Sprintf(" OFFSET %d", offset)
	}
	if q.err != nil {
		return nil, q.err
	}
	return map[string]string{"sql": text + "\n"}, nil
}

// divergence has the conditions of the states that in SQL are one.
var divergence = map[frame.State]string{
	frame.Completed: "(state = 'completed' AND NOT diverged)", frame.Diverged: "diverged",
}

// dialect writes the SQL of a sweep as a kind of database takes it.
type dialect struct {
	postgres bool
	sweep    *sweep.SweepRecord
}

// figures are the columns of the view results that are no parameters or metrics, by their names in a frame.
var figures = map[string]string{
	"index": "trial_index", "state": "CASE WHEN diverged THEN 'diverged' ELSE state END", "executions": "executions",
	"seconds": "seconds",
}

// labels are the columns of the view notes, by their names in a frame.
var labels = map[string]string{"run_name": "run_name", "run_group": "run_group", sweep.TagColumn: "tags"}

// The kinds of values.
const (
	numbers  = "number"
	texts    = "text"
	booleans = "boolean"
	others   = "json"
)

// kindOf is the kind of all values of a name, empty if they may be of several.
func (d dialect) kindOf(name sweep.Name) (kind string) {
	switch of, own := name.Parts(); {
	case of == sweep.MetricKind:
		return numbers
	case of == sweep.FieldKind && (labels[own] != "" || own == "state"):
		return texts
	case of == sweep.FieldKind:
		return numbers
	}
	add := func(one string) bool {
		if kind == "" {
			kind = one
		}
		return kind == one
	}
	for i := range d.sweep.Grids {
		submission := &d.sweep.Grids[i].Submission
		if p := submission.Description.Parameter(name.Own()); p != nil && !add(schemaKinds[p.Type]) {
			return ""
		}
		for _, axis := range submission.Spec.Axes {
			for _, p := range axis.Parameters {
				if p.Name != name.Own() {
					continue
				}
				if p.Values.List == nil && !add(numbers) {
					return ""
				}
				for _, value := range p.Values.List {
					if value != nil && !add(kindOfValue(value)) {
						return ""
					}
				}
			}
		}
	}
	return kind
}

// schemaKinds are the kinds of values of parameters that trainers describe; none of those that may have any.
var schemaKinds = map[sweep.ParameterType]string{sweep.IntegerType: numbers, sweep.NumberType: numbers,
	sweep.BooleanType: booleans, sweep.StringType: texts}

func kindOfValue(value any) string {
	switch value.(type) {
	case int64, float64:
		return numbers
	case string:
		return texts
	case bool:
		return booleans
	}
	return others
}

// isLabel reports whether a name is one of the labels.
func isLabel(name sweep.Name) bool { return name.Is(sweep.FieldKind) && labels[name.Own()] != "" }

// join adds the labels to the trials, if a query needs them.
func (d dialect) join(names []sweep.Name, where []sweep.TrialCondition) string {
	if !slices.ContainsFunc(names, isLabel) &&
		!slices.ContainsFunc(where, func(c sweep.TrialCondition) bool { return isLabel(c.Name) }) {
		return ""
	}
	return "\nLEFT JOIN (SELECT * FROM notes WHERE sweep_id = " + quoteText(d.sweep.ID) +
		" AND trial_index IS NOT NULL) AS n USING (trial_index)"
}

// object is the column of the view results that has a parameter or a metric in its JSON.
func object(name sweep.Name) string {
	if name.Is(sweep.MetricKind) {
		return "summary"
	}
	return "parameters"
}

// value is the value of a name.
func (d dialect) value(name sweep.Name) string {
	switch own := name.Own(); {
	case isLabel(name):
		return "nullif(n." + labels[own] + ", '')"
	case name.Is(sweep.FieldKind):
		return figures[own]
	}
	return object(name) + " ->> " + d.path(name.Own())
}

func (d dialect) path(name string) string {
	if d.postgres {
		return quoteText(name)
	}
	label, _ := sweep.CanonicalJSON(name) // a text has one
	return quoteText("$." + string(label))
}

// jsonTypes are the types of JSON of a kind of values, in Postgres and in SQLite.
var jsonTypes = map[string][2]string{numbers: {"'number'", "'integer', 'real'"}, texts: {"'string'", "'text'"},
	booleans: {"'boolean'", "'true', 'false'"}, others: {"'array', 'object'", "'array', 'object'"}}

// typeOf is the type that JSON has of a parameter or a metric.
func (d dialect) typeOf(name sweep.Name) string {
	if d.postgres {
		return "json_typeof(" + object(name) + " -> " + d.path(name.Own()) + ")"
	}
	return "json_type(" + object(name) + ", " + d.path(name.Own()) + ")"
}

// typed is the value of a name if it is of a kind, else NULL. Of text it compares by code point.
func (d dialect) typed(name sweep.Name, kind string) string {
	value, own := d.value(name), d.kindOf(name)
	switch {
	case name.Is(sweep.FieldKind) && kind != own:
		return "NULL"
	case name.Is(sweep.FieldKind), own == texts && kind == texts:
	default:
		number := "numeric"
		if own == numbers && name.Is(sweep.MetricKind) {
			number = "double precision"
		}
		switch {
		case kind == others:
			value = object(name) + " -> " + d.path(name.Own())
			if d.postgres {
				value = "CAST(" + value + " AS text)"
			}
		case d.postgres && kind == numbers:
			value = "CAST(" + value + " AS " + number + ")"
		case d.postgres && kind == booleans:
			value = "CAST(" + value + " AS boolean)"
		}
		types := jsonTypes[kind][1]
		if d.postgres {
			types = jsonTypes[kind][0]
		}
		value = "(CASE WHEN " + d.typeOf(name) + " IN (" + types + ") THEN " + value + " END)"
	}
	if d.postgres && (kind == texts || kind == others) {
		value = "(" + value + `) COLLATE "C"`
	}
	return value
}

// order is what a list is sorted by: numbers before truth values and texts, what is missing last.
func (d dialect) order(name sweep.Name, direction string) string {
	kind, last := d.kindOf(name), direction+" NULLS LAST"
	switch {
	case kind == numbers && !d.postgres, kind == booleans && !d.postgres:
		return d.value(name) + last
	case kind == numbers, kind == texts:
		return d.typed(name, kind) + last
	}
	value := d.value(name)
	if !d.postgres { // which has 1 and 0 for true and false
		value = "CASE " + d.typeOf(name) + " WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE " + value + " END"
	} else {
		value = "(" + value + `) COLLATE "C"`
	}
	number := d.typed(name, numbers)
	return "(" + d.value(name) + " IS NULL), (" + number + " IS NULL)" + direction + ", " + number + last + ", " +
		value + direction
}

// tagged is the condition that a trial has a tag, or has it not.
func (d dialect) tagged(tag string, wanted bool) string {
	find := map[bool]string{false: "instr", true: "strpos"}[d.postgres]
	return fmt.Sprintf("%s(',' || coalesce(n.tags, '') || ',', %s) %s 0", find, quoteText(","+tag+","),
		map[bool]string{true: ">", false: "="}[wanted])
}

func (d dialect) condition(c sweep.TrialCondition) string {
	if isLabel(c.Name) && c.Name.Own() == sweep.TagColumn {
		if tag, wanted, err := c.Tag(); err == nil {
			return d.tagged(tag, wanted)
		}
	}
	kind := numbers
	var literal string
	switch v := c.Value.(type) {
	case nil:
		if c.Operator == "=" {
			return d.value(c.Name) + " IS NULL"
		}
		return d.value(c.Name) + " IS NOT NULL"
	case int64:
		literal = strconv.FormatInt(v, 10)
	case float64:
		literal = strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		kind, literal = booleans, map[bool]string{true: "TRUE", false: "FALSE"}[v]
	case string:
		kind, literal = texts, quoteText(v)
	default:
		text, err := sweep.CanonicalJSON(v)
		if err != nil {
			return "FALSE"
		}
		kind, literal = others, quoteText(string(text))
	}
	if c.Operator == "!=" { // so is a value of another kind, and a missing one is not
		return "coalesce(" + d.typed(c.Name, kind) + " <> " + literal + ", " + d.value(c.Name) + " IS NOT NULL)"
	}
	return d.typed(c.Name, kind) + " " + c.Operator + " " + literal
}

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
