package frame

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"sweep/sweep"
)

// Filter selects trials: those in one of the states (in any if none is named) for which all
// conditions hold, as in a sweep.TrialQuery.
type Filter struct {
	States []State
	Where  []sweep.TrialCondition
	// Written are further conditions, as people write them.
	Written []string
	// Among are the rows that are selected from, of all rows if it is nil.
	Among []int64
}

// filter is a Filter over the columns of a frame; tests are those of the columns' values.
type filter struct {
	// where are the conditions, with the names of their columns.
	where   []sweep.TrialCondition
	states  [states]bool
	among   []bool // by row; nil for all
	columns []*column
	tests   []func(value uint64) bool
}

func (f *Frame) compile(q Filter) (*filter, error) {
	compiled := &filter{}
	for s := Pending; s < states; s++ {
		compiled.states[s] = len(q.States) == 0 || slices.Contains(q.States, s)
	}
	if q.Among != nil {
		compiled.among = make([]bool, f.loaded.Rows)
		for _, row := range q.Among {
			compiled.among[row] = true
		}
	}
	where := q.Where
	for _, text := range q.Written {
		condition, _, err := f.names.Condition(text)
		if err != nil {
			return nil, fmt.Errorf("where=%w", err)
		}
		where = append(where[:len(where):len(where)], condition)
	}
	for _, condition := range where {
		c, err := f.conditioned(condition.Name)
		if err != nil {
			return nil, err
		}
		test, err := c.test(condition)
		if err != nil {
			return nil, err
		}
		condition.Name = c.id()
		compiled.where = append(compiled.where, condition)
		compiled.columns = append(compiled.columns, c)
		compiled.tests = append(compiled.tests, test)
	}
	return compiled, nil
}

// conditioned finds the column of a condition.
func (f *Frame) conditioned(name sweep.Name) (*column, error) {
	if c := f.byName[name]; c != nil {
		return c, nil
	}
	if kind, own := name.Parts(); kind != "" {
		return nil, &UnknownError{Name: own}
	}
	return f.column(string(name), sweep.ParameterKind)
}

// operators has for each operator whether it accepts a value below, equal to, and above the
// condition's.
var operators = map[string][3]bool{
	"=": {false, true, false}, "!=": {true, false, true}, "<": {true, false, false}, "<=": {true, true, false},
	">": {false, false, true}, ">=": {false, true, true},
}

// test returns whether a condition holds for a value.
func (c *column) test(condition sweep.TrialCondition) (func(value uint64) bool, error) {
	want, err := sweep.Normalize(condition.Value)
	if err != nil {
		return nil, fmt.Errorf("condition on %s: %w", c.name, err)
	}
	switch {
	case condition.Operator == sweep.Has:
		return func(value uint64) bool { return value != missing }, nil
	case condition.Operator == sweep.Lacks,
		want == nil && condition.Operator == "=" && c.kind != sweep.ParameterKind: // what is not known is null
		return func(value uint64) bool { return value == missing }, nil
	}
	if c.label && c.name == sweep.TagColumn && want != nil {
		condition.Value = want
		return c.hasTag(&condition)
	}
	accepts, ok := operators[condition.Operator]
	if !ok {
		return nil, fmt.Errorf("condition on %s: %q is not an operator (expected one of = != < <= > >=)",
			c.name, condition.Operator)
	}
	// Values of another kind than the condition's are unequal to it, and in no order with it.
	unequal := condition.Operator == "!="
	var kind, text string
	var number float64
	switch v := want.(type) {
	case nil:
		switch condition.Operator {
		case "=":
			return func(value uint64) bool { return value == c.null && value != missing }, nil
		case "!=":
			return func(value uint64) bool { return !c.absent(value) }, nil
		}
		return nil, fmt.Errorf("condition on %s: %s needs a number, a text or a boolean", c.name,
			condition.Operator)
	case int64:
		kind, number = "number", float64(v)
	case float64:
		kind, number = "number", v
	case bool:
		kind, text = "boolean", fmt.Sprint(v)
	case string:
		kind, text = "text", v
	default:
		canonical, err := sweep.CanonicalJSON(v)
		if err != nil {
			return nil, err
		}
		kind, text = "json", string(canonical)
	}
	if kind == "json" && condition.Operator != "=" && !unequal {
		return nil, fmt.Errorf("condition on %s: %s needs a number, a text or a boolean", c.name, condition.Operator)
	}
	numeric := kind == "number"
	entries := make([]bool, len(c.entries)+1) // by code; no condition but one on null holds for a missing value
	for i, e := range c.entries {
		entries[i+1] = unequal && e.kind != "null"
		if e.kind == kind {
			entries[i+1] = accepts[1+strings.Compare(e.text, text)]
		} else if numeric && e.kind == "large" {
			if order, is := compareLarge(e.text, want); is {
				entries[i+1] = accepts[1+order]
			}
		}
	}
	return func(value uint64) bool {
		switch {
		case isSpecial(value):
			return entries[value&^special]
		case !numeric:
			return unequal
		}
		return accepts[1+cmp.Compare(math.Float64frombits(value), number)]
	}, nil
}

// compareLarge compares a whole number that is too large for a column's 64 bits with an int64 or float64, and reports
// whether the text is one.
func compareLarge(text string, with any) (order int, is bool) {
	large, is := new(big.Int).SetString(text, 10)
	if !is {
		return 0, false
	}
	if v, whole := with.(int64); whole {
		return large.Cmp(big.NewInt(v)), true
	}
	v, _ := with.(float64) // normalized: it is finite
	return new(big.Float).SetInt(large).Cmp(big.NewFloat(v)), true
}

// hasTag returns whether the tags of a value are to have one, or are not.
func (c *column) hasTag(condition *sweep.TrialCondition) (func(value uint64) bool, error) {
	tag, wanted, err := condition.Tag()
	if err != nil {
		return nil, err
	}
	matches := make([]bool, len(c.entries)+1) // by code; 0 is a trial without tags
	matches[0] = !wanted
	for i, e := range c.entries {
		matches[i+1] = slices.Contains(strings.Split(e.text, ","), tag) == wanted
	}
	return func(value uint64) bool { return matches[value&^special] }, nil
}
