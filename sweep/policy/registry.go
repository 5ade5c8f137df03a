package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
)

// Kinds are all kinds of policies, in the order in which they are listed and change the points of a spec.
var Kinds = []*Kind{
	&grid,
	&random,
	&sobolKind,
	&latinKind,
	&bayesKind,
	&medianKind,
	&halvingKind,
	&hyperbandKind,
	&raceKind,
}

// The keys of sweep files that name one of several kinds.
const (
	MethodKey = "method"
	StopKey   = "early_terminate"
)

// Kind is a kind of policies: what sweep files say about it, and its settings.
type Kind struct {
	Name string
	// Key is the top-level key of sweep files under which it is chosen: MethodKey, StopKey or its own name.
	Key string
	// Doc says what it does: of a method it follows the name.
	Doc string
	// Keys are its own keys in sweep files.
	Keys []Key
	// OneOf are sets of Keys, one of which a file has.
	OneOf [][]string
	// Foreign, if not empty, says in a note whose keys it takes: unknown ones are ignored.
	Foreign string
	// Batch, if not empty, is what it takes the key batch for.
	Batch string
	// New returns the default settings; nil for those that need no policy.
	New func() Settings

	// Draws says that it is of a search that draws its points, and Search that results choose these, across groups and
	// by one metric.
	Draws, Search bool
	// Compares says that it compares trials by a metric; While that this is done while they run.
	Compares, While bool
	// SeedFirst has replicates vary slowest.
	SeedFirst bool
	// Alone is why a sweep with it cannot be extended, and Same why its extensions have the same settings; else "".
	Alone, Same string
	// Grows, if not empty, is why a sweep with it is not extended by one that draws another number of points.
	Grows string
}

// Key is a key of a policy in sweep files.
type Key struct {
	sweep.ParameterSchema
	// Hint completes the error about a number that is not above Minimum.
	Hint string
	// Below is what a number is below, if not nil: for editors, as is Minimum. The settings are checked besides.
	Below *float64
}

// setting is a key with values of a type; standard is the default, nil if there is none.
func setting(name string, kind sweep.ParameterType, standard any, doc string) Key {
	return Key{ParameterSchema: sweep.ParameterSchema{Name: name, Type: kind, Default: standard, Doc: doc}}
}

// whole is a key with whole numbers between bounds, of which the second may be infinite.
func whole(name string, low, high float64, standard any, doc string) Key {
	k := setting(name, sweep.IntegerType, standard, doc)
	k.Minimum, k.Maximum = at(low), at(high)
	return k
}

// at is a bound of a Key.
func at(bound float64) *float64 { return &bound }

// Bounds are those of a whole number.
func (k *Key) Bounds() (low, high int64) {
	if high = math.MaxInt64; *k.Maximum <= MaxNumber {
		high = int64(*k.Maximum)
	}
	return int64(*k.Minimum), high
}

// The types of Keys besides those of parameters: a metric of the trainer, and a goal.
const (
	MetricType sweep.ParameterType = "metric"
	GoalType   sweep.ParameterType = "goal"
)

// MaxNumber bounds whole numbers of settings.
const MaxNumber = 1 << 53

// File is what a kind sees of a sweep file when it is read.
type File struct {
	// Spec has no axes yet.
	Spec *sweep.Spec
	// Description is that of the trainer, nil if it is not known or takes everything.
	Description *sweep.Description
	// Target is the metric of the key metric, with its goal.
	Target sweep.Select
	// Values returns those of a parameter of the file.
	Values func(parameter string) (sweep.Values, bool)
	// Names are the parameters of the file and the trainer.
	Names func() []string
	// Replicates says that the file has the key.
	Replicates bool
	// Batch is the value of the key batch, 0 without one.
	Batch int64
	// Sound says that the values of the keys have no fault, and AllSound that nothing is wrong so far.
	Sound, AllSound bool
}

// KnowsMetrics reports whether a metric that is not named cannot be a default of the trainer.
func (f *File) KnowsMetrics() bool {
	return f.Description != nil || f.Spec.Trainer == sweep.ScriptTrainer
}

// selected fills in what the trainer has.
func (f *File) selected(by sweep.Select) sweep.Select {
	if f.Description != nil {
		by = by.Filled(f.Description)
	}
	return by
}

// Error says what is wrong with a policy.
type Error struct {
	// Key is the key of a sweep file where it is, as in early_terminate.parameter.
	Key     string
	Problem string
	// Nearest is the nearest known name for a misspelling.
	Nearest string
}

// Error implements error.
func (e *Error) Error() string { return e.Key + ": " + e.Problem }

func (k *Kind) refused(format string, arguments ...any) error {
	return &Error{Key: k.Key, Problem: fmt.Sprintf(format, arguments...)}
}

// parameterError refuses a parameter.
func parameterError(name, format string, arguments ...any) error {
	return &sweep.ParameterError{Parameter: name, Problem: fmt.Sprintf(format, arguments...)}
}

// NeedsMetric says that a metric is missing.
func (k *Kind) NeedsMetric() string {
	text := "needs the metric that is to be small or large, as in metric: {name: loss, goal: minimize}"
	if k.Key == MethodKey {
		return k.Name + " " + text
	}
	return text
}

// Text is how a file chooses the kind, as in "early_terminate: {type: median}".
func (k *Kind) Text() string {
	switch k.Key {
	case MethodKey:
		return k.Key + ": " + k.Name
	case StopKey:
		return k.Key + ": {type: " + k.Name + "}"
	}
	return k.Key
}

// grid and random are those of specs without a policy.
var (
	grid   = Kind{Name: "grid", Key: MethodKey, Doc: "runs every grid point"}
	random = Kind{Name: "random", Key: MethodKey, Draws: true, Doc: "draws run_cap points from W&B's distributions"}
)

// byName returns the kind of that name, nil if there is none.
func byName(name string) *Kind {
	for _, k := range Kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Find returns the kind that a key of a sweep file names, nil if there is none.
func Find(key, name string) *Kind {
	if k := byName(name); k != nil && k.Key == key {
		return k
	}
	return nil
}

// Keys are the top-level keys of sweep files that choose kinds, but for MethodKey.
func Keys() (keys []string) {
	for _, k := range Kinds {
		if k.Key != MethodKey && !slices.Contains(keys, k.Key) {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// Under are the kinds that a key chooses.
func Under(key string) (list []*Kind) {
	for _, k := range Kinds {
		if k.Key == key {
			list = append(list, k)
		}
	}
	return list
}

// Names are the names of the kinds that a key chooses, of all but those left out.
func Names(key string, leaveOut ...func(*Kind) bool) (names []string) {
	for _, k := range Under(key) {
		if !slices.ContainsFunc(leaveOut, func(out func(*Kind) bool) bool { return out(k) }) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Or joins names: "grid, random or sobol".
func Or(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
