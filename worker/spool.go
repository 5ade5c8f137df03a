package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// DefaultSpool is the default of Options.Spool.
	DefaultSpool = 4 << 30
	// maxSpooled bounds the results in the spool.
	maxSpooled = 1024
	// maxUploads bounds the executions whose artifacts are stored at the same time.
	maxUploads = 16
	// slowStore is from when on it is said that results wait for a store that has not failed.
	slowStore = 5 * time.Second
)

// Reasons why the spool does not take artifacts.
var (
	errNoSpool   = errors.New("there is no spool")
	errSpoolFull = errors.New("the spool of its worker is full")
)

// spool keeps, on disk, the results of trials whose artifacts are not in the artifact store yet. So a slot is free as
// soon as its trial has ended, whatever the store does. A result is reported when its artifacts are stored; until then
// its job stays this worker's. What a killed worker leaves is taken up by the next one with the same directory.
type spool struct {
	worker *Worker
	limit  int64
	// dir is this worker's part of the directory, empty if there is none; lock makes it so.
	dir  string
	lock *os.File

	// judging is held while it is decided whether the spool is full.
	judging sync.Mutex

	mu sync.Mutex
	// entries are in the order in which their trials ended. An entry leaves when its result is recorded.
	entries []*spooled
	size    int64
	full    bool
	closed  bool
	over    bool // nothing is stored or cancelled any more
	changed sync.Cond
	// dropping are the cancelled entries that are being removed.
	dropping sync.WaitGroup
	// inPlace is how many slots store artifacts themselves.
	inPlace atomic.Int64
}

// spooled is an execution that has ended and whose artifacts are not stored yet.
type spooled struct {
	wire.Running
	fingerprint sweep.Fingerprint
	dir         string
	size        int64
	since       time.Time // in this spool
	took        time.Duration
	// found is set if another worker left it.
	found bool
	// kept is the content of its file if that could not be written, else nil.
	kept *spoolFile
	// ctx ends when the trial is cancelled, or the worker is stopped.
	ctx  context.Context
	stop context.CancelFunc

	// The spool's lock guards what follows. delivery is the trial's job, nil if this worker does not have it.
	delivery *wire.Delivery
	complete bool // the result is there
	taken    bool // it is being stored
	reported bool // the result is on its way
	gone     bool // cancelled, and being removed
	// cancelled is set if the trial was cancelled after its artifacts were taken over and before it was complete.
	cancelled bool
}

func newSpool(w *Worker) *spool {
	s := &spool{worker: w, limit: w.options.Spool}
	s.changed.L = &s.mu
	return s
}

// keep takes over the artifacts of an execution whose result will follow, by commit. An error leaves them as they are.
func (s *spool) keep(e *execution, artifacts []sweep.Artifact) (*spooled, error) {
	if s.dir == "" {
		return nil, errNoSpool
	}
	s.mu.Lock()
	full := s.full
	s.mu.Unlock()
	if full && !e.delivery.Requirement.Artifacts { // others that run when it gets full are bounded by the slots
		return nil, errSpoolFull
	}
	entry := &spooled{Running: wire.Running{TrialID: e.delivery.TrialID, Execution: e.id()},
		fingerprint: e.delivery.Fingerprint, dir: s.entryDir(e.id())}
	if err := entry.write(e.artifacts, artifacts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(entry.dir))
	}
	for i := range artifacts {
		if artifacts[i].Problem == "" {
			entry.size += artifacts[i].Size
		}
	}
	s.enter(e.running, entry)
	return entry, nil
}

// enter adds an entry, which is stored until running ends.
func (s *spool) enter(running context.Context, entry *spooled) {
	entry.since = time.Now()
	entry.ctx, entry.stop = context.WithCancel(running)
	s.mu.Lock()
	s.entries = append(s.entries, entry)
	s.size += entry.size
	s.mu.Unlock()
	s.judge()
}

// commit adds the end of an execution to its artifacts. From now on they are stored, and it is reported.
func (s *spool) commit(entry *spooled, r report, checkpoint bool) {
	file := &spoolFile{Version: spoolVersion, Pool: s.worker.options.Pool, Fingerprint: entry.fingerprint,
		Events: r.events, Took: r.took, Checkpoint: checkpoint}
	if err := file.write(entry.dir); err != nil {
		s.worker.log.Warn("a result waits in memory for the artifact store: it cannot be written to the spool", "trial",
			entry.TrialID, "error", err)
		entry.kept = file
	}
	s.mu.Lock()
	entry.complete, entry.delivery, entry.took = true, r.delivery, r.took
	entry.Execution = r.events[len(r.events)-1].Execution
	drop := entry.cancelled && !s.over
	if drop {
		entry.gone = true
		s.dropping.Add(1)
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	if drop {
		defer s.dropping.Done()
		s.drop(entry)
	}
}

// discard removes an entry without a result.
func (s *spool) discard(entry *spooled) {
	s.remove(entry)
	entry.stop()
	if err := os.RemoveAll(entry.dir); err != nil {
		s.worker.log.Warn("artifacts not removed from the spool", "trial", entry.TrialID, "error", err)
	}
}

// remove takes an entry out of the list.
func (s *spool) remove(entry *spooled) {
	s.mu.Lock()
	if i := slices.Index(s.entries, entry); i >= 0 {
		s.entries = slices.Delete(s.entries, i, i+1)
		s.size -= entry.size
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	s.judge()
}

// judge decides whether the spool is full. Then the worker offers to run no trials that leave artifacts, until the
// spool is half empty.
func (s *spool) judge() {
	s.judging.Lock()
	defer s.judging.Unlock()
	s.mu.Lock()
	before := s.full
	if s.size >= s.limit || len(s.entries) >= maxSpooled {
		s.full = true
	} else if s.size <= s.limit/2 && len(s.entries) <= maxSpooled/2 {
		s.full = false
	}
	full := s.full
	s.mu.Unlock()
	if !full && !before {
		return
	}
	reason := ""
	if full {
		reason = "a full spool: the artifact store is slower than the trials"
		if _, problem := s.worker.options.Artifacts.Failing(); problem != nil {
			reason = "a full spool: " + problem.Error()
		}
	}
	if full && !before {
		s.worker.log.Warn("no trials that leave artifacts are taken", "reason", reason)
	}
	s.worker.offer.change(func() { s.worker.offer.offer.NoArtifacts = reason })
}

// start begins to store what is in the spool, until close is called and all is stored, or running ends.
func (s *spool) start(running context.Context) (wait func()) {
	var uploads sync.WaitGroup
	stop := context.AfterFunc(running, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	for range min(len(s.worker.slots), maxUploads) {
		uploads.Go(func() {
			for entry := s.next(running); entry != nil; entry = s.next(running) {
				s.store(entry)
			}
		})
	}
	return func() {
		uploads.Wait()
		stop()
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
		s.dropping.Wait()
	}
}

// close has start's goroutines end when all is stored.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
}

// next returns the entry to store next, nil at the end.
func (s *spool) next(running context.Context) *spooled {
	s.mu.Lock()
	defer s.mu.Unlock()
	for running.Err() == nil {
		left := false
		for _, entry := range s.entries {
			if entry.complete && !entry.taken && !entry.gone {
				entry.taken = true
				return entry
			}
			left = left || !entry.reported
		}
		if s.closed && !left {
			return nil
		}
		s.changed.Wait()
	}
	return nil
}

// store stores the artifacts of an entry and reports it.
func (s *spool) store(entry *spooled) {
	file, err := entry.load()
	if err == nil && entry.found {
		err = entry.verify(file)
	}
	if err != nil {
		s.abandon(entry, err)
		return
	}
	result := file.result()
	for i := range result.Artifacts {
		a := &result.Artifacts[i]
		if a.Problem == "" && s.put(entry, a) != nil { // it is cancelled, or the worker stopped
			s.mu.Lock()
			entry.taken = false
			s.mu.Unlock()
			return
		}
		if a.Problem != "" {
			a.Size, a.Digest = 0, ""
		}
	}
	s.mu.Lock()
	if entry.gone {
		s.mu.Unlock()
		return
	}
	entry.reported = true
	delivery := entry.delivery
	s.mu.Unlock()
	s.worker.reporter.add(report{events: file.Events, delivery: delivery, took: entry.took, done: func() {
		if path := s.worker.checkpointPath(entry.fingerprint); file.Checkpoint && path != "" {
			s.worker.remove(path, path+asideSuffix)
		}
		s.discard(entry)
	}})
}

// put stores an artifact of an entry, or sets its Problem.
func (s *spool) put(entry *spooled, a *sweep.Artifact) error {
	in, err := os.Open(entry.content(a))
	if err != nil {
		a.Problem = fmt.Sprintf("%sits copy in the spool of its worker cannot be read: %v", sweep.NotStored, err)
		s.worker.log.Error("artifact not stored", "trial", entry.TrialID, "artifact", a.Name, "error", err)
		return nil
	}
	defer func() { _ = in.Close() }() // it was only read
	return s.worker.put(entry.ctx, entry.TrialID, a, in)
}

// abandon gives up an entry that cannot be read: its trial runs again.
func (s *spool) abandon(entry *spooled, err error) {
	s.worker.log.Error("a result that was waiting for the artifact store is lost; its trial runs again", "trial",
		entry.TrialID, "error", err)
	s.mu.Lock()
	delivery := entry.delivery
	s.mu.Unlock()
	if delivery != nil {
		if err := delivery.NakWithDelay(returnDelay); err != nil {
			s.worker.log.Warn("job not returned to the queue", "trial", entry.TrialID, "error", err)
		}
	}
	s.discard(entry)
}

// release gives the jobs of what is left back, when the worker has been stopped. The results stay on disk for the next
// worker with this directory; should another one run a trial before, its result counts.
func (s *spool) release() {
	s.mu.Lock()
	var left []*spooled
	for _, entry := range s.entries {
		if entry.complete && !entry.reported {
			left = append(left, entry)
		}
	}
	s.mu.Unlock()
	for _, entry := range left {
		if entry.delivery != nil {
			s.end(entry, "its worker was stopped before its artifacts were stored; they stay in the worker's spool",
				nil)
		}
	}
}

// end reports that an entry was released, and calls done when that is recorded.
func (s *spool) end(entry *spooled, reason string, done func()) {
	file, err := entry.load()
	if err != nil {
		s.abandon(entry, err)
		return
	}
	last := &file.Events[len(file.Events)-1]
	last.Kind, last.Result, last.Time = sweep.EventReleased, nil, time.Now().UTC()
	last.Release = &sweep.Release{Reason: reason}
	s.worker.reporter.add(report{events: file.Events, delivery: entry.delivery, took: entry.took, done: done})
}

// cancel removes the entries for which named holds.
func (s *spool) cancel(named func(r *wire.Running) bool) {
	s.mu.Lock()
	var ended []*spooled
	for _, entry := range s.entries {
		switch {
		case s.over || entry.reported || entry.gone || !named(&entry.Running):
		case entry.complete:
			entry.gone = true
			ended = append(ended, entry)
		default:
			entry.cancelled = true
		}
	}
	if len(ended) > 0 {
		s.dropping.Add(1)
	}
	s.mu.Unlock()
	if len(ended) == 0 {
		return
	}
	go func() { // the reporter may let it wait
		defer s.dropping.Done()
		for _, entry := range ended {
			s.drop(entry)
		}
	}()
}

// drop releases a cancelled entry and removes it when that is recorded.
func (s *spool) drop(entry *spooled) {
	entry.stop()
	s.end(entry, "cancelled", func() { s.discard(entry) })
}

// each calls do for each job whose result is here.
func (s *spool) each(do func(*wire.Delivery)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, entry := range s.entries {
		if entry.delivery != nil {
			do(entry.delivery)
		}
	}
}

// running lists the executions that are here.
func (s *spool) running() (list []wire.Running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, entry := range s.entries {
		if entry.complete && !entry.gone {
			list = append(list, entry.Running)
		}
	}
	return list
}

// adopt takes a job of a trial whose result is here, and reports whether it did.
func (s *spool) adopt(d *wire.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, entry := range s.entries {
		if entry.TrialID == d.TrialID && entry.fingerprint == d.Fingerprint && entry.complete && !entry.gone &&
			!entry.reported {
			entry.delivery = d
			return true
		}
	}
	return false
}

// status says what waits, and why; nil if nothing does.
func (s *spool) status() *wire.WorkerSpool {
	if s.worker.options.Artifacts == nil {
		return nil
	}
	s.judge() // the reason may be another one
	store, now := s.worker.options.Artifacts, time.Now()
	s.mu.Lock()
	w := &wire.WorkerSpool{Results: len(s.entries), Bytes: s.size}
	stored := store.Stored()
	if len(s.entries) > 0 && s.entries[0].since.After(stored) {
		stored = s.entries[0].since
	}
	s.mu.Unlock()
	slots := s.inPlace.Load()
	if w.Results == 0 && slots == 0 {
		return nil
	}
	if since, problem := store.Failing(); problem != nil {
		w.Failing = true
		w.Problem = fmt.Sprintf("%v (for %v)", problem, now.Sub(since).Round(time.Second))
	} else if silent := now.Sub(stored); w.Results > 0 && silent > slowStore {
		w.Problem = fmt.Sprintf("artifact store %s has stored nothing for %v", store.Name(), silent.Round(time.Second))
	} else {
		return w
	}
	w.Problem += fmt.Sprintf("; %s with artifacts, %s, wait for it on the worker's disk",
		sweep.CountText(w.Results, "result"), sweep.SizeText(w.Bytes))
	if slots > 0 {
		w.Problem += fmt.Sprintf(", and %s for room there", sweep.CountText(slots, "slot"))
	}
	return w
}
