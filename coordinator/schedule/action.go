package schedule

import "sweep/sweep"

// Action is something to do: one of the types of this file. Those with a method Of are
// the broker's.
type Action interface{ action() }

// Read asks the database for what is left of sweeps, of all active ones if none is named.
// The answer is Left.
type Read struct{ Sweeps []string }

// Write writes the next page of a sweep's trial rows. Classes are those that its trials
// have so far. The answer is Written.
type Write struct {
	Sweep   string
	Classes []sweep.ClassBacklog
}

// Requeue puts trials back to pending: Trials, and those of Lost that were not heard of
// since. The answer is Requeued.
type Requeue struct {
	Trials []sweep.TrialID
	Lost   []sweep.Heard
}

// Fail records trials as failed. The answer is Recorded.
type Fail struct{ Failures []Failure }

// Failure is a trial that fails before any worker gets it, and why.
type Failure struct {
	sweep.TrialID
	Err error
}

// Suspend pauses a sweep, for a reason. The answer is Changed.
type Suspend struct {
	Sweep string
	Err   error
}

// Explain notes why a sweep waits, in whole or in part. The answer is Explained.
type Explain struct {
	Sweep   string
	Waiting bool
	Reason  string
}

// Dispatch marks trials of a pool as queued, and then publishes their jobs: if the
// coordinator dies in between, its successor finds no job of theirs and puts them back.
// The answer is Taken when they are marked, and then a Published for each queue.
type Dispatch struct {
	Pool   string
	Places []Place
}

// Place is one for a trial of a class in a queue.
type Place struct {
	Queue       Queue
	Sweep       string
	Class       int
	Requirement *sweep.Requirement
}

// Open makes a queue, Again one that was lost. Worker is the first with its offer. The
// answer is Opened.
type Open struct {
	Queue  Queue
	Worker string
	Again  bool
}

// Withdraw takes the jobs of sweeps that no worker has out of a queue. The answer is
// Withdrawn.
type Withdraw struct {
	Command int64
	Queue   Queue
	Sweeps  []string
}

// Remove removes a queue whose workers are gone, with its jobs. The answer is Removed.
type Remove struct {
	Queue  Queue
	Sweeps []string
}

// Purge removes the jobs of cancelled trials, all of a sweep's if no index is given, and
// has workers stop those that run. The answer is Purged.
type Purge struct {
	Command int64
	Pool    string
	Sweep   string
	Indices []int64
}

// Report tells people of a failure that keeps the trials of a pool from advancing, those
// of all pools if Pool is empty; without Err, that it is over. All says that the pool's is
// every pool's. There is no answer.
type Report struct {
	Pool string
	Err  error
	All  bool
}

// Gone tells people of workers that are silent and count as gone. There is no answer.
type Gone struct{ Workers []string }

func (Read) action()     {}
func (Write) action()    {}
func (Requeue) action()  {}
func (Fail) action()     {}
func (Suspend) action()  {}
func (Explain) action()  {}
func (Dispatch) action() {}
func (Open) action()     {}
func (Withdraw) action() {}
func (Remove) action()   {}
func (Purge) action()    {}
func (Report) action()   {}
func (Gone) action()     {}
