package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// QuerySweep implements sweep.Reader: Query in which t names the trials of a sweep, with
// a column for each of its parameters and metrics.
func (s *Store) QuerySweep(ctx context.Context, id, sql string, yield func(columns []string, row []any) error) error {
	dialect := s.db.Dialect()
	view := trialView{dialect: dialect, query: strings.ToLower(sql), names: map[string]bool{},
		columns: newColumnNames(dialect.LongestColumn, dialect.FoldsColumns)}
	record, err := s.Sweep(ctx, id)
	if err != nil {
		return err
	}
	err = s.viewSweep(ctx, "describe the trials of", record.ID, func(t *transaction, number int64) {
		view.build(t, number, record)
	})
	if err != nil {
		return err
	}
	columns := view.columns
	sql = withView(view.text.String(), columns.rewrite(sql, dialect.NestedComments), dialect.NestedComments)
	var headings []string
	return s.query(ctx, sql, len(view.names), func(names []string, row []any) error {
		if headings == nil {
			headings = slices.Clone(names)
			for i, name := range names {
				headings[i] = columns.heading(name)
			}
		}
		return yield(headings, row)
	})
}

// trialView builds the SELECT of a sweep's trials.
type trialView struct {
	dialect *database.Dialect
	query   string          // what is asked, in lower case
	names   map[string]bool // of columns
	columns *columnNames    // as the database has them
	text    strings.Builder
	joins   strings.Builder
	joined  int
}

// maxJoined bounds the metrics that are joined: more tables, and the database no longer
// looks for the best order.
const maxJoined = 5

// trialColumnsOf are the first columns of the view. One that a parameter is called like is trial.NAME.
var trialColumnsOf = []struct{ name, text string }{
	{"trial_index", "t.trial_index"}, {"state", "t.state"}, {"diverged", "t.diverged"}, {"executions", "t.executions"},
	{"worker", "t.worker"}, {"seconds", "nullif(o.seconds, 0)"},
}

func (v *trialView) build(t *transaction, number int64, record *sweep.SweepRecord) {
	parameters := sweepParameters(record)
	for _, c := range trialColumnsOf {
		name := sweep.FieldKind.Of(c.name)
		if !slices.ContainsFunc(parameters, func(p namedParameter) bool { return p.name == c.name }) {
			name = sweep.Name(c.name)
		}
		v.add(name, c.text)
	}
	by := t.comparison(number)
	for _, p := range parameters {
		v.add(sweep.Name(p.name), by.parameterOf(v.dialect, p))
	}
	type metric struct {
		name   string
		number int64
	}
	numbered := collect(t, func(m *metric) []any { return []any{&m.name, &m.number} },
		`SELECT metric, metric_no FROM metric_names WHERE sweep_no = $1
		ORDER BY CASE WHEN metric_no < $2 THEN metric_no ELSE $2 END, metric`, number, len(scoreColumns))
	for _, m := range record.Grids[0].Submission.Description.Metrics {
		if m.Summary && !slices.ContainsFunc(numbered, func(n metric) bool { return n.name == m.Name }) {
			v.add(v.metric(m.Name), memberOf(v.dialect, database.Summary, m.Name, sweep.NumberType))
		}
	}
	for _, m := range numbered {
		if place := placeOf(m.number); place.column != "" {
			v.add(v.metric(m.name), "c."+place.column)
		} else {
			v.addFurther(m.name, number, m.number)
		}
	}
	fmt.Fprintf(&v.text,
		"\nFROM trials AS t\nLEFT JOIN outcomes AS o ON o.trial_no = t.trial_no%s\nWHERE t.sweep_no = %d",
		joinScores+v.joins.String(), number)
}

// addFurther adds a metric that has a row a trial. One that the statement names is joined;
// another one, of which a * shows a few, is looked for where it is shown.
func (v *trialView) addFurther(name string, sweep, metric int64) {
	rows := fmt.Sprintf("metric_values AS m%d", metric)
	same := fmt.Sprintf("m%d.sweep_no = %d AND m%[1]d.metric_no = %[1]d AND m%[1]d.trial_index = t.trial_index",
		metric, sweep)
	value := fmt.Sprintf("m%d.value", metric)
	if v.joined < maxJoined && strings.Contains(v.query, strings.ToLower(name)) {
		v.joined++
		v.joins.WriteString("\nLEFT JOIN " + rows + " ON " + same)
		v.add(v.metric(name), value)
		return
	}
	v.add(v.metric(name), "(SELECT "+value+" FROM "+rows+" WHERE "+same+")")
}

// metric is the column of a metric: metric.NAME if another column is called so.
func (v *trialView) metric(name string) sweep.Name {
	if v.names[name] {
		return sweep.MetricKind.Of(name)
	}
	return sweep.Name(name)
}

// add adds a column. One whose name another has all the same is called parameter."NAME" or metric."NAME".
func (v *trialView) add(as sweep.Name, expression string) {
	name := string(as)
	for v.names[name] {
		kind, own := as.Parts()
		name = string(cmp.Or(kind, sweep.ParameterKind)) + "." + strconv.Quote(own)
		as = sweep.Name(name)
	}
	separator := ",\n\t"
	if len(v.names) == 0 {
		separator = "SELECT "
	}
	v.names[name] = true
	v.text.WriteString(separator + expression + " AS " + quoteColumn(v.columns.add(name)))
}

// anyOf is a member of a JSON object as a text, those with some forms as JSON has them.
func anyOf(dialect *database.Dialect, object string, p namedParameter) string {
	value := memberOf(dialect, object, p.name, sweep.AnyType)
	if len(p.alike) == 0 {
		return value
	}
	form := strings.Replace(value, " ->> ", " -> ", 1)
	var list []string
	for _, one := range p.alike {
		list = append(list, sweep.QuoteSQL(one))
	}
	return "CASE WHEN " + form + " IN (" + strings.Join(list, ", ") + ") THEN " + form + " ELSE " + value + " END"
}

// memberOf is a member of a JSON object as a value of its type.
func memberOf(dialect *database.Dialect, object, name string, kind sweep.ParameterType) string {
	member := sweep.QuoteSQL(dialect.Label(name))
	value := object + " ->> " + member
	switch kind {
	case sweep.BooleanType:
		return "CAST(" + object + " -> " + member + " AS text) = 'true'"
	case sweep.IntegerType:
		return "CAST(" + value + " AS bigint)"
	case sweep.NumberType:
		return "CAST(" + value + " AS double precision)"
	}
	return "CAST(" + value + " AS text)"
}

// namedParameter is a parameter of a sweep, with its type.
type namedParameter struct {
	name string
	kind sweep.ParameterType
	// alike are the forms as JSON of values that without quotes, or in SQLite, would look like others that the
	// parameter has.
	alike []string
}

// sweepParameters are the parameters that a sweep's trials may have: those of the
// trainer's schema and of the grids' axes, whose types are those of their values.
func sweepParameters(record *sweep.SweepRecord) (all []namedParameter) {
	at := map[string]int{}
	add := func(name string, kind sweep.ParameterType) {
		if i, known := at[name]; known {
			all[i].kind = joint(all[i].kind, kind)
			return
		}
		at[name] = len(all)
		all = append(all, namedParameter{name: name, kind: kind})
	}
	described := map[string]bool{}
	for _, p := range record.Grids[0].Submission.Description.Parameters {
		if p.Type != sweep.AnyType {
			described[p.Name] = true
			add(p.Name, p.Type)
		}
	}
	for p := range record.AxisParameters() {
		if !described[p.Name] {
			add(p.Name, valuesType(p.Values))
		}
	}
	for i := range all {
		if all[i].kind == sweep.AnyType {
			all[i].alike = alike(record, all[i].name)
		}
	}
	return all
}

// alike are the values of a parameter, as JSON, that are texts and read as something else, and truth values, if it has
// values that are no texts.
func alike(record *sweep.SweepRecord, name string) (forms []string) {
	mixed := false
	for p := range record.AxisParameters() {
		if p.Name != name {
			continue
		}
		mixed = mixed || p.Values.List == nil
		for _, value := range p.Values.List {
			text, isText := value.(string)
			_, isTruth := value.(bool)
			mixed = mixed || !isText
			form, err := sweep.CanonicalJSON(value)
			if err == nil && (isTruth || isText && !sweep.PlainText(text)) {
				forms = append(forms, string(form))
			}
		}
	}
	if !mixed {
		return nil
	}
	return forms
}

// valuesType is the type that all of a parameter's values have.
func valuesType(v sweep.Values) (kind sweep.ParameterType) {
	switch {
	case v.List == nil && v.Range != nil && v.Range.Integer && v.Range.Divisor == 0:
		return sweep.IntegerType
	case v.List == nil:
		return sweep.NumberType
	}
	for i, value := range v.List {
		own := sweep.AnyType
		switch value.(type) {
		case bool:
			own = sweep.BooleanType
		case int64:
			own = sweep.IntegerType
		case float64:
			own = sweep.NumberType
		}
		if i > 0 {
			own = joint(kind, own)
		}
		kind = own
	}
	return kind
}

// joint is the narrowest type that has the values of both.
func joint(a, b sweep.ParameterType) sweep.ParameterType {
	numeric := func(k sweep.ParameterType) bool { return k == sweep.IntegerType || k == sweep.NumberType }
	switch {
	case a == b:
		return a
	case numeric(a) && numeric(b):
		return sweep.NumberType
	}
	return sweep.AnyType
}

// withView puts the definition of t before a statement, among its own if it has some. Comments nest in Postgres.
func withView(view, sql string, nested bool) string {
	rest, with := keyword(sql, "WITH", nested)
	recursive := ""
	if with {
		var is bool
		if rest, is = keyword(rest, "RECURSIVE", nested); is {
			recursive = "RECURSIVE "
		}
		return "WITH " + recursive + "t AS (" + view + "),\n" + rest
	}
	return "WITH t AS (" + view + ")\n" + rest
}

// keyword returns a statement after a keyword, if it begins with that, and without white space and comments before it.
func keyword(sql, word string, nested bool) (rest string, found bool) {
	rest = sql[blank(sql, nested):]
	if len(rest) < len(word) || !strings.EqualFold(rest[:len(word)], word) {
		return rest, false
	}
	after := rest[len(word):]
	if next, _ := utf8.DecodeRuneInString(after); next == '_' || next == '$' || unicode.IsLetter(next) ||
		unicode.IsDigit(next) {
		return rest, false // a longer name
	}
	return after, true
}

// blank is the length of the white space and the comments at the beginning of a statement.
func blank(sql string, nested bool) (length int) {
	for length < len(sql) {
		rest := sql[length:]
		switch {
		case strings.ContainsRune(" \t\r\n\f\v", rune(rest[0])):
			length++
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				return len(sql)
			}
			length += n + 1
		case strings.HasPrefix(rest, "/*"):
			length += comment(rest, nested)
		default:
			return length
		}
	}
	return length
}

// comment is the length of the comment in /* and */ with which a text begins; all of the text if it does not end.
func comment(text string, nested bool) int {
	depth := 0
	for i := 0; i+1 < len(text); {
		switch pair := text[i : i+2]; {
		case pair == "/*" && (nested || depth == 0):
			depth++
			i += 2
		case pair == "*/":
			i += 2
			if depth--; depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(text)
}
