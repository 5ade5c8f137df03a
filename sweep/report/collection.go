package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/statistics"
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

// Collection gathers the trials of some sweeps.
type Collection struct {
	Names
	choice      sweep.Select
	description *sweep.Description
	sets        map[string]*Set
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

// group has the trials of one group, or of a cell of a Layout, by grid point.
type group struct {
	choice sweep.Select
	points map[string]*gridPoint
	order  []*gridPoint
	// vote is the result of the last vote, nil if there was none.
	vote *vote
}

// gridPoint has the replicates of one point: trials that differ in the seed alone.
type gridPoint struct {
	set        *Set
	model      string
	parameters sweep.Parameters
	// key decides between points that tie.
	key    int64
	trials []outcome
	// baseline is the loss of the best answer that needs no memory.
	baseline float64
}

// outcome is the part of a trial's result that tables need; what is not known is NaN. A diverged
// trial counts as its trainer says, so that a grid point does not win by losing replicates, and is
// never selected as a single trial. The view ucr_table does the same.
type outcome struct {
	id         sweep.TrialID
	seed       string
	diverged   bool
	score      float64
	metrics    []float64 // in an order of the table
	parameters int64
}

// The metrics of a Collection.
const (
	loss = iota
	testLoss
	accuracy
)

var collected = []string{loss: "validation_loss", testLoss: "test_loss", accuracy: "test_accuracy"}

// outcomeOf returns a trial's outcome; false if it is not compared.
func outcomeOf(t *sweep.TrialRecord, choice sweep.Select, description *sweep.Description,
	metrics []string) (o outcome, compared bool) {
	o = outcome{id: t.TrialID, seed: fmt.Sprint(t.Parameters[sweep.SeedParameter]), diverged: t.Result.Diverged,
		score: choice.Diverged(description), parameters: int64(t.Result.Summary[sweep.ParameterCountMetric])}
	if !o.diverged {
		if o.score, compared = t.Result.Summary[choice.By]; !compared && choice.By != "" {
			return o, false
		}
	}
	for _, name := range metrics {
		value, known := t.Result.Summary[name]
		switch {
		case o.diverged:
			value = description.Diverged(name, t.Parameters)
		case !known:
			value = math.NaN()
		}
		o.metrics = append(o.metrics, value)
	}
	return o, true
}

// NewCollection returns an empty collection of trials of a trainer that are compared by choice: by
// default by the smallest validation loss in groups by data set and model.
func NewCollection(choice sweep.Select, description *sweep.Description, names Names) *Collection {
	if choice.By == "" {
		choice.By = "validation_loss"
	}
	if len(choice.Group) == 0 {
		choice.Group = []string{"dataset", "model"}
	}
	return &Collection{
		Names: names, choice: choice, description: description, sets: map[string]*Set{}, groups: map[string]*group{},
	}
}

// Add adds a trial, unless it is not completed or has no data set and model.
func (c *Collection) Add(t *sweep.TrialRecord) error {
	name, okSet := t.Parameters["dataset"].(string)
	model, okModel := t.Parameters["model"].(string)
	if t.State != sweep.Completed || t.Result == nil || !okSet || !okModel {
		return nil
	}
	name = c.Set(name)
	set := c.sets[name]
	if set == nil {
		set = &Set{Name: name}
		c.sets[name] = set
	}
	set.add(t.Result)
	o, compared := outcomeOf(t, c.choice, c.description, collected)
	if !compared {
		return nil
	}
	p, err := c.point(t.Parameters, set, model)
	if err != nil {
		return fmt.Errorf("trial %s: %w", t.TrialID, err)
	}
	if baseline, measured := t.Result.Summary["baseline_loss"]; measured {
		p.baseline = baseline
	}
	p.add(o)
	return nil
}

// add adds a trial. The same one of another sweep counts once.
func (p *gridPoint) add(o outcome) {
	if !slices.ContainsFunc(p.trials, func(other outcome) bool { return other.seed == o.seed }) {
		p.trials = append(p.trials, o)
	}
}

// point returns the grid point of a trial's parameters.
func (c *Collection) point(parameters sweep.Parameters, set *Set, model string) (*gridPoint, error) {
	common := c.choice.GroupOf(parameters)
	if _, ok := common["dataset"]; ok {
		common["dataset"] = set.Name
	}
	point := parameters.Clone()
	if !slices.Contains(c.choice.Group, sweep.SeedParameter) {
		delete(point, sweep.SeedParameter)
	}
	groupKey, err := common.Canonical()
	if err != nil {
		return nil, err
	}
	g := c.groups[string(groupKey)]
	if g == nil {
		g = newGroup(c.choice)
		c.groups[string(groupKey)] = g
	}
	p, err := g.point(point)
	if err == nil {
		p.set, p.model = set, model
	}
	return p, err
}

func newGroup(choice sweep.Select) *group {
	return &group{choice: choice, points: map[string]*gridPoint{}}
}

// point returns the grid point with some parameters.
func (g *group) point(parameters sweep.Parameters) (*gridPoint, error) {
	key, err := parameters.Canonical()
	if err != nil {
		return nil, err
	}
	p := g.points[string(key)]
	if p == nil {
		p = &gridPoint{parameters: parameters, key: sweep.PointKey(members(key))}
		g.points[string(key)] = p
		g.order = append(g.order, p)
	}
	return p, nil
}

// members are those of a canonical object, each with a comma after it.
func members(object []byte) []byte {
	inner := object[1 : len(object)-1]
	if len(inner) == 0 {
		return nil
	}
	return append(slices.Clone(inner), ',')
}

// add takes the facts that a trial's result reports.
func (s *Set) add(result *sweep.Result) {
	f := &s.Facts
	for name, field := range map[string]*int{
		"train_size": &f.Train, "test_size": &f.Test, "length": &f.Length,
		"classes": &f.Classes, "depth": &f.Depth, "input_size": &f.InputSize,
	} {
		if v, ok := result.Summary[name]; ok {
			*field = int(v)
		}
	}
	_, accuracy := result.Summary["test_accuracy"]
	_, loss := result.Summary["test_loss"]
	s.LossOnly = s.LossOnly || !accuracy && !result.Diverged
	s.NoLoss = s.NoLoss || !loss && !result.Diverged
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
	ranked := g.ranked(g.order)
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

// momentsOf are those of a metric.
func momentsOf(trials []*outcome, metric int) (m statistics.Moments) {
	for _, o := range trials {
		m.Add(o.metrics[metric])
	}
	return m
}

// single takes the one best trial.
func (g *group) single() (figure Figure, best *gridPoint) {
	var trial *outcome
	for _, p := range g.order {
		for i := range p.trials {
			o := &p.trials[i]
			switch {
			case o.diverged:
				continue
			case trial != nil && o.score == trial.score:
				figure.Ties++
				if !p.before(o, best, trial) {
					continue
				}
			case trial != nil && !g.choice.Better(o.score, trial.score):
				continue
			default:
				figure.Ties = 0
			}
			best, trial = p, o
		}
	}
	if best == nil {
		return figure, nil
	}
	return Figure{
		Accuracy: trial.metrics[accuracy], Deviation: math.NaN(), Replicates: 1, Loss: trial.metrics[loss],
		Count: trial.parameters, Parameters: best.parameters, TestLoss: trial.metrics[testLoss],
		TestLossDeviation: math.NaN(), Ties: figure.Ties,
	}, best
}

// before decides between trials that tie: by their points, then by their seeds.
func (p *gridPoint) before(o *outcome, other *gridPoint, than *outcome) bool {
	return cmp.Or(cmp.Compare(p.key, other.key), cmp.Compare(len(o.seed), len(than.seed)),
		strings.Compare(o.seed, than.seed)) < 0
}

// votes reports whether the point's trials leave class probabilities.
func (p *gridPoint) votes() bool { return !p.set.LossOnly && p.baseline == 0 }

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
			shown = g.order[0]
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
		for _, p := range g.order[1:] {
			for name, value := range p.parameters {
				if name != sweep.SeedParameter && !slices.Contains(c.choice.Group, name) &&
					!slices.Contains(names, name) && g.order[0].parameters[name] != value {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
