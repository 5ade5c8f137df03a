package sweep

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
)

type gridAxis struct {
	parameters []gridParameter
	// positions are the axis positions without repeated rows; nil means all.
	positions []int64
	length    int64
	// constrained axes have a place value in the codes of Grid.valid.
	constrained bool
	place       int64
	// free is the product of the lengths of the free axes after this one.
	free int64
	// conditional axes have a parameter with a condition.
	conditional bool
}

type gridParameter struct {
	AxisParameter
	// condition indexes Grid.conditions; -1 if always present.
	condition int
}

// placement locates a parameter.
type placement struct{ axis, parameter int }

// addAxes checks the axes and computes the product.
func (g *Grid) addAxes(axes []Axis) (map[string]placement, error) {
	placements, err := g.checkAxes(axes)
	if err != nil {
		return nil, err
	}
	product := uint64(1)
	for k := range g.axes {
		g.axes[k].dropRepeatedRows()
		for _, p := range axes[k].Parameters {
			if p.Values.Distribution != nil || p.Values.Weights != nil {
				return nil, refused(p.Name, "has a distribution, which only a random search draws from")
			}
		}
		high, low := bits.Mul64(product, uint64(g.axes[k].length))
		if high != 0 || low > math.MaxInt64 {
			return nil, fmt.Errorf("%w (reached at parameter %s)", ErrTooManyPoints, axes[k].Parameters[0].Name)
		}
		product = low
	}
	g.product = int64(product)
	return placements, nil
}

// checkAxes adds the axes if they make sense.
func (g *Grid) checkAxes(axes []Axis) (map[string]placement, error) {
	if len(axes) == 0 {
		return nil, fmt.Errorf("%w: it has no parameter", ErrNoPoint)
	}
	placements := map[string]placement{}
	for k, axis := range axes {
		if len(axis.Parameters) == 0 {
			return nil, fmt.Errorf("%w: axis %d has no parameter", ErrNoPoint, k)
		}
		added := gridAxis{length: axis.Len()}
		for i, p := range axis.Parameters {
			if _, repeated := placements[p.Name]; repeated {
				return nil, refused(p.Name, "is given twice")
			}
			placements[p.Name] = placement{k, i}
			n := p.Values.Len()
			if n <= 0 {
				return nil, fmt.Errorf("%w: %w", ErrNoPoint, refused(p.Name, "has no value"))
			}
			if n != added.length {
				return nil, refused(p.Name, "has %d values but %s, which it is zipped with, has %d", n,
					axis.Parameters[0].Name, added.length)
			}
			if err := p.Values.check(p.Name); err != nil {
				return nil, err
			}
			added.parameters = append(added.parameters, gridParameter{p, -1})
		}
		g.axes = append(g.axes, added)
	}
	return placements, nil
}

// dropRepeatedRows keeps the first of equal rows.
func (a *gridAxis) dropRepeatedRows() {
	for _, p := range a.parameters {
		if p.Values.Range != nil { // a progression never repeats
			return
		}
	}
	if a.length == 1 {
		return
	}
	for i, f := range a.firsts(bytes.Repeat([]byte{1}, len(a.parameters))) {
		if int64(f) == int64(i) {
			a.positions = append(a.positions, int64(i))
		}
	}
	if int64(len(a.positions)) == a.length {
		a.positions = nil
	} else {
		a.length = int64(len(a.positions))
	}
}

// firsts returns for each digit the smallest digit with the same values of the parameters
// for which chosen is 1.
func (a *gridAxis) firsts(chosen []byte) []uint32 {
	first := make([]uint32, a.length)
	for i, p := range a.parameters {
		if chosen[i] == 1 && p.Values.Range != nil { // a progression never repeats
			for digit := range first {
				first[digit] = uint32(digit)
			}
			return first
		}
	}
	seen := make(map[string]uint32, a.length)
	var key []byte
	for digit := range first {
		key = key[:0]
		for i, p := range a.parameters {
			if chosen[i] == 1 {
				text, _ := CanonicalJSON(p.Values.At(a.position(int64(digit)))) // checkAxes checked that
				key = append(append(key, text...), 0)
			}
		}
		if f, ok := seen[string(key)]; ok {
			first[digit] = f
		} else {
			first[digit] = uint32(digit)
			seen[string(key)] = uint32(digit)
		}
	}
	return first
}

func (a *gridAxis) position(digit int64) int64 {
	if a.positions == nil {
		return digit
	}
	return a.positions[digit]
}
