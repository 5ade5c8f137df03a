package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/policy"
)

// expansionError means that a stored grid cannot be expanded. The fault is the sweep's, not the
// store's.
type expansionError struct{ error }

// Unwrap returns what is wrong.
func (e *expansionError) Unwrap() error { return e.error }

// faultOf is the error of a decision that fails by the sweep's own fault, as another attempt would; nil for others.
func faultOf(err error) error {
	if panicked, is := errors.AsType[*sweep.PanicError](err); is {
		return panicked
	}
	if expansion, is := errors.AsType[*expansionError](err); is {
		return expansion.error
	}
	return nil
}

// expand writes the next page of a sweep's trial rows, from the cursor of its first unfinished grid.
// The store looks for results to reuse. Where policies decide about generations, a page is one that was decided about,
// or a part of it.
func (s *scheduler) expand(ctx context.Context, a *activeSweep,
	w schedule.Write) (progress *schedule.Generations, err error) {
	defer s.broken(a.record.ID, &err)
	defer sweep.Catch(&err)
	if err := s.recordRefused(ctx, a); err != nil {
		return nil, err
	}
	for i := range a.record.Grids {
		g := &a.record.Grids[i]
		if g.Cursor >= g.Points || g.Cancelled {
			continue
		}
		if err := a.open(i); err != nil {
			return nil, &expansionError{err}
		}
		turn, chosen := turnOf(a.policies[i], g), &decision{}
		if turn.due {
			chosen, _ = w.Decision.(*decision)
			if chosen == nil || chosen.grid != i || chosen.written != g.Cursor {
				turn.progress.Choosing = !unfinished(w.Classes)
				return turn.progress, nil
			}
			if chosen.err != nil {
				return turn.progress, chosen.err
			}
		}
		if err := s.writePage(ctx, a, g, w.Classes, turn, chosen); err != nil {
			return turn.progress, err
		}
		if turn.progress != nil {
			turn.progress.Generation++
		}
		return turn.progress, s.recordRefused(ctx, a)
	}
	return nil, nil
}

// writePage writes trial rows of a grid, those that were chosen if some were.
func (s *scheduler) writePage(ctx context.Context, a *activeSweep, g *sweep.GridRecord, known []sweep.ClassBacklog,
	t turn, chosen *decision) error {
	points, size := a.grids[g.Ordinal].All(g.Cursor), int64(s.options.Page)
	if chosen.points != nil {
		points, size = numbered(g.Cursor, chosen.points), int64(len(chosen.points))
	}
	if t.left > 0 {
		size = min(size, t.left)
	}
	p := newPage(a.record.ID, g, known)
	if err := p.fill(points, size); err != nil {
		return &expansionError{err}
	}
	for k := range min(len(chosen.points), len(p.trials)) {
		p.trials[k].Skipped = chosen.points[k].Skip
	}
	var reused int
	var err error
	if t.marked == "" {
		reused, err = s.store.AddTrials(ctx, a.record.ID, g.Ordinal, g.Cursor, p.trials, p.added)
	} else {
		reused, err = s.store.AddGeneration(ctx, a.record.ID, g.Ordinal, g.Cursor, p.trials, p.added, t.marked,
			chosen.rule)
	}
	if errors.Is(err, sweep.ErrRefused) {
		return &expansionError{err}
	}
	if err != nil {
		return fmt.Errorf("writing trials %d to %d of sweep %s: %w",
			p.trials[0].Index, p.trials[len(p.trials)-1].Index, a.record.ID, err)
	}
	g.Cursor += int64(len(p.trials))
	a.refused = p.refused
	if reused > 0 {
		s.log.Debug("reused results of equal fingerprint", "sweep", a.record.ID, "trials", reused)
	}
	return nil
}

// broken makes a panic while a sweep is expanded an error of that sweep, of which nothing is cached any more.
func (s *scheduler) broken(id string, err *error) {
	if panicked, is := errors.AsType[*sweep.PanicError](*err); is {
		delete(s.active, id)
		*err = &expansionError{panicked}
	}
}

// numbered yields points with their indices, from one on.
func numbered(from int64, points []policy.Point) iter.Seq2[int64, sweep.Parameters] {
	return func(yield func(int64, sweep.Parameters) bool) {
		for i, point := range points {
			if !yield(from+int64(i), point.Parameters) {
				return
			}
		}
	}
}

// page holds the trials of one page.
type page struct {
	sweep  string
	grid   *sweep.GridRecord
	trials []sweep.Trial
	// refused are the results of trials whose points do not resolve.
	refused []sweep.Event
	// classes are the class numbers of requirements; added are new ones.
	classes map[string]int
	added   map[int]sweep.Requirement
}

func newPage(id string, g *sweep.GridRecord, known []sweep.ClassBacklog) *page {
	p := &page{sweep: id, grid: g, classes: map[string]int{}, added: map[int]sweep.Requirement{}}
	for _, class := range known {
		p.classes[requirementKey(&class.Requirement)] = class.Class
	}
	return p
}

// requirementKey returns a text that is equal for equal requirements.
func requirementKey(r *sweep.Requirement) string {
	key, err := json.Marshal(r)
	if err != nil {
		panic(err) // cannot happen: texts and numbers only
	}
	return string(key)
}

// fill resolves up to most points, which follow the grid's cursor, into trials. A point that does not
// resolve becomes a trial with the point's values that fails with the reason.
func (p *page) fill(points iter.Seq2[int64, sweep.Parameters], most int64) error {
	size := min(most, p.grid.Points-p.grid.Cursor)
	p.trials = make([]sweep.Trial, 0, size)
	for _, point := range points {
		t := sweep.Trial{TrialID: sweep.TrialID{Sweep: p.sweep, Index: p.grid.First + p.grid.Cursor +
			int64(len(p.trials))}}
		if problem := p.resolve(&t, point); problem != nil {
			p.refused = append(p.refused, failure(t.TrialID, problem))
		}
		p.trials = append(p.trials, t)
		if int64(len(p.trials)) == size {
			return nil
		}
	}
	return fmt.Errorf("the grid ends at point %d, before the %d points that were counted at its submission; "+
		"was it submitted by another version of the program?", p.grid.Cursor+int64(len(p.trials)), p.grid.Points)
}

// resolve fills in a trial's parameters, data set, fingerprint and class.
func (p *page) resolve(t *sweep.Trial, point sweep.Parameters) error {
	submission := &p.grid.Submission
	key, err := identify(submission, t, point)
	t.Class = p.class(submission.Requirement(key))
	if err != nil {
		return err
	}
	if slices.Contains(submission.Spec.Artifacts, sweep.CheckpointArtifact) {
		t.Lineage, t.Budget = submission.Description.Lineage(t.Parameters, t.DatasetDigest)
	}
	return nil
}

// identify fills in a trial's parameters, data set and fingerprint, and returns the key of the data set.
func identify(submission *sweep.Submission, t *sweep.Trial, point sweep.Parameters) (key string, err error) {
	description := &submission.Description
	resolved, err := description.Resolve(point)
	if err != nil {
		t.Parameters = point
		// No trainer accepts these values: no other trial may have this fingerprint.
		canonical, encodeErr := point.Canonical()
		if encodeErr != nil {
			t.Parameters = sweep.Parameters{} // the store cannot hold them
		}
		t.Fingerprint = sweep.NewFingerprint(description.Name, description.ResultVersion, "unresolved", canonical)
		return "", err
	}
	t.Parameters = resolved
	if key, err = description.DatasetKey(resolved); err != nil {
		return "", err
	}
	t.DatasetDigest = submission.Datasets[key]
	t.Fingerprint, err = description.Fingerprint(resolved, t.DatasetDigest)
	return key, err
}

// class returns the number of a requirement's class.
func (p *page) class(r sweep.Requirement) int {
	key := requirementKey(&r)
	number, known := p.classes[key]
	if !known {
		for _, taken := range p.classes {
			number = max(number, taken+1)
		}
		p.classes[key], p.added[number] = number, r
	}
	return number
}

// failure returns the result of a trial that fails before any worker receives it.
func failure(id sweep.TrialID, problem error) sweep.Event {
	result := &sweep.Result{State: sweep.Failed, Error: problem.Error()}
	result.Digest = result.ComputeDigest(nil)
	return ended(id, result)
}

// ended returns the event of a trial that the coordinator itself ends.
func ended(id sweep.TrialID, result *sweep.Result) sweep.Event {
	return sweep.Event{
		Kind:      sweep.EventResult,
		TrialID:   id,
		Execution: "coordinator-" + id.String(),
		Worker:    sweep.Coordinator,
		Time:      time.Now(),
		Result:    result,
	}
}

// recordRefused records the results of points that do not resolve. If the coordinator is killed
// before, they stay pending until a worker's trainer refuses them with the same reason.
func (c *Coordinator) recordRefused(ctx context.Context, a *activeSweep) error {
	if len(a.refused) == 0 {
		return nil
	}
	if _, err := c.store.Record(ctx, a.refused); err != nil {
		return fmt.Errorf("recording %d refused trials of sweep %s: %w", len(a.refused), a.record.ID, err)
	}
	a.refused = nil
	return nil
}
