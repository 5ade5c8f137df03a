package worker

import (
	"time"

	"sweep/sweep/wire"
)

// SetStopGrace shortens the time that a trainer has to stop a trial.
func (w *Worker) SetStopGrace(d time.Duration) { w.stopGrace = d }

// SetAnnounceAfter sets the time after which a trial is announced.
func (w *Worker) SetAnnounceAfter(d time.Duration) { w.announceAfter = d }

// SetReportTimeout sets the time after which events that may be lost are given up.
func (w *Worker) SetReportTimeout(d time.Duration) { w.reportTimeout = d }

// SetResultTimeout sets the time after which a worker that ends gives up the last reports.
func (w *Worker) SetResultTimeout(d time.Duration) { w.resultTimeout = d }

// SetOfferTimes sets how long a worker waits for its trainers, and after how long it tries again what it lacks.
func (w *Worker) SetOfferTimes(d time.Duration) { w.offer.describeWait, w.offer.firstRetry = d, d }

// SetLongestWait sets the time after which a job that waits here is returned.
func (w *Worker) SetLongestWait(d time.Duration) { w.longestWait = d }

// SetPrefetchTimes sets how much work the backlog holds for a slot, and a slot for its trainer.
func (w *Worker) SetPrefetchTimes(d time.Duration) {
	w.puller.lookaheadTime, w.puller.prefetchTime = d, d
}

// Waiting is how many jobs wait here: for a slot, or in one for its trainer.
func (w *Worker) Waiting() (jobs int) {
	for b := range w.backlogs {
		b.mu.Lock()
		jobs += len(b.jobs)
		b.mu.Unlock()
	}
	return jobs
}

// SetMachine sets what a worker lacks by its own account.
func (w *Worker) SetMachine(lacks func() error) { w.machine = lacks }

// SetAside sets the worker aside as a coordinator does.
func (w *Worker) SetAside(reason string, trial *wire.Job) { w.setAside(reason, trial) }

// SetFarewell sets the time after which a worker that ends gives up what it does at the server.
func (w *Worker) SetFarewell(d time.Duration) { w.farewell = d }

// CutOff reports whether it has given something up.
func (w *Worker) CutOff() bool { return w.cutOff.Load() }
