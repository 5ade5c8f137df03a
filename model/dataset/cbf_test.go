package dataset

import (
	"math"
	"path/filepath"
	"testing"

	"sweep/model/random"
)

func TestCBF(t *testing.T) {
	s := GenerateCBF(0, 30, 900)
	if s.Name != "generated-cbf" || s.Train.N != 30 || s.Test.N != 900 || s.Length != 128 || s.Classes != 3 ||
		s.OutputWidth != 4 || s.InputSize != 8 || s.Depth != 16 {
		t.Errorf("got %+v", s)
	}
	for _, p := range []*Part{&s.Train, &s.Test} {
		var count [3]int
		for i := range p.N {
			count[p.Labels[i]]++
			mean, variance := moments(p.Values[i*128 : (i+1)*128])
			if math.Abs(mean) > 1e-6 || math.Abs(variance-1) > 1e-5 {
				t.Fatalf("series %d has mean %v and variance %v", i, mean, variance)
			}
		}
		if count[0] != count[1] || count[1] != count[2] {
			t.Errorf("%v series a class", count)
		}
	}

	// Equal options, equal bits, and these very bits: results depend on them.
	if again := GenerateCBF(0, 30, 900); again.Digest != s.Digest {
		t.Error("the same options gave other series")
	}
	if s.Digest != "45bce6f4ed9db19fd7513feb37f5e019365e8512d53ca15b82cdb66908c77c3f" {
		t.Errorf("the series have changed: digest %s", s.Digest)
	}
	if other := GenerateCBF(1, 30, 900); other.Digest == s.Digest {
		t.Error("the seed changes nothing")
	}
	if small := GenerateCBF(0, 7, 2); small.Train.N != 7 || small.Test.N != 2 {
		t.Errorf("got %d and %d series", small.Train.N, small.Test.N)
	}
}

func moments(x []float32) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean) / float64(len(x)-1)
	}
	return mean, variance
}

// cylinder fits the step function that a cylinder is: from t = a to b (from 1, both in) the mean is high, elsewhere
// low;
// noise is the standard deviation around it.
func cylinder(x []float32) (a, b int, high, low, noise float64) {
	var sums [129]float64
	for i, v := range x {
		sums[i+1] = sums[i] + float64(v)
	}
	best := math.Inf(-1)
	for from := 8; from < 48; from++ {
		for to := from + 16; to <= 128; to++ {
			in, out := float64(to-from), float64(128-to+from)
			h := (sums[to] - sums[from]) / in
			l := (sums[128] - sums[to] + sums[from]) / out
			if gain := h*h*in + l*l*out; gain > best {
				best, a, b, high, low = gain, from+1, to, h, l
			}
		}
	}
	_, variance := moments(x)
	return a, b, high, low, math.Sqrt((variance*127 - best) / 126)
}

// The parameters of the cylinders, found again in the series: they are where Saito's definition has them.
func TestCBFParameters(t *testing.T) {
	s := GenerateCBF(2, 3, 3000)
	var n, sumA, sumWidth, sumHeight float64
	minA, maxA, minWidth, maxWidth := 128, 0, 128, 0
	for i := 0; i < s.Test.N; i += 3 {
		a, b, high, low, noise := cylinder(s.Test.Values[i*128 : (i+1)*128])
		n++
		sumA += float64(a)
		sumWidth += float64(b - a)
		sumHeight += (high - low) / noise
		minA, maxA = min(minA, a), max(maxA, a)
		minWidth, maxWidth = min(minWidth, b-a), max(maxWidth, b-a)
	}
	near := func(got, want int) bool { return got-want <= 1 && want-got <= 1 } // noise may move an end by one
	if !near(minA, 16) || !near(maxA, 32) || !near(minWidth, 32) || !near(maxWidth, 96) {
		t.Errorf("a in [%d, %d], b − a in [%d, %d]; want [16, 32] and [32, 96]", minA, maxA, minWidth, maxWidth)
	}
	// Five standard errors of uniform numbers; the height has variance 1 and its estimate some bias.
	if m := sumA / n; math.Abs(m-24) > 5*4.9/math.Sqrt(n) {
		t.Errorf("mean a is %v, want 24", m)
	}
	if m := sumWidth / n; math.Abs(m-64) > 5*18.8/math.Sqrt(n) {
		t.Errorf("mean b − a is %v, want 64", m)
	}
	if m := sumHeight / n; math.Abs(m-6) > 0.2 {
		t.Errorf("mean height is %v times the noise, want 6", m)
	}
}

// A bell rises to its end, a funnel falls from its start, with the slopes of the definition: mirrored in time around
// a and
// b they have the same mean.
func TestCBFSlopes(t *testing.T) {
	for shape, wantSign := range map[int]float64{0: 0, 1: 1, 2: -1} {
		source := random.New(6, 6)
		x := make([]float32, 128)
		slope := 0.0
		const n = 3000
		for range n {
			cbfSeries(x, source, shape)
			// In every series 33 … 47 is within [a, b].
			slope += float64(x[46]-x[32]) / 14 / n
		}
		if math.Abs(slope) > 3e-3 != (wantSign != 0) || slope*wantSign < 0 {
			t.Errorf("shape %d: mean slope %v", shape+1, slope)
		}
	}
}

// Labels and shapes mean the same as in the archive's CBF: the nearest generated series tells the class of the
// archive's.
func TestCBFAgainstArchive(t *testing.T) {
	archive, err := LoadUCR(filepath.Join(realData(t), "ucr"), "CBF", "")
	if err != nil {
		t.Fatal(err)
	}
	generated := GenerateCBF(4, 600, 900)
	right := 0
	for i := range archive.Test.N {
		x := archive.Test.Values[i*128:][:128]
		best, class := float32(math.Inf(1)), -1
		for j := range generated.Train.N {
			d := float32(0)
			for k, v := range generated.Train.Values[j*128:][:128] {
				d += (v - x[k]) * (v - x[k])
			}
			if d < best {
				best, class = d, generated.Train.Labels[j]
			}
		}
		if class == archive.Test.Labels[i] {
			right++
		}
	}
	if share := float64(right) / float64(archive.Test.N); share < 0.95 {
		t.Errorf("the nearest generated series has the archive's label for %.3f of its series", share)
	}
}
