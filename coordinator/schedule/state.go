// Package schedule decides which trial rows a coordinator writes, which jobs it puts into which
// queues or withdraws, and why a sweep waits. Its main type is State, a state machine without
// clock, database, broker or log:
//
//	s := schedule.New(schedule.Options{Window: 512, Page: 1000})
//	actions := s.Step(now, facts...)
//
// A fact reports what happened: the rest of a sweep, a worker's heartbeat, a command, an error. An
// action says what to do. The coordinator carries actions out and reports the outcome of each as a
// fact. A recorded list of facts therefore replays; testdata has such stories.
//
//	grid point ──Write──► pending ──Dispatch──► job in a queue ──Heard──► forgotten
//	                         ▲                       │
//	                         └──Requeue◄──Withdraw───┘
//
// A queue belongs to the workers of a pool with equal offers. A job goes only into a queue whose
// offer meets its requirement: a trial that no worker can run stays in the database and delays no
// other.
package schedule

import (
	"maps"
	"slices"
	"time"

	"sweep/sweep"
)

const (
	// LookInterval is how often the database is read without a reason, because other
	// processes may have changed it.
	LookInterval = 5 * time.Second
	// DiscoveryTime is how long after its start a coordinator waits for the heartbeats of
	// workers before it concludes that there are no others.
	DiscoveryTime = 2 * time.Second
	// DuplicatePause is how long a trial waits if the broker still has an old job of it.
	DuplicatePause = 100 * time.Millisecond
	// uncertainPause is how long a coordinator waits after its lease has expired.
	uncertainPause = 100 * time.Millisecond
	// firstPause and lastPause bound the pauses after failures, which double each time.
	firstPause, lastPause = 50 * time.Millisecond, 5 * time.Second
	// comparePause is how long what was observed of trials that run waits for more to be compared with.
	comparePause = 500 * time.Millisecond
	// writeTime bounds how long writing rows delays dispatching.
	writeTime = 50 * time.Millisecond
	// dispatchMost and requeueMost bound the trials of one action, which delays commands.
	dispatchMost, requeueMost = 1000, 1000
)

// Options are the settings of a State.
type Options struct {
	// Window is how many jobs wait in a pool's queues besides one for each slot, MaxWindow how many if trials are
	// short. Page is how many trial rows one action writes.
	Window, MaxWindow, Page int64
	// Exclusive means that all workers belong to this process: they end shortly before it
	// does, and nobody needs to start another.
	Exclusive bool
	// Heartbeat is the time between a worker's heartbeats. A worker that sends none for
	// Silence counts as gone.
	Heartbeat, Silence time.Duration
}

// State is what the coordinator knows of sweeps, workers, queues and jobs. It is not safe for
// concurrent use.
type State struct {
	options Options

	// now is the time of the current step, actions its decisions.
	now     time.Time
	actions []Action

	// began is the time of the first step; discovered is true when DiscoveryTime is over.
	began      time.Time
	discovered bool

	sweeps  map[string]*sweepState
	workers workers
	queues  map[Queue]*queueState
	// derived are the queues of trials that hold devices, by those of the same offers of trials that hold none.
	derived map[Queue][]Queue
	jobs    map[sweep.TrialID]job
	// kinds are the offers of present workers and of those that left within kindMemory.
	kinds map[Queue]kind

	// stale are the sweeps to read in the next cycle; with staleAll it reads all, as it last
	// did at looked. midway means that the current cycle has read its sweeps, and touched
	// are the sweeps that it has changed since. A new fact therefore never extends a cycle.
	stale, touched map[string]bool
	staleAll       bool
	looked         time.Time
	midway         bool
	// written are the sweeps with a page written since writing began.
	written map[string]bool
	writing time.Time

	// observed has when the running trials of sweeps are to be compared, comparing the sweeps with a Choose that is not
	// answered. decided are stops to be stored, unstored the sweeps whose stops could not be.
	observed            map[string]time.Time
	comparing, unstored map[string]bool
	decided             []Stop

	// jobless are trials that are queued in the database and have no job. lost are trials
	// whose jobs are gone, unless an event arrived since. Both are requeued before anything
	// is dispatched.
	jobless []sweep.TrialID
	lost    []sweep.Heard
	// refused are trials whose old jobs the broker still had; they are requeued at
	// refusedUntil.
	refused      []sweep.TrialID
	refusedUntil time.Time
	// failures are trials to record as failed.
	failures []Failure

	// rebalanced is when jobs of a pool were last withdrawn for idle workers, unless an
	// event of the pool arrived since.
	rebalanced map[string]time.Time
	// asked are the workers that were told to stand aside.
	asked map[string]asked
	// underway counts, by pool, the actions on the broker without an outcome yet.
	underway map[string]int
	// backoffs are the pools with a failing queue.
	backoffs map[string]*backoff
	// rates are those of the pools whose jobs left their queues.
	rates map[string]*rate
	// trouble means that the database failed or the lease expired: there are no actions
	// before retry. It is over when a cycle completes.
	trouble bool
	pause   time.Duration
	retry   time.Time

	figures Figures
}

// New returns an empty State.
func New(options Options) *State {
	return &State{
		options: options, staleAll: true,
		sweeps: map[string]*sweepState{}, workers: newWorkers(), queues: map[Queue]*queueState{},
		derived: map[Queue][]Queue{}, jobs: map[sweep.TrialID]job{}, kinds: map[Queue]kind{}, stale: map[string]bool{}, touched: map[string]bool{},
		observed: map[string]time.Time{}, comparing: map[string]bool{}, unstored: map[string]bool{},
		written: map[string]bool{}, rebalanced: map[string]time.Time{}, underway: map[string]int{},
		backoffs: map[string]*backoff{}, asked: map[string]asked{}, rates: map[string]*rate{},
	}
}

// Step takes in facts and returns actions. Actions on the database are carried out in order and
// answered, by Done or one Failed, before the next step. Actions on the broker are carried
// out in order within a pool, concurrently between pools, and answered when they are done.
func (s *State) Step(now time.Time, facts ...Fact) []Action {
	s.now, s.actions = now, nil
	if s.began.IsZero() {
		s.began = now
	}
	for _, f := range facts {
		f.apply(s)
	}
	s.measure()
	s.forgetSilent()
	// An exclusive coordinator knows that its workers will come.
	awaited := s.options.Exclusive && len(s.workers.byID) == 0
	if !s.discovered && now.Sub(s.began) >= DiscoveryTime && !awaited {
		s.discovered = true
		for _, sw := range s.sweeps { // hold waited for it
			if len(sw.Suspects) > 0 {
				s.reassign(sw.Pool)
			}
		}
	}
	s.endBackoffs()
	if now.Before(s.retry) {
		return s.actions
	}
	s.openQueues()
	s.compare()
	s.decide()
	return s.actions
}

// decide appends the actions of the first stage of the cycle that has any. Later stages depend on
// their outcome.
func (s *State) decide() {
	if s.stop() || s.read() || s.judge() || s.halt() || s.write() || s.requeue() || s.fail() || s.exhaust() {
		return
	}
	s.hold()
	s.withdraw()
	before := len(s.actions)
	s.assign(dispatchMost)
	s.noteAssigned()
	s.explain()
	s.figures = Figures{s.reserve(), s.unschedulable()}
	if len(s.written) > 0 { // continue writing
		clear(s.written)
		s.write()
	}
	if s.midway = false; len(s.actions) == before && !s.read() && s.trouble {
		s.trouble, s.pause = false, 0
		s.do(Report{})
	}
}

func (s *State) do(a Action) { s.actions = append(s.actions, a) }

// Wake returns when the next step is due if no fact arrives.
func (s *State) Wake() time.Time {
	if s.now.Before(s.retry) {
		return s.retry
	}
	at := s.looked.Add(LookInterval)
	sooner := func(t time.Time) {
		if t.After(s.now) && t.Before(at) {
			at = t
		}
	}
	sooner(s.began.Add(DiscoveryTime))
	sooner(s.refusedUntil)
	for _, at := range s.observed {
		sooner(at)
	}
	for _, r := range s.backoffs {
		sooner(r.until)
		sooner(r.overAt())
	}
	return at
}

// compare has the trials that run be compared of which more was observed. Decisions that were not stored are made
// again.
func (s *State) compare() {
	for id := range s.unstored {
		s.observed[id] = s.now
	}
	clear(s.unstored)
	for _, id := range sortedKeys(s.observed) {
		if !s.comparing[id] && !s.now.Before(s.observed[id]) {
			s.do(Choose{Sweep: id, Running: true})
			s.comparing[id] = true
			delete(s.observed, id)
		}
	}
}

// stop stores which trials are to stop.
func (s *State) stop() bool {
	stops := s.decided
	s.decided = nil
	for _, a := range stops {
		s.do(a)
		s.unstored[a.Sweep] = true // until it is answered
	}
	return len(stops) > 0
}

// read decides which sweeps to read: those that changed.
func (s *State) read() bool {
	if !s.midway {
		maps.Copy(s.touched, s.stale)
		clear(s.stale)
	}
	switch {
	case !s.midway && (s.staleAll || s.now.Sub(s.looked) >= LookInterval):
		s.looked, s.staleAll = s.now, false
		s.do(Read{})
	case len(s.touched) > 0:
		s.sharers(s.touched)
		s.do(Read{Sweeps: sortedKeys(s.touched)})
	default:
		return false
	}
	clear(s.touched)
	s.midway = true
	return true
}

// requeue requeues trials, a page at a time.
func (s *State) requeue() bool {
	if !s.refusedUntil.IsZero() && !s.now.Before(s.refusedUntil) {
		s.jobless = append(s.jobless, s.refused...)
		s.refused, s.refusedUntil = nil, time.Time{}
	}
	r := Requeue{Trials: s.jobless[:min(len(s.jobless), requeueMost)]}
	if len(r.Trials) == 0 {
		r.Lost = s.lost[:min(len(s.lost), requeueMost)]
	}
	if len(r.Trials)+len(r.Lost) == 0 {
		return false
	}
	s.do(r)
	return true
}

// fail records trials as failed.
func (s *State) fail() bool {
	if len(s.failures) > 0 {
		s.do(Fail{s.failures})
	}
	return len(s.failures) > 0
}

// Unpublished returns the trials that may be queued in the database and have no job. A
// coordinator that ends requeues them.
func (s *State) Unpublished() []sweep.TrialID {
	return slices.Concat(s.jobless, s.refused)
}

// failed handles a failure of the database, or an expired lease: after a pause everything is read
// again.
func (s *State) failed(err error, pause time.Duration) {
	s.trouble, s.staleAll, s.midway = true, true, false
	clear(s.written)
	s.retry = s.now.Add(pause)
	s.do(Report{Err: err})
}
