package analysis

import "testing"

// The operations of a reflector of k coordinates, counted by hand: a product of two vectors has k
// multiplications and k - 1 additions, an update of one by another 2k operations.
func product(k int, norms bool) int {
	norm := 2*k - 1 + 1 // and the division
	if norms {
		norm = 0
	}
	return norm + (2*k - 1) + 1 + 2*k
}

func gradient(k int, norms, products bool) int {
	norm, alpha := 2*k-1+1, 2*k-1+1
	if norms {
		norm = 0
	}
	if products {
		alpha = 0
	}
	return norm + alpha + (2*k - 1 + 1) + 1 + 2*k + 5*k
}

func TestFlops(t *testing.T) {
	for _, c := range []struct{ n, m1, m2 int }{{1, 1, 0}, {1, 1, 1}, {7, 3, 0}, {7, 7, 0}, {9, 2, 5}, {128, 16, 16}} {
		for kept := range 4 {
			norms, products := kept&1 > 0, kept&2 > 0
			forward, backward, err := Flops(c.n, c.m1, c.m2, norms, products)
			if err != nil {
				t.Fatal(err)
			}
			wantForward, wantBackward := 0, 0
			for _, m := range []int{c.m1, c.m2} {
				for k := c.n; k > c.n-m; k-- {
					wantForward += product(k, norms)
					wantBackward += gradient(k, norms, products)
				}
			}
			if c.m2 > 0 {
				wantForward += c.n      // σ h
				wantBackward += 3 * c.n // σ g, and the two products of σ̂'s gradient
			}
			if forward != wantForward || backward != wantBackward {
				t.Errorf("%+v, kept %v, %v: %d forward and %d back, by hand %d and %d", c, norms, products,
					forward, backward, wantForward, wantBackward)
			}
		}
	}
	for _, c := range [][3]int{{0, 1, 0}, {-1, 1, 1}, {4, 0, 0}, {4, 5, 0}, {4, 1, -1}, {4, 1, 5}, {1 << 40, 1, 1}} {
		if _, _, err := Flops(c[0], c[1], c[2], true, true); err == nil {
			t.Errorf("n, m1, m2 = %v: no error", c)
		}
	}
}
