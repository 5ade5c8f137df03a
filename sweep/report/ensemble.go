package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sweep/sweep"
	"sweep/sweep/safetensors"
	"sweep/sweep/statistics"
)

// ProbabilitiesArtifact is the artifact that ensembles are made of: a safetensors file with the
// tensors "test" [rows × classes], F16, and "test_labels" [rows × 1], I32, and likewise
// "validation" and "validation_labels".
const ProbabilitiesArtifact = "probabilities"

// onePoint is the ensemble of one grid point; that of k is "ensemble:k".
const onePoint = "ensemble"

// autoPoints is how many grid points may vote where validation chooses their number.
const autoPoints = 12

// ErrNoClasses is returned if no group of a table has classes to vote on.
var ErrNoClasses = errors.New("no data set of the table has classes to vote on: select mean or single")

// Ensemble returns how many grid points vote at most; 0 if the selection is no ensemble.
func (s Selection) Ensemble() int {
	switch text, counted := strings.CutPrefix(string(s), onePoint+":"); {
	case s == Auto:
		return autoPoints
	case s == onePoint:
		return 1
	case counted:
		if k, err := strconv.Atoi(text); err == nil {
			return k
		}
	}
	return 0
}

// Vote makes the ensembles of a selection for its tables. In each group the replicates of the k
// grid points with the best mean metric vote, except diverged trials: the answer for a test row
// is the class with the largest mean probability. load returns a trial's [ProbabilitiesArtifact].
//
// With [Auto] validation chooses k. Replicates of one seed share validation rows, which those of
// other seeds were trained on. So it compares the mean, over seeds, of the validation loss of the
// ensemble of each seed's trials.
//
// Groups without classes have no ensemble; the error is [ErrNoClasses] if there is no other.
func (c *Collection) Vote(by Selection, wanted func(set string) bool,
	load func(id sweep.TrialID) ([]byte, error)) error {
	classes := false
	for _, key := range slices.Sorted(maps.Keys(c.groups)) { // the first error is always the same
		g := c.groups[key]
		g.vote = nil
		ranked := g.ranked(g.points)
		if len(ranked) == 0 || !wanted(ranked[0].set.Name) || !ranked[0].votes() {
			continue
		}
		classes = true
		e := ensemble{validation: map[string]*sums{}}
		for i, p := range ranked[:min(by.Ensemble(), len(ranked))] {
			for _, o := range p.bySeed() {
				if o.diverged {
					continue
				}
				err := e.add(o, load)
				if err == nil && by == Auto && e.unvalidated {
					err = errNoValidation
				}
				if err != nil {
					return fmt.Errorf("trial %s of %s, %s: %w", o.id, p.set.Name, p.model, err)
				}
			}
			if e.members == 0 {
				continue
			}
			if v := e.vote(i + 1); g.vote == nil || by != Auto || v.loss < g.vote.loss {
				g.vote = v
			}
		}
	}
	if !classes {
		return ErrNoClasses
	}
	return nil
}

// errNoValidation says that a trial has no rows by which to choose the number of points.
var errNoValidation = errors.New("its class probabilities have no validation rows: " +
	"name the number of points, as in ensemble:3")

// vote is the result of an ensemble.
type vote struct {
	points, members int
	parameters      int64
	accuracy        float64
	// loss, of validation, and testLoss are cross entropies of the mean probabilities.
	loss, testLoss float64
}

// ensemble sums the votes of trials.
type ensemble struct {
	members    int
	parameters int64
	test       sums
	// validation are the votes of each seed's trials on its own rows; unvalidated says that a
	// trial has none.
	validation  map[string]*sums
	unvalidated bool
}

// sums are sums of class probabilities, row by row.
type sums struct {
	classes int
	labels  []int
	values  []float64 // [rows × classes]
}

// add adds a trial's vote.
func (e *ensemble) add(o *trial, load func(id sweep.TrialID) ([]byte, error)) error {
	data, err := load(o.id)
	if errors.Is(err, sweep.ErrNotFound) {
		return fmt.Errorf("it has no class probabilities: run its sweep file with \"artifacts: [%s]\": %w",
			ProbabilitiesArtifact, err)
	}
	if err != nil {
		return err
	}
	file, err := safetensors.Decode(data)
	if err == nil {
		err = e.test.add(file, "test")
	}
	if err == nil && has(file, "validation") {
		own := e.validation[o.seed]
		if own == nil {
			own = &sums{}
			e.validation[o.seed] = own
		}
		err = own.add(file, "validation")
	} else if err == nil {
		e.unvalidated = true
	}
	if err != nil {
		return fmt.Errorf("its class probabilities: %w", err)
	}
	e.members++
	e.parameters += o.parameters
	return nil
}

// has reports whether a file has a part.
func has(file *safetensors.File, part string) bool {
	_, err := file.Tensor(part, safetensors.F16)
	return err == nil
}

// add adds what a file has of a part.
func (v *sums) add(file *safetensors.File, part string) error {
	tensor, err := file.Tensor(part, safetensors.F16)
	if err != nil {
		return err
	}
	labels, err := file.Tensor(part+"_labels", safetensors.I32)
	if err != nil {
		return err
	}
	values, classes := tensor.Halves(), labels.Integers()
	if v.labels == nil {
		v.classes, v.labels, v.values = tensor.Cols, classes, make([]float64, len(values))
	}
	if tensor.Cols != v.classes || len(values) != len(v.values) || !slices.Equal(classes, v.labels) ||
		len(values) != len(classes)*v.classes {
		return fmt.Errorf("they are of other %s rows than those of the trials before it", part)
	}
	for i, value := range values {
		v.values[i] += float64(value)
	}
	return nil
}

// vote returns the result of the trials that were added.
func (e *ensemble) vote(points int) *vote {
	v := &vote{points: points, members: e.members, parameters: e.parameters, accuracy: e.test.accuracy(),
		testLoss: e.test.loss(), loss: math.NaN()}
	if !e.unvalidated {
		var losses []float64
		for _, own := range e.validation {
			losses = append(losses, own.loss())
		}
		slices.Sort(losses)                             // a sum must not depend on the map's order
		if len(losses) == 0 || !math.IsNaN(losses[0]) { // NaN sorts first, and moments leave it out
			v.loss = statistics.MomentsOf(losses).Mean
		}
	}
	return v
}

// accuracy is the share of rows whose class has the largest sum, the first of equal
// ones.
func (v *sums) accuracy() float64 {
	correct := 0
	for i, label := range v.labels {
		row := v.row(i)
		if slices.Index(row, slices.Max(row)) == label {
			correct++
		}
	}
	return float64(correct) / float64(len(v.labels))
}

// loss is the mean cross entropy of the rows' probabilities, in nats.
func (v *sums) loss() float64 {
	const least = 1. / (1 << 25) // what half precision rounds to nothing
	sum := 0.
	for i, label := range v.labels {
		row, total := v.row(i), 0.
		for _, p := range row {
			total += max(p, 0)
		}
		if total > 0 && label < len(row) {
			sum -= math.Log(max(row[label]/total, least))
		} else {
			sum -= math.Log(least)
		}
	}
	return sum / float64(len(v.labels))
}

func (v *sums) row(i int) []float64 { return v.values[i*v.classes : (i+1)*v.classes] }

// rankedPoint is a grid point with the mean metric of its replicates.
type rankedPoint struct {
	*gridPoint
	score float64
}

// ranked returns those of some grid points that have the most replicates, the best mean metric first. Points that tie
// are in the order of their keys.
func (g *group) ranked(points []*gridPoint) []rankedPoint {
	fullest := 0
	for _, p := range points {
		fullest = max(fullest, len(p.trials))
	}
	var list []rankedPoint
	for _, p := range points {
		if len(p.trials) < fullest {
			continue
		}
		var m statistics.Moments
		for _, o := range p.bySeed() {
			m.Add(o.score)
		}
		list = append(list, rankedPoint{p, m.Mean})
	}
	slices.SortFunc(list, func(a, b rankedPoint) int {
		switch {
		case g.choice.BetterMean(a.score, b.score):
			return -1
		case g.choice.BetterMean(b.score, a.score):
			return 1
		}
		return cmp.Compare(a.key, b.key)
	})
	return list
}
