package cell

import (
	"math"
	"strings"
	"testing"

	"sweep/model/kernel"
	"sweep/model/optim"
)

// trainer is all that a training step needs.
type trainer struct {
	*network[float32]
	adam *optim.Adam[float32]
	data data[float32]
}

func newTrainer(t testing.TB, set *kernel.Set[float32], s shape) *trainer {
	n := newNetwork(t, set, s, 1)
	adam, err := optim.NewAdam(set, n.arena.Values(), n.arena.Gradients(), optim.DefaultAdam())
	if err != nil {
		t.Fatal(err)
	}
	return &trainer{network: n, adam: adam, data: newData[float32](s, 2, false)}
}

func (t *trainer) step(rate float64) (loss float64) {
	loss = t.gradients(t.data)
	optim.Clip(t.set, t.arena.Gradients(), 1)
	t.adam.Step(rate)
	if t.matrix != nil {
		t.matrix.Project()
	}
	return loss
}

func TestNoAllocation(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		s.dropout = .1
		n := newTrainer(t, kernel.Float32(), s)
		dx := newMatrix[float32](s.steps*s.batch, s.inputs)
		n.step(.01)
		n.recurrent.Backward(n.head.Backward(), dx)
		if allocations := testing.AllocsPerRun(20, func() {
			n.step(.01)
			n.recurrent.Load()
			n.head.Evaluate(n.recurrent.Evaluate(n.data.x, s.steps, s.batch))
			n.head.CrossEntropy(n.data.labels)
			n.recurrent.Forward(n.data.x, s.steps, s.batch)
			n.recurrent.Backward(n.head.dhidden.Slice(0, s.batch), dx)
		}); allocations != 0 {
			t.Errorf("%v allocations a step", allocations)
		}
	})
}

// TestTrain checks that each cell learns a batch by heart.
func TestTrain(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		n := newTrainer(t, kernel.Float32(), s)
		first := n.step(.01)
		last := first
		for range 300 {
			last = n.step(.01)
		}
		if !(last < first/20) {
			t.Errorf("the loss goes from %v to %v", first, last)
		}
	})
}

// TestSameBits checks that a training repeated gives the same bits.
func TestSameBits(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		a, b := newTrainer(t, kernel.Float32(), s), newTrainer(t, kernel.Float32(), s)
		for range 20 {
			a.step(.01)
		}
		for range 20 {
			b.step(.01)
		}
		for i, v := range a.arena.Values() {
			if w := b.arena.Values()[i]; math.Float32bits(v) != math.Float32bits(w) {
				t.Fatalf("parameter %d is %v and %v", i, v, w)
			}
		}
	})
}

// benchmarkShapes are those of the papers' trainings: CBF, ArrowHead and
// pixel-MNIST.
var benchmarkShapes = []struct {
	name string
	shape
}{
	{"CBF", shape{n: 32, inputs: 8, outputs: 4, m1: 16, m2: 16, steps: 16, batch: 16}},
	{"ArrowHead", shape{n: 32, inputs: 1, outputs: 3, m1: 16, m2: 16, steps: 251, batch: 32}},
	{"MNIST", shape{n: 128, inputs: 1, outputs: 10, m1: 16, m2: 16, steps: 784, batch: 128}},
}

func BenchmarkStep(b *testing.B) {
	for _, s := range benchmarkShapes {
		for _, cell := range []string{"rnn", "ornn", "spectral-rnn", "spectral-rnn/thin", "lstm", "gru"} {
			b.Run(s.name+"/"+cell, func(b *testing.B) {
				s := s.shape
				cell, path, _ := strings.Cut(cell, "/")
				if s.path = Path(path); path == "" {
					s.path = PathFormed
				}
				s.cell, s.radius, s.activation, s.slope = cell, .1, kernel.LeakyReLU, .2
				n := newTrainer(b, kernel.Float32(), s)
				b.ReportAllocs()
				for b.Loop() {
					// So small a rate leaves the parameters where they are.
					n.step(1e-9)
				}
			})
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, s := range benchmarkShapes[:2] {
		for _, cell := range []string{"spectral-rnn", "lstm"} {
			b.Run(s.name+"/"+cell, func(b *testing.B) {
				s := s.shape
				s.cell, s.radius, s.activation, s.slope, s.batch = cell, .1, kernel.LeakyReLU, .2, 64
				n := newTrainer(b, kernel.Float32(), s)
				n.recurrent.Load()
				n.head.Load()
				for b.Loop() {
					n.head.Evaluate(n.recurrent.Evaluate(n.data.x, s.steps, s.batch))
					n.head.CrossEntropy(n.data.labels)
				}
			})
		}
	}
}
