package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// fault is something that breaks at a moment and is mended at a later one, both counted from the first fault on.
type fault struct {
	kind
	at, mended time.Duration
	// coordinator and worker are whom it strikes, sweep a sweep, cut how a link breaks, and delay how slow it becomes.
	coordinator, worker int
	sweep               string
	cut                 cut
	delay               time.Duration
	// also means that the children of a process are struck, too; number is for whatever else is drawn.
	also   bool
	number int
}

// plan are the faults of a seed, in the order of their beginnings.
type plan []*fault

// newPlan draws the faults of a seed.
func newPlan(seed uint64) (p plan) {
	random := rand.New(rand.NewPCG(seed, 0x5eed))
	between := func(from, to time.Duration) time.Duration {
		return from + time.Duration(random.Int64N(max(int64(to-from), 1)))
	}
	at := time.Duration(0)
	for range 8 + random.IntN(7) {
		at += between(200*time.Millisecond, 2500*time.Millisecond)
		f := &fault{kind: kinds[random.IntN(len(kinds))], at: at, coordinator: random.IntN(coordinators),
			worker: random.IntN(workers), sweep: sweeps[random.IntN(len(sweeps))].name,
			cut: cuts[random.IntN(len(cuts))], delay: between(50*time.Millisecond, 1200*time.Millisecond),
			also: random.IntN(2) == 0, number: random.IntN(1000)}
		f.mended = at + between(f.shortest, f.longest)
		p = append(p, f)
	}
	return p
}

// String lists the faults.
func (p plan) String() string {
	var b strings.Builder
	for _, f := range p {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// String is the fault in a line.
func (f *fault) String() string {
	text := fmt.Sprintf("%5.1f s to %5.1f s  %s: %s", f.at.Seconds(), f.mended.Seconds(), f.name, f.whom(f))
	return strings.TrimRight(text, ": ")
}

// moment is one at which something is done.
type moment struct {
	at   time.Duration
	what string
	do   func()
}

// moments are when faults begin and end, in their order.
func (p plan) moments(c *cluster) (list []moment) {
	for _, f := range p {
		list = append(list, moment{f.at, "break: " + f.String(), func() { f.strike(c, f) }})
		if f.mend != nil {
			list = append(list, moment{f.mended, "mend: " + f.String(), func() { f.mend(c, f) }})
		}
	}
	slices.SortStableFunc(list, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	return list
}
