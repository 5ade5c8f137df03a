package coordinator

import (
	"sweep/sweep"
	"sweep/sweep/policy"
	"sweep/sweep/wire"
)

// activeSweep is the part of a sweep from which its rows and jobs are written.
type activeSweep struct {
	record *sweep.SweepRecord
	// grids are the record's grids, opened when the cursor first reaches them.
	grids []*sweep.Grid
	// policies are what decides about the trials of each grid.
	policies [][]policy.Policy
	// watching stops trials of each grid while they run, once a trial of it was given to a worker.
	watching [][]policy.Policy
	// volatile are the metrics that digests leave out, by grid.
	volatile [][]string
	// refused are results of written points that do not resolve. They are recorded before
	// anything else is written.
	refused []sweep.Event
	// rule is that of the trials which were last given to workers, of a sweep that stops trials early.
	rule stopRule
}

func newActiveSweep(record *sweep.SweepRecord) *activeSweep {
	a := &activeSweep{record: record, grids: make([]*sweep.Grid, len(record.Grids)),
		policies: make([][]policy.Policy, len(record.Grids)), watching: make([][]policy.Policy, len(record.Grids))}
	for i := range record.Grids {
		a.volatile = append(a.volatile, wire.VolatileOf(&record.Grids[i].Submission.Description))
	}
	return a
}

// open opens a grid.
func (a *activeSweep) open(ordinal int) (err error) {
	if a.grids[ordinal] != nil {
		return nil
	}
	a.grids[ordinal], a.policies[ordinal], err = policy.Open(&a.record.Grids[ordinal].Submission)
	return err
}

// grid returns the grid of a trial, nil if there is none.
func (a *activeSweep) grid(index int64) *sweep.GridRecord {
	for i := range a.record.Grids {
		if g := &a.record.Grids[i]; index >= g.First && index < g.First+g.Points {
			return g
		}
	}
	return nil
}

// job returns the job of a trial, without its requirement.
func (a *activeSweep) job(t sweep.Trial, stop *sweep.StopRule) wire.Job {
	job := wire.Job{Trial: t, Pool: a.record.Pool, Stop: stop}
	if g := a.grid(t.Index); g != nil {
		job.Lineage, job.Budget = g.Submission.Description.Lineage(t.Parameters, t.DatasetDigest)
		job.Limits, job.Artifacts = g.Submission.Spec.Limits, g.Submission.Spec.Artifacts
		first := a.record.Grids[0].Submission.Spec.Name // the sweep's own may change, that of a trial's run may not
		job.Script = g.Submission.Spec.Script.For(t.Parameters).Named(first, t.TrialID)
		job.Volatile = a.volatile[g.Ordinal]
	}
	return job
}
