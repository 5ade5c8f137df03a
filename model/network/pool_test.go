package network

import (
	"sync/atomic"
	"testing"
	"time"
)

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
