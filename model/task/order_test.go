package task

import (
	"slices"
	"testing"
)

// The order of minibatches is a function of seed and position: it continues from any.
func TestOrderContinuesFromAnyPosition(t *testing.T) {
	rows := []int{2, 3, 5, 7, 11, 13, 17}
	all := append(slices.Clone(rows), 19, 23, 29, 31)
	start := func() *order {
		o := newOrder(rows, 3, 1)
		o.refitAfter(4*epochSteps(len(rows), 3), all)
		return o
	}
	whole := start()
	var minibatches [][]int
	for number := range 4*epochSteps(len(rows), 3) + 3*epochSteps(len(all), 3) {
		minibatches = append(minibatches, slices.Clone(whole.minibatch(number)))
	}
	for position := range minibatches {
		o := start()
		for later, want := range minibatches[position:] {
			if got := o.minibatch(position + later); !slices.Equal(got, want) {
				t.Fatalf("from position %d on minibatch %d is %v, want %v", position, position+later, got, want)
			}
		}
	}
	for epoch := range 4 {
		seen := slices.Sorted(slices.Values(slices.Concat(minibatches[3*epoch : 3*epoch+3]...)))
		if !slices.Equal(seen, rows) {
			t.Errorf("epoch %d has the rows %v, want all %v", epoch, seen, rows)
		}
	}
	for epoch := range 3 {
		seen := slices.Sorted(slices.Values(slices.Concat(minibatches[12+4*epoch : 12+4*epoch+4]...)))
		if !slices.Equal(seen, all) {
			t.Errorf("epoch %d of the refit has the rows %v, want all %v", epoch, seen, all)
		}
	}
	if slices.Equal(minibatches[0], minibatches[3]) && slices.Equal(minibatches[1], minibatches[4]) {
		t.Error("two epochs have one order")
	}
}
