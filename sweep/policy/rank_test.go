package policy

import (
	"math"
	"testing"
)

// demsar are the AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets: J. Demšar, Statistical
// comparisons of classifiers over multiple data sets, JMLR 7 (2006), table 6.
var demsar = [][]float64{
	{.763, .768, .771, .798}, {.599, .591, .590, .569}, {.954, .971, .968, .967}, {.628, .661, .654, .657},
	{.882, .888, .886, .898}, {.936, .931, .916, .931}, {.661, .668, .609, .685}, {.583, .583, .563, .625},
	{.775, .838, .866, .875}, {1, 1, 1, 1}, {.940, .962, .965, .962}, {.619, .666, .614, .669},
	{.972, .981, .975, .975}, {.957, .978, .946, .970},
}

func TestFriedman(t *testing.T) {
	statistic, p := Friedman(demsar)
	if !near(statistic, 10.952381, 1e-6) || !near(p, .0119862, 1e-7) { // as SciPy has it
		t.Errorf("χ² = %v, p = %v", statistic, p)
	}
	if statistic, p := Friedman([][]float64{{1, 1}, {2, 2}}); statistic != 0 || p != 1 {
		t.Errorf("of ties alone: %v, %v", statistic, p)
	}
	// Tables of the chi-squared distribution.
	for _, c := range [][3]float64{{3.841458820694124, 1, .05}, {18.307038053275146, 10, .05},
		{.0039321400000195, 1, .95}, {100, 3, 1.5541e-21}} {
		if got := chiSquaredTail(c[0], c[1]); math.Abs(got-c[2]) > 1e-4*c[2] {
			t.Errorf("above %v with %v degrees: %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

// The rank sums and exact p of Demšar's example with Pratt's zeros, as SciPy's ranks give them.
func TestWilcoxon(t *testing.T) {
	for pair, want := range map[[2]int][3]float64{
		{0, 1}: {91.5, 10.5, .007812}, {0, 2}: {55, 49, .865967}, {0, 3}: {91, 13, .011230}, {1, 2}: {21, 83, .052979},
		{1, 3}: {62, 37, .450195}, {2, 3}: {85.5, 16.5, .027344},
	} {
		var differences []float64
		for _, row := range demsar {
			differences = append(differences, math.Round((row[pair[1]]-row[pair[0]])*1e9))
		}
		plus, minus, p := Wilcoxon(differences)
		if plus != want[0] || minus != want[1] || !near(p, want[2], 1e-6) {
			t.Errorf("%v: %v %v p %v, want %v", pair, plus, minus, p, want)
		}
	}
	if _, _, p := Wilcoxon([]float64{0, 0}); p != 1 {
		t.Errorf("of zeros alone p = %v", p)
	}
}
