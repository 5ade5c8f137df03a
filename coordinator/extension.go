package coordinator

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// A sweep is a set of points: this file says which ones it has. Points are equal if their trials have one fingerprint.

// mostCompared is how many points an extension compares, a few microseconds each.
const mostCompared = 5_000_000

// pointKey stands for a fingerprint: half of it tells points apart as well.
type pointKey [32]byte

func keyOf(f sweep.Fingerprint) (key pointKey) {
	copy(key[:], f)
	return key
}

// leaveOut returns a submission without the points that a sweep has or that come twice, and the number of those that
// are left. Its memory grows with the smaller of the two.
func leaveOut(ctx context.Context, record *sweep.SweepRecord, submission *sweep.Submission,
	grid *sweep.Grid) (*sweep.Submission, int64, error) {
	again := func(g sweep.GridRecord) bool { return submission.Key != "" && g.Submission.Key == submission.Key }
	if slices.ContainsFunc(record.Grids, again) {
		return submission, grid.Count(), nil
	}
	if record.Points() > mostCompared-grid.Count() {
		return nil, 0, fmt.Errorf("it has %d points and the file %d, and at most %d are compared: submit the file as "+
			"a sweep of its own; it reuses the results of equal trials", record.Points(), grid.Count(), mostCompared)
	}
	var wanted map[pointKey]bool // nil for all
	if grid.Count() < record.Points() {
		wanted = make(map[pointKey]bool, grid.Count())
		for _, point := range grid.All(0) {
			wanted[keyOf(fingerprint(submission, point))] = true
		}
	}
	known := map[pointKey]struct{}{}
	for i := range record.Grids {
		points, err := pointsOf(&record.Grids[i])
		if err != nil {
			return nil, 0, err
		}
		for _, id := range points {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			if key := keyOf(id); wanted == nil || wanted[key] {
				known[key] = struct{}{}
			}
		}
	}
	points := grid.Count()
	repeated := make([]bool, points)
	for at, point := range grid.All(0) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		key := keyOf(fingerprint(submission, point))
		if _, repeated[at] = known[key]; repeated[at] {
			points--
		}
		known[key] = struct{}{}
	}
	copied := *submission
	var err error
	copied.Spec.Omit, err = sweep.EncodeOmitted(grid.Count(), func(point int64) bool { return repeated[point] })
	return &copied, points, err
}

// pointsOf returns the fingerprints of the points of a grid that a sweep has, with the indices of their trials.
func pointsOf(g *sweep.GridRecord) (iter.Seq2[int64, sweep.Fingerprint], error) {
	grid, err := policy.NewGrid(&g.Submission.Spec)
	if err != nil {
		return nil, err
	}
	return func(yield func(int64, sweep.Fingerprint) bool) {
		for at, point := range grid.All(0) {
			if !yield(g.First+at, fingerprint(&g.Submission, point)) {
				return
			}
		}
	}, nil
}

// Locate returns the index of the trial that a sweep has for each of some points, which resolve as those of its file
// do; -1 for points that it does not have. It looks at the newest points first.
func Locate(ctx context.Context, record *sweep.SweepRecord, points []sweep.Parameters) ([]int64, error) {
	indices, wanted := make([]int64, len(points)), map[pointKey][]int{}
	for i, point := range points {
		key := keyOf(fingerprint(&record.Grids[0].Submission, point))
		indices[i], wanted[key] = -1, append(wanted[key], i)
	}
	for i := len(record.Grids) - 1; i >= 0 && len(wanted) > 0; i-- {
		points, err := pointsOf(&record.Grids[i])
		if err != nil {
			return nil, err
		}
		for index, id := range points {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			key := keyOf(id)
			for _, at := range wanted[key] {
				indices[at] = index
			}
			if delete(wanted, key); len(wanted) == 0 {
				break
			}
		}
	}
	return indices, nil
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
