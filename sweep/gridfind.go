package sweep

import (
	"slices"
	"sort"
)

// Finder finds points of a grid by their values.
type Finder struct {
	grid        *Grid
	description *Description
	// digits are those of the rows of each axis without a progression, by their values.
	digits []map[string]int64
}

// Finder returns a finder for the points as a trainer resolves them. It is nil if a resolved point does not tell where
// it is: if points are drawn or arranged, and if a parameter does not always apply.
func (g *Grid) Finder(d *Description) *Finder {
	if g.random != nil || g.arranged != nil || len(g.conditions) > 0 {
		return nil
	}
	f := &Finder{g, d, make([]map[string]int64, len(g.axes))}
	for k := range g.axes {
		a := &g.axes[k]
		for _, p := range a.parameters {
			if s := d.Parameter(p.Name); s != nil && (len(s.AppliesWhen) > 0 || s.Neutral != nil) {
				return nil
			}
		}
		if a.progression() != nil {
			continue
		}
		f.digits[k] = make(map[string]int64, a.length)
		for digit := a.length - 1; digit >= 0; digit-- { // the first of equal rows counts
			row := Parameters{}
			for _, p := range a.parameters {
				row[p.Name] = p.Values.At(a.position(digit))
			}
			f.digits[k][f.key(a, row)] = digit
		}
	}
	return f
}

// progression is a parameter of an axis whose values are one; nil if there is none.
func (a *gridAxis) progression() *gridParameter {
	if i := slices.IndexFunc(a.parameters, func(p gridParameter) bool { return p.Values.Range != nil }); i >= 0 {
		return &a.parameters[i]
	}
	return nil
}

// key stands for the values of an axis at a point, as the trainer has them.
func (f *Finder) key(a *gridAxis, point Parameters) (key string) {
	for _, p := range a.parameters {
		value, there := point[p.Name]
		if s := f.description.Parameter(p.Name); s != nil && there {
			if coerced, err := s.Coerce(value); err == nil {
				value = coerced
			}
		}
		text, _ := CanonicalJSON(value) // checkAxes checked those of the grid
		key += string(text) + "\x00"
	}
	return key
}

// Find returns the index of a point, if the grid has it. Values of zipped progressions are not compared.
func (f *Finder) Find(point Parameters) (index int64, found bool) {
	g := f.grid
	low, high, prefix := int64(0), int64(len(g.valid)), int64(0)
	for k := range g.axes { // as Grid.At does
		a := &g.axes[k]
		digit, known := f.digits[k][f.key(a, point)]
		if p := a.progression(); p != nil {
			digit = p.Values.Index(point[p.Name])
			known = digit >= 0
		}
		switch {
		case !known:
			return 0, false
		case !a.constrained:
			index += digit * (high - low) * a.free
		default:
			prefix = prefix*a.length + digit
			chosen := g.valid[low:high]
			from, _ := slices.BinarySearch(chosen, uint32(prefix*a.place))
			to, _ := slices.BinarySearch(chosen, uint32((prefix+1)*a.place))
			index += int64(from) * a.free
			low, high = low+int64(from), low+int64(to)
		}
	}
	run := sort.Search(len(g.omitted), func(i int) bool { return g.omitted[i].kept+g.omitted[i].length > index })
	if run > 0 {
		index -= g.omitted[run-1].length
	}
	left := run < len(g.omitted) && index >= g.omitted[run].kept
	return index, low < high && !left && index < g.count
}
