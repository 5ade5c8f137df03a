// Package schedule decides what a coordinator does: which trial rows are written, which
// jobs are put into the queues of which workers and taken back, and why a sweep waits. It
// is a state machine without clock, database, broker or log:
//
//	s := schedule.New(schedule.Options{Window: 512, Page: 1000})
//	actions := s.Step(now, facts...)
//
// A fact is what happened or was answered: what is left of the sweeps, a worker's
// heartbeat, a command, an error of the broker. An action is what is to be done, with what
// must be done before it. Who carries actions out decides nothing, and hands the outcome
// of each back as a fact, errors too. So a list of facts replays, and a test is a story
// (testdata).
//
// A trial's way:
//
//	a grid point ──Write──► pending ──Dispatch──► a job in a queue ──Heard──► forgotten
//	                           ▲                       │
//	                           └──Requeue◄──Withdraw───┘
//
// A queue is what the workers of one pool and equal offers share. A job is put into the
// queue of an offer that meets its requirement, so that what no worker can run never
// leaves the database and delays no other trial.
package schedule

import (
	"maps"
	"time"

	"sweep/sweep"
)

const (
	// LookInterval is how often the database is read without being told to: for what
	// others changed there.
	LookInterval = 5 * time.Second
	// DiscoveryTime is how long after its start a coordinator has heard of the workers that
	// there are.
	DiscoveryTime = 2 * time.Second
	// DuplicatePause is how long a trial waits whose old job the broker still has.
	DuplicatePause = 100 * time.Millisecond
	// uncertainPause is how long a coordinator waits whose lease has run out.
	uncertainPause = 100 * time.Millisecond
	// firstPause and lastPause bound the pauses after failures, doubled each time.
	firstPause, lastPause = 50 * time.Millisecond, 5 * time.Second
	// writeTime bounds the time for which writing rows keeps dispatching waiting.
	writeTime = 50 * time.Millisecond
	// dispatchMost and requeueMost bound the trials that keep commands waiting.
	dispatchMost, requeueMost = 1000, 1000
)

// Options are what a State is told at its start.
type Options struct {
	// Window is how many jobs wait in a pool's queues besides one for each slot, Page
	// how many trial rows are written at once.
	Window, Page int
	// Exclusive says that all workers are this process's own: they leave when it is
	// about to end, and nobody is to start another.
	Exclusive bool
	// Heartbeat is the time between a worker's heartbeats, Silence that after which it
	// counts as gone.
	Heartbeat, Silence time.Duration
}

// State is what is known of sweeps, workers, queues and jobs. One goroutine owns it.
type State struct {
	window, page       int64
	exclusive          bool
	heartbeat, silence time.Duration

	// now is the time of the step under way, actions its decisions.
	now     time.Time
	actions []Action

	// began is the time of the first step; settled says that the workers have had the
	// time to be heard of.
	began      time.Time
	discovered bool

	sweeps  map[string]*sweepState
	workers map[string]*worker
	queues  map[Queue]*queueState
	jobs    map[sweep.TrialID]job
	// kinds are the offers of workers that are there or were until a while ago.
	kinds map[Queue]kind

	// stale are the sweeps to be read in the next cycle, all of them with staleAll, which
	// were last read at looked; midway says that the cycle's have been read, touched are
	// those that it has changed itself. However fast facts come, each cycle has an end.
	stale, touched map[string]bool
	staleAll       bool
	looked         time.Time
	midway         bool
	// written are the sweeps of which a page was written since writing.
	written map[string]bool
	writing time.Time

	// back are trials without a job that the database still has as queued, lost those
	// whose jobs are gone, unless they were heard of since. They are put back before
	// anything is dispatched.
	jobless []sweep.TrialID
	lost    []sweep.Heard
	// refused are trials that go back at refusedUntil: their old jobs were still there.
	refused      []sweep.TrialID
	refusedUntil time.Time
	// failures are trials to be recorded as failed.
	failures []Failure

	// moved is when jobs of a pool were last taken back for idle workers and nothing was
	// heard of its trials since.
	rebalanced map[string]time.Time
	// underway counts by pool the actions on the broker that are not answered yet.
	underway map[string]int
	// rests are the pools whose queues the broker refuses.
	backoffs map[string]*backoff
	// trouble says that the database failed or the lease ran out: nothing is done before
	// retry. It is over when nothing is left to do.
	trouble bool
	pause   time.Duration
	retry   time.Time

	figures Figures
}

// New returns a State that knows nothing yet.
func New(options Options) *State {
	return &State{
		window: int64(options.Window), page: int64(options.Page), exclusive: options.Exclusive,
		heartbeat: options.Heartbeat, silence: options.Silence,
		sweeps: map[string]*sweepState{}, workers: map[string]*worker{}, queues: map[Queue]*queueState{},
		jobs: map[sweep.TrialID]job{}, kinds: map[Queue]kind{}, stale: map[string]bool{}, touched: map[string]bool{},
		staleAll:   true,
		rebalanced: map[string]time.Time{}, underway: map[string]int{}, backoffs: map[string]*backoff{},
	}
}

// Step takes in facts and returns what is to be done, in that order. The actions on the
// database are carried out, and answered by their facts or one Failed, before the next
// step. Those on the broker are carried out in order pool by pool, one pool's beside
// another's, and answered when they are done.
func (s *State) Step(now time.Time, facts ...Fact) []Action {
	s.now, s.actions = now, nil
	if s.began.IsZero() {
		s.began = now
	}
	for _, f := range facts {
		f.apply(s)
	}
	s.forgetSilent()
	// Of a coordinator that is alone with its workers they are sure to come.
	awaited := s.exclusive && len(s.workers) == 0
	s.discovered = s.discovered || now.Sub(s.began) >= DiscoveryTime && !awaited
	s.endBackoffs()
	if now.Before(s.retry) {
		return s.actions
	}
	s.openQueues()
	s.decide()
	return s.actions
}

// decide appends the actions of the first part of a cycle that has something to do: what
// follows needs to know what came of it.
func (s *State) decide() {
	if s.read() || s.write() {
		return
	}
	if s.requeue() || s.fail() {
		return
	}
	s.withdraw()
	before := len(s.actions)
	s.assign(dispatchMost)
	s.explain()
	s.updateFigures()
	if len(s.written) > 0 { // there may be more to write
		s.written = nil
		s.write()
	}
	if s.midway = false; len(s.actions) == before && !s.read() && s.trouble {
		s.trouble, s.pause = false, 0
		s.do(Report{})
	}
}

func (s *State) do(a Action) { s.actions = append(s.actions, a) }

// Wake returns when the next step is due without any fact.
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
	for _, r := range s.backoffs {
		sooner(r.until)
		sooner(r.until.Add(lastPause))
	}
	return at
}

// read has sweeps read of which something has changed.
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
		s.do(Read{Sweeps: sortedKeys(s.touched)})
	default:
		return false
	}
	clear(s.touched)
	s.midway = true
	return true
}

// requeue has trials put back, a page at a time.
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

// fail has trials recorded as failed.
func (s *State) fail() bool {
	if len(s.failures) > 0 {
		s.do(Fail{s.failures})
	}
	return len(s.failures) > 0
}

// Unpublished are the trials that the database may have as queued and that have no job:
// whoever ends puts them back.
func (s *State) Unpublished() []sweep.TrialID {
	return append(append([]sweep.TrialID(nil), s.jobless...), s.refused...)
}

// failed notes that the database failed, or may not be written to: everything is read
// again after a pause.
func (s *State) failed(err error, pause time.Duration) {
	s.trouble, s.staleAll, s.midway, s.written = true, true, false, nil
	s.retry = s.now.Add(pause)
	s.do(Report{Err: err})
}
