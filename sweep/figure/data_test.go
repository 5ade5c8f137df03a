package figure

import (
	"reflect"
	"testing"

	"sweep/sweep"
)

// TestShare holds that a trial that keeps what differs has the parameters it had.
func TestShare(t *testing.T) {
	t.Parallel()
	all := []sweep.Parameters{
		{"model": "rnn", "lr": 0.1, "seed": int64(1), "layers": []any{int64(1), int64(2)}},
		{"model": "rnn", "lr": 0.1, "seed": int64(2), "layers": []any{int64(1), int64(2)}},
		{"model": "lstm", "lr": 0.1 + 1e-17, "seed": int64(1), "layers": []any{int64(1), int64(3)},
			"forget_bias": int64(1)},
		{"model": "lstm", "lr": int64(1)},
		{"lr": true, "seed": "1"},
		{},
	}
	for _, first := range all {
		for _, parameters := range all {
			one := trial{shared: first}
			one.share(parameters, func(s string) string { return s })
			for _, name := range []string{"model", "lr", "seed", "layers", "forget_bias", "none"} {
				want, has := parameters[name]
				if got, ok := one.parameter(name); ok != has || !reflect.DeepEqual(got, want) {
					t.Errorf("%s of %v, shared %v: %v %t", name, parameters, first, got, ok)
				}
			}
			if reflect.DeepEqual(first, parameters) && len(one.own)+len(one.missing) > 0 {
				t.Errorf("%v keeps %v of what it shares", parameters, one.own)
			}
		}
	}
}
