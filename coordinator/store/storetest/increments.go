package storetest

import (
	"reflect"
	"testing"

	"sweep/sweep"
)

// testIncrements: points that add to the curves that there are.
func testIncrements(t *testing.T, open func(t *testing.T) sweep.Store) {
	curve := func(metric string, offset int, steps ...int64) sweep.Curve {
		c := sweep.Curve{Metric: metric, Offset: offset, Steps: steps, Values: make([]float32, len(steps))}
		for i, step := range steps {
			c.Values[i] = float32(step) / 2
		}
		return c
	}
	f := newFixture(t, open(t))
	f.create("s1", 3, 3)
	points := func(index int64, execution string, curves ...sweep.Curve) sweep.Event {
		e := f.event(sweep.EventPoints, trialID("s1", index), execution)
		e.Curves = curves
		return e
	}
	want := func(index int64, curves ...sweep.Curve) {
		t.Helper()
		got, err := f.Curves(f.ctx, trialID("s1", index))
		f.must(err)
		if len(got)+len(curves) > 0 && !reflect.DeepEqual(got, curves) {
			t.Errorf("curves %+v\nwant %+v", got, curves)
		}
	}
	f.record(points(0, "x", curve("a", 0, 1, 2), curve("b", 0, 1, 2), curve("c", 0, 5)))
	first := points(0, "x", curve("a", 2, 3, 4), curve("b", 2, 3, 4), curve("c", 1, 6))
	f.record(first)
	want(0, curve("a", 0, 1, 2, 3, 4), curve("b", 0, 1, 2, 3, 4), curve("c", 0, 5, 6))
	// The last point was for the time being; what is not named stays; a new curve may begin.
	f.record(points(0, "x", curve("a", 3, 5, 6), curve("d", 0, 6)))
	want(0, curve("a", 0, 1, 2, 3, 5, 6), curve("b", 0, 1, 2, 3, 4), curve("c", 0, 5, 6), curve("d", 0, 6))
	// What came before comes again; what is beyond the end waits for the result.
	f.record(first, points(0, "x", curve("a", 9, 10), curve("e", 3, 4)))
	want(0, curve("a", 0, 1, 2, 3, 5, 6), curve("b", 0, 1, 2, 3, 4), curve("c", 0, 5, 6), curve("d", 0, 6))
	// Thinning moved the points of one curve.
	f.record(points(0, "x", curve("a", 0, 2, 5, 6), curve("b", 4, 6)))
	want(0, curve("a", 0, 2, 5, 6), curve("b", 0, 1, 2, 3, 4, 6), curve("c", 0, 5, 6), curve("d", 0, 6))
	// Several in one batch, and other trials beside.
	f.record(
		points(0, "x", curve("a", 3, 7), curve("b", 5, 7)), points(1, "y", curve("a", 0, 1), curve("b", 0, 1)),
		points(0, "x", curve("a", 4, 8)), points(1, "y", curve("a", 1, 2), curve("b", 1, 2)),
		points(2, "z", curve("a", 4, 8)))
	want(0, curve("a", 0, 2, 5, 6, 7, 8), curve("b", 0, 1, 2, 3, 4, 6, 7), curve("c", 0, 5, 6), curve("d", 0, 6))
	want(1, curve("a", 0, 1, 2), curve("b", 0, 1, 2))
	want(2)
	// All anew, by another execution.
	f.record(f.started(trialID("s1", 0), "x2"), points(0, "x2", curve("a", 0, 1)), points(0, "x2", curve("a", 1, 2)))
	want(0, curve("a", 0, 1, 2))
	// The result has everything.
	result := completed(1, "a")
	result.Curves = []sweep.Curve{curve("b", 0, 1, 2, 3)}
	f.record(points(0, "x2", curve("a", 2, 3)), f.finished(trialID("s1", 0), "x2", result),
		points(0, "x2", curve("a", 2, 3), curve("b", 3, 4)))
	want(0, curve("b", 0, 1, 2, 3))
}
