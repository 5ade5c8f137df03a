package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"sweep/sweep"
)

// Settings are those of a policy. Their JSON is in Spec.Policies; a kind's New has the defaults.
type Settings interface {
	// kind is what they are settings of.
	kind() *Kind
	// read sets them by the values of the kind's Keys that a file has. Its error is an *Error or a
	// *sweep.ParameterError.
	read(values map[string]any, file *File) error
	// check checks all that the policy indexes, divides by or allocates from, and what else the spec has.
	check(spec *sweep.Spec) error
	// objective is the metric by which trials are compared.
	objective(spec *sweep.Spec, description *sweep.Description) sweep.Select
	// arrange returns the points as far as they are known beforehand, from those that the spec has without the policy.
	arrange(spec *sweep.Spec, grid *sweep.Grid) (*sweep.Grid, error)
	// varies is the parameter that the policy gives values which the spec does not have, "" if there is none.
	varies() string
	// chooses says which points results choose, "" if they choose none.
	chooses() string
	// open returns what decides by results, nil if nothing does.
	open(spec *sweep.Spec, description *sweep.Description, grid *sweep.Grid) (Policy, error)
}

// defaults are the methods of settings that change nothing.
type defaults struct{}

func (defaults) read(map[string]any, *File) error { return nil }

func (defaults) check(*sweep.Spec) error { return nil }

func (defaults) objective(spec *sweep.Spec, description *sweep.Description) sweep.Select {
	return spec.Select.Filled(description)
}

func (defaults) arrange(_ *sweep.Spec, grid *sweep.Grid) (*sweep.Grid, error) { return grid, nil }

func (defaults) varies() string { return "" }

func (defaults) chooses() string { return "" }

func (defaults) open(*sweep.Spec, *sweep.Description, *sweep.Grid) (Policy, error) { return nil, nil }

// Policy decides about trials. It does not change: what it decides depends on what it is given alone.
type Policy interface {
	// Generation is that of the trials after some, which have been written.
	Generation(written int64) Generation
	// Wants is what is to be observed of the trials so far.
	Wants() Wants
	// Step decides. The error is that of ctx, or says why the policy cannot go on.
	Step(ctx context.Context, seen Observations) (Step, error)
}

// Generation are trials that are written together, when all before them have ended.
type Generation struct {
	// Number counts generations from 0.
	Number int64
	// Before is how many of its trials are written, and Left how many are not; 0 where Step says it.
	Before, Left int64
}

// Wants says what a policy observes.
type Wants struct {
	// Metric is what is observed of trials, and Goal Minimize or Maximize.
	Metric, Goal string
	// Trials are wanted before each generation; with Stopped, those that were stopped early have values, too.
	Trials, Stopped bool
	// Window, if not 0, is of how many trials the observations are wanted before each generation.
	Window int64
	// Bands, if there are any, are the positions of the observations that are wanted of all trials whenever there are
	// new ones.
	Bands []int64
	// Best says that the best value so far is wanted at bands, too.
	Best bool
}

// Observations are what is known of the trials so far, as far as the policy wants it.
type Observations struct {
	// Trials are in order of index, from the first one of the grid on.
	Trials []Trial
	// Written is how many there are.
	Written int64
	// Observed is what was observed of trials that run, or of the last ones before a generation, in its order.
	Observed []sweep.Observation
}

// Trial is a trial that has ended.
type Trial struct {
	// Parameters are resolved, as a store has them.
	Parameters sweep.Parameters
	// Value is the metric, NaN if there is none: the trial failed, was cancelled or diverged, or was stopped early and
	// the policy does not take that. A smaller one is better.
	Value float64
	// Skipped is why the trial was not run, if it was not.
	Skipped string
}

// Step is what a policy decides.
type Step struct {
	// Next are the trials of the next generation; nil leaves them as they are known beforehand.
	Next []Point
	// Rule, if not nil, is by what they are stopped.
	Rule *sweep.StopRule
	// Stops are decisions about trials that run.
	Stops []sweep.Stop
}

// Point is a point of the next generation.
type Point struct {
	sweep.Parameters
	// Skip is why its trial is not run, "" if it is.
	Skip string
}

// Of returns settings as a spec has them.
func Of(settings Settings) sweep.Policy {
	text, _ := json.Marshal(settings) // without them the policy is refused: numbers that are not finite
	return sweep.Policy{Kind: settings.kind().Name, Settings: text}
}

// decode returns the settings of a policy.
func decode(p sweep.Policy) (Settings, error) {
	kind := byName(p.Kind)
	if kind == nil || kind.New == nil {
		return nil, fmt.Errorf("there is no policy %.40q", p.Kind)
	}
	settings := kind.New()
	decoder := json.NewDecoder(bytes.NewReader(p.Settings))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(settings); err != nil {
		return nil, kind.refused("its settings cannot be read: %v", err)
	}
	return settings, nil
}

// all returns the settings of the policies of a spec, in the order of Kinds.
func all(spec *sweep.Spec) ([]Settings, error) {
	list := make([]Settings, 0, len(spec.Policies))
	keys := map[string]bool{}
	for _, p := range spec.Policies {
		settings, err := decode(p)
		if err != nil {
			return nil, err
		}
		kind := settings.kind()
		if keys[kind.Key] {
			return nil, kind.refused("takes one policy, and the sweep has two")
		}
		keys[kind.Key] = true
		list = append(list, settings)
	}
	slices.SortStableFunc(list, func(a, b Settings) int {
		return slices.Index(Kinds, a.kind()) - slices.Index(Kinds, b.kind())
	})
	return list, nil
}

// NewGrid returns the points of a spec with its policies.
func NewGrid(spec *sweep.Spec) (*sweep.Grid, error) {
	list, err := all(spec)
	if err != nil {
		return nil, err
	}
	return arrange(spec, list)
}

func arrange(spec *sweep.Spec, list []Settings) (*sweep.Grid, error) {
	for _, settings := range list {
		if settings.kind().Draws && spec.Random == nil {
			return nil, settings.kind().refused("draws points, and the sweep has none that are drawn")
		}
		if err := settings.check(spec); err != nil {
			return nil, err
		}
	}
	grid, err := sweep.NewGrid(spec)
	for i := 0; i < len(list) && err == nil; i++ {
		grid, err = list[i].arrange(spec, grid)
	}
	return grid, err
}

// Check checks all that decides about trials, whoever wrote the submission, and returns the points.
func Check(submission *sweep.Submission) (*sweep.Grid, error) {
	spec := &submission.Spec
	list, err := all(spec)
	if err == nil {
		err = submission.Check()
	}
	for i := 0; i < len(list) && err == nil; i++ {
		kind, by := list[i].kind(), list[i].objective(spec, &submission.Description)
		if err = by.Check(kind.Key); err == nil && by.By == "" && kind.Compares {
			err = kind.refused("%s", kind.NeedsMetric())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sweep %.40q: %w", spec.Name, err)
	}
	grid, err := arrange(spec, list)
	if err != nil {
		return nil, fmt.Errorf("expanding the grid of %s: %w", spec.Name, err)
	}
	return grid, nil
}

// Read sets settings by the values of Keys that a file has. Its error is an *Error or a *sweep.ParameterError.
func Read(settings Settings, values map[string]any, file *File) error {
	return settings.read(values, file)
}

// Open returns the points of a submission, and its policies that decide by results.
func Open(submission *sweep.Submission) (*sweep.Grid, []Policy, error) {
	spec := &submission.Spec
	list, err := all(spec)
	if err != nil {
		return nil, nil, err
	}
	grid, err := arrange(spec, list)
	var policies []Policy
	for i := 0; i < len(list) && err == nil; i++ {
		var p Policy
		if p, err = list[i].open(spec, &submission.Description, grid); p != nil {
			policies = append(policies, p)
		}
	}
	return grid, policies, err
}

// Watching returns the policies of a submission that stop trials while they run; none of them needs the points.
func Watching(submission *sweep.Submission) (policies []Policy, err error) {
	policies = []Policy{} // not nil, which callers take for not known
	list, err := all(&submission.Spec)
	for i := 0; i < len(list) && err == nil; i++ {
		if !list[i].kind().While {
			continue
		}
		var p Policy
		if err = list[i].check(&submission.Spec); err == nil {
			p, err = list[i].open(&submission.Spec, &submission.Description, nil)
			policies = append(policies, p)
		}
	}
	return policies, err
}

// Undrawn are the policies of a spec whose points are not drawn.
func Undrawn(policies []sweep.Policy) []sweep.Policy {
	return slices.DeleteFunc(slices.Clone(policies), func(p sweep.Policy) bool {
		kind := byName(p.Kind)
		return kind != nil && kind.Draws
	})
}

// ByResults reports whether results decide about trials of a spec before they are written.
func ByResults(spec *sweep.Spec) bool { return Chooses(spec) != "" }

// Chooses says which points of a spec results choose, "" if they choose none.
func Chooses(spec *sweep.Spec) string {
	for _, p := range spec.Policies {
		if settings, err := decode(p); err == nil && settings.chooses() != "" {
			return settings.chooses()
		}
	}
	return ""
}

// Varies are the parameters that the policies of a spec give values which the spec does not have.
func Varies(spec *sweep.Spec) (names []string) {
	for _, p := range spec.Policies {
		if settings, err := decode(p); err == nil && settings.varies() != "" {
			names = append(names, settings.varies())
		}
	}
	return names
}

// otherDraws reports whether two searches that draw their points draw others, or not as many.
func otherDraws(spec, by *sweep.Spec) bool {
	return spec.Random != nil && by.Random != nil && (spec.Random.Seed != by.Random.Seed ||
		(spec.Cap-1)/replicatesOf(spec) != (by.Cap-1)/replicatesOf(by))
}

// Extends returns why a sweep with one spec cannot be extended by another, nil if it can.
func Extends(spec, by *sweep.Spec) error {
	own, err := all(spec)
	if err != nil {
		return err
	}
	other, err := all(by)
	if err != nil {
		return err
	}
	for _, list := range [][2][]Settings{{own, other}, {other, own}} {
		for _, settings := range list[0] {
			kind := settings.kind()
			if kind.Alone != "" {
				return fmt.Errorf("%s", kind.Alone)
			}
			same := func(s Settings) bool { return reflect.DeepEqual(s, settings) }
			if kind.Same != "" && !slices.ContainsFunc(list[1], same) {
				return fmt.Errorf("%s", kind.Same)
			}
			if kind.Grows != "" && slices.ContainsFunc(list[1], same) && otherDraws(spec, by) {
				return fmt.Errorf("%s", kind.Grows)
			}
		}
	}
	return nil
}
