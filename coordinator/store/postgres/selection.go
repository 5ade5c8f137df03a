package postgres

import (
	"fmt"
	"slices"
	"strings"

	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// column is a name in a TrialQuery that means a column.
type column struct {
	text string
	kind string // number, string or boolean, as json_typeof has it
}

// columns are those names; every other name is a parameter or, where a trial
// has no such parameter, a summary metric.
var columns = map[string]column{
	"index":           {"t.trial_index", "number"},
	"state":           {"t.state", "string"},
	"diverged":        {"t.diverged", "boolean"},
	"worker":          {"t.worker", "string"},
	"executions":      {"t.executions", "number"},
	"charged":         {"t.charged", "number"},
	"fingerprint":     {"t.fingerprint", "string"},
	"seconds":         {"o.seconds", "number"},
	"flops":           {"o.flops", "number"},
	"parameter_count": {"o.parameter_count", "number"},
	"best_epoch":      {"o.best_epoch", "number"},
	"kernel_level":    {"o.kernel_level", "string"},
	"error":           {"o.error", "string"},
	"digest":          {"o.digest", "string"},
}

var operators = []string{"=", "!=", "<", "<=", ">", ">="}

// builder gathers the text of a SELECT and its arguments: the joins that
// extract members of the JSON, each once a row, and what follows them.
type builder struct {
	joins strings.Builder
	text  strings.Builder
	args  []any
	names []string
}

// bind returns the placeholder of a further argument.
func (b *builder) bind(value any) string {
	b.args = append(b.args, value)
	return fmt.Sprintf("$%d", len(b.args))
}

// member returns a reference to the JSON value of a parameter or summary
// metric; the name is bound, never part of the text.
func (b *builder) member(name string) string {
	place := slices.Index(b.names, name)
	if place < 0 {
		place = len(b.names)
		b.names = append(b.names, name)
		key := b.bind(name) + "::text"
		// OFFSET 0 keeps Postgres from extracting it anew wherever it is used.
		fmt.Fprintf(&b.joins, "\nCROSS JOIN LATERAL (SELECT coalesce(t.parameters -> %[1]s, o.summary -> %[1]s) AS value OFFSET 0) AS m%[2]d", key, place)
	}
	return fmt.Sprintf("m%d.value", place)
}

// typed returns an expression for a value of the wanted kind, NULL for values
// of others. Texts compare by code point, as in SQLite.
func (b *builder) typed(name, kind string) string {
	if c, ok := columns[name]; ok {
		switch {
		case c.kind != kind:
			return "NULL"
		case kind == "string":
			return c.text + ` COLLATE "C"`
		}
		return c.text
	}
	value := b.member(name)
	cast := map[string]string{"number": "numeric", "boolean": "boolean", "string": "text", "array": "text", "object": "text"}[kind]
	text := "CASE WHEN json_typeof(" + value + ") = '" + kind + "' THEN (" + value + " #>> '{}')::" + cast + " END"
	if kind == "string" {
		text = "(" + text + `) COLLATE "C"`
	}
	return text
}

// present returns a condition that the value exists; JSON's null does not.
func (b *builder) present(name string) string {
	if c, ok := columns[name]; ok {
		return c.text + " IS NOT NULL"
	}
	return "coalesce(json_typeof(" + b.member(name) + "), 'null') <> 'null'"
}

// selection builds the SELECT of a TrialQuery over the sweeps with the given
// numbers.
func selection(query sweep.TrialQuery, numbers []int64) (string, []any, error) {
	b := &builder{}
	b.text.WriteString("\nWHERE TRUE")
	if len(numbers) > 0 {
		b.text.WriteString(" AND t.sweep_no = ANY(" + b.bind(numbers) + ")")
	}
	if len(query.States) > 0 {
		b.text.WriteString(" AND t.state = ANY(" + b.bind(query.States) + ")" + indexed(query.States))
	}
	for _, c := range query.Where {
		text, err := b.condition(c)
		if err != nil {
			return "", nil, err
		}
		b.text.WriteString("\nAND " + text)
	}
	b.text.WriteString("\nORDER BY ")
	b.order(query.OrderBy, query.Descending)
	if query.Limit > 0 {
		b.text.WriteString("\nLIMIT " + b.bind(query.Limit))
	}
	return trialColumns + b.joins.String() + b.text.String(), b.args, nil
}

// order writes the ORDER BY list: numbers and booleans before texts, or after
// them descending; trials without the value last.
func (b *builder) order(name string, descending bool) {
	direction, first := "", " NULLS LAST"
	if descending {
		direction, first = " DESC", " NULLS FIRST"
	}
	if name == "" || name == "index" {
		b.text.WriteString("t.sweep_no" + direction + ", t.trial_index" + direction)
		return
	}
	if c, ok := columns[name]; ok {
		b.text.WriteString(b.typed(name, c.kind) + direction + " NULLS LAST")
	} else {
		value := b.member(name)
		b.text.WriteString("coalesce(json_typeof(" + value + "), 'null') = 'null', ")
		b.text.WriteString("CASE json_typeof(" + value + ") WHEN 'number' THEN (" + value + " #>> '{}')::numeric" +
			" WHEN 'boolean' THEN (" + value + " #>> '{}')::boolean::integer END" + direction + first + ", ")
		b.text.WriteString("(" + value + ` #>> '{}') COLLATE "C"` + direction)
	}
	b.text.WriteString(", t.sweep_no, t.trial_index")
}

// indexed repeats a condition on states as the partial indices have it, if one
// of them holds all such trials.
func indexed(states []sweep.State) string {
	pending, active := true, true
	for _, state := range states {
		pending = pending && state == sweep.Pending
		active = active && (state == sweep.Queued || state == sweep.Running)
	}
	switch {
	case pending:
		return " AND t.state = 'pending'"
	case active:
		return " AND t.state IN ('queued', 'running')"
	}
	return ""
}

// condition builds one comparison.
func (b *builder) condition(c sweep.TrialCondition) (string, error) {
	if !slices.Contains(operators, c.Operator) {
		return "", fmt.Errorf("condition on %s: no such operator: %q; there are %s", c.Name, c.Operator, strings.Join(operators, " "))
	}
	want, err := ledger.ConditionValue(c)
	if err != nil {
		return "", err
	}
	var value, bound string
	switch v := want.(type) {
	case nil:
		if c.Operator == "=" {
			return "NOT " + b.present(c.Name), nil
		}
		return b.present(c.Name), nil
	case bool:
		value, bound = b.typed(c.Name, "boolean"), b.bind(v)+"::boolean"
	case int64, float64:
		text, err := sweep.CanonicalJSON(v)
		if err != nil {
			return "", err
		}
		value, bound = b.typed(c.Name, "number"), b.bind(string(text))+"::text::numeric"
	case string:
		value, bound = b.typed(c.Name, "string"), b.bind(v)+"::text"
	case []byte:
		kind := "array"
		if v[0] == '{' {
			kind = "object"
		}
		value, bound = b.typed(c.Name, kind), b.bind(string(v))+"::text"
	}
	comparison := "coalesce((" + value + ") " + c.Operator + " " + bound + ", FALSE)"
	if c.Operator == "!=" {
		return "(" + b.present(c.Name) + " AND coalesce((" + value + ") != " + bound + ", TRUE))", nil
	}
	return comparison, nil
}
