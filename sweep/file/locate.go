package file

import (
	"errors"
	"fmt"

	"sweep/sweep"
)

// Locate returns err as an *Error with the place in the file that it speaks
// of: the value, else the parameter, of a *sweep.ParameterError; the value that
// names the data set of a *sweep.DataError; the parameters for everything else.
// The *Error wraps err. What has a place already is returned as it is.
func (f *File) Locate(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	where, key := f.place(err)
	e := located(where, key, err)
	e.File = f.Name
	return e
}

// located makes an Error of an error of package sweep.
func located(where position, key string, err error) *Error {
	e := &Error{Line: int(where.line), Column: int(where.column), Key: key, Problem: err.Error(), Err: err}
	if refused, ok := errors.AsType[*sweep.ParameterError](err); ok {
		e.Problem, e.Nearest = refused.Problem, refused.Nearest
		if text, err := sweep.CanonicalJSON(refused.Value); err == nil && refused.Value != nil {
			e.Problem += ", not " + clip(string(text))
		}
	}
	return e
}

// place finds the place that an error speaks of.
func (f *File) place(err error) (position, string) {
	if refused, ok := errors.AsType[*sweep.ParameterError](err); ok {
		if declared := f.declared[refused.Parameter]; declared != nil {
			return declared.placeOf(refused.Value), declared.path
		}
		return f.parameters, fmt.Sprintf("parameters.%s", clip(refused.Parameter))
	}
	if data, ok := errors.AsType[*sweep.DataError](err); ok {
		for _, axis := range f.Spec.Axes {
			for _, p := range axis.Parameters {
				if declared := f.declared[p.Name]; declared != nil && p.Values.Range == nil &&
					p.Values.Index(data.Dataset) >= 0 {
					return declared.placeOf(data.Dataset), declared.path
				}
			}
		}
	}
	if errors.Is(err, sweep.ErrNoPoint) && f.exclude != (position{}) {
		return f.exclude, "exclude"
	}
	return f.parameters, "parameters"
}
