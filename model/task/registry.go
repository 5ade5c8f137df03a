package task

import (
	"slices"

	"sweep/sweep"
)

// All are the kinds of tasks, in the order in which they are listed. The first has
// every data set that is no other's.
var All = []*Kind{
	&classification,
	&addition,
	&copying,
	&stateTracking,
	&language,
	&queries,
	&multiLabel,
}

// Of returns the task that a data set belongs to.
func Of(dataset string) *Kind {
	for _, k := range All {
		if slices.Contains(k.Datasets, dataset) {
			return k
		}
	}
	return All[0]
}

// Open makes the task of a trial. A parameter of the wrong type is an error, here and not
// where it is used: tasks read some of theirs later.
func Open(o *Options) (Task, error) {
	kind := Of(o.Text("dataset"))
	if asked := o.Text("task"); asked != kind.Name {
		return nil, o.Refuse("task", "data set %s is for %s", o.Text("dataset"), kind.Name)
	}
	if err := o.Check(kind.Parameters); err != nil {
		return nil, err
	}
	task, err := kind.open(o)
	if o.Err() != nil {
		return nil, o.Err()
	}
	return task, err
}

// Variants are the kinds as values of the parameter task.
func Variants() sweep.Variants {
	v := sweep.Variants{Parameter: "task"}
	for _, k := range All {
		v.List = append(v.List, sweep.Variant{Name: k.Name, Doc: k.Doc, Source: k.Source, Parameters: k.Parameters,
			Defaults: k.Defaults})
	}
	return v
}

// Parameter is the schema of the parameter that names the task: it follows from the
// data set.
func Parameter() sweep.ParameterSchema {
	p := sweep.ParameterSchema{
		Name: "task", Type: sweep.StringType, Default: All[0].Name, Neutral: All[0].Name, Enum: Variants().Names(),
		Doc: "what is to be learnt, which follows from the data set" + Variants().Doc(),
	}
	for _, k := range All[1:] {
		names := make([]any, len(k.Datasets))
		for i, name := range k.Datasets {
			names[i] = name
		}
		p.Defaults = append(p.Defaults, sweep.ConditionalDefault{When: sweep.Match{"dataset": names}, Value: k.Name})
	}
	return p
}
