package schedule

import (
	"slices"
	"time"

	"sweep/sweep"
)

// canaryTime is how long the first trial of a class runs before the slots get others, none of which has
// completed either: one that fails at once has failed by then, and slots do not stay idle for hours.
const canaryTime = time.Minute

// canary is the first trial of a class.
type canary struct {
	// began is when it was first seen to run.
	began time.Time
	// long means that it runs for canaryTime.
	long bool
}

// hold decides how many pending trials of each class must not be queued yet, because none of their
// class has completed: all but one or, while that one runs long, all but one for each slot.
func (s *State) hold() {
	var all map[string]int64 // slots of pools
	for _, sw := range s.sweeps {
		sw.held = sw.held[:0]
		if !sw.Canary || !slices.ContainsFunc(sw.Classes, untried) {
			continue
		}
		if all == nil {
			all = s.poolSlots()
		}
		slots := max(all[sw.Pool], 1)
		free := slots
		for i := range sw.Classes {
			if class := &sw.Classes[i]; !class.Tried {
				free -= class.Queued + class.Running
			}
		}
		for i := range sw.Classes {
			class := &sw.Classes[i]
			if class.Tried {
				sw.held = append(sw.held, 0)
				continue
			}
			most := int64(1)
			switch {
			case s.watch(sw, class):
				most = slots
			case class.Unconfirmed > 0 && !s.discovered: // is there a worker whose trial would tell who is to blame?
				most = 0
			}
			let := max(min(most-class.Queued-class.Running, free, class.Pending), 0)
			free -= let
			sw.held = append(sw.held, class.Pending-let)
		}
	}
}

func untried(class sweep.ClassBacklog) bool { return !class.Tried }

// watch notes since when trials of a class run, and reports whether it is long.
func (s *State) watch(sw *sweepState, class *sweep.ClassBacklog) (long bool) {
	c, known := sw.canaries[class.Class]
	switch {
	case class.Running == 0:
		delete(sw.canaries, class.Class)
		return false
	case !known:
		c.began = s.now
	case !c.long && s.now.Sub(c.began) >= canaryTime:
		c.long = true
		s.reassign(sw.Pool)
	}
	sw.canaries[class.Class] = c
	return c.long
}

// ready is how many pending trials of a class may be queued.
func (sw *sweepState) ready(i int) int64 {
	withheld := sw.Classes[i].Withheld
	if len(sw.held) > 0 {
		withheld = max(withheld, sw.held[i])
	}
	return sw.Classes[i].Pending - withheld
}

// holds reports whether pending trials must not be queued yet.
func (sw *sweepState) holds() bool {
	return slices.ContainsFunc(sw.held, func(n int64) bool { return n > 0 })
}

// awaitsFirst says that trials wait for the first one of their class, "" if none do.
func (sw *sweepState) awaitsFirst() string {
	for i := range sw.held {
		c, runs := sw.canaries[sw.Classes[i].Class]
		if sw.held[i] > 0 && runs && !c.long {
			return "the first trial runs alone: the others are queued when it has completed, or has run for a minute"
		}
	}
	return ""
}

// halt pauses the sweeps whose trials fail: the first one of a class, or too many in a row with errors of one cause.
func (s *State) halt() (found bool) {
	for _, id := range s.failing() {
		sw := s.sweeps[id]
		i := slices.IndexFunc(sw.Classes, sw.fails)
		s.do(Halt{id, sw.Classes[i].Errors.Reason()})
		found = true
	}
	return found
}

// failing returns the sweeps with a class that fails, and with trials that have not been queued.
func (s *State) failing() (ids []string) {
	for id, sw := range s.sweeps {
		if left, _ := sw.count(); left > 0 && slices.ContainsFunc(sw.Classes, sw.fails) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// fails reports whether the trials of a class fail so that the sweep is to be paused.
func (sw *sweepState) fails(class sweep.ClassBacklog) bool {
	n := class.Errors.Count
	return n > 0 && (sw.Canary && !class.Tried || sw.MaxErrors > 0 && n >= sw.MaxErrors)
}

// passes reports whether a trial of a class has completed now that others waited for. Then the jobs of the other sweeps
// are assigned again.
func passes(before, now *sweep.Backlog) bool {
	return before.Canary && slices.ContainsFunc(now.Classes, func(class sweep.ClassBacklog) bool {
		return class.Tried && slices.ContainsFunc(before.Classes, func(c sweep.ClassBacklog) bool {
			return c.Class == class.Class && !c.Tried
		})
	})
}
