package schedule

import "sweep/sweep"

// Fact is something that happened. Its types are in this file.
type Fact interface{ apply(s *State) }

// Heartbeat is a worker's heartbeat.
type Heartbeat struct {
	Worker, Name string
	Offer        sweep.Offer
	// Ready means that it takes jobs, Gone that it ends. Aside is why it is set aside, if it is. Running are its
	// executions.
	Ready, Gone bool
	Aside       string
	Running     []Running
	// Devices are those that its trials may hold.
	Devices []Device
	// Storing are executions that have ended and occupy no slot; their results come when their artifacts are stored.
	Storing []Running
}

// Running is a running execution.
type Running struct {
	sweep.TrialID
	Execution string
	// Need is the key of what it holds of devices.
	Need string
}

// Heard says that events arrived by which trials no longer wait in a queue. A trial that was given back
// by such an event may be dispatched again before the schedule hears of the event.
type Heard struct{ Trials []sweep.TrialID }

// Lost says that the jobs of trials are gone, unless an event of a trial arrived since.
type Lost struct{ Trials []sweep.Heard }

// Generations says how far a sweep is whose trials are written in generations, each when all trials before it have
// ended.
type Generations struct {
	// Generation counts from 1 the generations that are written.
	Generation int64
	// Choosing means that the next one is to be chosen, that after so many trials of a grid.
	Choosing bool
	Grid     int
	Written  int64
}

// Chosen is the answer to a Choose: what was decided, for the Write or Stop that follows; nil if nothing was.
type Chosen struct {
	Sweep    string
	Running  bool
	Decision any
}

// Observed says that trials of sweeps whose policies compare trials that run have got further.
type Observed struct{ Sweeps []string }

// Changed says that sweeps were added, ended or changed.
type Changed struct{}

// Adopted says that another coordinator published a trial's job, which is in a queue.
type Adopted struct {
	Queue Queue
	sweep.TrialID
}

// QueuesLost says that the broker has lost queues.
type QueuesLost struct{ Queues []Queue }

// Paused is the command to withdraw the jobs of a paused sweep. The actions that follow have the same
// Command, which belongs to the caller.
type Paused struct {
	Command any
	Sweep   string
}

// Cancelled is the command to remove the jobs of cancelled trials: all of a sweep's if Indices is
// empty. Active are the trials that had not ended. The Purge that follows has the same Command.
type Cancelled struct {
	Command any
	Pool    string
	Sweep   string
	Active  []sweep.TrialID
	Indices []int64
}

// Done says that an action ended.
type Done struct {
	Action Action
	// Err is the broker's error; All means that it affects all pools, as of a full broker. For
	// a Write, Err is why the sweep cannot be expanded, for a Stop why nothing can be decided about its trials.
	Err error
	All bool
	// Generations is set for a Write of a sweep whose trials are written in generations.
	Generations *Generations
	// Backlogs are those of the sweeps that were read.
	Backlogs []sweep.Backlog
	// Jobs are those of the trials that were marked as queued; they are being published. There
	// are fewer than places if the sweep has changed meanwhile. Unused are trials that were marked and
	// have no job.
	Jobs   []Job
	Unused []sweep.TrialID
	// Trials are those whose jobs were withdrawn. They are set even if there was an error.
	Trials []sweep.TrialID
}

// Failed says that an action on the database failed and later ones were not tried. Unused are
// trials that it marked as queued and that have no job.
type Failed struct {
	Err    error
	Unused []sweep.TrialID
}

// Broken says that a decision about a sweep failed by its own fault, as another attempt would: the sweep is paused.
// Unused are as those of Failed.
type Broken struct {
	Sweep  string
	Err    error
	Unused []sweep.TrialID
}

// Uncertain says that the lease has expired and that another coordinator may lead.
type Uncertain struct{ Err error }

// Job is a trial's job in a queue.
type Job struct {
	Queue Queue
	sweep.TrialID
	Class int
}

// Published is the outcome of publishing jobs to one queue. Err and All are as in Done.
type Published struct {
	Queue  Queue
	Err    error
	All    bool
	Trials []sweep.TrialID
	// Stored are those whose jobs the broker has stored although there was an Err.
	Stored map[sweep.TrialID]bool
	// Duplicate are trials of which the broker still has an old job. TooLarge are trials
	// whose jobs do not fit into a message.
	Duplicate []sweep.TrialID
	TooLarge  []Failure
	// Withheld means that the lease had expired and nothing was sent.
	Withheld bool
}

func (f Heard) apply(s *State) {
	for _, id := range f.Trials {
		s.heard(id)
		s.stale[id.Sweep] = true
		if sw := s.sweeps[id.Sweep]; sw != nil {
			delete(s.rebalanced, sw.Pool)
			s.leave(sw.Pool)
		}
	}
}

func (f Lost) apply(s *State) {
	for _, h := range f.Trials {
		s.heard(h.TrialID)
	}
	s.lost = append(s.lost, f.Trials...)
}

func (f Chosen) apply(s *State) {
	if f.Running {
		delete(s.comparing, f.Sweep)
		if f.Decision != nil {
			s.decided = append(s.decided, Stop{f.Sweep, f.Decision})
		}
		return
	}
	if sw := s.sweeps[f.Sweep]; sw != nil && sw.generations != nil {
		sw.generations.Choosing, sw.decision = false, f.Decision
	}
}

func (f Observed) apply(s *State) {
	for _, id := range f.Sweeps {
		if _, known := s.observed[id]; !known {
			s.observed[id] = s.now.Add(comparePause)
		}
	}
}

func (Changed) apply(s *State) { s.staleAll = true }

func (f Adopted) apply(s *State) {
	s.put(f.TrialID, job{queue: f.Queue, class: anyClass})
	s.queues[f.Queue].unbalanced = true // the sweep may be paused
}

func (f QueuesLost) apply(s *State) {
	for _, q := range f.Queues {
		if state := s.queues[q]; state != nil && state.offer != nil && !state.opening {
			state.opening = true
			s.do(Open{Queue: q, Need: state.need, Again: true})
		}
	}
}

func (f Paused) apply(s *State) {
	s.withdrawAll(f.Command, f.Sweep)
	s.staleAll = true
}

// withdrawAll withdraws all jobs of a sweep.
func (s *State) withdrawAll(command any, id string) {
	for _, q := range s.sortedQueues() {
		if s.queues[q].jobs[id] > 0 {
			s.doNext(Withdraw{command, q, []string{id}})
		}
	}
}

func (f Cancelled) apply(s *State) {
	for _, id := range f.Active {
		s.heard(id)
	}
	s.doNext(Purge{f.Command, f.Pool, f.Sweep, f.Indices})
	s.staleAll = true
}

func (f Done) apply(s *State) {
	switch a := f.Action.(type) {
	case Read:
		s.left(f.Backlogs, a.Sweeps)
	case Dispatch:
		s.taken(a, f.Jobs)
		s.jobless = append(s.jobless, f.Unused...)
	case Write:
		if f.Err != nil {
			s.do(Suspend{a.Sweep, f.Err})
		}
		if sw := s.sweeps[a.Sweep]; sw != nil && f.Generations != nil {
			now := *f.Generations
			if sw.generations = &now; now.Choosing {
				s.do(Choose{Sweep: a.Sweep, Grid: now.Grid, Written: now.Written})
			}
		}
		s.written[a.Sweep], s.touched[a.Sweep] = true, true
	case Stop:
		if delete(s.unstored, a.Sweep); f.Err != nil {
			s.do(Suspend{a.Sweep, f.Err})
		}
	case Requeue:
		for _, id := range a.Trials {
			s.touched[id.Sweep] = true
		}
		for _, h := range a.Lost {
			s.touched[h.Sweep] = true
		}
		s.jobless, s.lost = tail(s.jobless, len(a.Trials)), tail(s.lost, len(a.Lost))
	case Fail:
		for _, failure := range a.Failures {
			s.touched[failure.Sweep] = true
		}
		s.failures = tail(s.failures, len(a.Failures))
	case Suspend:
		s.staleAll = true
	case Exhaust:
		s.touched[a.Sweep] = true
	case Retract:
		s.touched[a.Sweep] = true
	case Confirm:
		s.touched[a.Sweep] = true
	case Aside:
		s.answered(a.Pool)
		if known, there := s.asked[a.Worker]; there {
			known.pending = false
			s.asked[a.Worker] = known
		}
	case Halt:
		s.touched[a.Sweep] = true
		s.withdrawAll(nil, a.Sweep)
	case Explain:
		if sw := s.sweeps[a.Sweep]; sw != nil {
			sw.explained = a
		}
	case Open:
		if state := s.queues[a.Queue]; state != nil {
			state.opening = false
			state.open = state.open || f.Err == nil
			state.untold = state.untold && f.Err != nil
			s.addUp(a.Queue)
		}
		s.noteOutcome(a.Queue, f.Err, f.All)
	case Withdraw:
		s.answered(a.Queue.Pool)
		s.jobless = append(s.jobless, s.withdrawn(a.Queue, f.Trials, a.Sweeps)...)
		if state := s.queues[a.Queue]; f.Err != nil && state != nil { // withdraw again
			state.unbalanced, state.cleared = true, false
		}
		s.noteOutcome(a.Queue, f.Err, f.All)
	case Remove:
		s.answered(a.Queue.Pool)
		if f.Err == nil {
			s.jobless = append(s.jobless, s.removed(a.Queue)...)
		}
		s.noteOutcome(a.Queue, f.Err, f.All)
	case Purge: // its error is returned to the caller of the command
		s.answered(a.Pool)
	}
}

func (f Failed) apply(s *State) {
	s.jobless = append(s.jobless, f.Unused...)
	s.pause = NextPause(s.pause)
	s.failed(f.Err, s.pause)
}

func (f Broken) apply(s *State) {
	s.jobless = append(s.jobless, f.Unused...)
	s.do(Suspend{f.Sweep, f.Err})
}

func (f Uncertain) apply(s *State) { s.failed(f.Err, uncertainPause) }

// taken notes that jobs for places are being published.
func (s *State) taken(a Dispatch, jobs []Job) {
	queues := map[Queue]bool{}
	for _, j := range jobs {
		s.put(j.TrialID, job{queue: j.Queue, class: j.Class, publishing: true})
		queues[j.Queue] = true
	}
	if len(queues) > 0 {
		s.underway[a.Pool] += len(queues)
	}
	if len(jobs) < len(a.Places) { // otherwise Published marks them
		for _, p := range a.Places {
			s.stale[p.Sweep] = true
		}
	}
}

func (f Published) apply(s *State) {
	s.answered(f.Queue.Pool)
	for _, id := range f.Trials {
		s.stale[id.Sweep] = true
		if j := s.jobs[id]; j.publishing && j.queue == f.Queue {
			j.publishing = false
			s.jobs[id] = j
		}
	}
	back := func(ids []sweep.TrialID) (waiting []sweep.TrialID) {
		for _, id := range ids {
			if s.waitsIn(id, f.Queue) && !f.Stored[id] {
				s.drop(id)
				waiting = append(waiting, id)
			}
		}
		return waiting
	}
	if f.Withheld || f.Err != nil { // the reconciler finds others that were stored nevertheless
		s.jobless = append(s.jobless, back(f.Trials)...)
	}
	if f.Withheld {
		s.failed(f.Err, uncertainPause)
		return
	}
	s.noteOutcome(f.Queue, f.Err, f.All)
	// The workers have given these trials up and not acknowledged their jobs yet.
	if refused := back(f.Duplicate); len(refused) > 0 {
		s.refused = append(s.refused, refused...)
		s.refusedUntil = s.now.Add(DuplicatePause)
	}
	for _, failure := range f.TooLarge {
		s.drop(failure.TrialID)
	}
	s.failures = append(s.failures, f.TooLarge...)
}

// doNext appends an action on the broker. Its pool receives no jobs before it is answered.
func (s *State) doNext(a Action) {
	s.underway[a.executor()]++
	s.do(a)
}

// answered notes the outcome of an action of doNext.
func (s *State) answered(pool string) {
	if s.underway[pool]--; s.underway[pool] <= 0 {
		delete(s.underway, pool)
	}
}

// tail drops the first n elements, and releases the memory if none remain.
func tail[T any](list []T, n int) []T {
	if n >= len(list) {
		return nil
	}
	return list[n:]
}
