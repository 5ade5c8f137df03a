package sweep

import (
	"slices"
)

// rule is a Match bound to the axes; it fits where all terms do.
type rule struct {
	terms []term
	never bool
}

type term struct {
	axis, condition int
	// digits are those whose value is accepted, ascending.
	digits []uint32
}

// binder finds the digits of values.
type binder struct {
	grid       *Grid
	placements map[string]placement
	// digits of the list values by canonical form; zipped lists may repeat some.
	digits map[placement]map[string][]uint32
}

func (b *binder) bind(m Match) rule {
	var r rule
	for _, name := range m.Names() {
		at, ok := b.placements[name]
		if !ok {
			return rule{never: true}
		}
		p := &b.grid.axes[at.axis].parameters[at.parameter]
		t := term{axis: at.axis, condition: p.condition}
		for _, value := range m[name] {
			t.digits = append(t.digits, b.find(at, value)...)
		}
		slices.Sort(t.digits)
		t.digits = slices.Compact(t.digits)
		r.terms = append(r.terms, t)
	}
	return r
}

// find returns the digits at which a parameter has the value.
func (b *binder) find(at placement, value any) []uint32 {
	a := &b.grid.axes[at.axis]
	values := a.parameters[at.parameter].Values
	if values.Range != nil {
		// An axis with a progression has no repeated rows: position is digit.
		if position := values.Index(value); position >= 0 {
			return []uint32{uint32(position)}
		}
		return nil
	}
	index := b.digits[at]
	if index == nil {
		index = make(map[string][]uint32, a.length)
		for digit := range a.length {
			if key, err := CanonicalJSON(values.At(a.position(digit))); err == nil {
				index[string(key)] = append(index[string(key)], uint32(digit))
			}
		}
		b.digits[at] = index
	}
	key, err := CanonicalJSON(value)
	if err != nil {
		return nil
	}
	return index[string(key)]
}

func (t *term) accepts(digit int64) bool {
	const few = 8
	if len(t.digits) > few {
		_, found := slices.BinarySearch(t.digits, uint32(digit))
		return found
	}
	for _, d := range t.digits {
		if int64(d) == digit {
			return true
		}
	}
	return false
}

func (r *rule) holds(digits []int64, present []bool) bool {
	if r.never {
		return false
	}
	for i := range r.terms {
		t := &r.terms[i]
		if t.condition >= 0 && !present[t.condition] || !t.accepts(digits[t.axis]) {
			return false
		}
	}
	return true
}
