package policy

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func TestHalving(t *testing.T) {
	h := Halving{Cohort: 9, Eta: 3, Rungs: 3}
	var trials []Climb
	for i, value := range []float64{5, 3, 4, 1, 2, 6, .5, 3.5, 2.5} {
		trials = append(trials, Climb{Index: int64(i), Values: []float64{value}})
	}
	judge := func(trials []Climb, most int) Verdicts {
		v, err := h.Judge(trials, most)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	// The synchronous rule keeps .5, 1 and 2.
	v := judge(trials, 9)
	if want := []Promotion{{6, 1}, {3, 1}, {4, 1}}; !reflect.DeepEqual(v.Next, want) || len(v.Stops) != 6 {
		t.Errorf("%+v, want %v", v, want)
	}
	if v.Stops[0] != (Stop{8, 0, 2.5, 2}) {
		t.Errorf("the first one stopped is %+v", v.Stops[0])
	}
	if open := judge(trials[:8], 9); len(open.Next)+len(open.Stops) > 0 {
		t.Errorf("a rung with a trial that runs is closed: %+v", open)
	}
	// A failed one closes the rung, too, and equal values go by index.
	trials[6] = Climb{Index: 6, Failed: true}
	trials[8].Values[0] = 2
	if v := judge(trials, 9); !reflect.DeepEqual(v.Next, []Promotion{{3, 1}, {4, 1}, {8, 1}}) {
		t.Errorf("with a failed one %+v", v.Next)
	}
}

// What has been decided stays decided, whatever comes later and in which order.
func TestHalvingIsAFunction(t *testing.T) {
	const most = 20
	h := Halving{Cohort: 8, Eta: 2, Rungs: 4}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 5))
		values := make([][]float64, most)
		for i := range values {
			for range h.Rungs {
				values[i] = append(values[i], float64(random.IntN(6)))
			}
		}
		var final []Verdicts
		for order := range uint64(3) {
			arrival := rand.New(rand.NewPCG(seed, 10+order))
			trials := make([]Climb, most)
			rungs := make([]int, most) // how many rungs a trial may reach
			for i := range trials {
				trials[i].Index, rungs[i] = int64(i), 1
			}
			var last Verdicts
			for {
				var open []int
				for i := range trials {
					if len(trials[i].Values) < rungs[i] && !trials[i].Failed {
						open = append(open, i)
					}
				}
				if len(open) == 0 {
					break
				}
				i := open[arrival.IntN(len(open))]
				if trials[i].Failed = i%7 == 3 && len(trials[i].Values) == 1; !trials[i].Failed {
					trials[i].Values = append(trials[i].Values, values[i][len(trials[i].Values)])
				}
				v, err := h.Judge(trials, most)
				if err != nil {
					t.Fatal(err)
				}
				for _, stop := range last.Stops {
					if !slices.Contains(v.Stops, stop) {
						t.Fatalf("%+v was stopped and is not any more", stop)
					}
				}
				for _, p := range v.Next {
					rungs[p.Index] = max(rungs[p.Index], p.Rung+1)
				}
				last = v
			}
			final = append(final, last)
		}
		if !reflect.DeepEqual(final[0], final[1]) || !reflect.DeepEqual(final[0], final[2]) {
			t.Errorf("seed %d: other decisions in another order", seed)
		}
	}
}
