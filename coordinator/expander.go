package coordinator

import (
	"context"
	"fmt"
	"time"

	"sweep/sweep"
)

// expansionError says that a stored grid cannot be expanded: the sweep is at
// fault, not the store.
type expansionError struct {
	sweep   string
	ordinal int
	err     error
}

func (e *expansionError) Error() string {
	return fmt.Sprintf("expanding sweep %s, grid %d: %v", e.sweep, e.ordinal, e.err)
}

func (e *expansionError) Unwrap() error { return e.err }

// expand writes the next page of a sweep's trial rows: the points that follow
// the cursor of the first grid that has some left. The store looks for results
// to reuse there.
func (c *Coordinator) expand(ctx context.Context, l *lane) error {
	if err := c.recordRefused(ctx, l); err != nil {
		return err
	}
	for i := range l.record.Grids {
		g := &l.record.Grids[i]
		if g.Cursor >= g.Points || g.Cancelled {
			continue
		}
		if l.grids[i] == nil {
			grid, err := sweep.NewGrid(&g.Submission.Spec)
			if err != nil {
				return &expansionError{l.record.ID, g.Ordinal, err}
			}
			l.grids[i] = grid
		}
		page, refused, err := c.page(l.record.ID, g, l.grids[i])
		if err != nil {
			return &expansionError{l.record.ID, g.Ordinal, err}
		}
		reused, err := c.store.AddTrials(ctx, l.record.ID, g.Ordinal, g.Cursor, page)
		if err != nil {
			return fmt.Errorf("writing trials %d to %d of sweep %s: %w",
				page[0].Index, page[len(page)-1].Index, l.record.ID, err)
		}
		g.Cursor += int64(len(page))
		l.refused = refused
		if reused > 0 {
			c.log.Debug("took over results of equal fingerprint", "sweep", l.record.ID, "trials", reused)
		}
		return c.recordRefused(ctx, l)
	}
	return nil
}

// page resolves the points of a grid from its cursor on into trials. A point
// that does not resolve is a trial with the point's own values, and fails at
// once with the reason.
func (c *Coordinator) page(id string, g *sweep.GridRecord, grid *sweep.Grid) (trials []sweep.Trial, refused []sweep.Event, err error) {
	size := min(int64(c.options.Page), g.Points-g.Cursor)
	trials = make([]sweep.Trial, 0, size)
	for _, point := range grid.All(g.Cursor) {
		t := sweep.Trial{TrialID: sweep.TrialID{Sweep: id, Index: g.First + g.Cursor + int64(len(trials))}}
		if problem := resolve(&t, &g.Submission, point); problem != nil {
			refused = append(refused, failure(t.TrialID, problem))
		}
		trials = append(trials, t)
		if int64(len(trials)) == size {
			return trials, refused, nil
		}
	}
	return nil, nil, fmt.Errorf("the grid ends at point %d, before the %d points that were counted at its submission; "+
		"was it submitted by another version of the program?", g.Cursor+int64(len(trials)), g.Points)
}

// resolve fills in a trial's parameters, data set and fingerprint.
func resolve(t *sweep.Trial, submission *sweep.Submission, point sweep.Parameters) error {
	description := &submission.Description
	resolved, err := description.Resolve(point)
	if err != nil {
		t.Parameters = point
		// No trainer answers for these values: the fingerprint is nobody else's.
		canonical, encodeErr := point.Canonical()
		if encodeErr != nil {
			t.Parameters = sweep.Parameters{} // the store could not hold them
		}
		t.Fingerprint = sweep.NewFingerprint(description.Name, description.ResultVersion, "unresolved", canonical)
		return err
	}
	t.Parameters = resolved
	key, err := description.DatasetKey(resolved)
	if err != nil {
		return err
	}
	canonical, err := resolved.Canonical()
	if err != nil {
		return err
	}
	t.DatasetDigest = submission.Datasets[key]
	t.Fingerprint = sweep.NewFingerprint(description.Name, description.ResultVersion, t.DatasetDigest, canonical)
	return nil
}

// failure is the result of a trial that never reaches a worker.
func failure(id sweep.TrialID, problem error) sweep.Event {
	result := &sweep.Result{State: sweep.Failed, Error: problem.Error()}
	result.Digest = result.ComputeDigest(nil)
	return sweep.Event{
		Kind:      sweep.EventResult,
		TrialID:   id,
		Execution: "coordinator-" + id.String(),
		Worker:    "coordinator",
		Time:      time.Now(),
		Result:    result,
	}
}

// recordRefused records the results of points that did not resolve. A
// coordinator that is killed before leaves them pending: a worker's trainer
// then refuses them with the same reason.
func (c *Coordinator) recordRefused(ctx context.Context, l *lane) error {
	if len(l.refused) == 0 {
		return nil
	}
	if _, err := c.store.Record(ctx, l.refused); err != nil {
		return fmt.Errorf("recording %d refused trials of sweep %s: %w", len(l.refused), l.record.ID, err)
	}
	l.refused = nil
	return nil
}
