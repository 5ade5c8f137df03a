package portable

import "math"

// Normal is the standard normal distribution function. Its relative error is below 1e-12, in the
// lower tail too; below about -38 it is 0.
func Normal(x float64) float64 {
	switch {
	case x > 0:
		return 1 - Normal(-x)
	case x > -nearNormal:
		return 0.5 - float64(density(x)*series(-x))
	case x < -38.5:
		return 0
	}
	return density(x) * mills(-x)
}

// nearNormal is where the series ends and the continued fraction begins.
const nearNormal = 2.5

// density is the density of the standard normal distribution.
func density(x float64) float64 {
	const scale = 0.39894228040143267794 // 1/√(2π)
	return scale * Exp(-float64(x*x)/2)
}

// series is x + x³/3 + x⁵/(3·5) + …, the normal integral from 0 to x over the density (M. Abramowitz,
// I. A. Stegun, Handbook of mathematical functions, 26.2.11), 0 ≤ x ≤ nearNormal.
func series(x float64) float64 {
	square, term, sum := float64(x*x), x, x
	for i := 3.0; term > 1e-17*sum; i += 2 {
		term = float64(term*square) / i
		sum += term
	}
	return sum
}

// mills is 1/(x + 1/(x + 2/(x + 3/(x + …)))), the upper tail over the density (the same, 26.2.14), x
// ≥ nearNormal.
func mills(x float64) float64 {
	last := 0.0
	for i := math.Ceil(fractionTerms/float64(x*x)) + 10; i >= 1; i-- {
		last = i / (x + last)
	}
	return 1 / (x + last)
}

// fractionTerms over x² is how many terms the fraction has, besides 10.
const fractionTerms = 300

// NormalQuantile is the inverse of the standard normal distribution function,
// accurate to about 1 part in 10¹⁶: algorithm AS 241, PPND16 (M. J. Wichura,
// Applied Statistics 37 (1988), 477–484).
func NormalQuantile(u float64) float64 {
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
	r = math.Sqrt(-Log(r))
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
