package file

import (
	"errors"
	"fmt"

	"sweep/sweep"
)

// Locate returns err as an *Error, which wraps it, with its place in the file: of a
// *sweep.ParameterError the value, else the parameter; of a *sweep.DataError the value that
// names the data set, or the program; otherwise the parameters. An *Error is returned unchanged.
func (f *File) Locate(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return f.locate(err)
}

func (f *File) locate(err error) *Error {
	where, key := f.place(err)
	return f.located(where, key, err)
}

// errorAt returns the error of a key at a place.
func (f *File) errorAt(where position, key, problem string) *Error {
	return &Error{File: f.Name, Line: int(where.line), Column: int(where.column), Key: key, Problem: problem}
}

// located makes an Error of an error of package sweep.
func (f *File) located(where position, key string, err error) *Error {
	e := f.errorAt(where, key, err.Error())
	e.Err = err
	if refused, ok := errors.AsType[*sweep.ParameterError](err); ok {
		e.Problem, e.Nearest = refused.Problem, refused.Nearest
		if refused.Value != nil {
			e.Problem += ", not " + valueText(refused.Value)
			if f.declared[refused.Parameter] == nil {
				e.Problem += " (the default: the file does not set it)"
			}
		}
	}
	return e
}

// place finds the place of an error, and its key.
func (f *File) place(err error) (position, string) {
	if refused, ok := errors.AsType[*sweep.ParameterError](err); ok {
		if declared := f.declared[refused.Parameter]; declared != nil {
			return declared.placeOf(refused.Value), declared.path
		}
		return f.parameters, fmt.Sprintf("parameters.%s", clip(refused.Parameter))
	}
	if data, ok := errors.AsType[*sweep.DataError](err); ok {
		if data.Dataset == "" && f.program != (position{}) {
			return f.program, "program"
		}
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
