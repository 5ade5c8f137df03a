package sweep

// repeats finds combinations that equal an earlier one because parameters are absent. Presence
// depends on present values alone, so each axis can be judged by itself.
type repeats struct {
	grid *Grid
	// axes are those with conditional parameters.
	axes []int
	// first holds gridAxis.firsts by axis and present parameters.
	first []map[string][]uint32
	// chosen is 1 for each present parameter of an axis, else 0.
	chosen []byte
}

func newRepeats(g *Grid) *repeats {
	r := &repeats{grid: g, first: make([]map[string][]uint32, len(g.axes))}
	for k := range g.axes {
		if g.axes[k].conditional && g.axes[k].length > 1 {
			r.axes = append(r.axes, k)
			r.first[k] = map[string][]uint32{}
		}
	}
	return r
}

func (r *repeats) repeated(digits []int64, present []bool) bool {
	for _, k := range r.axes {
		a := &r.grid.axes[k]
		if digits[k] == 0 {
			continue
		}
		r.chosen = r.chosen[:0]
		for _, p := range a.parameters {
			if p.condition < 0 || present[p.condition] {
				r.chosen = append(r.chosen, 1)
			} else {
				r.chosen = append(r.chosen, 0)
			}
		}
		first, ok := r.first[k][string(r.chosen)]
		if !ok {
			first = a.firsts(r.chosen)
			r.first[k][string(r.chosen)] = first
		}
		if int64(first[digits[k]]) != digits[k] {
			return true
		}
	}
	return false
}
