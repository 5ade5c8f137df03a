package worker

import "time"

// SetStopGrace shortens the time that a trainer has to stop a trial.
func (w *Worker) SetStopGrace(d time.Duration) { w.stopGrace = d }

// Waiting is how many jobs wait here: for a slot, or in one for its trainer.
func (w *Worker) Waiting() (jobs int) {
	for b := range w.backlogs {
		b.mu.Lock()
		jobs += len(b.jobs)
		b.mu.Unlock()
	}
	return jobs
}
