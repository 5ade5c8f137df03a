package store

import (
	"testing"
	"time"
)

// TestPace: a lease follows the slowest of the last renewals at once, and the quickest of later ones late.
func TestPace(t *testing.T) {
	t.Parallel()
	var p pace
	check := func(when string, lease, answer, patience, quickest time.Duration) {
		t.Helper()
		if p.lease() != lease || p.answer() != answer || p.patience() != patience || p.quickest() != quickest {
			t.Errorf("%s: a lease of %v, an answer within %v, a check within %v, the quickest %v", when, p.lease(),
				p.answer(), p.patience(), p.quickest())
		}
	}
	check("at first", shortestLease, leastAnswer, leastCheck, 0)
	for range len(p.took) {
		p.note(time.Millisecond)
	}
	check("quick answers", shortestLease, leastAnswer, leastCheck, time.Millisecond)
	p.note(time.Second)
	check("one slow answer", 5*time.Second, 5*time.Second, 3*time.Second, time.Millisecond)
	for range len(p.took) - 1 {
		p.note(400 * time.Millisecond)
	}
	check("slow answers", 5*time.Second, 5*time.Second, 3*time.Second, 400*time.Millisecond)
	p.note(400 * time.Millisecond)
	check("the slowest is forgotten", shortestLease, leastAnswer, leastCheck, 400*time.Millisecond)
	p.note(20 * time.Second)
	check("an answer that nobody waits for", longestLease, silent, checkTime, 400*time.Millisecond)
	if impossible <= longestLease {
		t.Error("the longest lease counts as that of a clock that was set back")
	}
}
