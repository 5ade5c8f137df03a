package frame

import (
	"cmp"
	"encoding/json"
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
}

// filter is a Filter over the columns of a frame; tests are those of the columns' values.
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

// operators has for each operator whether it accepts a value below, equal to, and above the
// condition's.
var operators = map[string][3]bool{
	"=": {false, true, false}, "!=": {true, false, true}, "<": {true, false, false}, "<=": {true, true, false},
	">": {false, false, true}, ">=": {false, true, true},
}

// test returns whether a condition holds for a value.
func (c *column) test(condition sweep.TrialCondition) (func(value uint64) bool, error) {
	want := condition.Value
	// A list or mapping comes as it is written, if an earlier answer had it.
	if _, written := want.(json.RawMessage); !written {
		var err error
		if want, err = sweep.Normalize(want); err != nil {
			return nil, fmt.Errorf("condition on %s: %w", condition.Name, err)
		}
	}
	if c.label && c.name == sweep.TagColumn && want != nil {
		condition.Value = want
		return c.hasTag(&condition)
	}
	accepts, ok := operators[condition.Operator]
	if !ok {
		return nil, fmt.Errorf("condition on %s: %q is not an operator (expected one of = != < <= > >=)",
			condition.Name, condition.Operator)
	}
	// Values of another kind than the condition's are unequal to it, and in no order with it.
	unequal := condition.Operator == "!="
	var kind, text string
	var number float64
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
		kind, number = "number", float64(v)
	case float64:
		kind, number = "number", v
	case bool:
		kind, text = "boolean", fmt.Sprint(v)
	case string:
		kind, text = "text", v
	case json.RawMessage:
		kind, text = "json", string(v)
	default:
		canonical, err := sweep.CanonicalJSON(v)
		if err != nil {
			return nil, err
		}
		kind, text = "json", string(canonical)
	}
	numeric := kind == "number"
	entries := make([]bool, len(c.entries)+1) // by code; no condition but one on null holds for a missing value
	for i, e := range c.entries {
		entries[i+1] = unequal
		if e.kind == kind {
			entries[i+1] = accepts[1+strings.Compare(e.text, text)]
		} else if numeric && e.kind == "json" {
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
