package policy

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// The densities are those of Optuna 5.0, computed with its own code, to 1e-9.
func TestDensities(t *testing.T) {
	unit, letters := dimension{high: 1}, dimension{choices: 3}
	for name, c := range map[string]struct {
		dimensions   []dimension
		observations [][]float64
		points       [][]float64
		want         []float64
	}{
		"uniform": {[]dimension{unit}, [][]float64{{.2}, {.5}, {.55}}, [][]float64{{0}, {.1}, {.3}, {.5}, {.9}, {1}},
			[]float64{-.3695958047, -.1569832388, .1859448098, .3292914176, -.6340365246, -.9819817475}},
		"log": {[]dimension{{low: 1e-4, high: 1e-1, log: true}}, [][]float64{{1e-3}, {1e-2}},
			[][]float64{{1e-4}, {1e-3}, {3e-3}, {1e-1}},
			[]float64{-2.3360836571, -1.8144800075, -1.744285149, -2.3360836571}},
		"steps": {[]dimension{{low: 8, high: 64, step: 8}}, [][]float64{{16}, {32}},
			[][]float64{{8}, {16}, {32}, {64}},
			[]float64{-1.9816888378, -1.7777500561, -1.8023368807, -2.9906764521}},
		"choices": {[]dimension{letters}, [][]float64{{0}, {0}, {2}}, [][]float64{{0}, {1}, {2}},
			[]float64{-.7419373447, -1.6582280766, -1.0986122887}},
		"joint": {[]dimension{unit, letters}, [][]float64{{.2, 0}, {.5, 0}, {.55, 2}},
			[][]float64{{.3, 0}, {.3, 2}, {.9, 1}}, []float64{-.4612116804, -1.0408419215, -2.1072265464}},
	} {
		e := newEstimator(c.dimensions, c.observations)
		for i, point := range c.points {
			if got := e.logDensity(point); !near(got, c.want[i], 1e-9) {
				t.Errorf("%s at %v: %.10f, want %.10f", name, point, got, c.want[i])
			}
		}
	}
}

// Thirty observations, weighted by age, of all kinds of parameter at once: as Optuna's own code has it
// where NumPy's sort is told to be stable, since otherwise equal observations get widths at random.
func TestMixedDensity(t *testing.T) {
	dimensions := []dimension{{high: 1}, {low: 1e-4, high: 1e-1, log: true}, {choices: 3},
		{low: 8, high: 64, step: 8}, {low: 16, high: 512, step: 1, log: true}}
	var observations [][]float64
	for i := range 30 {
		observations = append(observations, []float64{float64(i*37%101) / 101,
			math.Pow(10, -4+3*(float64(i*53%97)/97)), float64(i % 3), float64(8 * (1 + i*29%8)), float64(16 + i*i*7%497)})
	}
	e := newEstimator(dimensions, observations)
	for i, point := range [][]float64{{0, 1e-4, 0, 8, 16}, {.37, 2e-3, 1, 32, 100}, {1, 1e-1, 2, 64, 512}} {
		want := []float64{-4.3438115730, -14.0727406595, -16.2613483839}[i]
		if got := e.logDensity(point); !near(got, want, 1e-9) {
			t.Errorf("at %v: %.10f, want %.10f", point, got, want)
		}
	}
}

// What is sampled has the shares that the density gives, which adds up to 1.
func TestSamplesFollowTheDensity(t *testing.T) {
	const draws = 20000
	dimensions := []dimension{{low: 8, high: 64, step: 8}, {choices: 3}}
	e := newEstimator(dimensions, [][]float64{{16, 0}, {32, 2}, {32, 2}})
	counts := map[[2]float64]int{}
	random := rand.New(rand.NewPCG(1, 2))
	for range draws {
		point := e.sample(random)
		counts[[2]float64{point[0], point[1]}]++
	}
	var total float64
	for h := 8.0; h <= 64; h += 8 {
		for c := range 3 {
			p := math.Exp(e.logDensity([]float64{h, float64(c)}))
			total += p
			got := float64(counts[[2]float64{h, float64(c)}]) / draws
			if !near(got, p, 5*math.Sqrt(p/draws)) {
				t.Errorf("%v %d: share %v, density %v", h, c, got, p)
			}
		}
	}
	if !near(total, 1, 1e-12) {
		t.Errorf("the densities add up to %v", total)
	}
}

func TestWeights(t *testing.T) {
	w := weights(30)
	for i, want := range []float64{.033333, .275, .516667, .758333, 1, 1} {
		if !near(w[i], want, 1e-6) {
			t.Errorf("weight %d of 30 is %v, want %v", i, w[i], want)
		}
	}
	for n, want := range map[int]int{1: 1, 10: 1, 11: 2, 20: 2, 100: 10, 250: 25, 300: 25} {
		if got := goodPoints(n); got != want {
			t.Errorf("γ(%d) = %d, want %d", n, got, want)
		}
	}
}
