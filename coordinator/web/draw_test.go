package web

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sweep/sweep"
)

// TestDraw holds what a thinned curve promises: no pixel loses its smallest or largest
// value, gaps stay, and points that come later move none of the earlier pixels' as long
// as the range is the same.
func TestDraw(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	c := sweep.Curve{Metric: "loss"}
	for i := range 5000 {
		v := float32(r.NormFloat64())
		switch {
		case i == 1234:
			v = 1e6
		case i%997 == 0:
			v = float32(math.NaN())
		}
		c.Steps, c.Values = append(c.Steps, int64(i+1)), append(c.Values, v)
	}
	const width = 300
	d := draw(&c, width)
	if len(d.Steps) > 3*width || d.Points != 5000 || d.NotFinite != 6 || !slices.IsSorted(d.Steps) {
		t.Errorf("%d of %d points, %d gaps", len(d.Steps), d.Points, d.NotFinite)
	}
	type extent struct{ low, high float64 }
	gather := func(steps []int64, at func(i int) (float64, bool)) map[int]extent {
		all := map[int]extent{}
		for i, step := range steps {
			v, ok := at(i)
			if !ok {
				continue
			}
			p := pixelOf(step, 1, 5000, width)
			e, known := all[p]
			if !known {
				e = extent{v, v}
			}
			all[p] = extent{min(e.low, v), max(e.high, v)}
		}
		return all
	}
	want := gather(c.Steps, func(i int) (float64, bool) { v := float64(c.Values[i]); return v, !math.IsNaN(v) })
	got := gather(d.Steps, func(i int) (float64, bool) {
		if d.Values[i] == nil {
			return 0, false
		}
		return *d.Values[i], true
	})
	for p, e := range want {
		if got[p] != e {
			t.Errorf("pixel %d spans %v, drawn %v", p, e, got[p])
		}
	}
	if short := (sweep.Curve{Steps: []int64{1, 2}, Values: []float32{1, 2}}); len(draw(&short, width).Steps) != 2 {
		t.Error("a short curve was thinned")
	}
}
