package network

import (
	"math"
	"slices"
	"testing"

	"sweep/model/kernel"
	"sweep/model/loss"
	"sweep/model/random"
	"sweep/model/weight"
)

// headCase is a wide output layer with random weights and states of more rows than a
// block has.
type headCase[F kernel.Float] struct {
	head    *head[F]
	arena   *weight.Arena[F]
	x       kernel.Matrix[F]
	targets loss.Targets[F]
}

const headOutputs, headInputs, headRows = 2*pieceOutputs + 77, 9, 2*blockRows + 70

func newHeadCase[F kernel.Float](t *testing.T, set *kernel.Set[F], threads int) *headCase[F] {
	t.Helper()
	c := &headCase[F]{arena: weight.NewArena[F](), x: kernel.Dense(make([]F, headRows*headInputs),
		headRows, headInputs)}
	c.head = declareHead(set, c.arena, headOutputs, headInputs, 1)
	c.arena.Allocate()
	source := random.New(3, 4)
	c.head.init(source)
	random.Gaussian(c.head.c.Value, .5, source)
	random.Gaussian(c.x.Data, 2, source)
	for row := range headRows {
		class := source.Below(headOutputs)
		if row%3 == 0 { // what the layer says itself
			best := math.Inf(-1)
			for j := range headOutputs {
				if output := float64(c.head.c.Value[j]) + set.Dot(c.head.y.Value[j*headInputs:(j+1)*headInputs],
					c.x.Row(row)); output > best {
					class, best = j, output
				}
			}
		}
		c.targets.Classes = append(c.targets.Classes, class)
	}
	pool := newPool(threads)
	t.Cleanup(pool.close)
	c.head.prepare(pool, 1, headRows)
	c.head.load()
	return c
}

// The wide output layer is the definition, row by row: -log softmax, and its gradients
// of states, Y and c.
func TestWideOutputByDefinition(t *testing.T) {
	t.Parallel()
	c := newHeadCase(t, kernel.Float64(), 2)
	const of = 1000
	score, dx := c.head.differentiate(0, c.x, c.targets, of)
	wantScore := loss.Score{Rows: headRows}
	wantX, wantY, wantC := make([]float64, headRows*headInputs), make([]float64, headOutputs*headInputs),
		make([]float64, headOutputs)
	for row := range headRows {
		h, class := c.x.Row(row), c.targets.Classes[row]
		outputs, sum, best := make([]float64, headOutputs), 0.0, 0
		for j := range outputs {
			outputs[j] = c.head.c.Value[j]
			for k, x := range h {
				outputs[j] += c.head.y.Value[j*headInputs+k] * x
			}
			if outputs[j] > outputs[best] {
				best = j
			}
			sum += math.Exp(outputs[j])
		}
		wantScore.Loss += math.Log(sum) - outputs[class]
		if best == class {
			wantScore.Correct++
		}
		for j, output := range outputs {
			delta := math.Exp(output) / sum
			if j == class {
				delta--
			}
			delta /= of
			wantC[j] += delta
			for k, x := range h {
				wantY[j*headInputs+k] += delta * x
				wantX[row*headInputs+k] += delta * c.head.y.Value[j*headInputs+k]
			}
		}
	}
	if !close64(score.Loss/wantScore.Loss, 1) || score.Correct != wantScore.Correct || score.Rows != headRows ||
		score.Correct == 0 {
		t.Errorf("score %v, want %v", score, wantScore)
	}
	if got := c.head.score(c.x, c.targets); got != score {
		t.Errorf("an evaluation scores %v, training %v", got, score)
	}
	checkClose(t, "gradient of a state", flat(dx), wantX)
	checkClose(t, "gradient of Y", c.head.y.Gradient, wantY)
	checkClose(t, "gradient of c", c.head.c.Gradient, wantC)
}

// Neither threads nor what was worked on before change a bit, and no step allocates.
func TestWideOutputIsReproducible(t *testing.T) {
	one := newHeadCase(t, kernel.Float32(), 1)
	want, wantX := one.head.differentiate(0, one.x, one.targets, headRows)
	for _, threads := range []int{2, 5} {
		c := newHeadCase(t, kernel.Float32(), threads)
		c.head.score(c.x, c.targets)
		got, dx := c.head.differentiate(0, c.x, c.targets, headRows)
		if got != want || !slices.Equal(flat(dx), flat(wantX)) ||
			!slices.Equal(c.arena.Gradients(), one.arena.Gradients()) {
			t.Errorf("%d threads: score %v, want %v", threads, got, want)
		}
	}
	if n := testing.AllocsPerRun(2, func() { one.head.differentiate(0, one.x, one.targets, headRows) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func close64(a, b float64) bool { return math.Abs(a-b) <= 1e-10*max(1, math.Abs(a)) }

func checkClose(t *testing.T, what string, got, want []float64) {
	t.Helper()
	largest := 1e-3
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	for i, x := range want {
		if math.Abs(x-got[i]) > 1e-10*largest {
			t.Fatalf("%s %d is %v, want %v", what, i, got[i], x)
		}
	}
}

func flat[F kernel.Float](m kernel.Matrix[F]) []F {
	var all []F
	for i := range m.Rows {
		all = append(all, m.Row(i)...)
	}
	return all
}
