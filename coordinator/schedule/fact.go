package schedule

import (
	"time"

	"sweep/sweep"
)

// Fact is something that happened. Its types are in this file.
type Fact interface{ apply(s *State) }

// Heartbeat is a worker's heartbeat.
type Heartbeat struct {
	Worker, Name string
	Offer        sweep.Offer
	// Ready means that it takes jobs, Gone that it ends. Running are its executions.
	Ready, Gone bool
	Running     []Running
}

// Running is a running execution.
type Running struct {
	sweep.TrialID
	Execution string
}

// Heard says that events arrived by which trials no longer wait in a queue.
type Heard struct{ Trials []sweep.TrialID }

// Lost says that the jobs of trials are gone, unless an event of a trial arrived since.
type Lost struct{ Trials []sweep.Heard }

// Changed says that sweeps were added, ended or changed.
type Changed struct{}

// Adopted says that another coordinator published jobs that are in a queue.
type Adopted struct {
	Queue  Queue
	Trials []sweep.TrialID
}

// QueuesLost says that the broker has lost queues.
type QueuesLost struct{ Queues []Queue }

// Paused is the command to withdraw the jobs of a paused sweep.
type Paused struct {
	Command int64
	Sweep   string
}

// Cancelled is the command to remove the jobs of cancelled trials: all of a sweep's if Indices is
// empty. Active are the trials that had not ended.
type Cancelled struct {
	Command int64
	Pool    string
	Sweep   string
	Active  []sweep.TrialID
	Indices []int64
}

// Left is the backlog of the sweeps that were read.
type Left struct {
	Read
	Backlogs []sweep.Backlog
}

// Written says that a page was written. Broken is set if the sweep cannot be expanded.
type Written struct {
	Write
	Broken error
}

// Requeued says that trials were requeued.
type Requeued struct{ Requeue }

// Recorded says that failures were recorded.
type Recorded struct{ Fail }

// Explained says that a reason was stored.
type Explained struct{ Explain }

// Failed says that an action on the database failed and later ones were not tried. Unused are
// trials that it marked as queued and that have no job.
type Failed struct {
	Err    error
	Unused []sweep.TrialID
}

// Uncertain says that the lease has expired and that another coordinator may lead.
type Uncertain struct{ Err error }

// Taken says which trials were marked as queued; their jobs are being published. There are fewer
// than places if the sweep has changed meanwhile.
type Taken struct {
	Dispatch
	Jobs []Job
}

// Job is a trial's job in a queue.
type Job struct {
	Queue Queue
	sweep.TrialID
	Class int
}

// Published is the outcome of publishing jobs to one queue.
type Published struct {
	Outcome
	Trials []sweep.TrialID
	// Duplicate are trials of which the broker still has an old job. TooLarge are trials
	// whose jobs do not fit into a message.
	Duplicate []sweep.TrialID
	TooLarge  []Failure
	// Withheld means that the lease had expired and nothing was sent.
	Withheld bool
}

// Outcome is the outcome of an action on the broker.
type Outcome struct {
	Queue Queue
	Err   error
	// All means that the error affects all pools, as of a full broker.
	All bool
}

// Opened is the outcome of an Open.
type Opened struct {
	Open
	Outcome
}

// Withdrawn is the outcome of a Withdraw. Trials are set even if there was an error.
type Withdrawn struct {
	Withdraw
	Outcome
	Trials []sweep.TrialID
}

// Removed is the outcome of a Remove.
type Removed struct {
	Remove
	Outcome
}

// Purged is the outcome of a Purge. Errors are returned to the caller of the command.
type Purged struct{ Purge }

func (f Heard) apply(s *State) {
	for _, id := range f.Trials {
		s.heard(id)
		s.stale[id.Sweep] = true
		if sw := s.sweeps[id.Sweep]; sw != nil {
			delete(s.rebalanced, sw.Pool)
		}
	}
}

func (f Lost) apply(s *State) {
	for _, h := range f.Trials {
		s.heard(h.TrialID)
	}
	s.lost = append(s.lost, f.Trials...)
}

func (Changed) apply(s *State) { s.staleAll = true }

func (f Adopted) apply(s *State) {
	for _, id := range f.Trials {
		s.put(Job{f.Queue, id, anyClass})
	}
}

func (f QueuesLost) apply(s *State) {
	for _, q := range f.Queues {
		if state := s.queues[q]; state != nil && state.offer != nil && !state.opening {
			state.opening = true
			s.do(Open{Queue: q, Again: true})
		}
	}
}

func (f Paused) apply(s *State) {
	for _, q := range s.sortedQueues() {
		if s.queues[q].jobs[f.Sweep] > 0 {
			s.doOnBroker(q.Pool, Withdraw{Command: f.Command, Queue: q, Sweeps: []string{f.Sweep}})
		}
	}
	s.staleAll = true
}

func (f Cancelled) apply(s *State) {
	for _, id := range f.Active {
		s.heard(id)
	}
	s.doOnBroker(f.Pool, Purge{f.Command, f.Pool, f.Sweep, f.Indices})
	s.staleAll = true
}

func (f Left) apply(s *State) { s.left(f.Backlogs, len(f.Sweeps) == 0) }

func (f Written) apply(s *State) {
	if f.Broken != nil {
		s.do(Suspend{f.Sweep, f.Broken})
	}
	if s.written == nil {
		s.written = map[string]bool{}
	}
	s.written[f.Sweep] = true
	s.touched[f.Sweep] = true
}

func (f Requeued) apply(s *State) {
	for _, id := range f.Trials {
		s.touched[id.Sweep] = true
	}
	for _, h := range f.Lost {
		s.touched[h.Sweep] = true
	}
	s.jobless, s.lost = tail(s.jobless, len(f.Trials)), tail(s.lost, len(f.Lost))
}

func (f Recorded) apply(s *State) {
	for _, failure := range f.Failures {
		s.touched[failure.Sweep] = true
	}
	s.failures = tail(s.failures, len(f.Failures))
}

func (f Explained) apply(s *State) {
	if sw := s.sweeps[f.Sweep]; sw != nil {
		sw.waiting, sw.reason, sw.explained = f.Waiting, f.Reason, true
	}
}

func (f Failed) apply(s *State) {
	s.jobless = append(s.jobless, f.Unused...)
	s.pause = nextPause(s.pause)
	s.failed(f.Err, s.pause)
}

func (f Uncertain) apply(s *State) { s.failed(f.Err, uncertainPause) }

func (f Taken) apply(s *State) {
	queues := map[Queue]bool{}
	for _, j := range f.Jobs {
		s.put(j)
		waiting := s.jobs[j.TrialID]
		waiting.publishing = true
		s.jobs[j.TrialID] = waiting
		queues[j.Queue] = true
	}
	s.underway[f.Pool] += len(queues)
	if len(f.Jobs) < len(f.Places) { // otherwise Published marks them
		for _, p := range f.Places {
			s.stale[p.Sweep] = true
		}
	}
}

func (f Published) apply(s *State) {
	s.answered(f.Queue.Pool)
	for _, id := range f.Trials {
		s.stale[id.Sweep] = true
		s.published(f.Queue, id)
	}
	back := func(ids []sweep.TrialID) (waiting []sweep.TrialID) {
		for _, id := range ids {
			if s.jobs[id].queue == f.Queue { // otherwise an event has arrived meanwhile
				s.drop(id)
				waiting = append(waiting, id)
			}
		}
		return waiting
	}
	if f.Withheld || f.Err != nil { // the reconciler finds the jobs that were stored nevertheless
		s.jobless = append(s.jobless, back(f.Trials)...)
	}
	if f.Withheld {
		s.failed(f.Err, uncertainPause)
		return
	}
	s.noteOutcome(f.Outcome)
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

func (f Opened) apply(s *State) {
	q := f.Open.Queue
	if state := s.queues[q]; state != nil {
		state.opening = false
		state.open = state.open || f.Err == nil
		s.addUp(q)
	}
	s.noteOutcome(f.Outcome)
}

func (f Withdrawn) apply(s *State) {
	q := f.Withdraw.Queue
	s.answered(q.Pool)
	s.jobless = append(s.jobless, s.withdrawn(q, f.Trials, f.Sweeps)...)
	if f.Err != nil {
		s.unbalance(q)
	}
	s.noteOutcome(f.Outcome)
}

func (f Removed) apply(s *State) {
	q := f.Remove.Queue
	s.answered(q.Pool)
	if f.Err == nil {
		s.jobless = append(s.jobless, s.removed(q)...)
	}
	s.noteOutcome(f.Outcome)
}

func (f Purged) apply(s *State) { s.answered(f.Pool) }

// doOnBroker appends an action on the broker.
func (s *State) doOnBroker(pool string, a Action) {
	s.underway[pool]++
	s.do(a)
}

// answered notes the outcome of an action on the broker.
func (s *State) answered(pool string) {
	if s.underway[pool]--; s.underway[pool] <= 0 {
		delete(s.underway, pool)
	}
}

// nextPause returns the pause after one more failure.
func nextPause(pause time.Duration) time.Duration {
	return max(min(2*pause, lastPause), firstPause)
}

// tail drops the first n elements, and releases the memory if none remain.
func tail[T any](list []T, n int) []T {
	if n >= len(list) {
		return nil
	}
	return list[n:]
}
