package loss

import (
	"math"
	"slices"
	"strings"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
)

const rows, outputs = 5, 4

// targets are classes and, but for the softmax, values.
func targets(name string, source *random.Source) []Targets[float64] {
	classes := Targets[float64]{}
	values := Targets[float64]{Values: kernel.Dense(make([]float64, rows*outputs), rows, outputs)}
	for i := range rows {
		classes.Classes = append(classes.Classes, source.Below(outputs))
		for j := range outputs {
			values.Values.Row(i)[j] = float64(source.Below(2))
		}
	}
	if name == "cross_entropy" {
		return []Targets[float64]{classes}
	}
	return []Targets[float64]{classes, values}
}

// The gradient is that of the mean, by central differences; it is the same in
// parts; and a score without it leaves the outputs alone.
func TestGradient(t *testing.T) {
	for _, name := range []string{"cross_entropy", "mse", "sigmoid"} {
		source := random.New(1, 0)
		loss, err := New(kernel.Float64(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range targets(name, source) {
			at := kernel.Dense(make([]float64, rows*outputs), rows, outputs)
			random.Gaussian(at.Data, 3, source)
			before := slices.Clone(at.Data)
			score := loss.Score(at, target)
			if !slices.Equal(at.Data, before) {
				t.Errorf("%s: Score changes the outputs", name)
			}
			gradient := kernel.Dense(slices.Clone(at.Data), rows, outputs)
			if got := loss.Gradient(gradient, target, rows); got != score || got.Rows != rows {
				t.Errorf("%s: Gradient scores %v, Score %v", name, got, score)
			}
			for i := range at.Data {
				const h = 1e-5
				at.Data[i] = before[i] + h
				above := loss.Score(at, target)
				at.Data[i] = before[i] - h
				below := loss.Score(at, target)
				at.Data[i] = before[i]
				if want := (above.Mean() - below.Mean()) / (2 * h); math.Abs(want-gradient.Data[i]) > 1e-9 {
					t.Errorf("%s: gradient %d is %v, want %v", name, i, gradient.Data[i], want)
				}
			}
			var sum Score
			for _, part := range [][2]int{{0, 2}, {2, 3}, {3, rows}} {
				sum.Add(loss.Gradient(at.Slice(part[0], part[1]), target.Slice(part[0], part[1]), rows))
			}
			if math.Abs(sum.Loss-score.Loss) > 1e-12 || sum.Correct != score.Correct || sum.Rows != rows ||
				!slices.Equal(at.Data, gradient.Data) {
				t.Errorf("%s: in parts the score is %v, as a whole %v", name, sum, score)
			}
		}
	}
	if _, err := New(kernel.Float64(), "hinge"); err == nil {
		t.Error("an unknown loss is taken")
	}
}

// Hits are the labels among the largest outputs, as sorting finds them; of equal outputs the first counts.
func TestPrecision(t *testing.T) {
	source := random.New(3, 0)
	for _, width := range []int{1, 2, 5, 9} {
		at, labels := kernel.Dense(make([]float64, rows*width), rows, width),
			kernel.Dense(make([]float64, rows*width), rows, width)
		for i := range at.Data {
			at.Data[i], labels.Data[i] = float64(source.Below(4)), float64(source.Below(2))
		}
		var want [3]float64
		for i := range rows {
			order := make([]int, width)
			for j := range order {
				order[j] = j
			}
			slices.SortStableFunc(order, func(a, b int) int { return int(at.Row(i)[b] - at.Row(i)[a]) })
			for r, k := range Ranks {
				for _, j := range order[:min(k, width)] {
					want[r] += labels.Row(i)[j] / float64(k*rows)
				}
			}
		}
		score := named(t, "sigmoid").Score(at, Targets[float64]{Values: labels})
		for r, precision := range score.Precision() {
			if math.Abs(precision-want[r]) > 1e-15 {
				t.Errorf("%d outputs: precision at %d is %v, want %v", width, Ranks[r], precision, want[r])
			}
		}
	}
}

// A row without a target counts nowhere and gets a gradient of zero.
func TestNoTarget(t *testing.T) {
	loss, err := New(kernel.Float64(), "cross_entropy")
	if err != nil {
		t.Fatal(err)
	}
	for _, classes := range [][]int{{NoTarget, 1, 3, NoTarget, 2}, {0, NoTarget, NoTarget, 1, NoTarget},
		{NoTarget, NoTarget, NoTarget, NoTarget, NoTarget}} {
		at := kernel.Dense(make([]float64, rows*outputs), rows, outputs)
		random.Gaussian(at.Data, 3, random.New(1, 0))
		target := Targets[float64]{Classes: classes}
		var want Score
		var gradient []float64
		for i, class := range classes {
			row := kernel.Dense(slices.Clone(at.Row(i)), 1, outputs)
			if class == NoTarget {
				gradient = append(gradient, make([]float64, outputs)...)
				continue
			}
			want.Add(loss.Gradient(row, Targets[float64]{Classes: []int{class}}, 3))
			gradient = append(gradient, row.Data...)
		}
		score := loss.Score(at, target)
		if got := loss.Gradient(at, target, 3); got != score || math.Abs(got.Loss-want.Loss) > 1e-12 ||
			got.Correct != want.Correct || got.Rows != want.Rows || target.Count() != want.Rows {
			t.Errorf("%v: %+v and %+v, want %+v", classes, score, got, want)
		}
		if !slices.Equal(at.Data, gradient) {
			t.Errorf("%v: gradient %v, want %v", classes, at.Data, gradient)
		}
	}
}

// Far outputs neither overflow nor lose their gradient.
func TestSigmoidFar(t *testing.T) {
	at := kernel.Dense([]float64{1000, -1000}, 1, 2)
	score := named(t, "sigmoid").Gradient(at, Targets[float64]{Classes: []int{1}}, 1)
	if score.Loss != 1000 || score.Correct != 0 || !slices.Equal(at.Data, []float64{.5, -.5}) {
		t.Errorf("score %v, gradient %v", score, at.Data)
	}
}

func TestMisuse(t *testing.T) {
	for name, target := range map[string]Targets[float64]{
		"1 targets for outputs of 2 × 3": {Classes: []int{1}},
		"2 targets for outputs of 2 × 3": {Values: kernel.Dense(make([]float64, 4), 2, 2)},
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.Contains(message, name) {
					t.Errorf("%s: panic %q", name, message)
				}
			}()
			named(t, "mse").Score(kernel.Dense(make([]float64, 6), 2, 3), target)
		}()
	}
}

// A single output is held to the class, 0 or 1, and says 1 above 0 or, squared, above
// one half.
func TestSingleOutput(t *testing.T) {
	outputs := kernel.Dense([]float64{2, -1, .3, -.2}, 4, 1)
	classes := Targets[float64]{Classes: []int{1, 1, 0, 0}}
	values := Targets[float64]{Values: kernel.Dense([]float64{1, 1, 0, 0}, 4, 1)}
	for _, c := range []struct {
		loss    Loss[float64]
		correct int
	}{{named(t, "sigmoid"), 2}, {named(t, "mse"), 3}} {
		got, want := c.loss.Score(outputs, classes), c.loss.Score(outputs, values)
		if got.Loss != want.Loss || got.Correct != c.correct {
			t.Errorf("%T: loss %v, %d correct, want %v and %d", c.loss, got.Loss, got.Correct, want.Loss, c.correct)
		}
		a, b := kernel.Dense(slices.Clone(outputs.Data), 4, 1), kernel.Dense(slices.Clone(outputs.Data), 4, 1)
		c.loss.Gradient(a, classes, 4)
		c.loss.Gradient(b, values, 4)
		if !slices.Equal(a.Data, b.Data) {
			t.Errorf("%T: gradient %v, want %v", c.loss, a.Data, b.Data)
		}
	}
}

func named(t *testing.T, name string) Loss[float64] {
	t.Helper()
	l, err := New(kernel.Float64(), name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
