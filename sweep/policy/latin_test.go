package policy

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"sweep/sweep"
)

// Each of as many ranges as there are points has one point, on every axis, in orders that differ, and with replicates.
func TestLatinHypercube(t *testing.T) {
	spec := func(points, replicates, seed int64) *sweep.Spec {
		s := sobolSpec(3, points*replicates, seed, false)
		s.Policies = []sweep.Policy{Of(&Latin{})}
		if replicates > 1 {
			s.Random.Replicated = true
			s.Axes = append(s.Axes, axisOf(sweep.SeedParameter, sweep.Values{Range: &sweep.Range{Start: 1, Step: 1,
				Count: replicates, Integer: true}}))
		}
		return s
	}
	for _, n := range []int64{1, 2, 3, 17, 64, 1000} {
		list := points(t, spec(n, 2, 5))
		var orders [][]int64
		for axis := range 3 {
			var order []int64
			for i := 0; i < len(list); i += 2 {
				x := list[i][fmt.Sprintf("x%d", axis)].(float64)
				if list[i+1][fmt.Sprintf("x%d", axis)] != x {
					t.Fatalf("the replicates of point %d differ", i/2)
				}
				order = append(order, int64(x*float64(n)))
			}
			orders = append(orders, slices.Clone(order))
			slices.Sort(order)
			for i, stratum := range order {
				if stratum != int64(i) {
					t.Fatalf("%d points, axis %d: ranges %v", n, axis, order)
				}
			}
		}
		if n > 10 && (reflect.DeepEqual(orders[0], orders[1]) || slices.IsSorted(orders[0])) {
			t.Errorf("%d points are on a diagonal", n)
		}
	}
	if reflect.DeepEqual(points(t, spec(64, 1, 5)), points(t, spec(64, 1, 6))) {
		t.Error("another seed draws the same points")
	}
	// Points are the same on every machine, and however they are asked for; the last one of very many is one.
	grid, err := NewGrid(spec(1<<52, 1, 5))
	if err != nil {
		t.Fatal(err)
	}
	const want = "map[x0:0.4312256683097826 x1:0.8058825251238393 x2:0.04019281366624662] " +
		"map[x0:0.6292234407246154 x1:0.0157222657694277 x2:0.011737047941020484]"
	p, err := grid.At(1<<52 - 1)
	if got := fmt.Sprint(p, " ", points(t, spec(3, 1, 5))[2]); err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
