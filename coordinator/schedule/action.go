package schedule

import "sweep/sweep"

// Action is something to do. Its types are in this file. Each is answered by Done, on the database by
// Failed after an error; Choose by Chosen, whenever it comes; Report, Gone and Learn have no answer.
type Action interface {
	// executor is the pool whose executor carries the action out on the broker. For "" it is
	// carried out on the database; Choose beside all others, Report, Gone and Learn in the log.
	executor() (pool string)
}

// Executor returns the pool whose executor carries an action out on the broker; "" if none does.
func Executor(a Action) (pool string) { return a.executor() }

// Read reads the backlogs of sweeps, of all active ones if none is named.
type Read struct{ Sweeps []string }

// Write writes the next page of a sweep's trial rows. Classes are those of the rows so far. If the
// sweep cannot be expanded, Done has the error. Decision is what was chosen for the page, if it was.
type Write struct {
	Sweep    string
	Classes  []sweep.ClassBacklog
	Decision any
}

// Choose has a sweep's policies decide: about the generation after so many trials of a grid, or, with Running, which of
// the trials that run are stopped.
type Choose struct {
	Sweep   string
	Running bool
	Grid    int
	Written int64
}

// Stop stores which trials are stopped. Only then are workers told, until the trials have ended: so a decision that a
// worker has carried out is never unknown.
type Stop struct {
	Sweep    string
	Decision any
}

// Requeue makes trials pending again: those of Trials that are queued, and those of Lost without an event
// since.
type Requeue struct {
	Trials []sweep.TrialID
	Lost   []sweep.Heard
}

// Fail records trials as failed.
type Fail struct{ Failures []Failure }

// Failure is a trial that fails before any worker receives it, and why.
type Failure struct {
	sweep.TrialID
	Err error
}

// Suspend pauses a sweep because of an error.
type Suspend struct {
	Sweep string
	Err   error
}

// Exhaust pauses a sweep whose budget is used up.
type Exhaust struct{ Sweep, Reason string }

// Halt pauses a sweep whose trials fail.
type Halt struct{ Sweep, Reason string }

// Explain stores why a sweep waits, in whole or in part.
type Explain struct {
	Sweep   string
	Waiting bool
	Reason  string
	// Reported means that the reason is the pool's failure, of which there was a Report.
	Reported bool
}

// Dispatch marks trials of a pool as queued and then publishes their jobs. If the coordinator dies
// in between, its successor finds no jobs and requeues the trials. After Done there is a Published
// for each queue.
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

// Open creates a queue, of trials that hold Need; Again means that it was lost. Worker is the first with its offer.
type Open struct {
	Queue  Queue
	Need   *sweep.Need
	Worker string
	Again  bool
}

// Withdraw removes from a queue the jobs of sweeps that no worker has.
type Withdraw struct {
	Command any
	Queue   Queue
	Sweeps  []string
}

// Remove removes a queue without workers, and its jobs.
type Remove struct {
	Queue  Queue
	Sweeps []string
}

// Purge removes the jobs of cancelled trials, all of a sweep's if Indices is empty, and tells workers
// to stop those that run.
type Purge struct {
	Command any
	Pool    string
	Sweep   string
	Indices []int64
}

// Aside sets a worker aside, for a reason, until it completes a trial of a class that is known to be good.
type Aside struct {
	Pool         string
	Worker, Name string
	Sweep        string
	Class        int
	Requirement  *sweep.Requirement
	Reason       string
}

// Retract puts trials of a class back to pending whose failures are not confirmed, because their worker is to blame.
type Retract struct {
	Sweep  string
	Class  int
	Worker string
}

// Confirm has the unconfirmed failures of a worker with trials of a class count: of all workers if it is empty, of all
// classes for anyClass.
type Confirm struct {
	Sweep  string
	Class  int
	Worker string
}

// Report reports a failure that keeps the trials of a pool from advancing, or of all pools if Pool is
// empty; without Err, that it is over. All means that the failure affects all pools.
type Report struct {
	Pool string
	Err  error
	All  bool
}

// Gone reports workers that count as gone because they sent no heartbeat.
type Gone struct{ Workers []string }

func (Read) executor() string       { return "" }
func (Write) executor() string      { return "" }
func (Choose) executor() string     { return "" }
func (Stop) executor() string       { return "" }
func (Requeue) executor() string    { return "" }
func (Fail) executor() string       { return "" }
func (Suspend) executor() string    { return "" }
func (Exhaust) executor() string    { return "" }
func (Halt) executor() string       { return "" }
func (Explain) executor() string    { return "" }
func (Dispatch) executor() string   { return "" }
func (a Open) executor() string     { return a.Queue.Pool }
func (a Withdraw) executor() string { return a.Queue.Pool }
func (a Remove) executor() string   { return a.Queue.Pool }
func (a Purge) executor() string    { return a.Pool }
func (a Aside) executor() string    { return a.Pool }
func (Retract) executor() string    { return "" }
func (Confirm) executor() string    { return "" }
func (Report) executor() string     { return "" }
func (Gone) executor() string       { return "" }
