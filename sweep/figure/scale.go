package figure

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// scale is an axis: its ends, whether it is logarithmic, and where it has ticks.
type scale struct {
	label     string
	low, high float64
	log       bool
	// marks, if not nil, are the only ticks.
	marks []plot.Tick
	// most is the largest number of intervals between labelled ticks; 0 means maxIntervals.
	most int
}

// fitted is the scale with as many ticks as have room on a horizontal axis of a width.
func (s scale) fitted(width vg.Length, style text.Style) scale {
	label := vg.Length(0)
	for _, t := range s.Ticks(s.low, s.high) {
		label = max(label, style.Width(t.Label))
	}
	s.most = min(maxIntervals, int(width/(label+0.8*style.Font.Size)))
	if s.most < 2 {
		s.most = 1
		if s.log || len(s.Ticks(s.low, s.high)) == 0 {
			s.most = 2
		}
	}
	return s
}

// maxIntervals is the largest number of intervals between the labelled ticks of an axis with room for them.
const maxIntervals = 8

// newScale is an axis over values, with a little room around them; only positive
// ones have a place on a logarithmic one.
func newScale(label string, values []float64, log bool) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || log && v <= 0 {
			continue
		}
		low, high = min(low, v), max(high, v)
	}
	s := scale{label: label, low: low, high: high, log: log}
	switch {
	case low > high:
		s.low, s.high = 1, 10
	case log && low == high:
		s.low, s.high = low/2, high*2
	case low == high:
		room := max(math.Abs(low)*0.1, 0.5)
		s.low, s.high = low-room, high+room
	}
	return s
}

// unit is the place of a value on an axis, from 0 to 1.
func unit(s scale, v float64) float64 {
	if s.log {
		return math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return (v - s.low) / (s.high - s.low)
}

// tickText is a number as axes have it: few digits, powers of ten where it is
// very small or large.
func tickText(v float64) string {
	if v == 0 {
		return "0"
	}
	if a := math.Abs(v); a >= 1e-3 && a < 1e5 {
		return minus(strconv.FormatFloat(v, 'g', 5, 64))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	if len(mantissa) > 4 {
		mantissa, exponent, _ = strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	}
	n, _ := strconv.Atoi(exponent) // 05 is 5
	return minus(mantissa) + "e" + minus(strconv.Itoa(n))
}

func minus(text string) string { return strings.Replace(text, "-", "−", 1) }

// Ticks implements plot.Ticker.
func (s scale) Ticks(low, high float64) []plot.Tick {
	switch {
	case s.marks != nil:
		return s.marks
	case s.log && high/low >= 8:
		return logTicks(low, high, cmp.Or(s.most, maxIntervals))
	}
	var ticks []plot.Tick
	step := niceStep(high-low, cmp.Or(s.most, maxIntervals))
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		// The step's decimals decide the digits: 0.30000000000000004 is 0.3.
		v, _ := strconv.ParseFloat(strconv.FormatFloat(i*step, 'e', 10, 64), 64)
		if s.log && v <= 0 {
			continue
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: tickText(v)})
	}
	return ticks
}

// niceStep is 1, 2 or 5 times a power of ten, so that about five fit a span, and not more than most.
func niceStep(span float64, most int) float64 {
	if span <= 0 || math.IsInf(span, 0) || math.IsNaN(span) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(span/5)))
	for _, m := range []float64{1, 2, 5, 10, 20} {
		if span/(m*power) <= float64(most) {
			return m * power
		}
	}
	return 50 * power
}

// logTicks are at the powers of ten, labelled as far as there is room, with small
// ones between; over less than two decades 2 and 5 have labels too.
func logTicks(low, high float64, most int) (ticks []plot.Tick) {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	every := (last-first)/(most-1) + 1
	for e := first; e <= last; e++ {
		for m := 1; m <= 9; m++ {
			v, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", m, e), 64)
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 && e%every == 0 || high/low < 100 && most > 4 && (m == 2 || m == 5) {
				t.Label = tickText(v)
			}
			if m == 1 || every == 1 {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}
