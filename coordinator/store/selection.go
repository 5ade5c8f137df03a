package store

import (
	"fmt"
	"slices"
	"strings"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// column is a column that a name in a TrialQuery refers to.
type column struct {
	text string
	kind string // of database.Member.Typed
}

// columns are the fields of trials. A plain name refers to one unless a sweep has a parameter of that name. Every
// other plain name is a parameter or, if a trial has no such parameter, a summary metric.
var columns = map[string]column{
	"index":         {"t.trial_index", "number"},
	"state":         {"CASE WHEN t.diverged THEN 'diverged' ELSE t.state END", "text"},
	"diverged":      {"t.diverged", "boolean"},
	"worker":        {"t.worker", "text"},
	"executions":    {"t.executions", "number"},
	"charged":       {"t.charged", "number"},
	"losses":        {"t.losses", "number"},
	"refusals":      {"t.refusals", "number"},
	"fingerprint":   {"t.fingerprint", "text"},
	"seconds":       {"nullif(o.seconds, 0)", "number"},
	"kernel_level":  {"o.kernel_level", "text"},
	"error":         {"o.error", "text"},
	"digest":        {"o.digest", "text"},
	"run_name":      {"nullif(o.run_name, '')", "text"},
	"run_group":     {"nullif(o.run_group, '')", "text"},
	"notes":         {editedOf("notes"), "text"},
	sweep.TagColumn: {editedOf("tags"), "text"},
}

// builder builds the text of a SELECT and its arguments: joins, which extract members of the
// JSON, and the conditions and order after them.
type builder struct {
	dialect *database.Dialect
	metric  func(name string) *metricPlace // as in selection
	own     func(name string) bool         // as in selection
	joins   strings.Builder
	text    strings.Builder
	args    []any
	err     error // the first
	members map[sweep.Name]database.Member
	further map[int64]string // the joined rows of metrics, by the metric's number
	shown   string           // the sweep of a statement over the views, which has no arguments
}

// bind returns the placeholder of a further argument.
func (b *builder) bind(value any) string {
	b.args = append(b.args, value)
	return fmt.Sprintf("$%d", len(b.args))
}

// constant returns a further argument of a type, or what it is in a statement that is shown.
func (b *builder) constant(value any, as string) string {
	if b.shown == "" {
		return "CAST(" + b.bind(value) + " AS " + as + ")"
	}
	return literal(value)
}

// bindAll returns a list of placeholders.
func bindAll[T any](b *builder, values []T) string {
	places := make([]string, len(values))
	for i, value := range values {
		places[i] = b.bind(value)
	}
	return "(" + strings.Join(places, ", ") + ")"
}

// member returns the expressions for a parameter or summary metric. The name is bound, or a literal in a statement
// that is shown.
func (b *builder) member(name sweep.Name) database.Member {
	m, ok := b.members[name]
	if !ok {
		objects := []string{database.Parameters, database.Summary}
		switch {
		case name.Is(sweep.ParameterKind):
			objects = objects[:1]
		case name.Is(sweep.MetricKind):
			objects = objects[1:]
		}
		for i := range objects {
			objects[i] = b.viewed(objects[i])
		}
		label := b.constant(b.dialect.Label(name.Own()), "text")
		m = b.dialect.Member(fmt.Sprintf("j%d", len(b.members)), label, objects)
		b.members[name] = m
		b.joins.WriteString("\n" + m.Join)
	}
	return m
}

// parameter reports whether a name means a parameter.
func (b *builder) parameter(name sweep.Name) bool {
	kind, own := name.Parts()
	return kind == sweep.ParameterKind || kind == "" && b.own(own)
}

// column returns the column that a name refers to, if there is one.
func (b *builder) column(name sweep.Name) (column, bool) {
	kind, own := name.Parts()
	if b.parameter(name) {
		return column{}, false
	}
	if c, ok := columns[own]; ok && kind != sweep.MetricKind {
		if noted, has := notedColumns[own]; has && b.shown != "" {
			c.text = b.noted(noted)
		}
		return column{b.viewed(c.text), c.kind}, true
	}
	if kind == sweep.FieldKind {
		if b.err == nil {
			b.err = fmt.Errorf("%s: trials have no such field (they have %s)", name,
				strings.Join(sweep.TrialColumns, ", "))
		}
		return column{"NULL", "text"}, true
	}
	place := b.metric(own)
	switch {
	case place == nil:
		return column{}, false
	case place.column != "":
		return column{"c." + place.column, "number"}, true
	}
	alias, joined := b.further[place.number]
	if !joined {
		alias = fmt.Sprintf("m%d", place.number)
		b.further[place.number] = alias
		fmt.Fprintf(&b.joins, "\nLEFT JOIN metric_values AS %s ON %[1]s.sweep_no = t.sweep_no AND %[1]s.metric_no = "+
			"%d AND %[1]s.trial_index = t.trial_index", alias, place.number)
	}
	return column{alias + ".value", "number"}, true
}

// typed returns an expression for a value of the wanted type, NULL for values
// of others. Texts compare by code point.
func (b *builder) typed(name sweep.Name, kind string) string {
	text := "NULL"
	if c, ok := b.column(name); !ok {
		text = b.member(name).Typed[kind]
	} else if c.kind == kind {
		text = c.text
	}
	if kind == "text" {
		return "(" + text + ") COLLATE " + b.dialect.Collation
	}
	return "(" + text + ")"
}

// present returns a condition that the value exists; JSON's null does not.
func (b *builder) present(name sweep.Name) string {
	if c, ok := b.column(name); ok {
		return c.text + " IS NOT NULL"
	}
	return "(" + b.member(name).Present + ")"
}

// order returns what a list is sorted by.
func (b *builder) order(by sweep.Name, direction string) string {
	if c, ok := b.column(by); ok {
		return c.text + " IS NULL, " + b.typed(by, c.kind) + direction
	}
	return b.member(by).Order(direction)
}

// after puts the beginning of the SELECT before the joins and the text.
func (b *builder) after(beginning string) *builder {
	rest := b.text.String()
	b.text.Reset()
	b.text.WriteString(beginning + b.joins.String() + rest)
	return b
}

// limit bounds the number of rows; 0 leaves them all.
func (b *builder) limit(n int) {
	if n > 0 {
		b.text.WriteString("\nLIMIT " + b.bind(int64(n)))
	}
}

// selection is a TrialQuery over the sweeps with the given numbers, from which
// it builds SELECTs.
type selection struct {
	sweep.TrialQuery
	dialect *database.Dialect
	numbers []int64
	// metric returns where a metric is stored, nil unless all the sweeps store it in the same
	// place.
	metric func(name string) *metricPlace
	// own returns whether a plain name means a parameter.
	own func(name string) bool
	// after is the place after which the list continues; nil for its beginning.
	after *place
}

// place is a trial's place in a list; value is its sort key, nil if it has none.
type place struct {
	number, index int64
	value         any
}

func (s *selection) builder() *builder {
	return &builder{dialect: s.dialect, metric: s.metric, own: s.own, members: map[sweep.Name]database.Member{},
		further: map[int64]string{}}
}

// place returns where the metric is stored that a name means, nil if it means none or that is not known.
func (s *selection) place(name sweep.Name) *metricPlace {
	kind, own := name.Parts()
	_, field := columns[own]
	if kind == sweep.MetricKind || kind == "" && !field && !s.own(own) {
		return s.metric(own)
	}
	return nil
}

// sorted reports whether the list is sorted by a column.
func (s *selection) sorted() bool {
	_, ok := s.builder().column(s.OrderBy)
	return ok && !s.inOrder()
}

// inOrder reports whether the list is in the order of the trials' indices.
func (s *selection) inOrder() bool {
	return s.OrderBy == "" || s.OrderBy == "index" && !s.own("index") || s.OrderBy == sweep.FieldKind.Of("index")
}

func (s *selection) direction() string {
	if s.Descending {
		return " DESC"
	}
	return ""
}

const (
	// joinScores joins the metrics of trials t, as c.
	joinScores = "\nLEFT JOIN scores AS c ON c.sweep_no = t.sweep_no AND c.trial_index = t.trial_index"

	trialsAndScores = "trials AS t\nLEFT JOIN outcomes AS o ON o.trial_no = t.trial_no" + joinScores
)

// plain builds the SELECT of a list that is in order of index: of one sweep, or of all.
func (s *selection) plain(numbers []int64, after *place, limit int) *builder {
	return s.conditions(numbers).inOrder(numbers, after, s.direction(), limit)
}

// inOrder ends a SELECT of trials in order of index. Within one sweep the database finds the place in an
// index; with the sweep's number in the comparison it would look at all trials before.
func (b *builder) inOrder(numbers []int64, after *place, direction string, limit int) *builder {
	switch {
	case after == nil:
	case len(numbers) == 1:
		b.text.WriteString("\nAND t.trial_index" + beyond(direction) + "CAST(" + b.bind(after.index) + " AS bigint)")
	default:
		b.text.WriteString("\nAND (t.sweep_no, t.trial_index)" + beyond(direction) + b.key(after))
	}
	b.text.WriteString("\nORDER BY t.sweep_no" + direction + ", t.trial_index" + direction)
	b.limit(limit)
	return b.after(trialColumns + joinScores)
}

// beyond compares a place with an earlier one of a list.
func beyond(direction string) string {
	if direction == "" {
		return " > "
	}
	return " < "
}

// sortedKeys builds the SELECT of the internal numbers and places of all trials of a sorted list.
func (s *selection) sortedKeys() *builder {
	b := s.conditions(s.numbers)
	b.text.WriteString("\nORDER BY " + b.order(s.OrderBy, s.direction()) + ", t.sweep_no, t.trial_index")
	return b.after("SELECT t.trial_no, t.sweep_no, t.trial_index FROM " + trialsAndScores)
}

// key is the last part of an order, which makes each trial's place unique.
func (b *builder) key(p *place) string {
	return "(CAST(" + b.bind(p.number) + " AS bigint), CAST(" + b.bind(p.index) + " AS bigint))"
}

// valued builds the SELECT of the trials that have a sort key. The inner SELECT finds them,
// in a narrow table if the key is a metric and there are no conditions.
func (s *selection) valued(limit int) *builder {
	b := s.conditions(s.numbers)
	from := trialsAndScores
	c, _ := b.column(s.OrderBy)
	by := b.typed(s.OrderBy, c.kind)
	if place := s.place(s.OrderBy); place != nil &&
		len(s.States)+len(s.Where) == 0 && !s.Best {
		b.joins.Reset()
		if from, c.text = "scores AS t", "t."+place.column; place.column == "" {
			from, c.text = "metric_values AS t", "t.value"
			fmt.Fprintf(&b.text, "\nAND t.metric_no = %d", place.number)
		}
		by = "(" + c.text + ")"
	}
	b.text.WriteString("\nAND " + c.text + " IS NOT NULL")
	if s.after != nil {
		value := "CAST(" + b.bind(s.after.value) + " AS " + sqlTypes[c.kind] + ")"
		b.text.WriteString("\nAND (" + by + beyond(s.direction()) + value + " OR " + by + " = " + value +
			" AND (t.sweep_no, t.trial_index) > " + b.key(s.after) + ")")
	}
	if limit > 0 {
		b.text.WriteString("\nORDER BY " + by + s.direction() + ", t.sweep_no, t.trial_index")
		b.limit(limit)
	}
	value := "chosen.value"
	if c.kind == "text" {
		value += " COLLATE " + s.dialect.Collation
	}
	b.text.WriteString(") AS chosen ON chosen.trial_no = t.trial_no\nORDER BY " + value + s.direction() +
		", t.sweep_no, t.trial_index")
	return b.after(trialColumns + "\nJOIN (SELECT t.trial_no, " + by + " AS value FROM " + from)
}

// valueless builds the SELECT of the trials without a sort key, which come last: of one sweep, or of all.
func (s *selection) valueless(numbers []int64, after *place, limit int) *builder {
	b := s.conditions(numbers)
	c, _ := b.column(s.OrderBy)
	b.text.WriteString("\nAND " + c.text + " IS NULL")
	return b.inOrder(numbers, after, "", limit)
}

// sqlTypes are the types of a column's values, by kind.
var sqlTypes = map[string]string{"number": "double precision", "text": "text", "boolean": "boolean"}

// conditions begins a SELECT of the trials of sweeps, all if there are no numbers, with its WHERE clause.
func (s *selection) conditions(numbers []int64) *builder {
	b := s.builder()
	b.text.WriteString("\nWHERE TRUE")
	if len(numbers) > 0 {
		b.text.WriteString(" AND t.sweep_no IN " + bindAll(b, numbers))
	}
	if s.Best {
		b.text.WriteString(" AND t.trial_no IN (SELECT g.best_trial_no FROM groups AS g")
		if len(numbers) > 0 {
			b.text.WriteString(" WHERE g.sweep_no IN " + bindAll(b, numbers))
		}
		b.text.WriteString(")")
	}
	if len(s.States) > 0 {
		states := make([]string, len(s.States))
		for i, state := range s.States {
			states[i] = string(state)
		}
		b.text.WriteString(" AND t.state IN " + bindAll(b, states) + indexed(s.States))
	}
	b.where(s.Where)
	return b
}

// where adds conditions.
func (b *builder) where(conditions []sweep.TrialCondition) {
	for _, c := range conditions {
		text, err := b.condition(c)
		if b.err == nil {
			b.err = err
		}
		b.text.WriteString("\nAND " + text)
	}
}

// indexed repeats a condition on states in the form of the partial indices, if one of them
// has all such trials.
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

// has is the condition that a trial has what is named, be it null, or lacks it. What is not known of a trial is null.
func (b *builder) has(c sweep.TrialCondition) string {
	text := b.present(c.Name)
	if b.parameter(c.Name) {
		text = b.member(c.Name).Kind + " IS NOT NULL"
	}
	if c.Operator == sweep.Lacks {
		text = "NOT " + text
	}
	return text
}

// condition builds one comparison.
func (b *builder) condition(c sweep.TrialCondition) (string, error) {
	if c.Operator == sweep.Has || c.Operator == sweep.Lacks {
		return b.has(c), nil
	}
	if !slices.Contains(sweep.Operators, c.Operator) {
		return "", fmt.Errorf("condition on %s: no such operator: %q; there are %s", c.Name, c.Operator,
			strings.Join(sweep.Operators, " "))
	}
	want, err := sweep.Normalize(c.Value)
	if err != nil {
		return "", fmt.Errorf("condition on %s: %w", c.Name, err)
	}
	if want != nil && (c.Name == sweep.FieldKind.Of(sweep.TagColumn) ||
		c.Name == sweep.TagColumn && !b.own(sweep.TagColumn)) {
		c.Value = want
		return b.hasTag(c)
	}
	kind, as := "json", "text" // lists and mappings compare as canonical JSON, which is how parameters are stored
	switch v := want.(type) {
	case bool:
		kind, as = "boolean", "boolean"
	case int64:
		kind, as = "number", "bigint"
		if c.Name.Is(sweep.MetricKind) { // whose values are of double precision
			want, as = float64(v), "double precision"
		}
	case float64:
		kind, as = "number", "double precision"
	case string:
		kind = "text"
	default:
		switch {
		case c.Operator != "=" && c.Operator != "!=":
			return "", fmt.Errorf("condition on %s: %s needs a number, a text or a boolean", c.Name, c.Operator)
		case v == nil && c.Operator == "=" && b.parameter(c.Name):
			return "coalesce(" + b.member(c.Name).Kind + " = 'null', FALSE)", nil
		case v == nil && c.Operator == "=":
			return "NOT " + b.present(c.Name), nil
		case v == nil:
			return b.present(c.Name), nil
		}
		text, err := sweep.CanonicalJSON(v)
		if err != nil {
			return "", err
		}
		want = string(text)
	}
	comparison := b.typed(c.Name, kind) + " " + c.Operator + " " + b.constant(want, as)
	if c.Operator == "!=" {
		return "(" + b.present(c.Name) + " AND coalesce(" + comparison + ", TRUE))", nil
	}
	return "coalesce(" + comparison + ", FALSE)", nil
}
