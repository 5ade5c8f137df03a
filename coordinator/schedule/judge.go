package schedule

import (
	"fmt"
	"time"

	"sweep/sweep"
)

// askAgain is after how long a worker is told again to stand aside that takes jobs nevertheless.
const askAgain = 10 * time.Second

// asked is a worker that was told to stand aside.
type asked struct {
	at time.Time
	// pending means that it may not have heard of it yet.
	pending bool
}

// standsOut reports whether a worker is to blame for its failures rather than the trials: others complete trials of the
// class, and it fails several in a row for a reason of its own.
func standsOut(s *sweep.Suspect) bool { return s.Others && s.Failures >= sweep.StandsOut }

// judge decides about unconfirmed failures. A worker that stands out is set aside, and then its failures are retracted,
// if there is another one for the class. Failures are confirmed of a worker that is alone for its class, of the first
// trials of a class once there is one for each slot, and when nothing else of the sweep runs.
func (s *State) judge() (found bool) {
	if !s.discovered {
		return false
	}
	for _, sw := range s.ordered("") {
		judged := len(s.actions)
		waits := false
		for i := range sw.Suspects {
			suspect := &sw.Suspects[i]
			class := sw.class(suspect.Class)
			switch {
			case class == nil || class.Unconfirmed == 0:
			case !s.otherServes(sw.Pool, class, suspect.Worker):
				s.do(Confirm{sw.Sweep, suspect.Class, suspect.Worker})
				found = true
			case !standsOut(suspect):
			case s.setAside(sw, class, suspect):
				waits = true
			case suspect.Retractable > 0:
				s.do(Retract{sw.Sweep, suspect.Class, suspect.Worker})
				found = true
			}
		}
		if !waits && len(s.actions) == judged {
			found = s.confirmRest(sw) || found
		}
	}
	return found
}

// confirmRest confirms the failures of a sweep that cannot wait any longer.
func (s *State) confirmRest(sw *sweepState) (found bool) {
	if len(sw.Suspects) == 0 {
		return false
	}
	if s.nothingElse(sw) {
		s.do(Confirm{sw.Sweep, anyClass, ""})
		return true
	}
	slots := max(s.poolSlots()[sw.Pool], 1)
	for i := range sw.Classes {
		if class := &sw.Classes[i]; sw.Canary && !class.Tried && class.Unconfirmed >= slots {
			s.do(Confirm{sw.Sweep, class.Class, ""})
			found = true
		}
	}
	return found
}

// nothingElse reports whether no other trial of a sweep runs, or will before its failures are confirmed.
func (s *State) nothingElse(sw *sweepState) bool {
	_, active := sw.count()
	runnable, _ := s.pending(sw)
	return active+runnable == 0 && (sw.Unwritten == 0 || sw.generations != nil)
}

// class returns a class of a sweep, nil if it has no such one.
func (sw *sweepState) class(number int) *sweep.ClassBacklog {
	for i := range sw.Classes {
		if sw.Classes[i].Class == number {
			return &sw.Classes[i]
		}
	}
	return nil
}

// otherServes reports whether another worker than the named one takes trials of a class.
func (s *State) otherServes(pool string, class *sweep.ClassBacklog, name string) bool {
	for _, w := range s.workers.byID {
		if w.Ready && w.Name != name && w.queue.Pool == pool && w.Offer.Meets(&class.Requirement) {
			return true
		}
	}
	return false
}

// setAside tells a worker to stand aside that takes jobs, and reports whether it may not have heard of it yet: until
// then its pool gets no jobs.
func (s *State) setAside(sw *sweepState, class *sweep.ClassBacklog, suspect *sweep.Suspect) (waits bool) {
	for _, id := range sortedKeys(s.workers.byID) {
		w := s.workers.byID[id]
		if w.Name != suspect.Worker || !w.Ready || w.queue.Pool != sw.Pool {
			continue
		}
		if a := s.asked[id]; !a.pending && s.now.Sub(a.at) >= askAgain {
			s.asked[id] = asked{s.now, true}
			s.doNext(Aside{Pool: sw.Pool, Worker: id, Name: w.Name, Sweep: sw.Sweep, Class: class.Class,
				Requirement: requirement(class), Reason: fmt.Sprintf("%d trials of sweep %s in a row failed here, and "+
					"others complete them", suspect.Failures, sw.Sweep)})
		}
		waits = waits || s.asked[id].pending
	}
	return waits
}

// doubts says that failures are not confirmed, "" if there are none.
func (sw *sweepState) doubts() string {
	var n int64
	for i := range sw.Suspects {
		n += sw.Suspects[i].Unconfirmed
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s of worker %s may be its machine's: not counted yet", sweep.CountText(n, "failure"),
		sw.Suspects[0].Worker)
}
