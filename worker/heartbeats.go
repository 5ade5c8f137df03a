package worker

import (
	"context"
	"time"

	"sweep/sweep/wire"
)

// heartbeats sends the worker's heartbeats to the active coordinator, and stops trials
// that, by its answers, have ended elsewhere.
type heartbeats struct {
	worker *Worker
	// due holds a token when the next heartbeat is to be sent at once.
	due chan struct{}
}

func newHeartbeats(w *Worker) *heartbeats { return &heartbeats{w, make(chan struct{}, 1)} }

// soon has a heartbeat sent at once.
func (h *heartbeats) soon() {
	select {
	case h.due <- struct{}{}:
	default: // it is due already
	}
}

// heartbeatPause is the shortest time between two heartbeats.
const heartbeatPause = 50 * time.Millisecond

// run sends heartbeats until ctx ends, and then one that says that the worker is gone.
func (h *heartbeats) run(ctx context.Context) {
	unsubscribe, err := h.worker.wire.HeartbeatRequests(h.soon)
	if err != nil {
		h.worker.log.Error("heartbeat requests of coordinators are not received", "error", err)
	} else {
		defer unsubscribe()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			// without it the worker counts as gone a little later
			_, _ = h.worker.wire.SendHeartbeat(last, wire.Heartbeat{WorkerStatus: h.worker.Status(), Gone: true})
			return
		case <-h.due:
		case <-timer.C:
		}
		h.send(ctx)
		sleep(ctx, heartbeatPause)
		timer.Reset(wire.HeartbeatInterval)
	}
}

// send sends a heartbeat and carries out the answer.
func (h *heartbeats) send(ctx context.Context) {
	w := h.worker
	heartbeat := wire.Heartbeat{WorkerStatus: w.Status(), Checkpoints: w.idleCheckpoints(),
		Storing: w.spool.running()}
	for e := range w.executions {
		running := wire.Running{TrialID: e.delivery.TrialID, Execution: e.id()}
		if e.lease != nil {
			running.Need = e.lease.Need().Key()
		}
		heartbeat.Running = append(heartbeat.Running, running)
	}
	answer, err := w.wire.SendHeartbeat(ctx, heartbeat)
	if err != nil {
		w.log.Debug("no coordinator answered the heartbeat; the worker continues", "error", err)
		return
	}
	for _, r := range answer.Stop {
		for e := range w.executions {
			if e.id() == r.Execution {
				w.log.Info("stopping a trial that has ended elsewhere", "trial", r.TrialID)
				e.abandon(errCancelled)
			}
		}
		w.spool.cancel(func(waiting *wire.Running) bool { return waiting.Execution == r.Execution })
	}
	for _, h := range answer.Halt {
		for e := range w.executions {
			if e.id() == h.Execution {
				e.halt(h.Halt)
			}
		}
	}
	w.removeCheckpoints(answer.Ended)
	w.needs.set(answer.Needs)
	if a := answer.Aside; a != nil {
		w.setAside(a.Reason, a.Trial)
	}
}
