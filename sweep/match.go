package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Fits reports whether p has every parameter that m names with one of its
// values, compared as Equal does. The empty match fits every point.
func (m Match) Fits(p Parameters) bool {
	for name, accepted := range m {
		value, present := p[name]
		if !present || !contains(accepted, value) {
			return false
		}
	}
	return true
}

// Names returns the names of m in sorted order.
func (m Match) Names() []string { return sortedKeys(m) }

// UnmarshalJSON decodes an object of arrays; whole numbers stay exact.
func (m *Match) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if raw == nil {
		*m = nil
		return nil
	}
	match := make(Match, len(raw))
	for name, text := range raw {
		list, err := decodeList(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		match[name] = list
	}
	*m = match
	return nil
}

// decodeList decodes a JSON array into the types that Parameters hold.
func decodeList(data []byte) ([]any, error) {
	value, err := DecodeValue(data)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok && value != nil {
		return nil, fmt.Errorf("expected a JSON array, found %s", data)
	}
	return list, nil
}

func contains(list []any, value any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return sameValue(item, value) })
}

// sameValue is Equal without allocation for the types that Parameters hold.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case string:
		y, ok := b.(string)
		return ok && x == y
	case int64:
		switch y := b.(type) {
		case int64:
			return x == y
		case float64:
			return sameNumber(x, y)
		}
	case float64:
		switch y := b.(type) {
		case int64:
			return sameNumber(y, x)
		case float64:
			return x == y && !math.IsInf(x, 0)
		}
	}
	return Equal(a, b)
}

// sameNumber follows the canonical form: beyond 2^53 a float64 stands for the
// integer that its shortest digits spell.
func sameNumber(i int64, f float64) bool {
	if math.Abs(f) < 1<<53 {
		return float64(i) == f
	}
	return Equal(i, f)
}
