package coordinator

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// A sweep is a set of points: this file says which ones it has. Points are equal if their trials would have one
// fingerprint with one version of the trainer and of the data.

// maxCompared is how many points an extension compares one by one, a few microseconds each.
const maxCompared = 5_000_000

// pointKey stands for a fingerprint: half of it tells points apart as well.
type pointKey [32]byte

func keyOf(t sweep.Trial) (key pointKey) {
	copy(key[:], t.Fingerprint)
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
	grids, compared, err := openGrids(record)
	if err != nil {
		return nil, 0, err
	}
	if compared > maxCompared-grid.Count() {
		return nil, 0, fmt.Errorf("it has %d points and the file %d, and at most %d are compared: submit the file as "+
			"a sweep of its own; it reuses the results of equal trials", record.Points(), grid.Count(), maxCompared)
	}
	unversioned := anyVersion(submission)
	var wanted map[pointKey]bool // nil for all
	if grid.Count() < compared {
		wanted = make(map[pointKey]bool, grid.Count())
		for _, t := range trials(unversioned, grid) {
			wanted[keyOf(t)] = true
		}
	}
	known := map[pointKey]struct{}{}
	for i := range grids {
		if grids[i].finder != nil {
			continue
		}
		for _, t := range trials(grids[i].submission, grids[i].Grid) {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			if key := keyOf(t); wanted == nil || wanted[key] {
				known[key] = struct{}{}
			}
		}
	}
	points := grid.Count()
	repeated := make([]bool, points)
	for at, t := range trials(unversioned, grid) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		key := keyOf(t)
		if _, repeated[at] = known[key]; !repeated[at] {
			repeated[at] = slices.ContainsFunc(grids, func(g openGrid) bool { return g.find(t) >= 0 })
		}
		if repeated[at] {
			points--
		}
		known[key] = struct{}{}
	}
	copied := *submission
	copied.Spec.Omit, err = sweep.EncodeOmitted(grid.Count(), func(point int64) bool { return repeated[point] })
	return &copied, points, err
}

// anyVersion returns a submission whose trials have the same fingerprints with every version of the trainer and of the
// data.
func anyVersion(submission *sweep.Submission) *sweep.Submission {
	copied := *submission
	copied.Description.ResultVersion, copied.Datasets = "", nil
	return &copied
}

// openGrid has the points of a sweep that came with a submission, of any version, and the index of the first. finder
// finds them; nil if they are to be compared one by one.
type openGrid struct {
	*sweep.Grid
	submission *sweep.Submission
	first      int64
	finder     *sweep.Finder
}

// openGrids opens the grids of a sweep, and returns how many points are to be compared one by one.
func openGrids(record *sweep.SweepRecord) (grids []openGrid, compared int64, err error) {
	for i := range record.Grids {
		g := &record.Grids[i]
		grid, err := policy.NewGrid(&g.Submission.Spec)
		if err != nil {
			return nil, 0, err
		}
		finder := grid.Finder(&g.Submission.Description)
		grids = append(grids, openGrid{grid, anyVersion(&g.Submission), g.First, finder})
		if grids[i].finder == nil {
			compared += g.Points
		}
	}
	return grids, compared, nil
}

// find returns the index of the trial with the point of another, -1 if it finds none.
func (g openGrid) find(other sweep.Trial) int64 {
	if g.finder == nil {
		return -1
	}
	at, found := g.finder.Find(other.Parameters)
	if !found {
		return -1
	}
	if point, err := g.At(at); err != nil || trialOf(g.submission, point).Fingerprint != other.Fingerprint {
		return -1
	}
	return g.first + at
}

// Locate returns the index of the trial that a sweep has for each of some points, which resolve as those of its file
// do; -1 for points that it does not have. It looks at the newest points first.
func Locate(ctx context.Context, record *sweep.SweepRecord, points []sweep.Parameters) ([]int64, error) {
	grids, _, err := openGrids(record)
	if err != nil {
		return nil, err
	}
	indices, wanted := make([]int64, len(points)), map[pointKey][]int{}
	for i, point := range points {
		t := trialOf(grids[0].submission, point)
		indices[i] = -1
		for k := len(grids) - 1; k >= 0 && indices[i] < 0; k-- {
			indices[i] = grids[k].find(t)
		}
		if indices[i] < 0 {
			wanted[keyOf(t)] = append(wanted[keyOf(t)], i)
		}
	}
	for k := len(grids) - 1; k >= 0 && len(wanted) > 0; k-- {
		if grids[k].finder != nil {
			continue
		}
		for at, t := range trials(grids[k].submission, grids[k].Grid) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			key := keyOf(t)
			for _, i := range wanted[key] {
				indices[i] = grids[k].first + at
			}
			if delete(wanted, key); len(wanted) == 0 {
				break
			}
		}
	}
	return indices, nil
}

// Fingerprints are those of the trials of a grid, by which the results of earlier ones are reused.
func Fingerprints(submission *sweep.Submission, grid *sweep.Grid) (all []sweep.Fingerprint) {
	for _, t := range trials(submission, grid) {
		all = append(all, t.Fingerprint)
	}
	return all
}

// trials yields the trials of the points of a grid, as far as their parameters tell what they are.
func trials(submission *sweep.Submission, grid *sweep.Grid) iter.Seq2[int64, sweep.Trial] {
	return func(yield func(int64, sweep.Trial) bool) {
		for at, point := range grid.All(0) {
			if !yield(at, trialOf(submission, point)) {
				return
			}
		}
	}
}

// trialOf is the trial of a point, with its parameters and fingerprint.
func trialOf(submission *sweep.Submission, point sweep.Parameters) (t sweep.Trial) {
	if _, err := identify(submission, &t, point); err != nil && t.Fingerprint == "" {
		// The trial fails with this error; so does an equal one.
		canonical, _ := point.Canonical()
		t.Fingerprint = sweep.NewFingerprint(submission.Description.Name, "", "unidentified", canonical)
	}
	return t
}
