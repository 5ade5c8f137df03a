package worker

import (
	"context"
	"time"

	"sweep/sweep/wire"
)

// beats tell the active coordinator what the worker offers and runs, and hear
// which trials have ended elsewhere.
type beats struct {
	worker *Worker
	// due holds a token when the coordinator should hear of the worker at once.
	due chan struct{}
}

func newBeats(w *Worker) *beats { return &beats{w, make(chan struct{}, 1)} }

// soon has the worker heard of at once.
func (b *beats) soon() {
	select {
	case b.due <- struct{}{}:
	default: // it is due already
	}
}

// beatPause is the least time between two beats.
const beatPause = 50 * time.Millisecond

// run beats until ctx ends, and says then that the worker is gone.
func (b *beats) run(ctx context.Context) {
	unsubscribe, err := b.worker.wire.RollCalls(b.soon)
	if err != nil {
		b.worker.log.Error("no roll calls are heard", "error", err)
	} else {
		defer func() { _ = unsubscribe() }() // or the connection is closed
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			// silence says it too
			_, _ = b.worker.wire.Beat(last, wire.Beat{WorkerStatus: b.worker.Status(), Gone: true})
			return
		case <-b.due:
		case <-timer.C:
		}
		b.beat(ctx)
		sleep(ctx, beatPause)
		timer.Reset(wire.BeatInterval)
	}
}

// beat tells the coordinator how the worker is and does what it answers.
func (b *beats) beat(ctx context.Context) {
	w := b.worker
	beat := wire.Beat{WorkerStatus: w.Status(), Checkpoints: w.idleCheckpoints()}
	for _, s := range w.slots {
		if e := s.current(); e != nil {
			beat.Running = append(beat.Running, wire.Running{TrialID: e.delivery.TrialID, Execution: e.id})
		}
	}
	answer, err := w.wire.Beat(ctx, beat)
	if err != nil {
		w.log.Debug("no coordinator has heard of this worker; it goes on", "error", err)
		return
	}
	for _, r := range answer.Stop {
		for _, s := range w.slots {
			if e := s.current(); e != nil && e.id == r.Execution {
				w.log.Info("stopping a trial that has ended elsewhere", "trial", r.TrialID)
				e.abandon(errCancelled)
			}
		}
	}
	w.removeCheckpoints(answer.Ended)
}
