package frame

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"sweep/sweep"
)

// Values have 64 bits. A number is stored as its double precision, anything else as a
// NaN that no arithmetic produces, with the position of its text in the column's
// dictionary, counted from 1. The files hold values XOR missing, so that a value that was
// never written reads as missing.
const (
	special uint64 = 0xFFF8_0000_0000_0000
	missing        = special
	// maxTexts bounds a column's dictionary; further texts are all "…".
	maxTexts = 1 << 16
	// maxDistinct is up to how many values a column's values are counted.
	maxDistinct = 1000
	// maxInterned is how many texts of JSON are remembered with their values.
	maxInterned = 4096
)

func number(v float64) uint64 {
	if v != v {
		return missing
	}
	return math.Float64bits(v)
}

func isSpecial(value uint64) bool { return value&special == special }

// entry is a value that is no number: a text, a truth value, or other JSON.
type entry struct {
	text string
	kind string // text, boolean, null, json, or large for a whole number that has no 64 bits of its own
}

// column is a parameter, a metric or a figure of all trials.
type column struct {
	name string
	kind sweep.NameKind
	// label says that it has what people and programs call a trial.
	label bool
	// numeric says that a parameter has numbers.
	numeric bool
	// virtual makes the values that are not stored.
	virtual func(row int64, s State) uint64
	// file has the values once they differ; until then all are constant, which seen says is set.
	file     *os.File
	constant uint64
	seen     bool

	entries []entry
	codes   map[entry]uint64
	// null is a parameter's value null, which groups tell from none and nothing else does; missing without one.
	null uint64

	// distinct are the values that were read, as long as they are few; many says
	// that they are not. low and high bound the numbers.
	distinct  map[uint64]struct{}
	many      bool
	numbers   bool
	low, high float64
	missing   bool // some trials have no value; lacking that it is not null either
	lacking   bool

	// interned is the loader's own.
	interned map[string]uint64
}

// id is the name of the column with its kind.
func (c *column) id() sweep.Name { return c.kind.Of(c.name) }

// absent reports whether a value is missing or null.
func (c *column) absent(value uint64) bool { return value == missing || value == c.null }

// decode returns a value as JSON has it; nil if it is absent.
func (c *column) decode(value uint64) any {
	if !isSpecial(value) {
		return math.Float64frombits(value)
	}
	code := int(value &^ special)
	if code == 0 || code > len(c.entries) {
		return nil
	}
	e := c.entries[code-1]
	switch {
	case e.kind == "boolean":
		return e.text == "true"
	case e.kind == "null":
		return nil
	case (e.kind == "json" || e.kind == "large") && json.Valid([]byte(e.text)):
		return json.RawMessage(e.text)
	}
	return e.text
}

// note adds a value to what Columns tells.
func (c *column) note(value uint64) {
	if c.absent(value) {
		c.missing, c.lacking = true, c.lacking || value == missing
		return
	}
	if !isSpecial(value) {
		v := math.Float64frombits(value)
		if !c.numbers {
			c.numbers, c.low, c.high = true, v, v
		}
		c.low, c.high = min(c.low, v), max(c.high, v)
	}
	if c.many {
		return
	}
	if c.distinct == nil {
		c.distinct = map[uint64]struct{}{}
	}
	c.distinct[value] = struct{}{}
	if len(c.distinct) > maxDistinct {
		c.many, c.distinct = true, nil
	}
}

// order returns by what values of a column are sorted: numbers before truth values
// and texts, which are in order of their code points; what is missing comes last.
func (c *column) order() func(value uint64) (class int8, key float64) {
	classes, keys := make([]int8, len(c.entries)), make([]float64, len(c.entries))
	var places []int
	var large []int
	for i, e := range c.entries {
		switch e.kind {
		case "large":
			large = append(large, i)
		case "null":
			classes[i] = 2
		default:
			places = append(places, i)
		}
	}
	slices.SortFunc(places, func(a, b int) int { return strings.Compare(c.entries[a].text, c.entries[b].text) })
	for rank, place := range places {
		classes[place], keys[place] = 1, float64(rank)
		if rank > 0 && c.entries[places[rank-1]].text == c.entries[place].text {
			keys[place] = keys[places[rank-1]]
		}
	}
	slices.SortFunc(large, func(a, b int) int { return compareWhole(c.entries[a].text, c.entries[b].text) })
	for i, place := range large { // those that are too near to one another for a number keep their order
		keys[place], _ = strconv.ParseFloat(c.entries[place].text, 64)
		if i > 0 && keys[place] <= keys[large[i-1]] {
			keys[place] = math.Nextafter(keys[large[i-1]], math.Inf(1))
		}
	}
	return func(value uint64) (int8, float64) {
		if !isSpecial(value) {
			return 0, math.Float64frombits(value)
		}
		if code := int(value &^ special); code > 0 && code <= len(keys) {
			return classes[code-1], keys[code-1]
		}
		return 2, 0
	}
}

// compareWhole compares whole numbers that are written as texts.
func compareWhole(a, b string) int {
	x, _ := new(big.Int).SetString(a, 10)
	y, _ := new(big.Int).SetString(b, 10)
	if x == nil || y == nil {
		return strings.Compare(a, b)
	}
	return x.Cmp(y)
}

// Column describes a column.
type Column struct {
	// Name is how the column is called, with its kind where that does not say which is meant; Own is what it is
	// called without, if that is another name.
	Name string `json:"name"`
	Own  string `json:"own,omitempty"`
	// Kind is parameter, metric or figure.
	Kind string `json:"kind"`
	// Varies says that there are several values, or that some trials have none.
	Varies bool `json:"varies"`
	// Values are the distinct ones in order, if they are few; Distinct their number,
	// -1 if there are more than a thousand.
	Values   []any `json:"values,omitempty"`
	Distinct int   `json:"distinct"`
	// Low and High bound the numbers, if there are any.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Missing says that some trials have no value.
	Missing bool `json:"missing"`
}

// Called is what the column is called, without its kind.
func (c *Column) Called() string { return cmp.Or(c.Own, c.Name) }

// kindTexts are the kinds of columns as answers have them.
var kindTexts = map[sweep.NameKind]string{sweep.FieldKind: "figure", sweep.ParameterKind: "parameter",
	sweep.MetricKind: "metric"}

// fewValues bounds the values that a Column lists.
const fewValues = 50

// Columns describes all columns: figures, parameters, then metrics, by name.
func (f *Frame) Columns() []Column {
	f.mu.RLock()
	defer f.mu.RUnlock()
	list := make([]Column, 0, len(f.columns))
	for _, c := range f.columns {
		d := Column{Name: f.names.Label(c.id()), Kind: kindTexts[c.kind], Distinct: len(c.distinct),
			Missing: c.missing, Varies: c.file != nil || c.virtual != nil}
		if d.Name != c.name {
			d.Own = c.name
		}
		if c.many {
			d.Distinct = -1
		}
		if c.numbers {
			d.Low, d.High = new(c.low), new(c.high)
		}
		if d.Distinct <= fewValues && !c.many {
			for _, value := range c.sorted() {
				d.Values = append(d.Values, c.decode(value))
			}
		}
		list = append(list, d)
	}
	kinds := []string{kindTexts[sweep.FieldKind], kindTexts[sweep.ParameterKind], kindTexts[sweep.MetricKind]}
	slices.SortStableFunc(list, func(a, b Column) int {
		if k := slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind); k != 0 || a.Kind == "figure" {
			return k
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// Values returns the values that each parameter of a trial has, in order, null as JSON and nil if a trial has none. Of
// more than a thousand there are the smallest and the largest number.
func (f *Frame) Values() map[string][]any {
	f.mu.RLock()
	defer f.mu.RUnlock()
	all := map[string][]any{}
	for own, c := range f.members[sweep.ParameterKind] {
		var list []any
		for _, value := range c.sorted() {
			list = append(list, c.decode(value))
		}
		if c.many && c.numbers {
			list = append(list, c.low, c.high)
		}
		if c.null != missing {
			list = append(list, json.RawMessage("null"))
		}
		if list == nil {
			continue // it is known by its name alone
		}
		if c.lacking {
			list = append(list, nil)
		}
		all[own] = list
	}
	return all
}

// sorted returns the distinct values in their order.
func (c *column) sorted() []uint64 {
	order := c.order()
	return slices.SortedFunc(maps.Keys(c.distinct), func(a, b uint64) int {
		classA, keyA := order(a)
		classB, keyB := order(b)
		return comparePlace(place{classA, keyA, int64(a)}, place{classB, keyB, int64(b)})
	})
}
