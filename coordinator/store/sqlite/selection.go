package sqlite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// columns are the names in a TrialQuery that mean columns; every other name is
// a parameter or, where a trial has no such parameter, a summary metric.
var columns = map[string]string{
	"index":           "t.trial_index",
	"state":           "t.state",
	"diverged":        "t.diverged",
	"worker":          "t.worker",
	"executions":      "t.executions",
	"charged":         "t.charged",
	"fingerprint":     "t.fingerprint",
	"seconds":         "o.seconds",
	"flops":           "o.flops",
	"parameter_count": "o.parameter_count",
	"best_epoch":      "o.best_epoch",
	"kernel_level":    "o.kernel_level",
	"error":           "o.error",
	"digest":          "o.digest",
}

var operators = []string{"=", "!=", "<", "<=", ">", ">="}

// builder gathers the text of a SELECT and its arguments.
type builder struct {
	text strings.Builder
	args []any
}

// bind returns the placeholder of a further argument.
func (b *builder) bind(value any) string {
	b.args = append(b.args, value)
	return fmt.Sprintf("?%d", len(b.args))
}

// value returns an expression for the value of a name: its SQL value and its
// JSON type. Names are bound, never part of the text.
func (b *builder) value(name string) (value, kind string) {
	if column, ok := columns[name]; ok {
		return column, "typeof(" + column + ")"
	}
	path := b.bind("$." + quote(name))
	has := "json_type(t.parameters, " + path + ") IS NOT NULL"
	value = "CASE WHEN " + has + " THEN json_extract(t.parameters, " + path + ") ELSE json_extract(o.summary, " + path + ") END"
	kind = "CASE WHEN " + has + " THEN json_type(t.parameters, " + path + ") ELSE json_type(o.summary, " + path + ") END"
	return value, kind
}

// quote writes a name as a JSON string, which is how a path quotes keys.
func quote(name string) string {
	text, err := json.Marshal(name)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(text)
}

// selection builds the SELECT of a TrialQuery over the sweeps with the given
// numbers.
func selection(query sweep.TrialQuery, numbers []int64) (string, []any, error) {
	b := &builder{}
	b.text.WriteString(trialColumns + "\nWHERE TRUE")
	if len(numbers) > 0 {
		b.text.WriteString(" AND t.sweep_no IN (SELECT value FROM json_each(" + b.bind(jsonText(numbers)) + "))")
	}
	if len(query.States) > 0 {
		b.text.WriteString(" AND t.state IN (SELECT value FROM json_each(" + b.bind(jsonText(query.States)) + "))" + indexed(query.States))
	}
	for _, c := range query.Where {
		text, err := b.condition(c)
		if err != nil {
			return "", nil, err
		}
		b.text.WriteString("\nAND " + text)
	}
	b.text.WriteString("\nORDER BY ")
	direction := ""
	if query.Descending {
		direction = " DESC"
	}
	if query.OrderBy == "" || query.OrderBy == "index" {
		b.text.WriteString("t.sweep_no" + direction + ", t.trial_index" + direction)
	} else {
		value, _ := b.value(query.OrderBy)
		b.text.WriteString(value + direction + " NULLS LAST, t.sweep_no, t.trial_index")
	}
	if query.Limit > 0 {
		b.text.WriteString("\nLIMIT " + b.bind(query.Limit))
	}
	return b.text.String(), b.args, nil
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
	value, kind := b.value(c.Name)
	present := "(" + value + ") IS NOT NULL"
	var same string // that the types can be compared
	switch v := want.(type) {
	case nil:
		if c.Operator == "=" {
			return "NOT " + present, nil
		}
		return present, nil
	case bool:
		same = "(" + kind + ") IN ('true', 'false')"
		if _, ok := columns[c.Name]; ok {
			same = "(" + kind + ") = 'integer'"
		}
	case int64, float64:
		same = "(" + kind + ") IN ('integer', 'real')"
	case string:
		same = "(" + kind + ") = 'text'"
	case []byte:
		same = "(" + kind + ") IN ('array', 'object')"
		want = string(v)
	}
	comparison := "(" + value + ") " + c.Operator + " " + b.bind(want)
	if c.Operator == "!=" {
		return "(" + present + " AND (NOT " + same + " OR " + comparison + "))", nil
	}
	return "(" + same + " AND " + comparison + ")", nil
}
