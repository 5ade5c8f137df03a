package weight

import (
	"math"
	"slices"
	"testing"
)

// TestRandomBits holds the first numbers of a seed: a change of them changes
// the result of every trial, and then the trainer's result version, too.
func TestRandomBits(t *testing.T) {
	r := NewRandom(1, 2)
	got := []float64{r.Uniform(), r.Uniform(), r.Normal(), r.Normal(), r.Normal(), float64(r.Below(1000))}
	want := []float64{0x1.89eb4b0cadddfp-01, 0x1.3b9d875a0efbdp-01, 0x1.39ea71674f376p-01, -0x1.59d394bada6fap-08, -0x1.123b6596f93cap-02, 999}
	if !slices.Equal(got, want) {
		t.Errorf("seed 1, stream 2 gives %x, want %x", got, want)
	}
}

func TestNormal(t *testing.T) {
	r := NewRandom(5, 0)
	const count = 200_000
	var moments [5]float64
	within := 0
	for range count {
		x := r.Normal()
		power := 1.0
		for k := range moments {
			moments[k] += power / count
			power *= x
		}
		if math.Abs(x) < 1 {
			within++
		}
	}
	// About four standard errors each.
	for k, c := range []struct{ want, error float64 }{{1, 1e-9}, {0, .009}, {1, .013}, {0, .035}, {3, .09}} {
		if math.Abs(moments[k]-c.want) > c.error {
			t.Errorf("moment %d is %v, want %v", k, moments[k], c.want)
		}
	}
	if share := float64(within) / count; math.Abs(share-.6827) > .0042 {
		t.Errorf("a share of %v is within one standard deviation", share)
	}
}

func TestLogarithm(t *testing.T) {
	r := NewRandom(6, 0)
	for range 10_000 {
		x := math.Ldexp(r.Uniform(), -r.Below(60))
		got, want := logarithm(x), math.Log(x)
		if math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Fatalf("logarithm(%v) = %v, want %v", x, got, want)
		}
	}
	// Near 1, where a sum of two terms would cancel.
	for _, x := range []float64{1, 1 - 1e-9, 1 - 0x1p-53, 1 + 1e-9} {
		if got, want := logarithm(x), math.Log(x); math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Errorf("logarithm(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestBelowAndShuffle(t *testing.T) {
	r := NewRandom(7, 0)
	counts := make([]int, 6)
	const rolls = 60_000
	for range rolls {
		counts[r.Below(6)]++
	}
	for face, count := range counts {
		if math.Abs(float64(count)-rolls/6) > 400 {
			t.Errorf("%d comes %d times in %d", face, count, rolls)
		}
	}
	order := make([]int, 100)
	for i := range order {
		order[i] = i
	}
	r.Shuffle(order)
	if slices.IsSorted(order) {
		t.Error("Shuffle leaves the order")
	}
	slices.Sort(order)
	for i, x := range order {
		if i != x {
			t.Fatal("Shuffle loses elements")
		}
	}
}

func TestRandomState(t *testing.T) {
	r := NewRandom(8, 9)
	r.Normal()
	state, err := r.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var restored Random
	if err := restored.UnmarshalBinary(state); err != nil {
		t.Fatal(err)
	}
	if a, b := r.Normal(), restored.Normal(); a != b {
		t.Errorf("a restored generator gives %v, not %v", b, a)
	}
	if err := restored.UnmarshalBinary(state[:3]); err == nil {
		t.Error("half a state is taken")
	}
	if a, b := NewRandom(8, 9).Uint64(), NewRandom(8, 10).Uint64(); a == b {
		t.Error("two streams of a seed are one")
	}
}
