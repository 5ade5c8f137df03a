package portable

import (
	"math"
	"testing"
)

func TestFunctions(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got-want) <= 4e-16*math.Abs(want)*4 }
	for x := -700.0; x <= 700; x += 0.37 {
		if got, want := Exp(x), math.Exp(x); math.Abs(got-want) > 1e-14*want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
		if got := Log(math.Exp(x)); math.Abs(got-math.Log(math.Exp(x))) > 1e-15*math.Abs(x)+1e-16 {
			t.Errorf("log(exp(%v)) = %v", x, got)
		}
	}
	// From tables of the normal distribution; scipy.stats.norm.ppf agrees.
	for u, want := range map[float64]float64{
		0.5: 0, 0.975: 1.959963984540054, 0.001: -3.090232306167813, 1e-10: -6.361340902404056,
		0.75: 0.6744897501960817,
	} {
		if got := NormalQuantile(u); !near(got, want) {
			t.Errorf("quantile %v is %v, want %v", u, got, want)
		}
		if got := Normal(want); math.Abs(got-u) > 1e-14*u {
			t.Errorf("the share below %v is %v, want %v", want, got, u)
		}
	}
}

func TestNormal(t *testing.T) {
	for x := -37.5; x <= 9; x += 0.0173 {
		if got, want := Normal(x), math.Erfc(-x/math.Sqrt2)/2; math.Abs(got-want) > 1e-12*want {
			t.Errorf("the share below %v is %v, want %v", x, got, want)
		}
	}
	if low, high := Normal(-1e9), Normal(1e9); low != 0 || high != 1 {
		t.Errorf("the share below -1e9 is %v, below 1e9 %v", low, high)
	}
}

// The bits are written down: a machine on which another test of this package passes could have others.
func TestBits(t *testing.T) {
	h := uint64(14695981039346656037)
	for i := range 2000 {
		x := (float64(i) - 1000) / 97
		for _, y := range []float64{Exp(x), Log(Exp(x)), Normal(x), NormalQuantile((float64(i) + 0.5) / 2000)} {
			h = (h ^ math.Float64bits(y)) * 1099511628211
		}
	}
	if want := uint64(0x8a7b9e5812fab11b); h != want {
		t.Errorf("the values have the hash %#x, want %#x", h, want)
	}
}
