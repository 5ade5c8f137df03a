package system

import (
	"errors"
	"maps"

	"sweep/sweep"
)

// topPrefix begins the names of the parameters of the layer on top.
const topPrefix = "top_"

var (
	top = sweep.ParameterSchema{
		Name: "top", Type: sweep.StringType, Default: noTop, Neutral: noTop,
		AppliesWhen: sweep.Match{"model": Recurrent()}, Enum: append([]any{noTop}, Recurrent()...),
		Doc: "a further recurrent layer above the others, of this system; its own parameters begin with " + topPrefix,
	}
	topHidden = sweep.ParameterSchema{
		Name: topPrefix + "hidden", Type: sweep.IntegerType, Default: int64(0), Minimum: new(0.0), Maximum: new(8192.0),
		AppliesWhen: sweep.Match{top.Name: Recurrent()},
		Doc:         "hidden units of the layer on top; 0 takes as many as hidden",
	}
)

const noTop = "none"

// TopParameters are those of the layer on top: which system it is, its width, and what that system
// has of its own.
func TopParameters() []sweep.ParameterSchema {
	list := []sweep.ParameterSchema{top, topHidden}
	systems := sweep.Variants{Parameter: top.Name}
	for _, s := range All {
		if s.FeedForward {
			continue
		}
		systems.List = append(systems.List, sweep.Variant{Name: s.Name, Parameters: s.Parameters, Defaults: s.Defaults})
	}
	for _, p := range systems.Parameters() {
		p.Defaults = systems.Defaults(p.Name)
		p.Doc = p.Name + " of the layer on top"
		p.Name = topPrefix + p.Name
		p.Neutral, p.NeutralWhen = nil, nil
		applies := sweep.Match{}
		for name, values := range maps.All(p.AppliesWhen) {
			if name != top.Name {
				name = topPrefix + name
			}
			applies[name] = values
		}
		p.AppliesWhen = applies
		list = append(list, p)
	}
	return list
}

// Top returns the system of the layer on top of others that are made with these options, and its
// own options, or nil without one. Where parameters are wrong Err returns it.
func (o *Options) Top() (*System, *Options) {
	asked := o.Text(top.Name)
	if asked == noTop {
		return nil, nil
	}
	s := Find(asked)
	if s == nil {
		_ = o.Refuse(top.Name, "is no system")
		return nil, nil
	}
	above := *o
	if width := o.Integer(topHidden.Name); width > 0 {
		above.Hidden = width
	}
	above.Parameters = sweep.Parameters{}
	for _, p := range s.Parameters {
		above.Parameters[p.Name] = o.Parameters[topPrefix+p.Name]
	}
	return s, &above
}

// CheckTop refuses what [System.Check] does, of the layer on top.
func (o *Options) CheckTop() error {
	s, above := o.Top()
	if s == nil {
		return o.Err()
	}
	err := s.Check(above)
	var refused *sweep.ParameterError
	if errors.As(err, &refused) {
		named := *refused
		named.Parameter = topPrefix + named.Parameter
		return &named
	}
	return err
}
