package worker

import "time"

// SetStopGrace shortens the time that a trainer has to stop a trial.
func (w *Worker) SetStopGrace(d time.Duration) { w.stopGrace = d }
