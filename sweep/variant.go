package sweep

import (
	"maps"
	"strings"
)

// A Variant is a value of a parameter, as a model or a task, with parameters and defaults of its
// own.
type Variant struct {
	// Name is the value, Doc describes it in a few words, Source is where it is defined.
	Name, Doc, Source string
	// Parameters are those that not every variant has. Variants may share some.
	Parameters []*ParameterSchema
	// Defaults are its defaults of parameters that other variants have, too.
	Defaults map[string]any
}

// Variants are the values of a parameter, in the order in which they are listed.
type Variants struct {
	Parameter string
	List      []Variant
}

// Names returns the variants' names.
func (v Variants) Names() []any {
	names := make([]any, len(v.List))
	for i := range v.List {
		names[i] = v.List[i].Name
	}
	return names
}

// Doc lists the variants, a line each.
func (v Variants) Doc() string {
	var b strings.Builder
	for i := range v.List {
		b.WriteString("\n" + v.List[i].Name + ": " + v.List[i].Doc + " (" + v.List[i].Source + ")")
	}
	return b.String()
}

// Parameters returns the parameters that not every variant has, each once, with the variants that
// it applies to.
func (v Variants) Parameters() []ParameterSchema {
	var all []ParameterSchema
	users := map[string][]any{}
	for i := range v.List {
		for _, p := range v.List[i].Parameters {
			if users[p.Name] == nil {
				all = append(all, *p)
			}
			users[p.Name] = append(users[p.Name], v.List[i].Name)
		}
	}
	for i := range all {
		applies := Match{}
		maps.Copy(applies, all[i].AppliesWhen)
		applies[v.Parameter] = users[all[i].Name]
		all[i].AppliesWhen = applies
	}
	return all
}

// Defaults returns the variants' own defaults of a parameter.
func (v Variants) Defaults(parameter string) []ConditionalDefault {
	var defaults []ConditionalDefault
	for i := range v.List {
		if value, ok := v.List[i].Defaults[parameter]; ok {
			defaults = append(defaults, ConditionalDefault{When: Match{v.Parameter: {v.List[i].Name}}, Value: value})
		}
	}
	return defaults
}

// Defaults are defaults of several parameters for the points that fit When.
type Defaults struct {
	When   Match
	Values map[string]any
}
