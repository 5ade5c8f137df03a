package web

import (
	"maps"
	"math"
	"slices"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/statistics"
)

// band summarizes the curves of a group's trials at each step: their mean, their sample
// standard deviation, and the smallest and largest value of all samples, so that no spike is
// lost. Steps closer than a pixel are merged. Trials of the group's Of trials were read.
type band struct {
	Values  []any      `json:"values"`
	First   int64      `json:"first"`
	Trials  int        `json:"trials"`
	Of      int64      `json:"of"`
	Indices []int64    `json:"indices"`
	Steps   []float64  `json:"steps"`
	N       []int64    `json:"n"`
	Mean    []*float64 `json:"mean"`
	SD      []*float64 `json:"sd"`
	Low     []*float64 `json:"low"`
	High    []*float64 `json:"high"`
	// NotFinite counts the samples that are NaN or infinite, Without the trials without a
	// curve of the metric.
	NotFinite int `json:"not_finite"`
	Without   int `json:"without"`
	// Result is of the metric that ranks the groups, as their completed trials reported it; Seconds
	// is their mean duration, on request. LastStep is the last step of all curves.
	Result   frame.Statistics `json:"result"`
	Seconds  *float64         `json:"seconds"`
	LastStep int64            `json:"last_step"`
	// Curves are those of the single trials, on request.
	Curves []drawnCurve `json:"curves,omitempty"`
}

// fill computes the band of curves, at no more than width steps.
func (b *band) fill(list []sweep.Curve, width int) {
	if len(list) == 0 {
		return
	}
	steps, at := bandSteps(list, width)
	all := make([]bandStep, len(steps))
	sums, counts := make([]float64, len(steps)), make([]int, len(steps))
	for i := range list {
		clear(sums)
		clear(counts)
		for k, step := range list[i].Steps {
			if !isFinite(list[i].Values[k]) {
				b.NotFinite++
				continue
			}
			v, p := float64(list[i].Values[k]), at(step)
			g := &all[p]
			if g.N == 0 && counts[p] == 0 {
				g.low, g.high = v, v
			}
			g.low, g.high = min(g.low, v), max(g.high, v)
			sums[p] += v
			counts[p]++
		}
		for p := range all {
			if counts[p] > 0 {
				all[p].Add(sums[p] / float64(counts[p]))
			}
		}
	}
	for p := range all {
		b.append(steps[p], &all[p])
	}
}

// bandSteps returns the steps of a band, at most width, and the position among them of a
// curve's step. If the curves have more steps, each of the band's stands for a pixel.
func bandSteps(list []sweep.Curve, width int) (steps []float64, at func(step int64) int) {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	places := map[int64]int{}
	for i := range list {
		for _, step := range list[i].Steps {
			first, last = min(first, step), max(last, step)
			if len(places) <= width {
				places[step] = 0
			}
		}
	}
	if len(places) > width {
		for i := range width {
			steps = append(steps, float64(first)+(float64(i)+0.5)*float64(last-first)/float64(width))
		}
		return steps, func(step int64) int { return pixelOf(step, first, last, width) }
	}
	for i, step := range slices.Sorted(maps.Keys(places)) {
		steps, places[step] = append(steps, float64(step)), i
	}
	return steps, func(step int64) int { return places[step] }
}

// bandStep accumulates the trials at one step of a band, each by its mean there.
type bandStep struct {
	statistics.Moments // of the trials' means
	low, high          float64
}

// append appends a step.
func (b *band) append(step float64, g *bandStep) {
	b.Steps, b.N = append(b.Steps, step), append(b.N, g.N)
	var mean, sd, low, high *float64
	if g.N > 0 {
		mean, low, high = &g.Mean, &g.low, &g.high
	}
	if g.N > 1 {
		sd = new(g.SD())
	}
	b.Mean, b.SD, b.Low, b.High = append(b.Mean, mean), append(b.SD, sd), append(b.Low, low), append(b.High, high)
}
