package policy

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/sweep/portable"
)

func dimensions(t *testing.T, n int) []directions {
	t.Helper()
	list, err := sobolDirections(n)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The points without scrambling are SciPy's, in every dimension.
func TestSobolPoints(t *testing.T) {
	list := dimensions(t, SobolDimensions)
	file, err := os.Open("testdata/sobol.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	indices := []uint64{1, 2, 3, 5, 12, 77, 1000, 4095}
	compared := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var numbers []uint64
		for _, field := range strings.Fields(lines.Text()) {
			number, err := strconv.ParseUint(field, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, number)
		}
		for i, index := range indices {
			if got, want := list[numbers[0]-1].at(index), numbers[i+1]<<(sobolBits-12); got != want {
				t.Errorf("dimension %d, point %d: %#x, want %#x", numbers[0], index, got, want)
			}
			compared++
		}
	}
	if compared != SobolDimensions*len(indices) {
		t.Errorf("compared %d coordinates", compared)
	}
	// A far point, from SciPy's Sobol(256, scramble=False) after fast_forward(123456789), times 2^30.
	for dimension, want := range map[int]uint64{1: 1047862216, 2: 850867304, 5: 939372104, 100: 672347048,
		256: 140913400} {
		if got := list[dimension-1].at(123456789); got != want<<(sobolBits-30) {
			t.Errorf("dimension %d: %#x, want %#x", dimension, got, want<<(sobolBits-30))
		}
	}
}

// Scrambling keeps a digital net one: of the first 2^m points each has its own interval of length
// 2^-m in every dimension, and in the first two its own box of every shape of that volume. It is
// more than a shift of digits, and differs by the seed.
func TestScrambledSobolIsANet(t *testing.T) {
	const m = 8
	list := dimensions(t, SobolDimensions)
	scrambled := func(dimension int, index, seed uint64) uint64 {
		return scramble(list[dimension].at(index), portable.Mix(seed+uint64(dimension)))
	}
	for dimension := range list {
		cells := map[uint64]bool{}
		for index := range uint64(1) << m {
			cells[scrambled(dimension, index, 1)>>(sobolBits-m)] = true
		}
		if len(cells) != 1<<m {
			t.Errorf("dimension %d: %d of %d intervals have a point", dimension+1, len(cells), 1<<m)
		}
	}
	for width := range m + 1 {
		cells := map[[2]uint64]bool{}
		for index := range uint64(1) << m {
			cells[[2]uint64{scrambled(0, index, 1) >> (sobolBits - width),
				scrambled(1, index, 1) >> (sobolBits - m + width)}] = true
		}
		if len(cells) != 1<<m {
			t.Errorf("%d of %d boxes of width 2^-%d have a point", len(cells), 1<<m, width)
		}
	}
	shifts, others := map[uint64]bool{}, map[uint64]bool{}
	for index := range uint64(1) << m {
		x := list[2].at(index)
		shifts[x^scramble(x, 1)] = true
		others[scramble(x, 1)^scramble(x, 2)] = true
	}
	if len(shifts) < 1<<m || len(others) < 1<<m {
		t.Errorf("%d different shifts of %d points, %d differences between two seeds", len(shifts), 1<<m, len(others))
	}
}

func sobolSpec(dimensions int, points, seed int64, sobol bool) *sweep.Spec {
	spec := &sweep.Spec{Cap: points, Random: &sweep.Random{Seed: seed}}
	if sobol {
		spec.Policies = []sweep.Policy{Of(&Sobol{})}
	}
	for i := range dimensions {
		spec.Axes = append(spec.Axes, axisOf(fmt.Sprintf("x%d", i),
			sweep.Values{Distribution: &sweep.Distribution{Kind: sweep.UniformDistribution, High: 1}}))
	}
	return spec
}

// The error of an integral over five dimensions, root mean square over 20 seeds, is far below that
// of as many independent points, and falls faster than their 1/√n.
func TestSobolIntegrates(t *testing.T) {
	const dimensions, seeds = 5, 20
	rms := func(points int64, sobol bool) float64 {
		var sum float64
		for seed := range int64(seeds) {
			grid, err := NewGrid(sobolSpec(dimensions, points, seed, sobol))
			if err != nil {
				t.Fatal(err)
			}
			mean := 0.0
			for _, p := range grid.All(0) {
				product := 1.0 // its integral is 1
				for i := range dimensions {
					product *= math.Exp(p[fmt.Sprintf("x%d", i)].(float64)) / (math.E - 1)
				}
				mean += product / float64(points)
			}
			sum += (mean - 1) * (mean - 1)
		}
		return math.Sqrt(sum / seeds)
	}
	for points, factor := range map[int64]float64{64: 4, 1024: 16} {
		if independent, sobol := rms(points, false), rms(points, true); sobol*factor > independent {
			t.Errorf("%d points: error %v, %v with independent points", points, sobol, independent)
		}
	}
}

// A Sobol search is a function of seed, index and the order of what varies: more points, further
// parameters behind, constants and replicates change none.
func TestSobolIsAFunction(t *testing.T) {
	sobol := func(change func(*sweep.Spec)) []sweep.Parameters {
		spec := drawnSpec()
		spec.Policies = []sweep.Policy{Of(&Sobol{})}
		change(spec)
		return points(t, spec)
	}
	list := sobol(func(*sweep.Spec) {})
	for name, change := range map[string]func(*sweep.Spec){
		"longer": func(s *sweep.Spec) { s.Cap = 100 },
		"wider": func(s *sweep.Spec) {
			s.Axes = append([]sweep.Axis{axisOf("constant", sweep.Values{List: []any{true}})}, s.Axes...)
			s.Axes = append(s.Axes, axisOf("last", sweep.Values{List: []any{1.5, 2.5}}))
		},
		"replicated": func(s *sweep.Spec) {
			s.Axes = append(s.Axes, axisOf(sweep.SeedParameter, sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: 1, Integer: true}}))
			s.Random.Replicated = true
		},
	} {
		for i, p := range sobol(change)[:len(list)] {
			for _, other := range []string{"constant", "last", sweep.SeedParameter} {
				delete(p, other)
			}
			if !reflect.DeepEqual(p, list[i]) {
				t.Errorf("%s: point %d is %v, %v before", name, i, p, list[i])
			}
		}
	}
	if reflect.DeepEqual(sobol(func(s *sweep.Spec) { s.Random.Seed++ }), list) {
		t.Error("another seed draws the same points")
	}
	if reflect.DeepEqual(points(t, drawnSpec()), list) {
		t.Error("a Sobol search draws the points of a random one")
	}
	// 32 points have each of four values exactly eight times.
	counts := map[any]int{}
	for i, p := range list {
		if i < 32 {
			counts[p["layers"]]++
		}
		if _, there := p["m1"]; there != (p["model"] == "a") {
			t.Errorf("point %d: %v", i, p)
		}
	}
	for value, n := range counts {
		if n != 8 {
			t.Errorf("layers: %v is in %d of 32 points, want 8", value, n)
		}
	}
}

func TestSobolRefusals(t *testing.T) {
	var refused *sweep.ParameterError
	if _, err := NewGrid(sobolSpec(SobolDimensions+1, 4, 0, true)); !errors.As(err, &refused) ||
		refused.Parameter != "x256" {
		t.Errorf("too many parameters: %v", err)
	}
	if _, err := NewGrid(sobolSpec(SobolDimensions, 4, 0, true)); err != nil {
		t.Errorf("as many parameters as there may be: %v", err)
	}
	if _, err := NewGrid(sobolSpec(1, 1<<sobolBits+1, 0, true)); !errors.Is(err, ErrSobolPoints) {
		t.Errorf("too many points: %v", err)
	}
	spec := sobolSpec(1, 0, 0, true)
	if _, err := NewGrid(spec); !errors.Is(err, sweep.ErrEndless) {
		t.Errorf("no end: %v", err)
	}
	spec.Cap, spec.Exclude = 3, []sweep.Match{{"x0": {0.5}}}
	if _, err := NewGrid(spec); !errors.Is(err, sweep.ErrExcluded) {
		t.Errorf("exclusions: %v", err)
	}
}

// drawnSpec has all that draws differ in.
func drawnSpec() *sweep.Spec {
	values := func(list ...any) sweep.Values { return sweep.Values{List: list} }
	weighted := values("a", "b")
	weighted.Weights = []float64{3, 1}
	return &sweep.Spec{Cap: 40, Random: &sweep.Random{Seed: 3}, Axes: []sweep.Axis{
		axisOf("lr", numbers(sweep.LogUniformValuesDistribution, 1e-5, 1e-1, 0)), axisOf("model", weighted),
		axisOf("layers", sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: 4, Integer: true}}),
		axisOf("m1", values(int64(8), int64(16))),
		{Parameters: []sweep.AxisParameter{{Name: "x", Values: values(int64(1), int64(2))},
			{Name: "y", Values: values(int64(10), int64(20))}}},
	}, Conditions: []sweep.Condition{{Parameter: "m1", When: sweep.Match{"model": {"a"}}}}}
}

// points are those of a spec.
func points(t *testing.T, spec *sweep.Spec) (list []sweep.Parameters) {
	t.Helper()
	grid, err := NewGrid(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range grid.All(0) {
		list = append(list, p)
	}
	return list
}
