package ledger

import (
	"fmt"

	"sweep/sweep"
)

// ConditionValue returns a condition's value as nil, bool, int64, float64,
// string, or, for lists and mappings, its canonical JSON as []byte, which is
// how parameters are stored. Only = and != are defined for nil and []byte.
func ConditionValue(c sweep.TrialCondition) (any, error) {
	value, err := sweep.Normalize(c.Value)
	if err != nil {
		return nil, fmt.Errorf("condition on %s: %w", c.Name, err)
	}
	switch value.(type) {
	case bool, int64, float64, string:
		return value, nil
	}
	if c.Operator != "=" && c.Operator != "!=" {
		return nil, fmt.Errorf("condition on %s: %s needs a number, a text or a boolean", c.Name, c.Operator)
	}
	if value == nil {
		return nil, nil
	}
	return sweep.CanonicalJSON(value)
}
