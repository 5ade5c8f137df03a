package random

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestRandomBits holds the first numbers of a seed: a change of them changes
// the result of every trial, and then the trainer's result version, too.
func TestRandomBits(t *testing.T) {
	r := New(1, 2)
	got := []float64{r.Uniform(), r.Uniform(), r.Normal(), r.Normal(), r.Normal(), float64(r.Below(1000))}
	want := []float64{0x1.1627d99ad979fp-01, 0x1.0b15f25a116ep-06, -0x1.4f8dbdd0b428dp+00, 0x1.52982ffef1ad2p-02,
		0x1.3ee2b602a38dep-02, 962}
	if !slices.Equal(got, want) {
		t.Errorf("seed 1, stream 2 gives %x, want %x", got, want)
	}
}

func TestNormal(t *testing.T) {
	r := New(5, 0)
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
	r := New(6, 0)
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
	r := New(7, 0)
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

// The known answers of the authors' Random123, kat_vectors.
func TestPhilox(t *testing.T) {
	for _, c := range []struct {
		counter [4]uint32
		key     key
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, key{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, key{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		n0, n1, n2, n3 := philox(c.key, c.counter[0], c.counter[1], c.counter[2], c.counter[3])
		if got := [4]uint32{n0, n1, n2, n3}; got != c.want {
			t.Errorf("%x enciphered with %x is %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

// Sequences of other seeds, streams and indexes are others.
func TestStreams(t *testing.T) {
	seen := map[uint64]string{}
	for _, seed := range []uint64{0, 1, 2, 1 << 32, 1 << 63} {
		for _, stream := range []Stream{Weights, Split, Order, Order.At(1), Order.At(2), Order.At(1 << 40),
			Dropout.At(1)} {
			source := New(seed, stream)
			for range 10 {
				bits := source.Uint64()
				here := fmt.Sprintf("seed %d, stream %d", seed, stream)
				if there, ok := seen[bits]; ok {
					t.Errorf("%s gives %x, as %s", here, bits, there)
				}
				seen[bits] = here
			}
		}
	}
}

// A mask leaves out its share, and each of its elements depends on nothing but
// layer, step, row and column.
func TestMask(t *testing.T) {
	const rows, columns, share = 500, 101, .3
	mask := NewMask(3, 1, share)
	masks := map[[3]int][]float32{} // of layer, step and row
	out := 0
	for row := range rows {
		whole, part := make([]float32, columns), make([]float32, columns-37)
		Row(mask, whole, 2, 5, row)
		Row(mask, part, 2, 5, row)
		if !slices.Equal(part, whole[:len(part)]) {
			t.Fatalf("row %d depends on its length", row)
		}
		for _, x := range whole {
			switch x {
			case 0:
				out++
			case 2:
			default:
				t.Fatalf("an element is %v, want 0 or 2", x)
			}
		}
		masks[[3]int{1, 5, row}] = whole
	}
	if got := float64(out) / (rows * columns); math.Abs(got-share) > 5*math.Sqrt(share*(1-share)/(rows*columns)) {
		t.Errorf("a share of %v is left out, want %v", got, share)
	}
	for _, place := range [][3]int{{2, 5, 0}, {1, 6, 0}, {1, 5 + 1<<32, 0}} {
		other := make([]float32, columns)
		Row(NewMask(3, place[0], share), other, 2, place[1], place[2])
		masks[place] = other
	}
	for place, mask := range masks {
		for other, second := range masks {
			if place != other && slices.Equal(mask, second) {
				t.Errorf("layer, step and row %v have the mask of %v", place, other)
			}
		}
	}
	none, all := make([]float64, 50), make([]float64, 50)
	Row(NewMask(3, 0, 0), none, 1, 0, 0)
	Row(NewMask(3, 0, 1), all, 1, 0, 0)
	if slices.Contains(none, 0) || slices.Contains(all, 1) {
		t.Errorf("probability 0 gives %v, probability 1 %v", none, all)
	}
}

func BenchmarkNormal(b *testing.B) {
	source := New(1, Weights)
	for b.Loop() {
		source.Normal()
	}
}

func BenchmarkMask(b *testing.B) {
	row := make([]float32, 128)
	mask := NewMask(1, 0, .5)
	for b.Loop() {
		Row(mask, row, 2, 1, 1)
	}
}
