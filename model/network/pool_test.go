package network

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sweep/model/kernel"
	"sweep/model/random"
)

// Threads that share products write what one writes, one product after the other in the same place.
func TestPoolSharesProducts(t *testing.T) {
	p := newPool(3)
	defer p.close()
	set := kernel.Float32()
	shared := set.Shared(3, p.run)
	var right kernel.Packed[float32]
	const rows, inner, cols = 9, 300, 515
	a, b := kernel.NewMatrix[float32](rows, inner), kernel.NewMatrix[float32](inner, cols)
	source := random.New(1, 2)
	random.Gaussian(b.Data, 1, source)
	set.Pack(&right, b)
	want, got := kernel.NewMatrix[float32](rows, cols), kernel.NewMatrix[float32](rows, cols)
	for round := range 20 {
		random.Gaussian(a.Data, 1, source)
		set.Multiply(want, a, &right)
		shared.Multiply(got, a, &right)
		if !slices.Equal(got.Data, want.Data) {
			t.Fatalf("round %d: shared products differ", round)
		}
	}
}

func TestPoolDoesEachPartOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := newPool(threads)
		for round := range 300 {
			parts := round % 7
			var done [7]atomic.Int32
			p.run(parts, func(i int) { done[i].Add(1) })
			for i := range done {
				want := int32(0)
				if i < parts {
					want = 1
				}
				if got := done[i].Load(); got != want {
					t.Fatalf("%d threads, round %d: part %d of %d was done %d times", threads, round, i, parts, got)
				}
			}
			if round%100 == 50 {
				until := time.Now().Add(2 * spinTime)
				for time.Now().Before(until) { // long enough for workers to fall asleep
				}
			}
		}
		p.close()
	}
}

func TestPoolHandsOverPanic(t *testing.T) {
	p := newPool(3)
	defer p.close()
	for range 20 {
		func() {
			defer func() {
				if failure := recover(); failure != "part 3" {
					t.Errorf("recovered %v", failure)
				}
			}()
			p.run(5, func(i int) {
				if i == 3 {
					panic("part 3")
				}
			})
		}()
	}
	var sum atomic.Int32
	p.run(5, func(i int) { sum.Add(int32(i)) })
	if sum.Load() != 10 {
		t.Errorf("after a panic the parts' sum is %d", sum.Load())
	}
}
