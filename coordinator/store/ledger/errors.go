package ledger

import "sweep/sweep"

// Streak is what the trials of a class that ended in a batch of events add to its errors in a row.
type Streak struct {
	// Errors are those at the end of the batch.
	sweep.Errors
	// Broken means that another end came before them, so that none of an earlier batch are in the same row.
	Broken bool
	// Completed means that a trial completed, or was stopped early, which its program did not fail.
	Completed bool
}

// Streaks returns those of the classes with ended trials.
func (l *Ledger) Streaks() map[Class]*Streak {
	streaks := map[Class]*Streak{}
	for _, trial := range l.ends {
		completed := trial.State == sweep.Completed || trial.State == sweep.Stopped
		if !completed && (trial.State != sweep.Failed || trial.Outdated || trial.Unconfirmed) {
			continue
		}
		s := streaks[trial.Class]
		if s == nil {
			s = &Streak{}
			streaks[trial.Class] = s
		}
		if completed {
			*s = Streak{Broken: true, Completed: true}
			continue
		}
		first := s.Count == 0
		same := s.Add(trial.ID.Index, trial.Outcome.Error)
		s.Broken = s.Broken || !first && !same
	}
	return streaks
}
