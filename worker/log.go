package worker

import (
	"sweep/sweep"
	"sweep/sweep/wire"
)

// takeLog returns the end of the trainer's output in this execution, and how many bytes came
// before. Output since the execution before in the same process is included.
func (e *execution) takeLog() (text string, start int64) {
	process := e.process.Load()
	if process == nil {
		return "", 0
	}
	text, start, e.slot.logged = (*process).Log(e.logFrom)
	return text, start - e.logFrom
}

// Log implements wire.Presence.
func (w *Worker) Log(id sweep.TrialID, from int64) *wire.RunningLog {
	for e := range w.executions {
		if e.delivery.TrialID != id {
			continue
		}
		log := &wire.RunningLog{Worker: w.id, Name: w.options.Name, Execution: e.id()}
		if process := e.process.Load(); process != nil {
			text, start, end := (*process).Log(e.logFrom + max(from, 0))
			log.Log, log.End = sweep.Log{Text: text, Start: start - e.logFrom}, end-e.logFrom
		}
		return log
	}
	return nil
}
