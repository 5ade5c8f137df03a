package sweep

import (
	"math"

	"sweep/sweep/portable"
)

// Distribution is what a random search draws a parameter's values from, by its name in Weights &
// Biases. Lists and integers between two ends need none.
type Distribution struct {
	Kind DistributionKind `json:"kind"`
	// Low and High are the ends of the uniform kinds, mean and standard deviation of the normal
	// ones.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Step, if not 0, rounds a draw to its nearest multiple, halves to the even one; with Integer
	// to an int64.
	Step    float64 `json:"step,omitempty"`
	Integer bool    `json:"integer,omitempty"`
}

// DistributionKind is the form of a Distribution.
type DistributionKind string

// The kinds of distribution. Of the logarithmic ones Low and High are exponents
// of e, except for those that are said to take values.
const (
	UniformDistribution DistributionKind = "uniform"
	// LogUniformDistribution is exp of a uniform value; of 1/X for the inverse.
	LogUniformDistribution        DistributionKind = "log_uniform"
	InverseLogUniformDistribution DistributionKind = "inv_log_uniform"
	// LogUniformValuesDistribution has a uniform logarithm between two values. So has 1/X: it is
	// inv_log_uniform_values, too.
	LogUniformValuesDistribution DistributionKind = "log_uniform_values"
	NormalDistribution           DistributionKind = "normal"
	// LogNormalDistribution is exp of a normal value.
	LogNormalDistribution DistributionKind = "log_normal"
)

// largestExponent keeps exp within the finite numbers.
const largestExponent = 700

// check refuses distributions with values that are not finite.
func (d *Distribution) check(parameter string) error {
	for _, v := range []float64{d.Low, d.High, d.Step} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return refused(parameter, "its distribution has a number that is not finite")
		}
	}
	// No draw is further than 9 standard deviations from the mean.
	low, high := d.Low, d.High
	switch d.Kind {
	case NormalDistribution, LogNormalDistribution:
		if d.High < 0 {
			return refused(parameter, "sigma must not be negative")
		}
		low, high = d.Low-9*d.High, d.Low+9*d.High
	case UniformDistribution, LogUniformDistribution, InverseLogUniformDistribution, LogUniformValuesDistribution:
		if d.Low > d.High {
			return refused(parameter, "max must not be below min")
		}
	default:
		return refused(parameter, "there is no distribution %q", d.Kind)
	}
	switch {
	case d.Kind == LogUniformValuesDistribution && d.Low <= 0:
		return refused(parameter, "min must be above 0: the distribution is over logarithms")
	case d.Kind == LogUniformDistribution || d.Kind == InverseLogUniformDistribution || d.Kind == LogNormalDistribution:
		if low < -largestExponent || high > largestExponent {
			return refused(parameter, "min and max are exponents of e here, at most %d: distribution: "+
				"log_uniform_values takes the values themselves", largestExponent)
		}
	case math.IsInf(high-low, 0):
		return refused(parameter, "its range is not finite")
	}
	if d.Step < 0 {
		return refused(parameter, "q must be above 0")
	}
	if d.Step != 0 && math.IsInf(d.reach()/d.Step, 0) {
		return refused(parameter, "q is too small for its values")
	}
	const exact = 1 << 53
	if d.Integer && (d.Step < 1 || d.Step != math.Trunc(d.Step) || math.Abs(d.reach()) > exact) {
		return refused(parameter, "its integers must be multiples of an integer q, up to 2^53")
	}
	return nil
}

// Logarithmic reports whether the logarithms of positive draws are uniform.
func (d *Distribution) Logarithmic() bool {
	return d.Kind == LogUniformDistribution || d.Kind == InverseLogUniformDistribution ||
		d.Kind == LogUniformValuesDistribution
}

// Least is the smallest value that can be drawn.
func (d *Distribution) Least() float64 {
	value, _ := Number(d.Quantile(0x1p-53))
	return value
}

// reach is the value furthest from 0 that can be drawn.
func (d *Distribution) reach() float64 {
	const least = 0x1p-53
	a, b := d.quantile(least), d.quantile(1-least)
	if math.Abs(a) > math.Abs(b) {
		return a
	}
	return b
}

// Quantile returns the value, an int64 or a float64, below which the share u of all draws lies, 0
// < u < 1. It has the same bits on every machine.
func (d *Distribution) Quantile(u float64) any {
	return d.Rounded(d.quantile(u))
}

// Rounded is the value, an int64 or a float64, that a number is rounded to. Whatever chooses a value rounds it so:
// multiples of a step that are equal but for their last bits are the same value.
func (d *Distribution) Rounded(x float64) any {
	if d.Step != 0 {
		x = math.RoundToEven(x/d.Step) * d.Step
	}
	if d.Integer {
		return int64(x)
	}
	if x == 0 {
		return 0.0 // not -0
	}
	return x
}

func (d *Distribution) quantile(u float64) float64 {
	switch d.Kind {
	case LogUniformDistribution:
		return portable.Exp(between(d.Low, d.High, u))
	case InverseLogUniformDistribution:
		return portable.Exp(-between(d.Low, d.High, 1-u))
	case LogUniformValuesDistribution:
		return min(max(portable.Exp(between(portable.Log(d.Low), portable.Log(d.High), u)), d.Low), d.High)
	case NormalDistribution:
		return d.Low + float64(d.High*portable.NormalQuantile(u))
	case LogNormalDistribution:
		return portable.Exp(d.Low + float64(d.High*portable.NormalQuantile(u)))
	default:
		return between(d.Low, d.High, u)
	}
}

// between is the point at share u of the way. Conversions here and below forbid
// fused multiply-add, which would give other bits on other machines.
func between(low, high, u float64) float64 {
	return min(max(low+float64(u*(high-low)), low), high)
}
