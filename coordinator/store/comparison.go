package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// comparison is how the trials of a sweep are compared, by its first submission. It never
// changes.
type comparison struct {
	sweep.Select
	number int64
	// metrics are the numbers of the metrics that the trainer describes, below that of the first one
	// without a column. described are all that it describes, and whether each has a goal: without one
	// it is not compared.
	metrics   map[string]int64
	described map[string]bool
	// undescribed are the numbers of other metrics, as far as they were read: they never change.
	undescribed sync.Map
	// score is what a diverged trial counts as in the mean of a grid point. description has the
	// metrics, and nothing else.
	score       float64
	description sweep.Description
	// needed is the metric without which a result of a program is not reused; empty for other trainers: what
	// these lack they lack again.
	needed string
	// program says that the sweep runs a program, whose results have lists of inputs.
	program bool
	// keep is of how many of the best trials artifacts are kept.
	keep map[string]int64
	// fixed are the parameters that all trials have.
	fixed sweep.Parameters
	// members are the names of Group as JSON writes them.
	members []string
	// parameters are the names of all parameters. columns are those with a column of trials, by their
	// names as JSON writes them: the first ones that the sweep varies.
	parameters map[string]bool
	columns    map[string]int
}

// comparison returns how the trials of a sweep are compared.
func (t *transaction) comparison(number int64) *comparison {
	if known, ok := t.s.comparisons.Load(number); ok {
		return known.(*comparison)
	}
	var submission sweep.Submission
	t.submission(number, 0, &submission)
	c := newComparison(number, &submission)
	if t.err == nil {
		t.s.comparisons.Store(number, c)
	}
	return c
}

// submission reads what a grid was submitted with.
func (t *transaction) submission(number int64, ordinal int, to *sweep.Submission) {
	t.each(func(row database.Row) error {
		var text []byte
		if err := row.Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal(text, to); err != nil {
			return fmt.Errorf("submission of sweep %d: %w", number, err)
		}
		return nil
	}, `SELECT submission FROM grids WHERE sweep_no = $1 AND ordinal = $2`, number, ordinal)
}

// newComparison returns how the trials of a sweep are compared by its first submission.
func newComparison(number int64, submission *sweep.Submission) *comparison {
	c := &comparison{number: number, Select: submission.Spec.Select, keep: submission.Spec.Keep,
		parameters: map[string]bool{}, columns: map[string]int{}, fixed: sweep.Parameters{}}
	if submission.Description.Open {
		c.needed, c.program = submission.Spec.Select.By, true
	}
	for _, p := range submission.Description.Parameters {
		c.parameters[p.Name] = true
	}
	for _, axis := range submission.Spec.Axes {
		for i := range axis.Parameters {
			p := &axis.Parameters[i]
			c.parameters[p.Name] = true
			name := quoteName(p.Name)
			if p.Values.Len() == 1 && !slices.ContainsFunc(submission.Spec.Conditions, func(only sweep.Condition) bool {
				return only.Parameter == p.Name
			}) {
				c.fixed[p.Name] = p.Values.At(0)
			}
			varies := p.Values.Len() > 1 || p.Values.Distribution != nil
			if _, known := c.columns[name]; !known && varies && p.Name != sweep.SeedParameter &&
				len(c.columns) < len(parameterColumns) {
				c.columns[name] = len(c.columns)
			}
		}
	}
	c.fill(&submission.Description)
	return c
}

// fill fills in the defaults, the groups being those of data set and model, and what follows
// from the description.
func (c *comparison) fill(description *sweep.Description) {
	if c.By == "" {
		c.By = "validation_loss"
	}
	if len(c.Group) == 0 {
		c.Group = []string{"dataset", "model"}
	}
	for _, name := range c.Group {
		c.members = append(c.members, quoteName(name))
	}
	c.metrics, c.described, c.description.Metrics = map[string]int64{c.By: 0}, map[string]bool{}, description.Metrics
	for _, m := range description.Metrics {
		if _, known := c.metrics[m.Name]; !known && m.Summary && m.Goal != "" && len(c.metrics) < len(scoreColumns) {
			c.metrics[m.Name] = int64(len(c.metrics))
		}
		c.described[m.Name] = m.Goal != ""
	}
	c.score = c.Diverged(description)
}

// quoteName returns a name as JSON writes it.
func quoteName(name string) string {
	text, _ := sweep.CanonicalJSON(name) // a text has a form
	return string(text)
}

// further reports whether a metric without a number in metrics gets one: not what the trainer describes
// without a goal.
func (c *comparison) further(name string) bool {
	compared, described := c.described[name]
	return compared || !described
}

// pointKey returns the key of a trial's grid point: the parameters, as canonical
// JSON, without the seed, unless that has a group of its own.
func (c *comparison) pointKey(parameters string) int64 {
	return keyOf(parameters, func(name string) bool { return name != seedMember || slices.Contains(c.members, name) })
}

var seedMember = `"` + sweep.SeedParameter + `"`

// groupKey returns the key of a trial's group.
func (c *comparison) groupKey(parameters string) int64 {
	return keyOf(parameters, func(name string) bool { return slices.Contains(c.members, name) })
}

// keyOf returns the key of those members of a JSON object whose names, as JSON writes
// them, are wanted.
func keyOf(object string, wanted func(name string) bool) int64 {
	var array [512]byte
	text := array[:0]
	for object != "" {
		name, member, rest := cutMember(object)
		if name != "" && wanted(name) {
			text = append(append(text, member...), ',')
		}
		object = rest
	}
	return sweep.PointKey(text)
}

// cutMember returns the first member of the rest of a JSON object without white space, its
// name in quotes, and what follows it. It ends for any other text, too.
func cutMember(object string) (name, member, rest string) {
	object = strings.TrimLeft(object, "{,")
	depth := 0
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '"':
			end := i + 1
			for end < len(object) && object[end] != '"' {
				if object[end] == '\\' {
					end++
				}
				end++
			}
			if end = min(end, len(object)-1); i == 0 {
				name = object[:end+1]
			}
			i = end
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return name, object[:i], ""
			}
		case ',':
			if depth == 0 {
				return name, object[:i], object[i:]
			}
		}
	}
	return name, object, ""
}
