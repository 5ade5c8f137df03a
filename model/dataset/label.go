package dataset

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxColumns bounds the one-hot width that is derived from label values: labels above it name things, they do not
// count.
const maxColumns = 4096

// wholeNumber reads a label such as "3", "-1" or "1.0000000e+00".
func wholeNumber(label string) (int, bool) {
	v, err := strconv.ParseFloat(label, 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 || strings.ContainsAny(label, "_xX") {
		return 0, false
	}
	return int(v), true
}

// classes is the numbering of a set's labels.
type classes struct {
	names []string       // by class
	index map[string]int // class of each spelling
	width int            // one-hot columns by the largest label, 0 if the labels are no whole numbers
}

// classify numbers the different labels of the training part in sorted order: by value where all are whole numbers,
// whatever their spelling, else by their bytes.
func classify(different []string) classes {
	values := map[string]int{}
	numeric := true
	for _, name := range different {
		v, ok := wholeNumber(name)
		numeric = numeric && ok
		values[name] = v
	}
	c := classes{index: map[string]int{}}
	names := slices.Clone(different)
	if !numeric {
		slices.Sort(names)
		for i, name := range names {
			c.index[name] = i
		}
		c.names = names
		return c
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(values[a], values[b]) })
	for i, name := range names {
		if i == 0 || values[name] != values[names[i-1]] {
			c.names = append(c.names, strconv.Itoa(values[name]))
		}
		c.index[name] = len(c.names) - 1
	}
	if largest := values[names[len(names)-1]]; largest < maxColumns {
		c.width = largest + 1
	}
	return c
}

// of returns the class of a label.
func (c classes) of(name string) (class int, ok bool) {
	if class, ok = c.index[name]; !ok {
		class = ClassOf(c.names, name)
	}
	return class, class >= 0
}

// ClassOf returns the place of a label among those of the classes, which may be the same number in another spelling, as
// when two files are of different forms; -1 where it is none of them.
func ClassOf(labels []string, label string) int {
	class := slices.Index(labels, label)
	if v, whole := wholeNumber(label); class < 0 && whole {
		class = slices.Index(labels, strconv.Itoa(v))
	}
	return class
}

// apply returns the class of each row of t.
func (c classes) apply(t, train *table) ([]int, error) {
	class := make([]int, len(t.names))
	for i, name := range t.names {
		k, ok := c.of(name)
		if !ok {
			row := slices.Index(t.label, i)
			return nil, t.fail(t.line[row], 0, ErrLabel, "label %q does not occur in the training part, %s",
				clip([]byte(name)), train.path)
		}
		class[i] = k
	}
	labels := make([]int, t.rows())
	for row, i := range t.label {
		labels[row] = class[i]
	}
	return labels, nil
}
