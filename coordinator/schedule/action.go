package schedule

import "sweep/sweep"

// Action is something to do. Its types are in this file. Open, Withdraw, Remove and Purge are
// carried out on the broker, Report and Gone in the log, the others on the database.
type Action interface{ action() }

// Read reads the backlogs of sweeps, of all active ones if none is named. The answer is Left.
type Read struct{ Sweeps []string }

// Write writes the next page of a sweep's trial rows. Classes are those of the rows so far. The
// answer is Written.
type Write struct {
	Sweep   string
	Classes []sweep.ClassBacklog
}

// Requeue makes trials pending again: Trials, and those of Lost without an event since. The answer
// is Requeued.
type Requeue struct {
	Trials []sweep.TrialID
	Lost   []sweep.Heard
}

// Fail records trials as failed. The answer is Recorded.
type Fail struct{ Failures []Failure }

// Failure is a trial that fails before any worker receives it, and why.
type Failure struct {
	sweep.TrialID
	Err error
}

// Suspend pauses a sweep because of an error. The answer is Changed.
type Suspend struct {
	Sweep string
	Err   error
}

// Explain stores why a sweep waits, in whole or in part. The answer is Explained.
type Explain struct {
	Sweep   string
	Waiting bool
	Reason  string
}

// Dispatch marks trials of a pool as queued and then publishes their jobs. If the coordinator dies
// in between, its successor finds no jobs and requeues the trials. The answer is Taken, and then a
// Published for each queue.
type Dispatch struct {
	Pool   string
	Places []Place
}

// Place is a place in a queue for a trial of a class.
type Place struct {
	Queue       Queue
	Sweep       string
	Class       int
	Requirement *sweep.Requirement
}

// Open creates a queue; Again means that it was lost. Worker is the first with its offer. The answer
// is Opened.
type Open struct {
	Queue  Queue
	Worker string
	Again  bool
}

// Withdraw removes from a queue the jobs of sweeps that no worker has. The answer is Withdrawn.
type Withdraw struct {
	Command int64
	Queue   Queue
	Sweeps  []string
}

// Remove removes a queue without workers, and its jobs. The answer is Removed.
type Remove struct {
	Queue  Queue
	Sweeps []string
}

// Purge removes the jobs of cancelled trials, all of a sweep's if Indices is empty, and tells workers
// to stop those that run. The answer is Purged.
type Purge struct {
	Command int64
	Pool    string
	Sweep   string
	Indices []int64
}

// Report reports a failure that keeps the trials of a pool from advancing, or of all pools if Pool is
// empty; without Err, that it is over. All means that the failure affects all pools. There is no
// answer.
type Report struct {
	Pool string
	Err  error
	All  bool
}

// Gone reports workers that count as gone because they sent no heartbeat. There is no answer.
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
