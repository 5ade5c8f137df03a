package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// ProbabilitiesArtifact is the artifact that an ensemble is made of: a safetensors
// file with the tensors "test" [rows × classes], F16, and "test_labels" [rows × 1],
// I32.
const ProbabilitiesArtifact = "probabilities"

// ensemblePrefix begins the selections of ensembles: "ensemble" and "ensemble:k".
const ensemblePrefix = "ensemble"

// Ensemble returns of how many grid points the trials vote together; 0 if each stands
// for itself.
func (s Selection) Ensemble() int {
	text, isEnsemble := strings.CutPrefix(string(s), ensemblePrefix)
	if !isEnsemble {
		return 0
	}
	if text == "" {
		return 1
	}
	k, err := strconv.Atoi(strings.TrimPrefix(text, ":"))
	if err != nil || !strings.HasPrefix(text, ":") {
		return 0
	}
	return k
}

// Vote makes the ensembles of a selection, which are part of its tables then: in each
// group the replicates of the k grid points that are best by the metric averaged over
// their replicates. What they say of a test row is the class with the largest mean
// probability. Diverged trials have no vote. load returns a trial's
// [ProbabilitiesArtifact].
func (c *Collection) Vote(by Selection, load func(id sweep.TrialID) ([]byte, error)) error {
	for _, g := range c.contests {
		ranked := g.ranked()
		if len(ranked) == 0 || ranked[0].set.lossOnly {
			continue
		}
		g.ensemble = nil
		var e ensemble
		for _, p := range ranked[:min(by.Ensemble(), len(ranked))] {
			for _, o := range p.bySeed() {
				if o.diverged {
					continue
				}
				if err := e.add(o, load); err != nil {
					return fmt.Errorf("trial %s of %s, %s: %w", o.id, p.set.name, p.model, err)
				}
			}
		}
		if e.members > 0 {
			g.ensemble = &e
		}
	}
	return nil
}

// ensemble is what some trials say together.
type ensemble struct {
	members    int
	parameters int64
	classes    int
	labels     []int
	sums       []float64 // [rows × classes]
}

// add adds a trial's vote.
func (e *ensemble) add(o *outcome, load func(id sweep.TrialID) ([]byte, error)) error {
	data, err := load(o.id)
	if errors.Is(err, sweep.ErrNotFound) {
		return fmt.Errorf("it has no class probabilities: run its sweep file with \"artifacts: [%s]\": %w", ProbabilitiesArtifact, err)
	}
	if err != nil {
		return err
	}
	file, err := safetensors.Decode(data)
	if err != nil {
		return fmt.Errorf("its class probabilities: %w", err)
	}
	test, err := file.Tensor("test", safetensors.F16)
	if err != nil {
		return fmt.Errorf("its class probabilities: %w", err)
	}
	labels, err := file.Tensor("test_labels", safetensors.I32)
	if err != nil {
		return fmt.Errorf("its class probabilities: %w", err)
	}
	values, classes := test.Halves(), labels.Integers()
	if e.members == 0 {
		e.classes, e.labels, e.sums = test.Cols, classes, make([]float64, len(values))
	}
	if test.Cols != e.classes || len(values) != len(e.sums) || !slices.Equal(classes, e.labels) || len(values) != len(classes)*e.classes {
		return errors.New("its class probabilities are of other test rows than those of the trials before it")
	}
	for i, v := range values {
		e.sums[i] += float64(v)
	}
	e.members++
	e.parameters += o.parameters
	return nil
}

// accuracy is the share of rows whose class has the largest sum, the first of equal
// ones.
func (e *ensemble) accuracy() float64 {
	correct := 0
	for i, label := range e.labels {
		row := e.sums[i*e.classes : (i+1)*e.classes]
		if slices.Index(row, slices.Max(row)) == label {
			correct++
		}
	}
	return float64(correct) / float64(len(e.labels))
}

// ranked are the grid points that are finished, the best by the metric averaged over
// their replicates first. Points with fewer replicates than the fullest are not.
func (c *contest) ranked() []*gridPoint {
	fullest := 0
	for _, p := range c.order {
		fullest = max(fullest, len(p.trials))
	}
	scores := map[*gridPoint]float64{}
	var list []*gridPoint
	for _, p := range c.order {
		if len(p.trials) < fullest {
			continue
		}
		var own []float64
		for _, o := range p.bySeed() {
			own = append(own, o.score)
		}
		scores[p] = mean(own)
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b *gridPoint) int {
		switch {
		case c.choice.Better(scores[a], scores[b]):
			return -1
		case c.choice.Better(scores[b], scores[a]):
			return 1
		}
		return 0
	})
	return list
}

// bySeed are the replicates in the order of their seeds: that of their arrival must
// not show in sums.
func (p *gridPoint) bySeed() []*outcome {
	trials := make([]*outcome, len(p.trials))
	for i := range p.trials {
		trials[i] = &p.trials[i]
	}
	slices.SortFunc(trials, func(a, b *outcome) int { return cmp.Compare(a.seed, b.seed) })
	return trials
}
