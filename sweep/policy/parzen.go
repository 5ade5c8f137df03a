package policy

import (
	"math"
	"math/rand/v2"
	"slices"

	"sweep/sweep/portable"
)

// dimension is what a parameter's values are for an estimator: numbers between two ends, or one of
// several choices, numbered from 0.
type dimension struct {
	low, high float64
	// step, if not 0, is the distance of the values.
	step float64
	// log has the kernels be over logarithms.
	log bool
	// choices, if not 0, is the number of choices.
	choices int
}

// bounds are the ends of the kernels: half a step outside the values, in log space with log.
func (d *dimension) bounds() (low, high float64) {
	return d.inner(d.low - d.step/2), d.inner(d.high + d.step/2)
}

func (d *dimension) inner(x float64) float64 {
	if d.log {
		return portable.Log(x)
	}
	return x
}

// outer returns the value for a number within the bounds.
func (d *dimension) outer(x float64) float64 {
	if d.log {
		x = portable.Exp(x)
	}
	if d.step != 0 {
		x = d.low + float64(math.Round((x-d.low)/d.step)*d.step)
	}
	return min(max(x, d.low), d.high)
}

// kernel is a truncated normal distribution, or with choices the probability of each.
type kernel struct {
	mean, deviation float64
	// logMass is the logarithm of what the bounds leave of the normal distribution, logPeak that of
	// the density at the mean.
	logMass, logPeak float64
	choices          []float64
}

// newKernel returns a normal kernel between two bounds.
func newKernel(mean, deviation, low, high float64) kernel {
	mass := normalMass((low-mean)/deviation, (high-mean)/deviation)
	k := kernel{mean: mean, deviation: deviation, logMass: logarithm(mass)}
	k.logPeak = -portable.Log(deviation*math.Sqrt(2*math.Pi)) - k.logMass
	return k
}

// estimator is a multivariate Parzen estimator with the rules of Optuna 5: a mixture of products
// of kernels, one product for each observation and one prior, the last. S. Watanabe,
// Tree-structured Parzen estimator: understanding its algorithm components (2023).
type estimator struct {
	dimensions []dimension
	// weights are those of the products; they add up to 1. logWeights are their logarithms.
	weights, logWeights []float64
	// kernels are those of each product, by dimension.
	kernels [][]kernel
}

// weights are those of n observations in order of index, the earlier ones lower.
func weights(n int) []float64 {
	const full = 25
	w := make([]float64, n)
	for i := range w {
		w[i] = 1
		if ramp := n - full; i < ramp {
			w[i] = 1 / float64(n)
			if ramp > 1 {
				w[i] += float64(i) * (1 - 1/float64(n)) / float64(ramp-1)
			}
		}
	}
	return w
}

// newEstimator estimates the density of observations, each with a value for each dimension.
func newEstimator(dimensions []dimension, observations [][]float64) *estimator {
	n := len(observations)
	e := &estimator{dimensions: dimensions, weights: append(weights(n), 1), kernels: make([][]kernel, n+1)}
	var total float64
	for _, w := range e.weights {
		total += w
	}
	for i := range e.weights {
		e.weights[i] /= total
		e.logWeights = append(e.logWeights, portable.Log(e.weights[i]))
		e.kernels[i] = make([]kernel, len(dimensions))
	}
	for j := range dimensions {
		d := &dimensions[j]
		if d.choices > 0 {
			for i := range n + 1 {
				e.kernels[i][j].choices = choiceRow(d.choices, n, i, observations, j)
			}
			continue
		}
		values := make([]float64, n)
		for i := range observations {
			values[i] = d.inner(observations[i][j])
		}
		low, high := d.bounds()
		for i, deviation := range deviations(values, low, high) {
			e.kernels[i][j] = newKernel(values[i], deviation, low, high)
		}
		e.kernels[n][j] = newKernel(0.5*(low+high), high-low, low, high)
	}
	return e
}

// choiceRow is the categorical kernel of observation i of n; of the prior if i = n.
func choiceRow(choices, n, i int, observations [][]float64, j int) []float64 {
	row := make([]float64, choices)
	each := 1 / float64(n+1)
	total := each * float64(choices)
	if i < n {
		total++
	}
	for c := range row {
		row[c] = each / total
	}
	if i < n {
		row[int(observations[i][j])] = (each + 1) / total
	}
	return row
}

// deviations are those of the kernels at some values: the larger gap to a neighbour, where the
// outer values have no neighbour outside if there are two or more.
func deviations(values []float64, low, high float64) []float64 {
	n := len(values)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	const maxKernels = 100
	least := (high - low) / min(maxKernels, float64(n+2))
	result := make([]float64, n)
	for rank, i := range order {
		below, above := values[i]-low, high-values[i]
		if rank > 0 {
			below = values[i] - values[order[rank-1]]
		} else if n > 1 {
			below = 0
		}
		if rank < n-1 {
			above = values[order[rank+1]] - values[i]
		} else if n > 1 {
			above = 0
		}
		result[i] = min(max(below, above, least), high-low)
	}
	return result
}

// logDensity is the logarithm of the density at a point, of the mass where values have steps. With
// log it is over logarithms.
func (e *estimator) logDensity(point []float64) float64 {
	terms := make([]float64, len(e.weights))
	for i, product := range e.kernels {
		terms[i] = e.logWeights[i]
		for j := range product {
			terms[i] += product[j].logDensity(&e.dimensions[j], point[j])
		}
	}
	largest := slices.Max(terms)
	if math.IsInf(largest, -1) {
		return largest
	}
	var sum float64
	for _, t := range terms {
		if t > largest-40 { // smaller ones are lost in the sum, which is at least 1
			sum += portable.Exp(t - largest)
		}
	}
	return largest + portable.Log(sum)
}

func (k *kernel) logDensity(d *dimension, value float64) float64 {
	if d.choices > 0 {
		return portable.Log(k.choices[int(value)])
	}
	scaled := func(x float64) float64 { return (x - k.mean) / k.deviation }
	if d.step != 0 {
		from, to := d.inner(value-d.step/2), d.inner(value+d.step/2)
		return logarithm(normalMass(scaled(from), scaled(to))) - k.logMass
	}
	z := scaled(d.inner(value))
	return k.logPeak - float64(z*z)/2
}

// normalMass is the standard normal probability between a and b, a ≤ b, exact in both tails.
func normalMass(a, b float64) float64 {
	if a > 0 {
		a, b = -b, -a
	}
	return portable.Normal(b) - portable.Normal(a)
}

// logarithm is that of a probability, -Inf for 0.
func logarithm(x float64) float64 {
	if x <= 0 {
		return math.Inf(-1)
	}
	return portable.Log(x)
}

// sample draws a point.
func (e *estimator) sample(random *rand.Rand) []float64 {
	product := e.kernels[choose(e.weights, random.Float64())]
	point := make([]float64, len(e.dimensions))
	for j := range point {
		u := random.Float64()
		d, k := &e.dimensions[j], &product[j]
		if d.choices > 0 {
			point[j] = float64(choose(k.choices, u))
			continue
		}
		low, high := d.bounds()
		a, b := (low-k.mean)/k.deviation, (high-k.mean)/k.deviation
		// The means are within the bounds, so neither tail is lost.
		below := portable.Normal(a)
		share := below + float64(u*(portable.Normal(b)-below))
		z := portable.NormalQuantile(min(max(share, leastShare), 1-leastShare))
		point[j] = d.outer(min(max(k.mean+float64(k.deviation*z), low), high))
	}
	return point
}

// choose returns the index at which the sum of the weights, which add up to 1, passes u.
func choose(weights []float64, u float64) int {
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(weights) - 1
}
