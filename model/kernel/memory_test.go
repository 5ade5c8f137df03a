package kernel

import "testing"

func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, 1000, hugeBytes/4 - 1, hugeBytes / 4, 3*hugeBytes/4 + 5} {
		x := Make[float32](n)
		if len(x) != n {
			t.Fatalf("%d elements, want %d", len(x), n)
		}
		for i := range x {
			if x[i] != 0 {
				t.Fatalf("element %d of %d is %v", i, n, x[i])
			}
			x[i] = float32(i)
		}
		for i, v := range x {
			if v != float32(i) {
				t.Fatalf("element %d of %d is %v after it was written", i, n, v)
			}
		}
	}
}
