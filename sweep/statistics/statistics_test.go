package statistics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// demsar has the AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets: J. Demšar, Statistical
// comparisons of classifiers over multiple data sets, JMLR 7 (2006), Table 6.
var demsar = [][]float64{
	{.763, .599, .954, .628, .882, .936, .661, .583, .775, 1, .940, .619, .972, .957},
	{.768, .591, .971, .661, .888, .931, .668, .583, .838, 1, .962, .666, .981, .978},
	{.771, .590, .968, .654, .886, .916, .609, .563, .866, 1, .965, .614, .975, .946},
	{.798, .569, .967, .657, .898, .931, .685, .625, .875, 1, .962, .669, .975, .970},
}

func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %.9g, want %.9g", name, got, want)
	}
}

// The figures are SciPy's.
func TestFriedman(t *testing.T) {
	negative := make([][]float64, len(demsar)) // a large AUC is good
	for i := range demsar {
		for _, x := range demsar[i] {
			negative[i] = append(negative[i], -x)
		}
	}
	f := Friedman(negative)
	for i, want := range []float64{3.142857, 2, 2.928571, 1.928571} {
		near(t, "mean rank", f.Ranks[i], want, 1e-6)
	}
	near(t, "χ²", f.ChiSquared, 10.952381, 1e-6)
	near(t, "p", f.P, .0119862, 1e-7)
	inf := math.Inf(1)
	for _, equal := range [][][]float64{nil, {}, {{1, 2}}, {{}, {}}, {{1, 2}, {1, 2}, {1, 2}}, {{inf, inf}, {inf, inf}}} {
		if f := Friedman(equal); f.P != 1 || f.ChiSquared != 0 {
			t.Errorf("%v: %+v", equal, f)
		}
	}
}

func TestChiSquaredTail(t *testing.T) {
	// scipy.stats.chi2.sf
	for _, c := range []struct {
		x       float64
		degrees int
		want    float64
	}{
		{3.841458820694124, 1, .05}, {5.991464547107979, 2, .05}, {7.814727903251179, 3, .05}, {9.487729036781154, 4, .05},
		{18.307038053275146, 10, .05}, {19.67513757268249, 11, .05}, {124.3421134040111, 100, .05},
		{.001, 1, .9747728793699604}, {1e-3, 2, .9995001249791693}, {0, 5, 1},
	} {
		near(t, "tail", chiSquaredTail(c.x, c.degrees), c.want, 1e-12)
	}
	// The mean of χ² is its number of degrees, so its tail is about ½ there, also where e^(−x/2) underflows.
	for _, degrees := range []int{1999, 2000} {
		if p := chiSquaredTail(float64(degrees), degrees); p < .49 || p > .5 {
			t.Errorf("%d degrees: %g at the mean", degrees, p)
		}
	}
}

// The figures are those of an exact computation with fractions, and SciPy's where there are no ties.
func TestWilcoxon(t *testing.T) {
	for _, c := range []struct {
		a, b                int
		zeros               Zeros
		plus, minus, exactP float64
	}{
		{0, 1, Drop, 71.5, 6.5, .007324}, {0, 1, Pratt, 91.5, 10.5, .007812},
		{0, 2, Drop, 48, 43, .877930}, {0, 2, Pratt, 55, 49, .865967},
		{0, 3, Drop, 80, 11, .012451}, {0, 3, Pratt, 91, 13, .011230},
		{1, 2, Drop, 18, 73, .057129}, {1, 2, Pratt, 21, 83, .052979},
		{1, 3, Drop, 44, 22, .353516}, {1, 3, Pratt, 62, 37, .450195},
		{2, 3, Drop, 67.5, 10.5, .021973}, {2, 3, Pratt, 85.5, 16.5, .027344},
	} {
		r := Wilcoxon(demsar[c.b], demsar[c.a], c.zeros)
		if r.Plus != c.plus || r.Minus != c.minus {
			t.Errorf("%+v: ranks %g and %g", c, r.Plus, r.Minus)
		}
		near(t, "p", r.TwoSided, c.exactP, 1e-6)
	}
	inf := math.Inf(1)
	if r := Wilcoxon([]float64{2, 3, inf, 5, 6}, []float64{1, 1, 1, 1, 1}, Pratt); r.Greater != 1./32 {
		t.Errorf("five of five: %+v", r)
	}
	if r := Wilcoxon([]float64{inf, 1}, []float64{inf, 1}, Pratt); r.Greater != 1 || r.TwoSided != 1 {
		t.Errorf("no difference: %+v", r)
	}
}

// One exploded block has its own precision, whatever its size: it does not hide the differences of the others.
func TestExplodedBlock(t *testing.T) {
	a, b := make([]float64, 9), make([]float64, 9)
	for i := range a {
		a[i], b[i] = .2+.01*float64(i+1), .2
	}
	for _, exploded := range []float64{1e3, 1e12, 1e300, math.MaxFloat64, math.Inf(1)} {
		for _, zeros := range []Zeros{Drop, Pratt} {
			a[4], b[4] = exploded, .2
			if r := Wilcoxon(a, b, zeros); r.Greater != 1./512 {
				t.Errorf("one of %g: %+v", exploded, r)
			}
			a[4], b[4] = exploded, exploded*(1-1e-12) // both, and equal
			if r := Wilcoxon(a, b, zeros); r.Greater != 1./256 {
				t.Errorf("two of %g: %+v", exploded, r)
			}
		}
	}
}

// Values that rounding alone distinguishes are equal in both tests, and differences, too.
func TestEqualButForRounding(t *testing.T) {
	a, b := []float64{.1 + .2, 1, 2, -3, 1e-20}, []float64{.3, 1 + 1e-12, 2 - 1e-12, -3 - 1e-12, 1e-20 * (1 + 1e-12)}
	if r := Wilcoxon(a, b, Pratt); r.Plus != 0 || r.Minus != 0 {
		t.Errorf("differences of rounding: %+v", r)
	}
	if f := Friedman([][]float64{a, b}); f.P != 1 || f.Ranks[0] != 1.5 {
		t.Errorf("ranks by rounding: %+v", f)
	}
	// .8 - .7 and .3 - .2 differ in their last bits.
	if r := Wilcoxon([]float64{.8, .2}, []float64{.7, .3}, Drop); r.Plus != 1.5 || r.Minus != 1.5 {
		t.Errorf("equal differences: %+v", r)
	}
	// Small values are not equal because others are large.
	if f := Friedman([][]float64{{1e-12, 1e9}, {2e-12, 2e9}}); f.Ranks[0] != 1 {
		t.Errorf("small values: %+v", f)
	}
	inf := math.Inf(1)
	if f := Friedman([][]float64{{1}, {inf}, {inf}, {-inf}}); f.Ranks[1] != 3.5 || f.Ranks[0] != 2 {
		t.Errorf("infinities: %+v", f)
	}
}

// The probabilities are those of all signs, and both one-sided ones cover all cases.
func TestWilcoxonCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		n := 1 + random.IntN(9)
		a, zero := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i] = float64(random.IntN(9) - 4)
		}
		r := Wilcoxon(a, zero, Pratt)
		atLeast, flipped := 0, make([]float64, n)
		for signs := range 1 << n {
			for i := range a {
				flipped[i] = a[i]
				if signs>>i&1 == 1 {
					flipped[i] = -a[i]
				}
			}
			if Wilcoxon(flipped, zero, Pratt).Plus >= r.Plus {
				atLeast++
			}
		}
		near(t, "greater", r.Greater, float64(atLeast)/float64(int(1)<<n), 1e-12)
	}
}
