package coordinator

import (
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// lane is an active sweep as the scheduler sees it. The store is the truth;
// a lane is what was read of it last.
type lane struct {
	record   sweep.SweepRecord
	progress sweep.Progress
	// grids are the record's grids, opened when the cursor first reaches them.
	grids []*sweep.Grid
	// volatile are the metrics left out of digests, grid by grid.
	volatile [][]string
	// refused are the results of written points that do not resolve, which the
	// store does not have yet. Nothing else is done for the sweep before it has.
	refused []sweep.Event
}

// unwritten is the number of points that still need a trial row.
func (l *lane) unwritten() int64 {
	var n int64
	for _, g := range l.record.Grids {
		if !g.Cancelled {
			n += g.Points - g.Cursor
		}
	}
	return n
}

// waiting is the number of trial rows that could be queued.
func (l *lane) waiting() int64 {
	return max(0, l.progress.Pending-l.unwritten())
}

// outstanding is the number of trials that are queued or running.
func (l *lane) outstanding() int64 {
	return l.progress.Queued + l.progress.Running
}

// update takes over a newer record and keeps the grids that are open.
func (l *lane) update(record sweep.SweepRecord) {
	l.record = record
	for len(l.grids) < len(record.Grids) {
		l.volatile = append(l.volatile, wire.VolatileOf(&record.Grids[len(l.grids)].Submission.Description))
		l.grids = append(l.grids, nil)
	}
}

// job returns the job of a trial.
func (l *lane) job(t sweep.Trial) wire.Job {
	job := wire.Job{Trial: t, Trainer: l.record.Trainer, Pool: l.record.Pool}
	for i := range l.record.Grids {
		if g := &l.record.Grids[i]; t.Index >= g.First && t.Index < g.First+g.Points {
			job.ResultVersion = g.Submission.Description.ResultVersion
			job.Limits = g.Submission.Spec.Limits
			job.Volatile = l.volatile[i]
		}
	}
	return job
}

// byPriority orders lanes: larger priority first, then the older sweep.
func byPriority(a, b *lane) int {
	if a.record.Priority != b.record.Priority {
		return b.record.Priority - a.record.Priority
	}
	return strings.Compare(a.record.ID, b.record.ID)
}

// deal hands out room places in a pool's queue and returns the lane of each,
// in the order in which the jobs are to be published. A lane of lower priority
// gets nothing while one of higher priority has a trial left, written or not;
// among equals the next place goes to the lane with the fewest trials queued
// and running, so that each has the same share of the workers.
func deal(room int64, lanes []*lane) []*lane {
	lanes = slices.SortedFunc(slices.Values(lanes), byPriority)
	var places []*lane
	for len(lanes) > 0 && room > 0 {
		equals := 1
		for equals < len(lanes) && lanes[equals].record.Priority == lanes[0].record.Priority {
			equals++
		}
		hands := make([]hand, equals)
		unwritten := false
		for i, l := range lanes[:equals] {
			hands[i] = hand{l, l.outstanding(), l.waiting()}
			unwritten = unwritten || l.unwritten() > 0
		}
		for ; room > 0; room-- {
			next := poorest(hands)
			if next == nil {
				break
			}
			next.has++
			next.waiting--
			places = append(places, next.lane)
		}
		if unwritten {
			break // the expander has more for this priority
		}
		lanes = lanes[equals:]
	}
	return places
}

// hand is what a lane has and could have while places are dealt.
type hand struct {
	lane         *lane
	has, waiting int64
}

// poorest returns the first hand with the fewest trials of those that have one
// waiting, nil if none has.
func poorest(hands []hand) *hand {
	var found *hand
	for i := range hands {
		if h := &hands[i]; h.waiting > 0 && (found == nil || h.has < found.has) {
			found = h
		}
	}
	return found
}
