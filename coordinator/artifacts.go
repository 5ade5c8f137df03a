package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sweep/sweep"
)

// errNoArtifacts means that Options.Artifacts is nil.
var errNoArtifacts = errors.New("this coordinator has no artifact store")

// CheckArtifacts implements wire.Controller.
func (c *Coordinator) CheckArtifacts(ctx context.Context, query sweep.ArtifactQuery, check sweep.ArtifactCheck,
	yield func(*sweep.CheckedArtifact) error) error {
	if check != sweep.CheckNothing && c.options.Artifacts == nil {
		return errNoArtifacts
	}
	record, err := c.store.Sweep(ctx, query.Sweep)
	if err != nil {
		return err
	}
	query.Sweep = record.ID
	look := func(r *sweep.ArtifactRecord) error {
		checked := &sweep.CheckedArtifact{ArtifactRecord: *r, State: sweep.ArtifactStored}
		if r.Dropped {
			checked.State = sweep.ArtifactDropped
		} else if r.Problem != "" {
			checked.State = sweep.ArtifactMissing
		} else if check != sweep.CheckNothing {
			checked.State, checked.Problem = c.found(ctx, r, check)
		}
		return yield(checked)
	}
	if len(query.Indices) > 0 || query.Until > 0 {
		return c.eachArtifact(ctx, query, look)
	}
	for end := record.Points(); query.From < end; query.From = query.Until {
		query.Until = query.From + checkPage
		if err := c.eachArtifact(ctx, query, look); err != nil {
			return err
		}
	}
	return nil
}

// checkPage is the number of trials whose artifacts are loaded at once.
const checkPage = 1000

// eachArtifact calls look for each artifact that matches the query. It first reads all of them from the
// database, because the artifact store and the client may be slow.
func (c *Coordinator) eachArtifact(ctx context.Context, query sweep.ArtifactQuery,
	look func(*sweep.ArtifactRecord) error) error {
	var page []*sweep.ArtifactRecord
	err := c.store.Artifacts(ctx, query, func(r *sweep.ArtifactRecord) error {
		page = append(page, r)
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range page {
		if err := look(r); err != nil {
			return err
		}
	}
	return nil
}

// found checks an artifact's bytes.
func (c *Coordinator) found(ctx context.Context, r *sweep.ArtifactRecord,
	check sweep.ArtifactCheck) (state sweep.ArtifactState, problem string) {
	err := c.options.Artifacts.Check(ctx, r, check == sweep.CheckDigest)
	if err == nil {
		return sweep.ArtifactStored, ""
	}
	if lost, is := errors.AsType[*sweep.LostError](err); is {
		return sweep.ArtifactLost, lost.Problem
	}
	if damaged, is := errors.AsType[*sweep.DamagedError](err); is {
		return sweep.ArtifactDamaged, damaged.Problem
	}
	return sweep.ArtifactUnknown, err.Error()
}

// copyBuffer is the size of the buffer that copies an artifact, in bytes.
const copyBuffer = 128 << 10

// Artifact implements wire.Controller.
func (c *Coordinator) Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
	out io.Writer) (*sweep.ArtifactRecord, error) {
	if c.options.Artifacts == nil {
		return nil, errNoArtifacts
	}
	record, err := c.store.Sweep(ctx, id.Sweep)
	if err != nil {
		return nil, err
	}
	id.Sweep = record.ID
	var found *sweep.ArtifactRecord
	query := sweep.ArtifactQuery{Sweep: id.Sweep, Indices: []int64{id.Index}, Name: name}
	err = c.store.Artifacts(ctx, query, func(r *sweep.ArtifactRecord) error {
		found = r
		return nil
	})
	if err == nil && found == nil {
		err = c.noArtifact(ctx, id, name)
	} else if err == nil && found.Dropped {
		err = fmt.Errorf("artifact %s/%s: %w: %s", id, name, sweep.ErrNotFound, found.Problem)
	}
	if err != nil {
		return nil, err
	}
	in, err := c.options.Artifacts.Get(ctx, found, from)
	if err != nil {
		return nil, err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, in, make([]byte, copyBuffer))
	return found, errors.Join(err, in.Close())
}

// noArtifact returns why a trial has no artifact of a name.
func (c *Coordinator) noArtifact(ctx context.Context, id sweep.TrialID, name string) error {
	trial, err := c.store.Trial(ctx, id)
	if err != nil {
		return err
	}
	why := "its sweep does not ask for it (artifacts)"
	if !trial.State.Terminal() {
		why = fmt.Sprintf("the trial is %s: what it leaves is there when it has a result", trial.State)
	} else if trial.State != sweep.Completed {
		why = fmt.Sprintf("the trial is %s", trial.State)
	}
	return fmt.Errorf("artifact %s/%s: %w: %s", id, name, sweep.ErrNotFound, why)
}

// forgetArtifacts removes the artifacts of deleted sweeps. It logs those that it cannot remove, since
// no record of them remains.
func (c *Coordinator) forgetArtifacts(ctx context.Context, deleted []sweep.DeletedSweep) {
	if c.options.Artifacts == nil {
		return
	}
	for _, d := range deleted {
		if err := c.removeArtifacts(ctx, d.Pool, d.ID); err != nil {
			c.log.Error("cannot remove the artifacts of a deleted sweep", "at", sweep.ArtifactPrefix(d.Pool, d.ID),
				"error", err)
		}
	}
}

// removeArtifacts removes a sweep's artifacts of which the store has no record any more. It is called
// after the transaction that deletes the sweep or its artifacts, and may be repeated.
func (c *Coordinator) removeArtifacts(ctx context.Context, pool, id string) error {
	// Artifacts that other sweeps reuse still have a record.
	recorded := map[string]bool{}
	err := c.store.ArtifactLocations(ctx, sweep.ArtifactPrefix(pool, id), func(location string) error {
		recorded[location] = true
		return nil
	})
	if err != nil {
		return err
	}
	return c.options.Artifacts.RemoveSweep(ctx, pool, id, func(location string) bool { return recorded[location] })
}

// removingDropped is the activity of removeDropped.
const removingDropped = "removing artifacts that are not kept"

// removeDropped removes the artifacts that no sweep keeps, because their trials are not among the best. The store names
// them until they are removed, so that this may be repeated.
func (c *Coordinator) removeDropped(ctx context.Context) error {
	for c.options.Artifacts != nil {
		locations, err := c.store.DroppedArtifacts(ctx)
		if err != nil || len(locations) == 0 {
			return err
		}
		var removed []string
		var failure error
		for _, location := range locations {
			if err := c.options.Artifacts.Delete(ctx, location); err == nil {
				removed = append(removed, location)
			} else if failure = cmp.Or(failure, err); ctx.Err() != nil {
				break
			}
		}
		if err := cmp.Or(c.store.ForgetDropped(ctx, removed), failure); err != nil {
			return err
		}
		c.log.Debug("removed artifacts that are not kept", "artifacts", len(removed))
	}
	return nil
}

// prepareTime bounds the preparation of a pool's artifact store.
const prepareTime = 30 * time.Second

// prepareAgain is the time to the next attempt after a failed preparation.
const prepareAgain = time.Minute

// prepareArtifacts prepares a pool's artifact store, once. If that fails the trials run nevertheless:
// their workers retry for a while and report what is missing.
func (c *Coordinator) prepareArtifacts(ctx context.Context, pool string) {
	known, tried := c.prepared.Load(pool)
	if again, _ := known.(time.Time); c.options.Artifacts == nil || tried &&
		(again.IsZero() || time.Now().Before(again)) {
		return
	}
	bound, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	err := c.options.Artifacts.Prepare(bound, pool)
	if err == nil {
		c.prepared.Store(pool, time.Time{})
		return
	}
	if !tried {
		c.log.Warn("artifacts may not be stored", "pool", pool, "error", err)
	}
	c.prepared.Store(pool, time.Now().Add(prepareAgain))
}

// prepareFailed prepares the artifact stores again whose last preparation failed, and that are due: all jobs
// of their pools may have been dispatched.
func (c *Coordinator) prepareFailed(ctx context.Context) {
	c.prepared.Range(func(pool, again any) bool {
		if !again.(time.Time).IsZero() {
			c.prepareArtifacts(ctx, pool.(string))
		}
		return ctx.Err() == nil
	})
}

// unprepare has all artifact stores prepared again: the broker may have lost them.
func (c *Coordinator) unprepare() {
	c.prepared.Range(func(pool, _ any) bool {
		c.prepared.Store(pool, time.Now())
		return true
	})
}

// fullMemory is how long an artifact store counts as full after it last refused an artifact.
const fullMemory = 10 * time.Minute

// fullStore is the latest report that the artifact store of a pool is full.
type fullStore struct {
	problem string
	at      time.Time
}

// noteArtifacts notes, from the results of trials, that an artifact store is full, and logs it once.
func (c *Coordinator) noteArtifacts(events []sweep.Event) {
	for i := range events {
		if events[i].Kind != sweep.EventResult || events[i].Result == nil {
			continue
		}
		for _, a := range events[i].Result.Artifacts {
			if !a.Full {
				continue
			}
			pool, _ := c.pools.Load(events[i].Sweep)
			name, _ := pool.(string)
			before, known := c.full.Swap(name, fullStore{a.Problem, time.Now()})
			if !known || time.Since(before.(fullStore).at) > fullMemory {
				c.log.Warn("the artifact store is full: trials lose their artifacts", "pool", name,
					"trial", events[i].TrialID, "problem", a.Problem)
			}
		}
	}
}

// artifactProblem returns an error if the trials of a pool lose their artifacts because the store is
// full, or results wait because it fails.
func (c *Coordinator) artifactProblem() error {
	var problem error
	c.full.Range(func(pool, value any) bool {
		if f := value.(fullStore); time.Since(f.at) < fullMemory {
			problem = fmt.Errorf("trials of pool %s lose their artifacts: %s", pool, f.problem)
		}
		return problem == nil
	})
	if problem != nil {
		return problem
	}
	for _, w := range c.Workers() {
		if w.Spool != nil && w.Spool.Problem != "" {
			return fmt.Errorf("pool %s, worker %s: %s", w.Pool, w.Name, w.Spool.Problem)
		}
	}
	return nil
}
