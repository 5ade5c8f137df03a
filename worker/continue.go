package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// fetchTime is how long reading a kept checkpoint may take before its trial starts from the beginning.
const fetchTime = 5 * time.Minute

// fetchCheckpoint returns the checkpoint of the shorter trial that the job names, nil if it cannot be read. It
// records in note what came of it.
func (e *execution) fetchCheckpoint() []byte {
	from := e.delivery.Continues
	ctx, cancel := context.WithTimeout(e.ctx, fetchTime)
	defer cancel()
	state, err := e.readArtifact(ctx)
	if err != nil {
		e.slot.worker.log.Warn("kept checkpoint not read; the trial starts from its beginning", "trial",
			e.delivery.TrialID, "checkpoint of", from.TrialID, "error", err)
		e.setNote(fmt.Sprintf("starts from its beginning: the checkpoint of trial %v cannot be read: %v", from.TrialID,
			err))
		return nil
	}
	e.setNote(fmt.Sprintf("continued from the checkpoint of trial %v", from.TrialID))
	return state
}

func (e *execution) readArtifact(ctx context.Context) ([]byte, error) {
	store := e.slot.worker.options.Artifacts
	if store == nil {
		return nil, errors.New("this worker has no artifact store")
	}
	in, err := store.Get(ctx, e.delivery.Continues, 0)
	if err != nil {
		return nil, err
	}
	state, err := io.ReadAll(in)
	return state, errors.Join(err, in.Close())
}

// setNote sets what became of the checkpoint.
func (e *execution) setNote(note string) {
	e.announcing.Lock()
	defer e.announcing.Unlock()
	e.note = note
}
