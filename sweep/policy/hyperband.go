package policy

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sweep/sweep"
)

var hyperbandKind = Kind{
	Name: "hyperband", Key: StopKey, Compares: true, While: true, Foreign: "W&B's hyperband",
	Doc: "as W&B does",
	Keys: []Key{
		whole("min_iter", 1, MaxNumber, nil, "The first number of values at which trials are compared; the next ones "+
			"are eta times as many."),
		whole("max_iter", 1, MaxNumber, nil, "The number of values of a whole trial."),
		whole("s", 1, MaxBands, nil, "How often trials are compared, at max_iter / eta, max_iter / eta² and so on."),
		{ParameterSchema: sweep.ParameterSchema{Name: "eta", Type: sweep.NumberType, Minimum: at(1),
			ExclusiveMinimum: true, Default: DefaultEta, Doc: "The best 1/eta of the values pass."},
			Hint: ": the best third passes"},
		setting("strict", sweep.BooleanType, true, "Whether the value at the band is compared; with false the best "+
			"value so far is."),
	},
	OneOf: [][]string{{"min_iter"}, {"max_iter", "s"}},
	New:   func() Settings { return &Hyperband{Eta: DefaultEta, Strict: true} },
	Same: "W&B's hyperband compares all its trials by one rule: give the extension the same early_terminate and " +
		"metric, or submit it as a sweep of its own",
}

// Hyperband is W&B's early_terminate with type: hyperband. A trial that runs is stopped if its value at the highest
// band that it has reached is not among the best 1/Eta of all values there. That depends on when values come.
type Hyperband struct {
	While
	// Bands are numbers of values, ascending.
	Bands []int64 `json:"bands"`
	Eta   float64 `json:"eta"`
	// Strict compares the value at the band, else the best value so far is compared.
	Strict bool `json:"strict"`
}

// MaxBands bounds the bands from a smallest one on, as W&B does, and DefaultEta is the share that passes, for halving
// too.
const (
	MaxBands   = 100
	DefaultEta = 3
)

func (*Hyperband) kind() *Kind { return &hyperbandKind }

// read reads W&B's keys.
func (h *Hyperband) read(values map[string]any, file *File) error {
	set(&h.Eta, values["eta"])
	set(&h.Strict, values["strict"])
	var minIter, maxIter, s int64
	set(&minIter, values["min_iter"])
	set(&maxIter, values["max_iter"])
	set(&s, values["s"])
	switch {
	case maxIter > 0 && s > 0:
		h.Bands = bandsUpTo(maxIter, s, h.Eta)
	case minIter > 0 && maxIter == 0:
		h.Bands = bandsFrom(minIter, h.Eta)
	case file.Sound:
		return hyperbandKind.refused("{type: hyperband} needs min_iter, as in {type: hyperband, min_iter: 3}, or " +
			"max_iter and s")
	}
	if len(h.Bands) == 0 && file.Sound {
		return hyperbandKind.refused("no trial is ever compared: max_iter / eta is below 1")
	}
	return h.compare(&hyperbandKind, file)
}

// bandsFrom returns the bands that W&B makes of min_iter and eta.
func bandsFrom(minIter int64, eta float64) (bands []int64) {
	for band := float64(minIter); len(bands) < MaxBands && band <= MaxNumber; band *= eta {
		bands = append(bands, int64(band))
	}
	return bands
}

// bandsUpTo returns the bands that W&B makes of max_iter, s and eta; there may be none.
func bandsUpTo(maxIter, s int64, eta float64) (bands []int64) {
	band := float64(maxIter)
	for range s {
		if band /= eta; band < 1 {
			break
		}
		bands = append(bands, int64(band))
	}
	slices.Reverse(bands)
	return bands
}

func (h *Hyperband) check(*sweep.Spec) error {
	switch n := len(h.Bands); {
	case !(h.Eta > 1) || math.IsInf(h.Eta, 0):
		return hyperbandKind.refused("hyperband.eta is %v: expected a number above 1, as in 3: the best third passes",
			h.Eta)
	case n == 0 || n > MaxBands:
		return hyperbandKind.refused("hyperband has %d bands: expected 1 to %d", n, MaxBands)
	case h.Bands[0] < 1 || h.Bands[n-1] > MaxNumber || !slices.IsSorted(h.Bands):
		return hyperbandKind.refused("hyperband has bands of %d to %d values: expected ascending ones, from 1 to %d",
			h.Bands[0], h.Bands[n-1], int64(MaxNumber))
	}
	return nil
}

func (h *Hyperband) open(*sweep.Spec, *sweep.Description, *sweep.Grid) (Policy, error) {
	return &hyperband{h}, nil
}

// hyperband is the policy with Hyperband.
type hyperband struct{ rule *Hyperband }

// Generation is none: trials are written as they are known, and each has the same rule.
func (h *hyperband) Generation(int64) Generation { return Generation{} }

func (h *hyperband) Wants() Wants {
	return Wants{Metric: h.rule.Metric, Goal: h.rule.Goal, Bands: h.rule.Bands, Best: !h.rule.Strict}
}

func (h *hyperband) Step(_ context.Context, seen Observations) (Step, error) {
	stops := hyperbandStops(h.rule, seen.Observed)
	for i := range stops {
		stops[i].Reason = h.reason(&stops[i])
		stops[i].Rule, stops[i].Metric = fmt.Sprintf("the best 1/%.6g", h.rule.Eta), h.rule.Metric
	}
	return Step{Stops: stops}, nil
}

// reason says why a trial is stopped.
func (h *hyperband) reason(d *sweep.Stop) string {
	what, than := h.rule.Metric, "above"
	if !h.rule.Strict {
		what = "the best " + h.rule.Metric + " so far,"
	}
	if h.rule.Goal == sweep.Maximize {
		than = "below"
	}
	return fmt.Sprintf("stopped at band %d: %s %s is %s %s, the worst of the best 1/%.6g of %s there", d.Band, what,
		sweep.ShortFloat(float32(d.Value)), than, sweep.ShortFloat(float32(d.Threshold)), h.rule.Eta,
		sweep.CountText(int(d.Trials), "trial"))
}

// hyperbandStops returns which of the running trials W&B's early_terminate with type: hyperband stops. Its rule: the
// threshold of a band is value number int(n/eta), from 0, of the n values there in order; a trial is compared at the
// highest band that it has reached; ties go on. What is observed at other bands, as of a result of another sweep, does
// not count.
func hyperbandStops(h *Hyperband, observed []sweep.Observation) (stops []sweep.Stop) {
	if len(observed) == 0 {
		return nil
	}
	trials := slices.DeleteFunc(latest(observed), func(o sweep.Observation) bool {
		n := len(o.Values)
		return n == 0 || n > len(h.Bands) || !slices.Equal(o.Positions, h.Bands[:n])
	})
	sign := 1.0
	if h.Goal == sweep.Maximize {
		sign = -1
	}
	rank := 1 / h.Eta // W&B multiplies by it
	thresholds, counts := make([]float64, len(h.Bands)), make([]int, len(h.Bands))
	var values []float64
	for i := range h.Bands {
		values = values[:0]
		for t := range trials {
			if i < len(trials[t].Values) {
				values = append(values, sign*float64(trials[t].Values[i]))
			}
		}
		if counts[i] = len(values); counts[i] == 0 {
			break
		}
		slices.Sort(values)
		thresholds[i] = values[int(rank*float64(len(values)))]
	}
	for t := range trials {
		trial := &trials[t]
		if !trial.Open {
			continue
		}
		last := len(trial.Values) - 1
		value := sign * float64(trial.Best)
		if h.Strict {
			value = sign * float64(trial.Values[last])
		}
		if value > thresholds[last] {
			stops = append(stops, sweep.Stop{TrialID: sweep.TrialID{Index: trial.Trial}, Band: h.Bands[last],
				Value: sign * value, Threshold: sign * thresholds[last], Trials: int64(counts[last]),
				Observation: observed[len(observed)-1].Number})
		}
	}
	return stops
}
