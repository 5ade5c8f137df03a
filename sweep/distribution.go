package sweep

import "math"

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
	const exact = 1 << 53
	if d.Integer && (d.Step < 1 || d.Step != math.Trunc(d.Step) || math.Abs(d.reach()) > exact) {
		return refused(parameter, "its integers must be multiples of an integer q, up to 2^53")
	}
	return nil
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
	x := d.quantile(u)
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
		return portableExp(between(d.Low, d.High, u))
	case InverseLogUniformDistribution:
		return portableExp(-between(d.Low, d.High, 1-u))
	case LogUniformValuesDistribution:
		return min(max(portableExp(between(portableLog(d.Low), portableLog(d.High), u)), d.Low), d.High)
	case NormalDistribution:
		return d.Low + float64(d.High*normalQuantile(u))
	case LogNormalDistribution:
		return portableExp(d.Low + float64(d.High*normalQuantile(u)))
	default:
		return between(d.Low, d.High, u)
	}
}

// between is the point at share u of the way. Conversions here and below forbid
// fused multiply-add, which would give other bits on other machines.
func between(low, high, u float64) float64 {
	return min(max(low+float64(u*(high-low)), low), high)
}

// portableExp is e to the x, |x| ≤ 709, within a few units in the last place and with the
// same bits everywhere: math.Exp is assembly on some machines. x = k·ln 2 + r,
// and exp(r) is its series.
func portableExp(x float64) float64 {
	const high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // ln 2 in two parts
	k := math.RoundToEven(float64(x * (1 / math.Ln2)))
	r := float64(x-float64(k*high)) - float64(k*low)
	sum := 1.0
	for i := 20.0; i >= 1; i-- {
		sum = 1 + float64(float64(r*sum)/i)
	}
	return math.Ldexp(sum, int(k))
}

// portableLog is the natural logarithm of a positive x, within a few units in the
// last place and with the same bits everywhere: with x = m·2ᵏ and
// s = (m − 1)/(m + 1), ln m = 2(s + s³/3 + s⁵/5 + …).
func portableLog(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		k--
	}
	s := (m - 1) / (m + 1)
	square, sum := float64(s*s), 0.0
	for i := 41.0; i >= 1; i -= 2 {
		sum = 1/i + float64(square*sum)
	}
	return float64(float64(k)*math.Ln2) + float64(2*float64(s*sum))
}

// normalQuantile is the inverse of the standard normal distribution function,
// accurate to about 1 part in 10¹⁶: algorithm AS 241, PPND16 (M. J. Wichura,
// Applied Statistics 37 (1988), 477–484).
func normalQuantile(u float64) float64 {
	ratio := func(a, b [8]float64, r float64) float64 {
		p, q := a[7], b[7]
		for i := 6; i >= 0; i-- {
			p, q = float64(p*r)+a[i], float64(q*r)+b[i]
		}
		return p / q
	}
	q := u - 0.5
	if math.Abs(q) <= 0.425 {
		return q * ratio(centralA, centralB, 0.180625-float64(q*q))
	}
	r := u
	if q > 0 {
		r = 1 - u
	}
	r = math.Sqrt(-portableLog(r))
	var x float64
	if r <= 5 {
		x = ratio(middleA, middleB, r-1.6)
	} else {
		x = ratio(tailA, tailB, r-5)
	}
	if q < 0 {
		return -x
	}
	return x
}

// The coefficients of AS 241.
var (
	centralA = [8]float64{3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
		1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3}
	centralB = [8]float64{1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}
	middleA = [8]float64{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
		3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4}
	middleB = [8]float64{1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}
	tailA = [8]float64{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
		2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7}
	tailB = [8]float64{1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}
)
