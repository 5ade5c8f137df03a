package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// Selection is how the trials that represent a group are selected, by the sweep file's
// select.
type Selection string

const (
	// Mean takes the grid point that is best by the metric averaged over its
	// replicates, and reports mean and standard deviation of their test accuracy.
	Mean Selection = "mean"
	// Single takes the one best trial.
	Single Selection = "single"
	// Others are "ensemble" and "ensemble:k": the replicates of the point that Mean
	// takes, or of the k best points, vote.

	// Auto is the ensemble of as many points as the validation rows choose.
	Auto Selection = "ensemble:auto"
)

// ParseSelection reads a selection's name.
func ParseSelection(name string) (Selection, error) {
	switch s := Selection(name); {
	case s == Mean, s == Single, s.Ensemble() > 0:
		return s, nil
	default:
		return "", fmt.Errorf("selection %q: expected mean, single, ensemble, ensemble:3 for that of the three best "+
			"points, or ensemble:auto for as many as validation chooses", name)
	}
}

// Collection has the trials of a frame by data set, model and grid point.
type Collection struct {
	Names
	reading
	sets map[string]*Set
	// groups are the groups, by the values of the parameters that define them.
	groups map[string]*group
}

// Names are the names of data sets and models in tables.
type Names struct {
	// Set returns the one name of a data set that has several.
	Set func(name string) string
	// Model returns how a model is written.
	Model func(model string) string
	// Order is the order of models; others come after them, by name.
	Order []string
}

// Set is a data set with the facts that its trials report.
type Set struct {
	Name  string
	Facts Facts
	// LossOnly is set if its task has no accuracy, NoLoss if it has no test loss.
	LossOnly, NoLoss bool
}

// Facts describe a data set as the trials saw it; zero where unknown.
type Facts struct {
	Train     int `json:"train_size"`
	Test      int `json:"test_size"`
	Length    int `json:"length"`
	Classes   int `json:"classes"`
	Depth     int `json:"depth"`
	InputSize int `json:"-"`
}

// group has the grid points of one group, or of a cell of a Layout, in the order of their first trials.
type group struct {
	choice sweep.Select
	points []*gridPoint
	// vote is the result of the last vote, nil if there was none.
	vote *vote
}

// The metrics of a Collection.
const (
	loss = iota
	testLoss
	accuracy
)

var collected = []string{loss: "validation_loss", testLoss: "test_loss", accuracy: "test_accuracy"}

// factNames are the metrics that have the facts of a data set.
var factNames = []string{"train_size", "test_size", "length", "classes", "depth", "input_size"}

const baselineLoss = "baseline_loss"

// NewCollection collects the completed trials of a frame that have a data set and a model. They are compared by choice:
// by default by the smallest validation loss in groups by data set and model.
func NewCollection(ctx context.Context, f *frame.Frame, choice sweep.Select, description *sweep.Description,
	names Names) (*Collection, error) {
	if choice.By == "" {
		choice.By = "validation_loss"
	}
	if len(choice.Group) == 0 {
		choice.Group = []string{"dataset", "model"}
	}
	c := &Collection{Names: names, sets: map[string]*Set{}, groups: map[string]*group{}}
	c.reading = reading{choice: choice, description: description, metrics: collected,
		further: append(factNames, baselineLoss), seeded: slices.Contains(choice.Group, sweep.SeedParameter)}
	return c, c.read(ctx, f, c.add)
}

func (c *Collection) add(p *gridPoint, t *trial, compared bool, summary map[string]float64) {
	if p.set == nil {
		name, hasSet := p.parameters["dataset"].(string)
		model, hasModel := p.parameters["model"].(string)
		if !hasSet || !hasModel {
			return
		}
		name = c.Set(name)
		if c.sets[name] == nil {
			c.sets[name] = &Set{Name: name}
		}
		p.set, p.model = c.sets[name], model
	}
	p.set.add(t, summary)
	if !compared {
		return
	}
	if p.trials == nil {
		g := c.groupOf(p)
		g.points = append(g.points, p)
	}
	if baseline, measured := summary[baselineLoss]; measured {
		p.baseline = baseline
	}
	p.trials = append(p.trials, t)
}

// groupOf returns the group of a grid point.
func (c *Collection) groupOf(p *gridPoint) *group {
	common := c.choice.GroupOf(p.parameters)
	if _, ok := common["dataset"]; ok {
		common["dataset"] = p.set.Name
	}
	key, _ := common.Canonical() // stored values have a form
	g := c.groups[string(key)]
	if g == nil {
		g = &group{choice: c.choice}
		c.groups[string(key)] = g
	}
	return g
}

// add takes the facts that a trial reports.
func (s *Set) add(t *trial, summary map[string]float64) {
	f := &s.Facts
	for i, field := range []*int{&f.Train, &f.Test, &f.Length, &f.Classes, &f.Depth, &f.InputSize} {
		if v, ok := summary[factNames[i]]; ok {
			*field = int(v)
		}
	}
	_, accuracy := summary["test_accuracy"]
	_, loss := summary["test_loss"]
	s.LossOnly = s.LossOnly || !accuracy && !t.diverged
	s.NoLoss = s.NoLoss || !loss && !t.diverged
}

// Figure is what a table prints for a data set and model.
type Figure struct {
	// Accuracy is a mean over Replicates, Deviation their sample standard deviation, NaN for a
	// single one.
	Accuracy   float64 `json:"accuracy"`
	Deviation  float64 `json:"-"`
	Replicates int     `json:"replicates"`
	// Loss is the mean validation loss, of an ensemble that of its own probabilities; NaN if
	// unknown.
	Loss       float64          `json:"-"`
	Count      int64            `json:"parameter_count"`
	Parameters sweep.Parameters `json:"grid_point"`
	// TestLoss and its deviation are like Accuracy.
	TestLoss          float64 `json:"test_loss"`
	TestLossDeviation float64 `json:"-"`
	// Ties is how many others are exactly as good as the selected point or trial, or the last one
	// of an ensemble. The selection does not depend on the order of the file.
	Ties int `json:"ties"`
	// Points is how many grid points vote.
	Points int `json:"points,omitempty"`
}

// figure selects the point that represents the group.
func (g *group) figure(by Selection) (figure Figure, best *gridPoint) {
	if by == Single {
		return g.single()
	}
	ranked := g.ranked(g.points)
	if len(ranked) == 0 || by.Ensemble() > 0 && g.vote == nil {
		return figure, nil
	}
	best = ranked[0].gridPoint
	trials := best.bySeed()
	moments := func(metric int) (mean, deviation float64) {
		m := momentsOf(trials, metric)
		if m.N == 0 {
			return math.NaN(), math.NaN()
		}
		return m.Mean, m.SD()
	}
	figure = Figure{Replicates: len(trials), Count: trials[0].parameters, Parameters: best.parameters}
	figure.Loss, _ = moments(loss)
	figure.Accuracy, figure.Deviation = moments(accuracy)
	figure.TestLoss, figure.TestLossDeviation = moments(testLoss)
	last := 1
	if v := g.vote; by.Ensemble() > 0 {
		figure.Accuracy, figure.TestLoss, figure.Loss = v.accuracy, v.testLoss, v.loss
		figure.Deviation, figure.TestLossDeviation = math.NaN(), math.NaN()
		figure.Replicates, figure.Count, figure.Points = v.members, v.parameters, v.points
		last = v.points
	}
	for _, p := range ranked[last:] {
		if sweep.Tied(p.score, ranked[last-1].score) {
			figure.Ties++
		}
	}
	return figure, best
}

// single takes the one best trial.
func (g *group) single() (figure Figure, best *gridPoint) {
	var chosen *trial
	for _, p := range g.points {
		for _, t := range p.trials {
			switch {
			case t.diverged:
				continue
			case chosen != nil && t.score == chosen.score:
				figure.Ties++
				if !p.before(t, best, chosen) {
					continue
				}
			case chosen != nil && !g.choice.Better(t.score, chosen.score):
				continue
			default:
				figure.Ties = 0
			}
			best, chosen = p, t
		}
	}
	if best == nil {
		return figure, nil
	}
	return Figure{
		Accuracy: chosen.metrics[accuracy], Deviation: math.NaN(), Replicates: 1, Loss: chosen.metrics[loss],
		Count: chosen.parameters, Parameters: best.parameters, TestLoss: chosen.metrics[testLoss],
		TestLossDeviation: math.NaN(), Ties: figure.Ties,
	}, best
}

// Row has the figures of a data set by model. A model without a figure has only diverged trials.
type Row struct {
	*Set
	Models   map[string]bool
	Baseline float64
	// Label names the row's group, if groups have further parameters.
	Label   string
	Figures map[string]Figure
}

// Title is the row's data set with its label.
func (r *Row) Title() string {
	if r.Label == "" {
		return r.Name
	}
	return r.Name + ", " + r.Label
}

// Has reports whether the collection has one of the data sets that are wanted.
func (c *Collection) Has(wanted func(set string) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(c.sets)), wanted)
}

// Rows returns the rows of the wanted sets: the figure of a group is in the row and column of the
// selected point's data set and model.
func (c *Collection) Rows(by Selection, wanted func(set string) bool) []*Row {
	found := map[string]*Row{}
	for _, g := range c.groups {
		figure, best := g.figure(by)
		shown := best
		if best == nil {
			shown = g.points[0]
		}
		if !wanted(shown.set.Name) || by.Ensemble() > 0 && !shown.votes() {
			continue
		}
		label := c.label(shown.parameters)
		key := shown.set.Name + "\x00" + label
		r := found[key]
		if r == nil {
			r = &Row{Set: shown.set, Label: label, Models: map[string]bool{}, Figures: map[string]Figure{}}
			found[key] = r
		}
		r.Models[shown.model], r.Baseline = true, max(r.Baseline, shown.baseline)
		if best != nil { // Without the model among the groups there is one figure a row.
			r.Figures[best.model] = figure
		}
	}
	return slices.Collect(maps.Values(found))
}

// label names the groups that a point belongs to besides data set and model.
func (c *Collection) label(point sweep.Parameters) string {
	var parts []string
	for _, name := range c.choice.Group {
		if value, ok := point[name]; ok && name != "dataset" && name != "model" {
			parts = append(parts, fmt.Sprintf("%s=%v", name, value))
		}
	}
	return strings.Join(parts, ", ")
}

// Selected describes how the figures were selected, as the end of a title.
func (c *Collection) Selected(by Selection) string {
	switch k := by.Ensemble(); {
	case by == Single:
		return " of the one trial with the " + c.extreme()
	case by == Auto:
		return fmt.Sprintf(" of the mean class probabilities of all replicates of the grid points with the %s, as "+
			"many, up to %d, as have together the smallest cross entropy on the validation rows",
			c.extreme(), autoPoints)
	case k == 1:
		return " of the replicates' mean class probabilities at the grid point with the " + c.extreme()
	case k > 1:
		return fmt.Sprintf(" of the mean class probabilities of all replicates of the %d grid points with the %s",
			k, c.extreme())
	}
	return ", mean ± standard deviation over replicates at the grid point with the " + c.extreme()
}

// extreme names the metric and goal by which a group's trial or point is selected.
func (c *Collection) extreme() string { return extreme(c.choice) }

func extreme(choice sweep.Select) string {
	extreme := "smallest"
	if choice.Goal == sweep.Maximize {
		extreme = "largest"
	}
	return extreme + " " + strings.ReplaceAll(choice.By, "_", " ")
}

// Models lists the models of the rows, in their order.
func (c *Collection) Models(rows ...*Row) []string {
	seen := map[string]bool{}
	for _, s := range rows {
		maps.Copy(seen, s.Models)
	}
	place := func(model string) int {
		if i := slices.Index(c.Order, model); i >= 0 {
			return i
		}
		return len(c.Order)
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return cmp.Or(place(a)-place(b), strings.Compare(a, b))
	})
}

// Varying lists the parameters, other than those of groups, in which points of a group differ.
func (c *Collection) Varying() []string {
	var names []string
	for _, g := range c.groups {
		for _, p := range g.points[1:] {
			for name, value := range p.parameters {
				if name != sweep.SeedParameter && !slices.Contains(c.choice.Group, name) &&
					!slices.Contains(names, name) && g.points[0].parameters[name] != value {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
