package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sweep/sweep"
)

// simulated are trials on workers: some trials take their worker with them. Jobs of lost executions are delivered
// again, as the broker does, or dispatched anew.
type simulated struct {
	*testing.T
	random   *rand.Rand
	ledger   *Ledger
	trials   []*Trial
	killers  map[sweep.TrialID]bool
	limits   sweep.Limits
	next     int
	kills    map[sweep.TrialID]int
	unproven []sweep.Event // losses that the reconciler has not counted yet
}

func (s *simulated) apply(events ...sweep.Event) {
	s.ledger.Apply(events, func(*Trial) Limits { return Limits{Attempts: 3, Losses: s.limits.Losses} })
}

// lost counts the lost executions of a trial as the store does when it is dispatched.
func (s *simulated) lost(t *Trial) int {
	n := t.Losses
	for _, e := range s.ledger.executions {
		if e.Trial == t && e.Outcome == sweep.ExecutionLost && e.Replaced && !e.Charged && !e.Forgotten {
			n++
		}
	}
	return n
}

// round has one worker take trials as a worker does: one alone if it is suspect, else up to its slots.
func (s *simulated) round(slots int) {
	var open []*Trial
	for _, t := range s.trials {
		if !t.State.Terminal() {
			open = append(open, t)
		}
	}
	if len(open) == 0 {
		return
	}
	s.random.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	var together []*Trial
	for _, t := range open[:min(slots, len(open))] {
		if s.limits.Suspects(s.lost(t)) {
			together = []*Trial{t}
			break
		}
		together = append(together, t)
	}
	alone := slots == 1 || s.limits.Suspects(s.lost(together[0]))
	var started []sweep.Event
	dies := false
	for _, t := range together {
		s.next++
		started = append(started, sweep.Event{Kind: sweep.EventStarted, TrialID: t.ID, Execution: fmt.Sprint(s.next),
			Worker: "w", Alone: alone})
		if s.killers[t.ID] {
			dies = true
			s.kills[t.ID]++
		}
	}
	s.apply(started...)
	for _, e := range started {
		switch {
		case !dies:
			e.Kind, e.Result = sweep.EventResult, &sweep.Result{State: sweep.Completed}
			s.apply(e)
		case s.random.IntN(2) == 0: // the job is gone with the worker, or it is delivered again first
			s.apply(sweep.Event{Kind: sweep.EventLost, TrialID: e.TrialID, Execution: e.Execution})
		default:
			s.unproven = append(s.unproven, sweep.Event{Kind: sweep.EventLost, TrialID: e.TrialID, Execution: e.Execution})
		}
	}
	for len(s.unproven) > 0 && s.random.IntN(3) > 0 {
		s.apply(s.unproven[0])
		s.unproven = s.unproven[1:]
	}
}

// Whatever trials run beside those that take their workers with them: no innocent trial fails, each guilty one fails,
// in the end all have ended, and after the limit a guilty one takes its worker with it a bounded number of times.
func TestInnocentTrialsDoNotFail(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := &simulated{T: t, random: r, ledger: New(time.Unix(1, 0)), killers: map[sweep.TrialID]bool{},
			limits: sweep.Limits{Losses: 1 + r.IntN(5)}, kills: map[sweep.TrialID]int{}}
		for i := range int64(1 + r.IntN(20)) {
			trial := &Trial{ID: sweep.TrialID{Sweep: "s", Index: i}, State: sweep.Queued}
			s.ledger.LoadTrial(trial)
			s.trials = append(s.trials, trial)
			s.killers[trial.ID] = r.IntN(3) == 0
		}
		left := func(t *Trial) bool { return !t.State.Terminal() }
		for n := 0; slices.ContainsFunc(s.trials, left); n++ {
			if n == 10_000 {
				t.Fatalf("seed %d: trials do not end: kills %v", seed, s.kills)
			}
			s.round(1 + r.IntN(6))
		}
		for _, trial := range s.trials {
			switch killer := s.killers[trial.ID]; {
			case !killer && trial.State != sweep.Completed:
				t.Errorf("seed %d: innocent trial %v is %s: %s", seed, trial.ID, trial.State, trial.Outcome.Error)
			case killer && trial.State != sweep.Failed:
				t.Errorf("seed %d: guilty trial %v is %s", seed, trial.ID, trial.State)
			case killer && s.limits.Losses > 1 && trial.Losses < s.limits.Losses:
				t.Errorf("seed %d: trial %v failed after %d losses of %d", seed, trial.ID, trial.Losses, s.limits.Losses)
			}
		}
	}
}
