package frame

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
)

// Filter says which trials a question is about: those in one of the states (all if
// none is named) for which all conditions hold, which mean what they mean in a
// sweep.TrialQuery.
type Filter struct {
	States []State
	Where  []sweep.TrialCondition
}

// filter is a Filter over the columns of a frame: columns, and what must hold of
// their values.
type filter struct {
	states  [states]bool
	columns []*column
	tests   []func(value uint64) bool
}

func (f *Frame) compile(q Filter) (*filter, error) {
	compiled := &filter{}
	for s := Pending; s < states; s++ {
		compiled.states[s] = len(q.States) == 0 || slices.Contains(q.States, s)
	}
	for _, condition := range q.Where {
		c, err := f.column(condition.Name)
		if err != nil {
			return nil, err
		}
		test, err := c.test(condition)
		if err != nil {
			return nil, err
		}
		compiled.columns = append(compiled.columns, c)
		compiled.tests = append(compiled.tests, test)
	}
	return compiled, nil
}

// fits reports whether row i of a chunk is wanted; values are those of the filter's
// columns.
func (q *filter) fits(s State, values [][]uint64, i int) bool {
	if !q.states[s] {
		return false
	}
	for k, test := range q.tests {
		if !test(values[k][i]) {
			return false
		}
	}
	return true
}

// test returns whether a condition holds of a value.
func (c *column) test(condition sweep.TrialCondition) (func(value uint64) bool, error) {
	want, err := sweep.Normalize(condition.Value)
	if err != nil {
		return nil, fmt.Errorf("condition on %s: %w", condition.Name, err)
	}
	if !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, condition.Operator) {
		return nil, fmt.Errorf("condition on %s: %q is not an operator (expected one of = != < <= > >=)",
			condition.Name, condition.Operator)
	}
	unequal := condition.Operator == "!="
	var kind, wanted string
	switch v := want.(type) {
	case nil:
		switch condition.Operator {
		case "=":
			return func(value uint64) bool { return value == missing }, nil
		case "!=":
			return func(value uint64) bool { return value != missing }, nil
		}
		return nil, fmt.Errorf("condition on %s: %s needs a number, a text or a boolean", condition.Name,
			condition.Operator)
	case int64:
		return numberTest(condition.Operator, float64(v)), nil
	case float64:
		return numberTest(condition.Operator, v), nil
	case bool:
		kind, wanted = "boolean", fmt.Sprint(v)
	case string:
		kind, wanted = "text", v
	default:
		text, err := sweep.CanonicalJSON(v)
		if err != nil {
			return nil, err
		}
		kind, wanted = "json", string(text)
	}
	fits := make([]bool, len(c.entries)+1)
	for i, e := range c.entries {
		fits[i+1] = unequal
		if e.kind == kind {
			fits[i+1] = holds(condition.Operator, float64(strings.Compare(e.text, wanted)))
		}
	}
	return func(value uint64) bool {
		if !isSpecial(value) {
			return unequal
		}
		return fits[value&^special]
	}, nil
}

func numberTest(operator string, want float64) func(value uint64) bool {
	unequal := operator == "!="
	return func(value uint64) bool {
		if isSpecial(value) {
			return unequal && value != missing
		}
		v := math.Float64frombits(value)
		switch operator {
		case "=":
			return v == want
		case "!=":
			return v != want
		case "<":
			return v < want
		case "<=":
			return v <= want
		case ">":
			return v > want
		}
		return v >= want
	}
}

// holds reports whether a comparison's outcome, below, at or above 0, is what an
// operator asks for.
func holds(operator string, outcome float64) bool {
	return numberTest(operator, 0)(number(outcome))
}
