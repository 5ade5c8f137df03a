package kernel

import (
	"fmt"
	"math"
	"testing"
)

func TestSoftmaxCrossEntropy(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(30)
		for _, rows := range []int{0, 1, 5, 63, 64, 65, 130} {
			for _, cols := range sizes[1:] {
				logits := newField(r, rows, cols, 3, nan)
				for i := range rows {
					for j := range cols {
						logits.Row(i)[j] *= 5
					}
				}
				d := newField(r, rows, cols, 2, canary)
				labels := make([]int, rows)
				for i := range labels {
					labels[i] = r.IntN(cols)
				}
				const scale = 0.125
				var wantLoss float64
				wantCorrect := 0
				want := Dense(make([]float64, rows*cols), rows, cols)
				for i, y := range labels {
					sum, best := 0.0, 0
					for j, x := range logits.Row(i) {
						sum += math.Exp(float64(x))
						if x > logits.Row(i)[best] {
							best = j
						}
					}
					if best == y {
						wantCorrect++
					}
					wantLoss += math.Log(sum) - float64(logits.Row(i)[y])
					for j, x := range logits.Row(i) {
						want.Row(i)[j] = scale * math.Exp(float64(x)) / sum
					}
					want.Row(i)[y] -= scale
				}
				name := fmt.Sprintf("%d×%d", rows, cols)
				check := func(how string, d Matrix[float32], loss float64, correct int) {
					t.Helper()
					if math.Abs(loss-wantLoss) > 2e-6*(1+wantLoss) || correct != wantCorrect {
						t.Fatalf("%s %s: loss %v, correct %d, want %v, %d", name, how, loss, correct, wantLoss, wantCorrect)
					}
					for i := range d.Rows {
						for j, x := range d.Row(i) {
							near(t, name+" "+how, x, want.Row(i)[j], 1e-6*scale)
						}
					}
				}
				loss, correct := s.SoftmaxCrossEntropy(Matrix[float32]{}, logits.Matrix, labels, scale)
				check("evaluation", Matrix[float32]{}, loss, correct)
				loss, correct = s.SoftmaxCrossEntropy(d.Matrix, logits.Matrix, labels, scale)
				d.check(t, name)
				check("training", d.Matrix, loss, correct)
				loss, correct = s.SoftmaxCrossEntropy(logits.Matrix, logits.Matrix, labels, scale)
				check("in place", logits.Matrix, loss, correct)
			}
		}
	})
}

func TestSoftmaxCrossEntropyExtremes(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		for _, c := range []struct {
			logits  []float32
			label   int
			loss    float64
			correct int
		}{
			{[]float32{3, 3, 1}, 0, math.Log(2 + math.Exp(-2)), 1}, // a tie counts for the lowest class
			{[]float32{3, 3, 1}, 1, math.Log(2 + math.Exp(-2)), 0},
			{[]float32{1e30, 0, 0}, 0, 0, 1},
			{[]float32{-1e30, 0}, 0, 1e30, 0},
			{[]float32{-1000, -1001}, 1, math.Log(1 + math.E), 0},
		} {
			d := make([]float32, len(c.logits))
			loss, correct := s.SoftmaxCrossEntropy(Dense(d, 1, len(d)), Dense(c.logits, 1, len(d)), []int{c.label}, 1)
			if math.Abs(loss-c.loss) > 1e-6*(1+c.loss) || correct != c.correct {
				t.Errorf("%v, label %d: loss %v, correct %d, want %v, %d", c.logits, c.label, loss, correct, c.loss, c.correct)
			}
		}
		for _, logits := range [][]float32{{1, nan, 2}, {nan, 0, 0}, {0, float32(math.Inf(1)), 0}} {
			if loss, _ := s.SoftmaxCrossEntropy(Matrix[float32]{}, Dense(logits, 1, 3), []int{0}, 1); !math.IsNaN(loss) && !math.IsInf(loss, 0) {
				t.Errorf("%v: loss %v", logits, loss)
			}
		}
	})
}

func TestSoftmaxGradient(t *testing.T) {
	s := Float64()
	logits, labels := random64(1, 3, 4), []int{2, 0, 3}
	d := Dense(make([]float64, 12), 3, 4)
	s.SoftmaxCrossEntropy(d, logits, labels, 1)
	gradientCheck(t, "logits", logits.Data, d.Data, func() float64 {
		loss, _ := s.SoftmaxCrossEntropy(Matrix[float64]{}, logits, labels, 1)
		return loss
	})
}
