package policy

import (
	"fmt"
	"math"
	"slices"
)

// Hyperband stops trials by the rule of Weights & Biases' early_terminate with type: hyperband. A
// decision depends on how far the others are, so a second run may stop other trials.
type Hyperband struct {
	// MaxIter with Brackets, or MinIter, gives the bands.
	MaxIter, Brackets, MinIter int
	// Eta is by how much bands and survivors differ, above 1; 3 by default.
	Eta float64
	// Strict compares the value at the band, else the best one so far.
	Strict bool
	// Maximize says that larger values are better.
	Maximize bool
}

// Stop is a decision to stop a trial, with what led to it.
type Stop struct {
	Index int64
	// Band is the number of values at which the trials were compared.
	Band int
	// Value is that of the trial, worse than Threshold.
	Value, Threshold float64
}

// History is what a trial has reported of the metric, in order.
type History struct {
	Index   int64
	Values  []float64
	Running bool
}

// Bands are the numbers of values at which trials are compared, ascending.
func (h *Hyperband) Bands() ([]int, error) {
	var bands []int
	add := func(band float64) bool {
		if band < 1 || band > math.MaxInt32 {
			return false
		}
		bands = append(bands, int(band))
		return true
	}
	switch {
	case !(h.Eta > 1):
		return nil, fmt.Errorf("eta must be above 1, not %v", h.Eta)
	case h.MaxIter > 0 && h.Brackets > 0:
		for i := 1; i <= h.Brackets && add(float64(h.MaxIter)/math.Pow(h.Eta, float64(i))); i++ {
		}
	case h.MinIter > 0:
		const most = 100
		for i := 0; i < most && add(float64(h.MinIter)*math.Pow(h.Eta, float64(i))); i++ {
		}
	default:
		return nil, fmt.Errorf("hyperband needs max_iter and s, or min_iter")
	}
	slices.Sort(bands)
	return slices.Compact(bands), nil
}

// Judge returns the running trials that are to stop, in the order of the histories: those whose value
// at the highest band that they reached is worse than that of number ⌊n/η⌋ + 1 of all n that
// reached it.
func (h *Hyperband) Judge(histories []History) ([]Stop, error) {
	bands, err := h.Bands()
	if err != nil {
		return nil, err
	}
	sign := 1.0
	if h.Maximize {
		sign = -1
	}
	thresholds := map[int]float64{}
	for _, band := range bands {
		var values []float64
		for _, history := range histories {
			if len(history.Values) >= band {
				values = append(values, sign*history.Values[band-1])
			}
		}
		if len(values) > 0 {
			slices.Sort(values)
			thresholds[band] = values[int(float64(len(values))/h.Eta)]
		}
	}
	var stops []Stop
	for _, history := range histories {
		reached := 0
		for _, band := range bands {
			if len(history.Values) >= band {
				reached = band
			}
		}
		if reached == 0 || !history.Running {
			continue
		}
		value := sign * history.Values[reached-1]
		if !h.Strict {
			for _, v := range history.Values {
				value = min(value, sign*v)
			}
		}
		if value > thresholds[reached] {
			stops = append(stops, Stop{history.Index, reached, sign * value, sign * thresholds[reached]})
		}
	}
	return stops, nil
}
