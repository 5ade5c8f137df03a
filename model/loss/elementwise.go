package loss

import (
	"math"

	"sweep/model/kernel"
)

// elementwise is the mean of a loss over the elements of a row, each compared with its target: 1 for
// a row's class and 0 for the others. A single output is compared with the class itself, 0 or 1, of
// which it says 1 above the threshold.
type elementwise[F kernel.Float] struct {
	// at returns the loss of an element, and its derivative over the factor.
	at                func(output, target F) (loss float64, derivative F)
	factor, threshold F
	probability       func(output F) float64
	ranks             bool // values are labels, 0 or 1, and count as hits
}

// squared is (ŷ - y)².
func squared[F kernel.Float](output, target F) (loss float64, derivative F) {
	difference := output - target
	return float64(difference) * float64(difference), difference
}

// identity takes outputs for probabilities, as far as they are like their targets.
func identity[F kernel.Float](output F) float64 { return float64(output) }

// sigmoid is the cross entropy -y log s - (1-y) log(1-s) of s = sigmoid(ŷ), as
// log(1 + exp(ŷ)) - y ŷ, which is the same and does not overflow.
func sigmoid[F kernel.Float](output, target F) (loss float64, derivative F) {
	x, y := float64(output), float64(target)
	e := math.Exp(-math.Abs(x))
	s := 1 / (1 + e) // of |ŷ|
	if x < 0 {
		s = e / (1 + e)
	}
	return max(x, 0) + math.Log1p(e) - y*x, F(s - y)
}

func logistic[F kernel.Float](output F) float64 { return 1 / (1 + math.Exp(-float64(output))) }

// Score returns the loss.
func (e elementwise[F]) Score(outputs kernel.Matrix[F], targets Targets[F]) Score {
	return e.sum(outputs, targets, 0)
}

// Gradient returns the loss and writes its gradient.
func (e elementwise[F]) Gradient(outputs kernel.Matrix[F], targets Targets[F], of int) Score {
	return e.sum(outputs, targets, e.factor/F(of*outputs.Cols))
}

// sum writes the derivatives times scale unless that is 0.
func (e elementwise[F]) sum(outputs kernel.Matrix[F], targets Targets[F], scale F) Score {
	check(outputs, &targets)
	score := Score{Rows: outputs.Rows}
	for i := range outputs.Rows {
		row := outputs.Row(i)
		class := -1
		if targets.Classes != nil {
			if class = targets.Classes[i]; class == NoTarget {
				score.Rows--
				if scale != 0 {
					clear(row)
				}
				continue
			}
			said := largest(row)
			if len(row) == 1 {
				class = 1 - class // its place among the columns, of which only column 0 is there
				if said = 1; row[0] > e.threshold {
					said = 0
				}
			}
			if said == class {
				score.Correct++
			}
		}
		if e.ranks && targets.Classes == nil {
			addHits(&score.Hits, row, targets.Values.Row(i))
		}
		for j, x := range row {
			var target F
			switch {
			case j == class:
				target = 1
			case targets.Classes == nil:
				target = targets.Values.Row(i)[j]
			}
			loss, derivative := e.at(x, target)
			score.Loss += loss
			if scale != 0 {
				row[j] = scale * derivative
			}
		}
	}
	score.Loss /= float64(outputs.Cols)
	return score
}

// addHits counts the labels among the largest outputs of a row. Of equal ones the first counts as larger.
func addHits[F kernel.Float](hits *[len(Ranks)]int, row, labels []F) {
	var top [maxRank]int // the places of the largest, in order
	count := 0
	for j, x := range row {
		at := count
		for at > 0 && x > row[top[at-1]] {
			at--
		}
		if at < maxRank {
			count = min(count+1, maxRank)
			copy(top[at+1:count], top[at:])
			top[at] = j
		}
	}
	for i, k := range Ranks {
		for _, j := range top[:min(k, count)] {
			if labels[j] == 1 {
				hits[i]++
			}
		}
	}
}

// Probabilities appends what each output gives its class, of a single output what it gives
// the classes 0 and 1.
func (e elementwise[F]) Probabilities(dst []float32, outputs []F) []float32 {
	if len(outputs) == 1 {
		dst = append(dst, float32(1-e.probability(outputs[0])))
	}
	for _, output := range outputs {
		dst = append(dst, float32(e.probability(output)))
	}
	return dst
}
