package local

import (
	"fmt"
	"strings"
	"testing"
)

// waiting are pending trials: index, replicate and seconds, 0 if unknown.
type waiting [][3]int

// page is a page of two of them from an index on.
func (w *waiting) page(from int64) (page []candidate, err error) {
	for _, t := range *w {
		if int64(t[0]) >= from && len(page) < 2 {
			page = append(page, candidate{index: int64(t[0]), replicate: t[1],
				seconds: func() float64 { return float64(t[2]) }})
		}
	}
	return page, nil
}

func TestOrder(t *testing.T) {
	grid := waiting{{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {3, 0, 9}, {4, 1, 9}, {5, 2, 9}, {6, 0, 1}, {7, 1, 1}, {8, 2, 1}}
	for _, c := range []struct {
		name string
		of   waiting
		left float64
		want string
	}{
		{"nothing", nil, 5, ""},
		{"first replicates first", grid, 10, "0 3 6 1 4 7 2 5 8"},
		{"what does not end in time comes last", grid, 5, "0 6 1 7 2 8 3 4 5"},
		{"nothing ends in time", grid, 0.5, "0 3 6 1 4 7 2 5 8"},
		{"after the deadline", grid, -1, "0 3 6 1 4 7 2 5 8"},
		{"unknown times may do", waiting{{0, 0, 0}, {1, 0, 9}, {2, 0, 0}}, 5, "0 2 1"},
		{"replicates that are missing", waiting{{4, 7, 1}, {5, 3, 1}, {6, 900, 1}}, 5, "5 4 6"},
	} {
		for _, n := range []int{1, 2, 100} {
			var o order
			left := append(waiting{}, c.of...)
			var got []string
			for range len(c.of) + 1 {
				found, err := o.next(n, c.left, nil, left.page)
				if err != nil || len(found) > n {
					t.Fatalf("%s: %v, %v", c.name, found, err)
				}
				for _, f := range found { // they run
					got = append(got, fmt.Sprint(f.index))
					for i := range left {
						if int64(left[i][0]) == f.index {
							left = append(left[:i:i], left[i+1:]...)
							break
						}
					}
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s, %d at a time: %v, want %s", c.name, n, got, c.want)
			}
		}
	}
}

// Trials that come back, or are written later, are found; and less time leaves out what the time before did not.
func TestOrderGoesOn(t *testing.T) {
	w := waiting{{0, 0, 3}, {1, 1, 3}, {2, 0, 3}, {3, 1, 1}}
	var o order
	next := func(n int, left float64, want string) {
		t.Helper()
		found, err := o.next(n, left, nil, w.page)
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprint(f.index))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%v, %v, want %s", got, err, want)
		}
	}
	next(1, 5, "0")
	w = w[1:]
	next(1, 2, "3")
	w = waiting{{0, 0, 3}, {1, 1, 3}, {2, 0, 3}, {4, 0, 1}}
	next(1, 2, "0") // everything before was looked at, and does not end in time
	w = w[1:]
	next(2, 2, "2 4")
	w = w[:1]
	next(3, 2, "1")
	w = nil
	next(3, 2, "")
	w = waiting{{5, 0, 1}}
	next(3, 2, "5")
}

func TestRoom(t *testing.T) {
	for _, c := range []struct {
		slots, queued, running int64
		mean                   float64
		want                   int64
	}{
		{4, 0, 0, 0, 4}, {4, 1, 2, 0, 1}, {4, 0, 5, 0, 0}, // nothing known: one for each slot
		{4, 0, 4, 600, 0}, {4, 0, 3, 600, 1}, // long trials are chosen late
		{4, 0, 4, 0.5, 16}, {4, 10, 4, 0.5, 6}, {4, 20, 4, 0.5, 0}, // short ones wait
		{4, 13, 4, 0.5, 0}, {4, 0, 0, 1.5, 5}, // a few more are not worth the while
		{4, 0, 4, 1e-6, maxQueued},
	} {
		if got := room(c.slots, c.queued, c.running, c.mean); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
