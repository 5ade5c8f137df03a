package frame

import (
	"testing"

	"sweep/sweep"
)

// Whole numbers beyond the precision of floating point are found by filters, and told apart.
func TestLargeNumbers(t *testing.T) {
	const large = 1<<53 + 1
	c := &column{name: "seed", entries: []entry{{"9007199254740993", "large"}, {"9007199254740992", "large"}, {"[1]", "json"}}}
	for _, test := range []struct {
		operator string
		value    any
		want     [3]bool
	}{
		{"=", int64(large), [3]bool{true, false, false}}, {"!=", int64(large), [3]bool{false, true, true}},
		{"<", int64(large), [3]bool{false, true, false}}, {">", 0.5, [3]bool{true, true, false}},
	} {
		holds, err := c.test(sweep.TrialCondition{Name: "seed", Operator: test.operator, Value: test.value})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range test.want {
			if got := holds(special | uint64(i+1)); got != want {
				t.Errorf("%s %s %v: %v", c.entries[i].text, test.operator, test.value, got)
			}
		}
	}
}
