package schedule

import (
	"time"

	"sweep/sweep"
)

// Fact is something that happened: one of the types of this file.
type Fact interface{ apply(s *State) }

// Heartbeat is what a worker says of itself.
type Heartbeat struct {
	Worker, Name string
	Offer        sweep.Offer
	// Ready says that it takes jobs, Gone that it ends; Running are the trials under way.
	Ready, Gone bool
	Running     []Running
}

// Running is an execution under way.
type Running struct {
	sweep.TrialID
	Execution string
}

// Heard says that trials do not wait any more: they run, have ended, or went back.
type Heard struct{ Trials []sweep.TrialID }

// Lost says that the jobs of trials are gone, unless they were heard of since.
type Lost struct{ Trials []sweep.Heard }

// Changed says that active sweeps came, went or changed.
type Changed struct{}

// Adopted says that jobs are in a queue that another coordinator published.
type Adopted struct {
	Queue  Queue
	Trials []sweep.TrialID
}

// QueuesLost says that queues were there and are not.
type QueuesLost struct{ Queues []Queue }

// Paused is the command to take back the jobs of a sweep that is paused.
type Paused struct {
	Command int64
	Sweep   string
}

// Cancelled is the command to remove the jobs of cancelled trials, of all of a sweep if no
// index is given. Active are those that had not ended.
type Cancelled struct {
	Command int64
	Pool    string
	Sweep   string
	Active  []sweep.TrialID
	Indices []int64
}

// Left is what is left of the sweeps that were read.
type Left struct {
	Read
	Backlogs []sweep.Backlog
}

// Written says that a page was written; Broken that the sweep cannot be expanded.
type Written struct {
	Write
	Broken error
}

// Requeued says that trials were put back.
type Requeued struct{ Requeue }

// Recorded says that failures were recorded.
type Recorded struct{ Fail }

// Explained says that a reason is noted.
type Explained struct{ Explain }

// Failed says that an action on the database failed; those after it were not tried. Unused
// are trials that were marked as queued in vain.
type Failed struct {
	Err    error
	Unused []sweep.TrialID
}

// Uncertain says that the lease has run out, and that another coordinator may lead.
type Uncertain struct{ Err error }

// Taken says which trials were marked as queued, whose jobs are being published: fewer
// than places if the sweep has changed meanwhile.
type Taken struct {
	Dispatch
	Jobs []Job
}

// Job is a trial's in a queue.
type Job struct {
	Queue Queue
	sweep.TrialID
	Class int
}

// Published says what came of jobs for one queue.
type Published struct {
	Outcome
	Trials []sweep.TrialID
	// Duplicate are those that the broker refused because it has an old job of theirs,
	// TooLarge those that no message can carry.
	Duplicate []sweep.TrialID
	TooLarge  []Failure
	// Withheld says that the lease had run out, and nothing was sent.
	Withheld bool
}

// Outcome is what came of an action on the broker.
type Outcome struct {
	Queue Queue
	Err   error
	// All says that the error is every pool's, as with a full broker.
	All bool
}

// Opened says what came of an Open.
type Opened struct {
	Open
	Outcome
}

// Withdrawn says which jobs were taken out of a queue, also with an error.
type Withdrawn struct {
	Withdraw
	Outcome
	Trials []sweep.TrialID
}

// Removed says what came of a Remove.
type Removed struct {
	Remove
	Outcome
}

// Purged says what came of a Purge. An error is the asker's.
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
	if len(f.Jobs) < len(f.Places) { // else they are read when the jobs are published
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
			if s.jobs[id].queue == f.Queue { // else it was heard of meanwhile
				s.drop(id)
				waiting = append(waiting, id)
			}
		}
		return waiting
	}
	if f.Withheld || f.Err != nil { // what the broker has of them all the same is found by the reconciler
		s.jobless = append(s.jobless, back(f.Trials)...)
	}
	if f.Withheld {
		s.failed(f.Err, uncertainPause)
		return
	}
	s.noteOutcome(f.Outcome)
	// their workers have given them up and not yet acknowledged the jobs
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

// ask appends an action on the broker.
func (s *State) doOnBroker(pool string, a Action) {
	s.underway[pool]++
	s.do(a)
}

// answered notes that an action on the broker was answered.
func (s *State) answered(pool string) {
	if s.underway[pool]--; s.underway[pool] <= 0 {
		delete(s.underway, pool)
	}
}

// nextPause is the pause after one more failure.
func nextPause(pause time.Duration) time.Duration {
	return max(min(2*pause, lastPause), firstPause)
}

// tail drops the first n, and the memory of all when none is left.
func tail[T any](list []T, n int) []T {
	if n >= len(list) {
		return nil
	}
	return list[n:]
}
