package frame

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/progress"
)

// Names reads the names of parameters, metrics and fields that a user writes about sweeps.
type Names struct {
	*sweep.Names
	records []*sweep.SweepRecord
	// open means that trials report metrics that no trainer describes, growing that they may report further ones.
	open, growing bool
	// examples are some metrics of the sweeps.
	examples func() []string
	// Doubts are the plain names so far that mean several things.
	Doubts []Doubt
}

// Doubt is a plain name that may mean several things, the first of which is taken.
type Doubt struct {
	flag, text string
	All        []sweep.Name
}

// QueryError is a name, condition or state that no trial can have.
type QueryError struct{ text string }

// Error implements error.
func (e *QueryError) Error() string { return e.text }

func refused(format string, args ...any) error { return &QueryError{fmt.Sprintf(format, args...)} }

// NamesIn returns what reads names of sweeps. A name that no record has is looked for in the trials.
func NamesIn(ctx context.Context, results sweep.Reader, records ...*sweep.SweepRecord) *Names {
	n := &Names{Names: sweep.NamesOf(records...), records: records}
	for _, record := range records {
		for i := range record.Grids {
			description := &record.Grids[i].Submission.Description
			n.open = n.open || description.Open || len(description.Metrics) == 0
		}
		n.growing = n.growing || n.open && record.State != sweep.SweepFinished
	}
	if n.open {
		n.Further = func(name sweep.Name) bool {
			return slices.ContainsFunc(records, func(record *sweep.SweepRecord) bool {
				return anyHas(ctx, results, record.ID, name)
			})
		}
	}
	n.examples = func() []string { return MainMetrics(ctx, results, records[0]) }
	return n
}

// anyHas reports whether a trial of a sweep has a parameter or metric, true if that cannot be told.
func anyHas(ctx context.Context, results sweep.Reader, id string, name sweep.Name) (found bool) {
	err := results.Trials(ctx, sweep.TrialQuery{
		Sweeps: []string{id}, Limit: 1, Where: []sweep.TrialCondition{{Name: name, Operator: sweep.Has}},
	}, func(*sweep.TrialRecord) error {
		found = true
		return nil
	})
	return found || err != nil
}

// Read returns all that a name may mean. It refuses what no trial can have: sorted by that,
// trials are in no order. Which metrics a program reports is known when its sweep has ended.
func (n *Names) Read(flag, text string) ([]sweep.Name, error) {
	all := n.Find(text)
	if len(all) == 0 && n.growing {
		all = []sweep.Name{sweep.Assume(text, sweep.MetricKind)}
	}
	if len(all) == 0 {
		return nil, n.unknown(flag, text)
	}
	if len(all) > 1 && flag == "sort" {
		n.Doubts = append(n.Doubts, Doubt{flag, text, all})
	}
	return all, nil
}

func (n *Names) unknown(flag, text string) error {
	hint := ""
	if !n.open {
		hint = fmt.Sprintf(" (all: sweep trainer describe %s)", n.records[0].Trainer)
	}
	var varied []string
	for _, record := range n.records {
		varied = append(varied, progress.Varied(record, false)...)
	}
	differ := ""
	if len(varied) > 0 {
		differ = "differ in " + strings.Join(varied, ", ") + ", and "
	}
	return refused("--%s %s: no trial of this sweep has this name; trials %shave metrics such as %s%s", flag, text,
		differ, strings.Join(n.examples(), ", "), hint)
}

func (n *Names) condition(text string) (sweep.TrialCondition, error) {
	c, all, err := n.Condition(text)
	switch {
	case err != nil:
		return c, refused("--where %v", err)
	case len(all) == 0 && !n.growing:
		return c, n.unknown("where", c.Name.Own())
	case len(all) > 1:
		n.Doubts = append(n.Doubts, Doubt{"where", text, all})
	}
	return c, nil
}

// Own returns what the names of a list are called, where names of a kind are meant.
func (n *Names) Own(list []string, kind sweep.NameKind) (own []string) {
	for _, text := range list {
		own = append(own, n.Called(text, kind))
	}
	return own
}

// Remarks tells which meanings plain names are taken to have, of trials that are not all at hand.
func (n *Names) Remarks() (list []string) {
	for _, d := range n.Doubts {
		list = append(list, d.String())
	}
	return list
}

// Divided returns the parameters and the metrics that columns name, perhaps both.
func (n *Names) Divided(columns []string) (parameters, metrics []string, err error) {
	parameters = []string{}
	for _, text := range columns {
		all, err := n.Read("columns", text)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range all {
			switch kind, own := name.Parts(); kind {
			case sweep.ParameterKind:
				parameters = append(parameters, own)
			case sweep.MetricKind:
				metrics = append(metrics, own)
			case sweep.FieldKind: // an answer has its own
			}
		}
	}
	return parameters, metrics, nil
}

// String says which of several meanings a name has.
func (d *Doubt) String() string {
	var others []string
	for _, name := range d.All[1:] {
		others = append(others, fmt.Sprintf("the %s (%s)", KindText(name), name))
	}
	return fmt.Sprintf("%s %s: taken as the %s (%s), not %s", d.flag, d.text, KindText(d.All[0]), d.All[0],
		strings.Join(others, " or "))
}

// KindText says in words what a name is one of.
func KindText(name sweep.Name) string {
	if kind, _ := name.Parts(); kind != sweep.FieldKind {
		return string(kind)
	}
	return "field of trials"
}

// Query asks for the trials of the first sweep that meet all conditions and are in one of the states. Sorted by a plain
// name is by the metric, where there is one.
func (n *Names) Query(where, states []string, sort string) (sweep.TrialQuery, error) {
	q := sweep.TrialQuery{Sweeps: []string{n.records[0].ID}}
	if sort != "" {
		all, err := n.Read("sort", sort)
		if err != nil {
			return q, err
		}
		q.OrderBy = all[0]
	}
	for _, name := range states {
		if !slices.Contains(StateNames[1:], name) {
			return q, refused("--state %s: expected one of %v", name, StateNames[1:])
		}
		if name == Diverged.String() { // the store has it for a completed one
			name = Completed.String()
		}
		q.States = append(q.States, sweep.State(name))
	}
	completed, diverged := Completed.String(), Diverged.String()
	for state, other := range map[string]string{completed: diverged, diverged: completed} {
		if slices.Contains(states, state) && !slices.Contains(states, other) {
			q.Where = append(q.Where, sweep.TrialCondition{Name: "trial.state", Operator: "!=", Value: other})
		}
	}
	for _, text := range where {
		condition, err := n.condition(text)
		if err != nil {
			return q, err
		}
		q.Where = append(q.Where, condition)
	}
	return q, nil
}

// Reported is a set of the summary metrics that trials have.
type Reported map[string]bool

// Add adds those of a trial.
func (r Reported) Add(t *sweep.TrialRecord) error {
	if t.Result != nil {
		for name := range t.Result.Summary {
			r[name] = true
		}
		for _, name := range t.Result.NotFinite {
			r[name] = true
		}
	}
	return nil
}

// Sorted lists the names.
func (r Reported) Sorted() []string { return slices.Sorted(maps.Keys(r)) }

// MainMetrics are the metric that trials compete by, and the others that have a
// goal; of programs, which name none, what the first trials report.
func MainMetrics(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, g := range record.Grids {
		add(g.Submission.Spec.Select.By)
	}
	for _, g := range record.Grids {
		for _, m := range g.Submission.Description.Metrics {
			if m.Summary && m.Goal != "" {
				add(m.Name)
			}
		}
	}
	const enough = 3
	if len(names) == 0 {
		first := Reported{}
		_ = results.Trials(ctx, sweep.TrialQuery{ // without metrics the groups are listed all the same
			Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}, Limit: 10,
		}, first.Add)
		names = first.Sorted()
	}
	return names[:min(len(names), enough)]
}
