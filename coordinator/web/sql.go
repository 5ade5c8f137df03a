package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sweep/coordinator/web/frame"
	"sweep/sweep"
)

// sql answers the statement behind a list of trials, as the database of this
// dashboard takes it: for "sweep sql", and for whoever has the database.
func (s *Server) sql(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	filter := q.filter()
	d := dialect{postgres: s.options.Postgres, sweep: record}
	columns := []string{"trial_index", "state", "diverged"}
	for _, name := range q.list("column") {
		if name != "index" && name != "state" {
			columns = append(columns, d.value(name)+" AS "+quoteName(name))
		}
	}
	text := "SELECT " + strings.Join(columns, ",\n       ") + "\nFROM results" + d.join(q, filter) +
		"\nWHERE results.sweep_id = " + quoteText(record.ID)
	if len(filter.States) > 0 {
		var parts []string
		for _, state := range filter.States {
			parts = append(parts, cmp.Or(divergence[state], "state = "+quoteText(state.String())))
		}
		text += "\n  AND (" + strings.Join(parts, " OR ") + ")"
	}
	for _, c := range filter.Where {
		text += "\n  AND " + d.condition(c)
	}
	direction := ""
	if q.flag("descending") {
		direction = " DESC"
	}
	order := "trial_index" + direction
	if by := q.text("sort"); by != "" && by != "index" {
		order = d.order(by) + direction + " NULLS LAST, trial_index"
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

// figures are the columns of the view results that are no parameters or metrics.
var figures = map[string]string{
	"index": "trial_index", "state": "state", "executions": "executions",
	// 0 stands for unknown
	"seconds": "nullif(seconds, 0)", "best_epoch": "nullif(best_epoch, 0)",
	"parameter_count": "nullif(parameter_count, 0)",
}

// labels are the columns of the view notes, by their names in a frame.
var labels = map[string]string{"run_name": "run_name", "run_group": "run_group", sweep.TagColumn: "tags"}

// figure is the column that a name means unless it means a parameter or metric.
func (d dialect) figure(name string) (column string, ok bool) {
	if column, ok := figures[name]; ok {
		return column, true
	}
	return "nullif(n." + labels[name] + ", '')", d.isLabel(name)
}

// isLabel reports whether a name means one of the labels, and not a parameter.
func (d dialect) isLabel(name string) bool {
	return labels[name] != "" && !slices.Contains(axisNames(d.sweep), name) &&
		!slices.ContainsFunc(d.sweep.Grids, func(g sweep.GridRecord) bool {
			return g.Submission.Description.Parameter(name) != nil
		})
}

// join adds the labels to the trials, if a query needs them.
func (d dialect) join(q *query, filter frame.Filter) string {
	names := append(slices.Clone(q.list("column")), q.text("sort"))
	for _, c := range filter.Where {
		names = append(names, c.Name)
	}
	if !slices.ContainsFunc(names, d.isLabel) {
		return ""
	}
	return "\nLEFT JOIN (SELECT * FROM notes WHERE sweep_id = " + quoteText(d.sweep.ID) +
		" AND trial_index IS NOT NULL) AS n USING (trial_index)"
}

// value is the value of a parameter, or of a metric where there is no such parameter.
func (d dialect) value(name string) string {
	if column, ok := d.figure(name); ok {
		return column
	}
	path := d.path(name)
	return "coalesce(parameters ->> " + path + ", summary ->> " + path + ")"
}

func (d dialect) path(name string) string {
	if d.postgres {
		return quoteText(name)
	}
	label, _ := sweep.CanonicalJSON(name) // a text has one
	return quoteText("$." + string(label))
}

// number is a value as a number, NULL if it is none.
func (d dialect) number(name string) string {
	if column, ok := d.figure(name); ok {
		return column
	}
	form := "(CASE WHEN coalesce(json_type(parameters, %[1]s), json_type(summary, %[1]s)) IN ('integer', 'real') " +
		"THEN %[2]s END)"
	if d.postgres {
		form = "(CASE WHEN coalesce(json_typeof(parameters -> %[1]s), json_typeof(summary -> %[1]s)) = 'number' " +
			"THEN CAST(%[2]s AS double precision) END)"
	}
	return fmt.Sprintf(form, d.path(name), d.value(name))
}

// order is what a list is sorted by: SQLite sorts numbers before texts by itself.
func (d dialect) order(name string) string {
	switch {
	case !d.postgres:
		return d.value(name)
	case d.isLabel(name):
		return d.value(name) + ` COLLATE "C"`
	}
	return d.number(name)
}

// tagged is the condition that a trial has a tag, or has it not.
func (d dialect) tagged(tag string, wanted bool) string {
	find := map[bool]string{false: "instr", true: "strpos"}[d.postgres]
	return fmt.Sprintf("%s(',' || coalesce(n.tags, '') || ',', %s) %s 0", find, quoteText(","+tag+","),
		map[bool]string{true: ">", false: "="}[wanted])
}

func (d dialect) condition(c sweep.TrialCondition) string {
	if c.Name == sweep.TagColumn && d.isLabel(c.Name) {
		if tag, wanted, err := c.Tag(); err == nil {
			return d.tagged(tag, wanted)
		}
	}
	var literal string
	switch v := c.Value.(type) {
	case nil:
		if c.Operator == "=" {
			return d.value(c.Name) + " IS NULL"
		}
		return d.value(c.Name) + " IS NOT NULL"
	case int64, float64:
		text := fmt.Sprint(v)
		if f, ok := v.(float64); ok {
			text = strconv.FormatFloat(f, 'g', -1, 64)
		}
		if c.Operator == "!=" {
			return "coalesce(" + d.number(c.Name) + " <> " + text + ", " + d.value(c.Name) + " IS NOT NULL)"
		}
		return d.number(c.Name) + " " + c.Operator + " " + text
	case bool:
		literal = quoteText(fmt.Sprint(v))
		if !d.postgres {
			literal = map[bool]string{true: "1", false: "0"}[v]
		}
	case string:
		literal = quoteText(v)
	default:
		text, err := sweep.CanonicalJSON(v)
		if err != nil {
			return "FALSE"
		}
		literal = quoteText(string(text))
	}
	operator := c.Operator
	if operator == "!=" {
		operator = "<>"
	}
	return d.value(c.Name) + " " + operator + " " + literal
}

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
