package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
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
	d := dialect{postgres: s.options.Postgres}
	columns := []string{"trial_index", "state", "diverged"}
	for _, name := range q.list("column") {
		if name != "index" && name != "state" {
			columns = append(columns, d.value(name)+" AS "+quoteName(name))
		}
	}
	text := "SELECT " + strings.Join(columns, ",\n       ") + "\nFROM results\nWHERE sweep_id = " + quoteText(record.ID)
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

// dialect writes what differs between the kinds of database.
type dialect struct{ postgres bool }

// figures are the columns of the view results that are no parameters or metrics.
var figures = map[string]string{
	"index": "trial_index", "state": "state", "executions": "executions",
	// 0 stands for unknown
	"seconds": "nullif(seconds, 0)", "best_epoch": "nullif(best_epoch, 0)",
	"parameter_count": "nullif(parameter_count, 0)",
}

// value is the value of a parameter, or of a metric where there is no such parameter.
func (d dialect) value(name string) string {
	if column, ok := figures[name]; ok {
		return column
	}
	path := d.path(name)
	return "coalesce(parameters ->> " + path + ", summary ->> " + path + ")"
}

func (d dialect) path(name string) string {
	if d.postgres {
		return quoteText(name)
	}
	return quoteText(`$."` + name + `"`)
}

// number is a value as a number, NULL if it is none.
func (d dialect) number(name string) string {
	if column, ok := figures[name]; ok {
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
	if d.postgres {
		return d.number(name)
	}
	return d.value(name)
}

func (d dialect) condition(c sweep.TrialCondition) string {
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
