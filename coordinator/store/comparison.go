package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// comparison is how the trials of a sweep are compared, by its first submission. It never
// changes.
type comparison struct {
	sweep.Select
	// metrics are the columns of the table scores, by metric. described are the metrics of the
	// trainer's description, and whether each has a goal: without one it is not compared.
	metrics   map[string]int
	described map[string]bool
	// diverged is what a diverged trial counts as in the means of a grid point; loss and accuracy are
	// NaN if that is not known.
	diverged struct{ score, loss, accuracy float64 }
	// members are the names of Group as JSON writes them.
	members []string
	// parameters are the names of all parameters.
	parameters map[string]bool
	// open is set if the trainer reports metrics beyond those described.
	open bool
}

// comparison returns how the trials of a sweep are compared.
func (t *transaction) comparison(number int64) *comparison {
	if known, ok := t.s.comparisons.Load(number); ok {
		return known.(*comparison)
	}
	c := &comparison{parameters: map[string]bool{}}
	var submission sweep.Submission
	t.each(func(row database.Row) error {
		var text []byte
		if err := row.Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &submission); err != nil {
			return fmt.Errorf("submission of sweep %d: %w", number, err)
		}
		return nil
	}, `SELECT submission FROM grids WHERE sweep_no = $1 AND ordinal = 0`, number)
	c.Select, c.open = submission.Spec.Select, submission.Description.Open
	for _, p := range submission.Description.Parameters {
		c.parameters[p.Name] = true
	}
	for _, axis := range submission.Spec.Axes {
		for _, p := range axis.Parameters {
			c.parameters[p.Name] = true
		}
	}
	c.fill(&submission.Description)
	if t.err == nil {
		t.s.comparisons.Store(number, c)
	}
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
		text, err := sweep.CanonicalJSON(name)
		if err == nil { // a text has a form
			c.members = append(c.members, string(text))
		}
	}
	c.metrics, c.described = map[string]int{}, map[string]bool{}
	for i, name := range scoreColumns[:namedScores] {
		c.metrics[name] = i
	}
	add := func(name string) {
		if _, known := c.metrics[name]; !known && len(c.metrics) < len(scoreColumns) {
			c.metrics[name] = len(c.metrics)
		}
	}
	add(c.By)
	for _, m := range description.Metrics {
		if m.Summary && m.Goal != "" {
			add(m.Name)
		}
		c.described[m.Name] = m.Goal != ""
	}
	c.diverged.score = c.Diverged(description)
	c.diverged.loss, c.diverged.accuracy = description.Diverged(meanLoss), description.Diverged(meanAccuracy)
}

// further reports whether a metric without a column in scores is stored in the table
// metrics.
func (c *comparison) further(name string) bool {
	compared, described := c.described[name]
	return !c.parameters[name] && (compared || c.open && !described)
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
