package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// mostCompared is how many points an extension compares, a few microseconds each.
const mostCompared = 5_000_000

// leaveOut returns a submission that leaves out the points that a sweep has, by their fingerprints, and the number of
// the others.
func leaveOut(ctx context.Context, record *sweep.SweepRecord, submission *sweep.Submission,
	grid *sweep.Grid) (*sweep.Submission, int64, error) {
	again := func(g sweep.GridRecord) bool { return submission.Key != "" && g.Submission.Key == submission.Key }
	if strings.HasPrefix(submission.Key, sweep.ToldKey) || slices.ContainsFunc(record.Grids, again) {
		return submission, grid.Count(), nil
	}
	if record.Points() > mostCompared-grid.Count() {
		return nil, 0, fmt.Errorf("it has %d points and the file %d, and at most %d are compared: submit the file as "+
			"a sweep of its own; it reuses the results of equal trials", record.Points(), grid.Count(), mostCompared)
	}
	known := make(map[sweep.Fingerprint]struct{}, record.Points())
	for i := range record.Grids {
		old := &record.Grids[i].Submission
		points, err := policy.NewGrid(&old.Spec)
		if err != nil {
			return nil, 0, err
		}
		for _, point := range points.All(0) {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			known[fingerprint(old, point)] = struct{}{}
		}
	}
	points := grid.Count()
	repeated := make([]bool, points)
	for at, point := range grid.All(0) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		id := fingerprint(submission, point)
		if _, repeated[at] = known[id]; repeated[at] {
			points--
		}
	}
	copied := *submission
	var err error
	copied.Spec.Omit, err = sweep.EncodeOmitted(grid.Count(), func(point int64) bool { return repeated[point] })
	return &copied, points, err
}

// fingerprint is that of the trial of a point.
func fingerprint(submission *sweep.Submission, point sweep.Parameters) sweep.Fingerprint {
	var t sweep.Trial
	if _, err := identify(submission, &t, point); err != nil && t.Fingerprint == "" {
		// The trial fails with this error; so does an equal one.
		canonical, _ := point.Canonical()
		t.Fingerprint = sweep.NewFingerprint(submission.Description.Name, "", "unidentified", canonical)
	}
	return t.Fingerprint
}
