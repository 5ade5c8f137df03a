package policy

import (
	"slices"
	"testing"
)

func TestHyperbandBands(t *testing.T) {
	for name, c := range map[string]struct {
		Hyperband
		want []int
	}{
		"27, s 2": {Hyperband{MaxIter: 27, Brackets: 2, Eta: 3}, []int{3, 9}},
		"18, s 2": {Hyperband{MaxIter: 18, Brackets: 2, Eta: 3}, []int{2, 6}},
		"5, s 2":  {Hyperband{MaxIter: 5, Brackets: 2, Eta: 2}, []int{1, 2}},
		"below 1": {Hyperband{MaxIter: 5, Brackets: 9, Eta: 2}, []int{1, 2}},
	} {
		if got, err := c.Bands(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, c.want)
		}
	}
	h := Hyperband{MinIter: 1, Eta: 1.5}
	if got, err := h.Bands(); err != nil || !slices.Equal(got[:6], []int{1, 2, 3, 5, 7, 11}) {
		t.Errorf("min_iter 1, eta 1.5: %v (%v)", got[:6], err)
	}
	for _, bad := range []Hyperband{{MinIter: 1, Eta: 1}, {MaxIter: 3, Eta: 3}, {Eta: 3}} {
		if _, err := bad.Bands(); err == nil {
			t.Errorf("%+v has bands", bad)
		}
	}
}

// The decisions are those of the engine of Weights & Biases (wandb/sweeps b1dfc5f).
func TestHyperbandJudges(t *testing.T) {
	example := []History{{0, []float64{10, 10}, true}, {1, []float64{10, 8, 8}, true}, {2, []float64{10, 7, 7}, true},
		{3, []float64{10, 6, 6}, true}, {4, []float64{3, 9, 9, 9}, true}}
	for name, c := range map[string]struct {
		Hyperband
		want string
	}{
		"max_iter 5, eta 2, s 2": {Hyperband{MaxIter: 5, Brackets: 2, Eta: 2, Strict: true}, "ae"},
		"not strict":             {Hyperband{MaxIter: 5, Brackets: 2, Eta: 2}, "a"},
		"min_iter 1, eta 2":      {Hyperband{MinIter: 1, Eta: 2, Strict: true}, "a"},
		"min_iter 2":             {Hyperband{MinIter: 2, Eta: 3, Strict: true}, "abe"},
		"max_iter 27, s 2":       {Hyperband{MaxIter: 27, Brackets: 2, Eta: 3, Strict: true}, "be"},
		"min_iter 3":             {Hyperband{MinIter: 3, Eta: 3, Strict: true}, "be"},
	} {
		for _, maximize := range []bool{false, true} {
			histories := slices.Clone(example)
			if maximize {
				c.Maximize = true
				for i := range histories {
					histories[i].Values = slices.Clone(histories[i].Values)
					for k := range histories[i].Values {
						histories[i].Values[k] *= -1
					}
				}
			}
			stops, err := c.Judge(histories)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, stop := range stops {
				got += string(rune('a' + stop.Index))
			}
			if got != c.want {
				t.Errorf("%s, maximize %v: stops %q, want %q", name, maximize, got, c.want)
			}
		}
	}
	ended := slices.Clone(example)
	ended[0].Running = false
	h := Hyperband{MaxIter: 5, Brackets: 2, Eta: 2, Strict: true}
	if stops, err := h.Judge(ended); err != nil || len(stops) != 1 || stops[0] != (Stop{4, 2, 9, 8}) {
		t.Errorf("a trial that has ended: %v (%v)", stops, err)
	}
	// As they arrive at one rung, eta 3.
	var arrived []History
	var kept []float64
	h = Hyperband{MinIter: 1, Eta: 3, Strict: true}
	for i, value := range []float64{5, 3, 4, 1, 2, 6, .5, 3.5, 2.5} {
		arrived = append(arrived, History{int64(i), []float64{value}, true})
		stops, err := h.Judge(arrived)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(stops, func(s Stop) bool { return s.Index == int64(i) }) {
			kept = append(kept, value)
		}
	}
	if want := []float64{5, 3, 4, 1, 2, .5, 2.5}; !slices.Equal(kept, want) {
		t.Errorf("kept on arrival: %v, want %v", kept, want)
	}
}
