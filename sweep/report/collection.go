package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"sweep/sweep"
)

// Selection says which trials stand for a data set and model. Both decide by
// validation alone.
type Selection string

const (
	// Mean takes the grid point with the smallest validation loss averaged over
	// its replicates, and reports mean and standard deviation of their test accuracy.
	Mean Selection = "mean"
	// Single takes the one trial with the smallest validation loss.
	Single Selection = "single"
)

// ParseSelection reads a selection's name.
func ParseSelection(name string) (Selection, error) {
	switch s := Selection(name); s {
	case Mean, Single:
		return s, nil
	default:
		return "", fmt.Errorf("selection %q: expected mean or single", name)
	}
}

// A diverged replicate counts with lossOfDiverged and accuracy 0, so that a
// grid point does not win by the replicates that it lost; alone it is never
// selected. The view ucr_table does the same.
const lossOfDiverged = 20

// Collection gathers the trials of some sweeps.
type Collection struct {
	sets map[string]*setResults
}

// setResults are the trials of one data set.
type setResults struct {
	name   string
	facts  facts
	models map[string]*modelResults
}

// facts describe a data set as the trials saw it; zero where unknown.
type facts struct {
	train, test, length, classes, depth, inputSize int
}

// modelResults are the trials of one data set and model by grid point.
type modelResults struct {
	points map[string]*gridPoint
	order  []*gridPoint
}

// gridPoint are the replicates of one point: trials that agree in everything
// but the seed.
type gridPoint struct {
	parameters sweep.Parameters
	trials     []outcome
}

// outcome is what a table needs of a trial.
type outcome struct {
	seed       string
	diverged   bool
	loss       float64
	accuracy   float64
	parameters int64
}

// NewCollection returns an empty collection.
func NewCollection() *Collection { return &Collection{sets: map[string]*setResults{}} }

// Add takes a trial in; trials that are not completed, or that have no data set
// and model, are passed over.
func (c *Collection) Add(t *sweep.TrialRecord) error {
	set, okSet := t.Parameters["dataset"].(string)
	model, okModel := t.Parameters["model"].(string)
	if t.State != sweep.Completed || t.Result == nil || !okSet || !okModel {
		return nil
	}
	point := t.Parameters.Clone()
	delete(point, sweep.SeedParameter)
	key, err := point.Canonical()
	if err != nil {
		return fmt.Errorf("trial %s: %w", t.TrialID, err)
	}
	results := c.sets[canonicalSet(set)]
	if results == nil {
		results = &setResults{name: canonicalSet(set), models: map[string]*modelResults{}}
		c.sets[results.name] = results
	}
	results.facts.add(t.Result.Summary)
	m := results.models[model]
	if m == nil {
		m = &modelResults{points: map[string]*gridPoint{}}
		results.models[model] = m
	}
	p := m.points[string(key)]
	if p == nil {
		p = &gridPoint{parameters: point}
		m.points[string(key)] = p
		m.order = append(m.order, p)
	}
	o := outcome{seed: fmt.Sprint(t.Parameters[sweep.SeedParameter]), diverged: true, loss: lossOfDiverged, parameters: t.Result.ParameterCount}
	if loss, ok := t.Result.Summary["validation_loss"]; ok && !t.Result.Diverged {
		o.diverged, o.loss, o.accuracy = false, loss, t.Result.Summary["test_accuracy"]
	}
	for i := range p.trials { // the same trial of another sweep says nothing new
		if p.trials[i].seed == o.seed {
			p.trials[i] = o
			return nil
		}
	}
	p.trials = append(p.trials, o)
	return nil
}

func (f *facts) add(summary map[string]float64) {
	for name, field := range map[string]*int{
		"train_size": &f.train, "test_size": &f.test, "length": &f.length,
		"classes": &f.classes, "depth": &f.depth, "input_size": &f.inputSize,
	} {
		if v, ok := summary[name]; ok {
			*field = int(v)
		}
	}
}

// Empty reports whether no trial was taken in.
func (c *Collection) Empty() bool { return len(c.sets) == 0 }

// Figure is what a table prints for a data set and model.
type Figure struct {
	// Accuracy is a mean over Replicates, Deviation their sample standard
	// deviation; NaN where there is one replicate only.
	Accuracy   float64          `json:"accuracy"`
	Deviation  float64          `json:"-"`
	Replicates int              `json:"replicates"`
	Loss       float64          `json:"validation_loss"`
	Count      int64            `json:"parameter_count"`
	Parameters sweep.Parameters `json:"grid_point"`
}

// figure selects by validation. Points with fewer replicates than the fullest
// of their data set and model are left out of Mean: they are not finished.
func (m *modelResults) figure(by Selection) (Figure, bool) {
	if m == nil || len(m.order) == 0 {
		return Figure{}, false
	}
	if by == Single {
		var best *gridPoint
		var trial outcome
		for _, p := range m.order {
			for _, o := range p.trials {
				if !o.diverged && (best == nil || o.loss < trial.loss) {
					best, trial = p, o
				}
			}
		}
		if best == nil {
			return Figure{}, false
		}
		return Figure{trial.accuracy, math.NaN(), 1, trial.loss, trial.parameters, best.parameters}, true
	}
	fullest := 0
	for _, p := range m.order {
		fullest = max(fullest, len(p.trials))
	}
	var figure Figure
	found := false
	for _, p := range m.order {
		if len(p.trials) < fullest {
			continue
		}
		// Sums in the order of the seeds: the order of arrival must not show.
		trials := slices.Clone(p.trials)
		slices.SortFunc(trials, func(a, b outcome) int { return strings.Compare(a.seed, b.seed) })
		losses, accuracies := make([]float64, len(trials)), make([]float64, len(trials))
		for i, o := range trials {
			losses[i], accuracies[i] = o.loss, o.accuracy
		}
		if loss := stat.Mean(losses, nil); !found || loss < figure.Loss {
			mean, deviation := stat.MeanStdDev(accuracies, nil)
			if len(trials) == 1 {
				deviation = math.NaN()
			}
			figure = Figure{mean, deviation, len(trials), loss, trials[0].parameters, p.parameters}
			found = true
		}
	}
	return figure, found
}

// modelOrder is the order of columns, as in the paper's Table 4 with the
// systems that it leaves out beside their kin.
var modelOrder = []string{"rnn", "irnn", "lstm", "gru", "ornn", "spectral-rnn"}

// modelName is how the papers write a model.
func modelName(model string) string {
	switch model {
	case "rnn", "irnn", "lstm", "gru":
		return strings.ToUpper(model)
	case "ornn":
		return "oRNN"
	case "spectral-rnn":
		return "Spectral-RNN"
	default:
		return model
	}
}

// models lists the models of the sets, in column order, unknown ones last.
func models(sets []*setResults) []string {
	seen := map[string]bool{}
	for _, s := range sets {
		for model := range s.models {
			seen[model] = true
		}
	}
	list := make([]string, 0, len(seen))
	for model := range seen {
		list = append(list, model)
	}
	place := func(model string) int {
		if i := slices.Index(modelOrder, model); i >= 0 {
			return i
		}
		return len(modelOrder)
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(place(a)-place(b), strings.Compare(a, b))
	})
	return list
}
