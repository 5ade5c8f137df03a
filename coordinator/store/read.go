package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// trialColumns are what a trialScanner reads.
const trialColumns = `
	SELECT s.sweep_id, s.name, t.trial_index, t.state, t.diverged, t.executions, t.charged, t.losses, t.worker,
		t.queued_at, t.started_at, t.finished_at, t.fingerprint, t.dataset_digest, t.parameters,
		t.class_no, t.refusals, coalesce(CASE WHEN t.refusals > 0 THEN (SELECT r.reason` + lastRefusal + `) END, ''),
		coalesce(CASE WHEN t.refusals > 0 THEN (SELECT r.worker` + lastRefusal + `) END, ''),
		coalesce(rs.sweep_id, ''), coalesce(rt.trial_index, 0),
		o.summary, coalesce(o.weights_digest, ''), coalesce(o.kernel_level, ''), coalesce(o.seconds, 0),
		coalesce(o.error, ''), coalesce(o.stderr, ''), coalesce(o.digest, ''), coalesce(o.run_name, ''),
		coalesce(o.run_group, ''), coalesce(n.notes, o.notes, ''), coalesce(n.tags, o.tags, ''),
		coalesce(n.edited_by, ''), n.edited_at
	FROM trials AS t
	JOIN sweeps AS s USING (sweep_no)
	LEFT JOIN trials AS rt ON rt.trial_no = t.source_no
	LEFT JOIN sweeps AS rs ON rs.sweep_no = rt.sweep_no
	LEFT JOIN outcomes AS o ON o.trial_no = t.trial_no
	LEFT JOIN trial_notes AS n ON n.sweep_no = t.sweep_no AND n.trial_index = t.trial_index`

// lastRefusal is evaluated only for trials that were refused, which is rare.
const lastRefusal = ` FROM trial_refusals AS r WHERE r.trial_no = t.trial_no ORDER BY r.refused_at DESC LIMIT 1`

// trialScanner reads trials one after the other into the same variables: a row has so many that making them, and the
// list of their addresses, took a fifth of the time of a long list.
type trialScanner struct {
	record              sweep.TrialRecord
	result              sweep.Result
	source              sweep.TrialID
	parameters, summary []byte
	annotation          annotationRow
	columns             []any
}

func newTrialScanner() *trialScanner {
	s := &trialScanner{}
	r, result := &s.record, &s.result
	s.columns = append([]any{&r.Sweep, &r.SweepName, &r.Index, (*string)(&r.State), &result.Diverged,
		&r.Executions, &r.Charged, &r.Losses, &r.Worker, &r.QueuedAt, &r.StartedAt, &r.FinishedAt,
		(*string)(&r.Fingerprint), &r.DatasetDigest, &s.parameters, &r.Class, &r.Refusals, &r.LastRefusal, &r.RefusedBy,
		&s.source.Sweep, &s.source.Index, &s.summary, &result.WeightsDigest, &result.KernelLevel, &result.Seconds,
		&result.Error, &result.Stderr, &result.Digest, &r.RunName, &r.RunGroup}, s.annotation.columns()...)
	return s
}

func (s *trialScanner) scan(row database.Row) (*sweep.TrialRecord, error) {
	s.record, s.result, s.source, s.annotation = sweep.TrialRecord{}, sweep.Result{}, sweep.TrialID{}, annotationRow{}
	s.parameters, s.summary = nil, nil
	if err := row.Scan(s.columns...); err != nil {
		return nil, err
	}
	r := s.record
	r.Annotation = s.annotation.annotation()
	if err := r.Parameters.UnmarshalJSON(s.parameters); err != nil {
		return nil, fmt.Errorf("parameters of trial %v: %w", r.TrialID, err)
	}
	if s.source.Sweep != "" {
		source := s.source
		r.ReusedFrom = &source
	}
	if !r.State.Terminal() {
		return &r, nil
	}
	result := s.result
	result.State = r.State
	if len(s.summary) > len("{}") {
		var err error
		if result.Summary, result.NotFinite, err = decodeSummary(s.summary); err != nil {
			return nil, fmt.Errorf("summary of trial %v: %w", r.TrialID, err)
		}
	}
	r.Result = &result
	return &r, nil
}

// encodeSummary encodes the metrics of a result. Those that are not finite are null.
func (t *transaction) encodeSummary(r *sweep.Result) database.JSON {
	if len(r.NotFinite) == 0 {
		if len(r.Summary) == 0 {
			return "{}"
		}
		return database.JSON(t.encode(r.Summary))
	}
	all := make(map[string]*float64, len(r.Summary)+len(r.NotFinite))
	for name, value := range r.Summary {
		all[name] = &value
	}
	for _, name := range r.NotFinite {
		all[name] = nil
	}
	return database.JSON(t.encode(all))
}

// decodeSummary decodes the metrics of a result, in a fraction of the time that encoding/json takes, and the names of
// those that are not finite.
func decodeSummary(text []byte) (summary map[string]float64, notFinite []string, err error) {
	summary = make(map[string]float64, bytes.Count(text, []byte{':'}))
	plain := bytes.HasSuffix(text, []byte{'}'})
	for rest := string(text); plain && rest != ""; {
		var quoted, member string
		if quoted, member, rest = cutMember(rest); member == "" {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimPrefix(member[len(quoted):], ":"), 64)
		if plain = err == nil && len(quoted) >= 2 && strings.IndexByte(quoted, '\\') < 0; plain {
			summary[quoted[1:len(quoted)-1]] = value
		}
	}
	if plain {
		return summary, nil, nil
	}
	var all map[string]*float64
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, nil, err
	}
	clear(summary)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if value := all[name]; value != nil {
			summary[name] = *value
		} else {
			notFinite = append(notFinite, name)
		}
	}
	return summary, notFinite, nil
}

// Trial implements sweep.Store.
func (s *Store) Trial(ctx context.Context, id sweep.TrialID) (record *sweep.TrialRecord, err error) {
	err = s.viewSweep(ctx, "load trial "+id.String(), id.Sweep, func(t *transaction, number int64) {
		t.each(func(row database.Row) (err error) {
			record, err = newTrialScanner().scan(row)
			return err
		}, trialColumns+` WHERE t.sweep_no = $1 AND t.trial_index = $2`, number, id.Index)
		if record == nil {
			t.fail(sweep.ErrNotFound)
		}
	})
	return record, err
}

// trialPage is how many trials Trials reads in one transaction. A sorted list of more than fewPages is
// sorted once instead of for each page.
const trialPage, fewPages = 500, 4

// Trials implements sweep.Store. Without Sweeps all are listed, in order of
// their creation. It reads pages, each in a transaction of its own that has ended when its
// trials are yielded: a slow caller holds no snapshot, which would keep the database from
// vacuuming.
func (s *Store) Trials(ctx context.Context, query sweep.TrialQuery, yield func(*sweep.TrialRecord) error) error {
	l := listing{selection: selection{TrialQuery: query, dialect: s.db.Dialect()}, left: query.Limit}
	for more := true; more; {
		if err := s.view(ctx, "list trials", func(t *transaction) { more = l.read(t) }); err != nil {
			return err
		}
		for _, r := range l.page {
			if err := yield(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownNames returns a function that reports whether one of the sweeps has a parameter with a
// name, which then refers to the parameter.
func (t *transaction) ownNames(numbers []int64) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(numbers, func(number int64) bool {
			return t.comparison(number).parameters[name]
		})
	}
}

// listing answers a TrialQuery, page by page.
type listing struct {
	*transaction
	selection
	// left is how many trials are still to be listed, unless the Limit is 0.
	left int
	// begun is set when a page has been read: then the list continues after l.after.
	begun bool
	// keys are the trials still to be read of a list that is sorted once: one that is long, or
	// sorted by a member of the JSON.
	keys []int64
	page []*sweep.TrialRecord
}

// read reads the next page and reports whether there may be more.
func (l *listing) read(t *transaction) (more bool) {
	l.transaction, l.page = t, nil
	if !l.begun {
		l.numbers = nil
		for _, id := range l.Sweeps {
			l.numbers = append(l.numbers, t.number(id))
		}
	}
	l.metric, l.own = t.metrics(l.numbers), t.ownNames(l.numbers)
	if t.err == nil && l.dialect.Selection != "" {
		t.err = t.tx.Script(t.ctx, l.dialect.Selection)
	}
	sorted := l.sorted()
	if !l.inOrder() && (!sorted || l.Limit == 0 || l.Limit > fewPages*trialPage) {
		return l.readKeys()
	}
	if !l.begun {
		l.find()
		l.begun = true
	}
	most := trialPage
	if l.Limit > 0 {
		most = min(most, l.left)
	}
	switch {
	case !sorted:
		l.listInOrder(most, l.Descending, l.after, l.plain)
	case l.after == nil || l.after.value != nil:
		l.list(l.valued(most))
		if left := most - len(l.page); left > 0 {
			l.listInOrder(left, false, nil, l.valueless)
		}
	default:
		l.listInOrder(most, false, l.after, l.valueless)
	}
	l.left -= len(l.page)
	if t.err != nil || len(l.page) < most || l.Limit > 0 && l.left == 0 {
		return false
	}
	// The place in this snapshot: its value may change.
	last := l.page[len(l.page)-1].TrialID
	l.After = &last
	l.find()
	return t.err == nil
}

// readKeys is read for a list that is sorted once.
func (l *listing) readKeys() (more bool) {
	if !l.begun {
		l.begun = true
		l.findKeys()
	}
	n := min(len(l.keys), trialPage)
	page := l.keys[:n]
	l.keys = l.keys[n:]
	if n > 0 {
		l.scan(trialColumns+"\nJOIN {v} ON v.trial_no = t.trial_no ORDER BY v.place",
			database.Rows(n, "trial_no, place", func(i int, row []any) []any {
				return append(row, &page[i], new(int64(i)))
			}))
	}
	return l.err == nil && len(l.keys) > 0
}

// findKeys finds which trials are in the list, and in which order.
func (l *listing) findKeys() {
	b := l.sortedKeys()
	if b.err != nil {
		l.fail(b.err)
	}
	var after place
	passing := l.After != nil
	if passing {
		after = place{number: l.number(l.After.Sweep), index: l.After.Index}
	}
	l.each(func(row database.Row) error {
		var key int64
		var at place
		err := row.Scan(&key, &at.number, &at.index)
		switch {
		case passing:
			passing = at != after
		case l.Limit == 0 || len(l.keys) < l.Limit:
			l.keys = append(l.keys, key)
		}
		return err
	}, b.text.String(), b.args...)
	if l.err == nil && passing {
		l.fail(fmt.Errorf("trial %v is not in this list: %w", *l.After, sweep.ErrNotFound))
	}
}

// find finds the place of the trial after which the list continues.
func (l *listing) find() {
	if l.After == nil || l.err != nil {
		return
	}
	p := &place{number: l.number(l.After.Sweep), index: l.After.Index}
	expression, kind, joins := "0", "number", ""
	if l.sorted() {
		b := l.builder()
		c, _ := b.column(l.OrderBy)
		expression, kind, joins = c.text, c.kind, b.joins.String()
	}
	var number float64
	var text string
	var truth, missing bool
	dest := map[string]any{"number": &number, "text": &text, "boolean": &truth}[kind]
	zero := map[string]string{"number": "0", "text": "''", "boolean": "FALSE"}[kind]
	found := l.one([]any{&missing, dest},
		`SELECT `+expression+` IS NULL, coalesce(CAST(`+expression+` AS `+sqlTypes[kind]+`), `+zero+`)
		FROM `+trialsAndScores+joins+`
		WHERE t.sweep_no = $1 AND t.trial_index = $2`, p.number, p.index)
	if !found {
		l.fail(fmt.Errorf("trial %v: %w", *l.After, sweep.ErrNotFound))
	}
	switch {
	case missing:
	case kind == "number":
		p.value = number
	case kind == "text":
		p.value = text
	default:
		p.value = truth
	}
	l.after = p
}

// listInOrder reads trials in order of index into the page, sweep by sweep if the query names some.
func (l *listing) listInOrder(limit int, descending bool, after *place,
	build func(numbers []int64, after *place, limit int) *builder) {
	if len(l.numbers) == 0 {
		l.list(build(nil, after, limit))
		return
	}
	numbers := slices.Compact(slices.Sorted(slices.Values(l.numbers)))
	if descending {
		slices.Reverse(numbers)
	}
	for full := len(l.page) + limit; len(numbers) > 0 && len(l.page) < full && l.err == nil; numbers = numbers[1:] {
		from := after
		if after != nil && numbers[0] != after.number {
			if (numbers[0] < after.number) != descending {
				continue // it was listed before
			}
			from = nil
		}
		l.list(build(numbers[:1], from, full-len(l.page)))
	}
}

// list reads the trials of a SELECT into the page.
func (l *listing) list(b *builder) {
	if b.err != nil {
		l.fail(b.err)
	}
	l.scan(b.text.String(), b.args...)
}

func (l *listing) scan(text string, args ...any) {
	scanner := newTrialScanner()
	l.each(func(row database.Row) error {
		record, err := scanner.scan(row)
		if err == nil {
			l.page = append(l.page, record)
		}
		return err
	}, text, args...)
}

// Curves implements sweep.Store.
func (s *Store) Curves(ctx context.Context, id sweep.TrialID, metrics ...string) ([]sweep.Curve, error) {
	curves := []sweep.Curve{}
	err := s.viewSweep(ctx, "load the curves of trial "+id.String(), id.Sweep, func(t *transaction, number int64) {
		var key int64
		if !t.one([]any{&key},
			`SELECT coalesce(source_no, trial_no) FROM trials WHERE sweep_no = $1 AND trial_index = $2`,
			number, id.Index) {
			t.fail(sweep.ErrNotFound)
		}
		text, args := `SELECT c.metric, c.step_array, c.value_array, f.step_array
			FROM curve_arrays AS c JOIN curve_arrays AS f ON f.trial_no = c.trial_no AND f.ordinal = 0
			WHERE c.trial_no = $1`, []any{key}
		if len(metrics) > 0 {
			text, args = text+` AND c.metric IN (SELECT metric FROM {v})`, append(args, texts("metric", metrics))
		}
		t.each(func(row database.Row) error {
			var curve sweep.Curve
			var first []int64
			err := row.Scan(&curve.Metric, &curve.Steps, &curve.Values, &first)
			if len(curve.Steps) == 0 && len(curve.Values) > 0 {
				// a curve without steps has those of the first curve
				curve.Steps = first
			}
			curves = append(curves, curve)
			return err
		}, text+` ORDER BY c.ordinal`, args...)
	})
	return curves, err
}

// Query implements sweep.Store.
func (s *Store) Query(ctx context.Context, sql string, yield func(columns []string, row []any) error) error {
	err := s.query(ctx, sql, 0, yield)
	if err != nil && slices.ContainsFunc([]string{"no such column", "no such table: t ", "(SQLSTATE 42703)",
		`relation "t" does not exist`}, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		return fmt.Errorf("%w: parameters and metrics have columns in t, the trials of one sweep "+
			"(--sweep NAME \"SELECT … FROM t\"); elsewhere write parameters ->> 'NAME' and summary ->> 'NAME'", err)
	}
	return err
}

// query runs a statement whose views have columns columns in all.
func (s *Store) query(ctx context.Context, sql string, columns int,
	yield func(columns []string, row []any) error) error {
	return s.explain("run the query", s.db.Ask(ctx, sql, columns, func(columns []string, row []any) error {
		return yielded(yield(columns, row))
	}))
}
