package policy

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// Ten seeds of four points: the second is best by far, the first is near it, the others are worse in
// every seed. An exact test needs six seeds for a p below .05.
func TestRace(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	all := make([][]float64, 4)
	for i, mean := range []float64{1.01, 1, 3, 5} {
		for range 10 {
			all[i] = append(all[i], mean+random.Float64()/10)
		}
	}
	r := Race{Confidence: .95}
	whole, err := r.Judge(all)
	if err != nil {
		t.Fatal(err)
	}
	dropped := map[int]Drop{}
	for _, d := range whole {
		dropped[d.Point] = d
	}
	if d := dropped[3]; d.Seeds != 6 || d.Wilcoxon != 2.0/64 || d.Friedman >= .05 || len(dropped) < 2 {
		t.Errorf("drops %+v", whole)
	}
	if _, is := dropped[1]; is {
		t.Errorf("the best one is dropped: %+v", whole)
	}
	// Values come in any order, and those of points that are dropped do not come at all: what is
	// decided at each time are the first of the final decisions.
	for seed := range uint64(10) {
		order := rand.New(rand.NewPCG(seed, 2))
		known := make([][]float64, len(all))
		for i := range known {
			for range all[i] {
				known[i] = append(known[i], math.NaN())
			}
		}
		var drops []Drop
		for _, trial := range order.Perm(10 * len(all)) {
			i, s := trial%len(all), trial/len(all)
			skipped := false
			for _, d := range drops {
				skipped = skipped || d.Point == i
			}
			if !skipped {
				known[i][s] = all[i][s]
			}
			if drops, err = r.Judge(known); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(drops, append([]Drop(nil), whole[:len(drops)]...)) {
				t.Fatalf("%+v is decided, %+v in the end", drops, whole)
			}
		}
		if len(drops) != len(whole) {
			t.Errorf("%d of %d are dropped", len(drops), len(whole))
		}
	}
	failed := [][]float64{{1, 1, 1, 1, 1, 1}, {}}
	for range 6 {
		failed[1] = append(failed[1], math.Inf(1))
	}
	if drops, err := r.Judge(failed); err != nil || len(drops) != 1 || drops[0].Point != 1 {
		t.Errorf("a point that always fails: %+v (%v)", drops, err)
	}
}
