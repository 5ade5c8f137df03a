package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// testSoftmax checks the loss and its gradient with one shape.
func testSoftmax(t *testing.T, s *Set[float32], r *rand.Rand, rows, cols, gap int) {
	const scale = 0.125
	logits, d := newField(r, rows, cols, gap, nan), newField(r, rows, cols, gap, canary)
	labels := make([]int, rows)
	want := Dense(make([]float64, rows*cols), rows, cols)
	wantLoss, wantCorrect := 0.0, 0
	for i := range rows {
		row := logits.Row(i)
		sum, best, y := 0.0, 0, r.IntN(cols)
		for j := range row {
			row[j] *= 5
			sum += math.Exp(float64(row[j]))
			if row[j] > row[best] {
				best = j
			}
		}
		if labels[i] = y; best == y {
			wantCorrect++
		}
		wantLoss += math.Log(sum) - float64(row[y])
		for j, x := range row {
			want.Row(i)[j] = scale * math.Exp(float64(x)) / sum
		}
		want.Row(i)[y] -= scale
	}
	// Each addition to a row's sum may round by half a unit in the last place, 6e-8.
	tolerance := (1e-6 + 2e-8*float64(cols)) * scale
	check := func(how string, d Matrix[float32]) {
		t.Helper()
		name := fmt.Sprintf("%d×%d %s", rows, cols, how)
		loss, correct := s.SoftmaxCrossEntropy(d, logits.Matrix, labels, scale)
		if math.Abs(loss-wantLoss) > 2e-6*(1+wantLoss) || correct != wantCorrect {
			t.Fatalf("%s: loss %v, correct %d, want %v, %d", name, loss, correct, wantLoss, wantCorrect)
		}
		for i := range d.Rows {
			for j, x := range d.Row(i) {
				near(t, x, want.Row(i)[j], tolerance, "%s", name)
			}
		}
	}
	check("evaluation", Matrix[float32]{})
	check("training", d.Matrix)
	d.check(t, "SoftmaxCrossEntropy")
	check("in place", logits.Matrix)
	logits.check(t, "SoftmaxCrossEntropy in place")
}

func TestSoftmaxCrossEntropy(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(30)
		for _, rows := range []int{0, 1, 5, 63, 64, 65, 130} {
			for i, cols := range sizes[1:] {
				testSoftmax(t, s, r, rows, cols, i%4)
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
				t.Errorf("%v, label %d: loss %v, correct %d, want %v, %d", c.logits, c.label, loss, correct,
					c.loss, c.correct)
			}
		}
		for _, logits := range [][]float32{{1, nan, 2}, {nan, 0, 0}, {0, float32(math.Inf(1)), 0}} {
			if loss, _ := s.SoftmaxCrossEntropy(Matrix[float32]{}, Dense(logits, 1, 3), []int{0},
				1); !math.IsNaN(loss) && !math.IsInf(loss, 0) {
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

// Whether a column holds the largest element is the same asked column by column and
// asked of all, ties and what is no number included.
func TestIsArgmax(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	nan := float32(math.NaN())
	for range 2000 {
		row := make([]float32, 1+r.IntN(40))
		for i := range row {
			row[i] = float32(r.IntN(4))
			if r.IntN(50) == 0 {
				row[i] = nan
			}
		}
		for j := range row {
			if got, want := isArgmax(row, j), argmax(row) == j; got != want {
				t.Fatalf("%v: column %d: %v, want %v", row, j, got, want)
			}
		}
	}
}
