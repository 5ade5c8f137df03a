package trainer

import (
	"errors"
	"fmt"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// encodeRefusal encodes a trial's own error; it returns nil for any other error.
func encodeRefusal(err error) *trainerpb.Refusal {
	m := &trainerpb.Refusal{
		Message:        valid(err.Error()),
		DatasetChanged: errors.Is(err, sweep.ErrDatasetChanged),
		NotFound:       errors.Is(err, sweep.ErrNotFound),
	}
	if parameter, ok := errors.AsType[*sweep.ParameterError](err); ok {
		m.Parameter = &trainerpb.ParameterRefusal{
			Parameter: valid(parameter.Parameter),
			Problem:   valid(parameter.Problem),
			Nearest:   valid(parameter.Nearest),
		}
		if parameter.Value != nil {
			value, err := sweep.CanonicalJSON(parameter.Value)
			if err != nil {
				// NaN has no JSON form, but its text has.
				value, _ = sweep.CanonicalJSON(fmt.Sprint(parameter.Value))
			}
			m.Parameter.Value = value
		}
	}
	if data, ok := errors.AsType[*sweep.DataError](err); ok {
		m.Data = &trainerpb.DataRefusal{Dataset: valid(data.Dataset)}
		if data.Err != nil {
			m.Data.Problem = valid(data.Err.Error())
		}
	}
	if m.Parameter == nil && m.Data == nil && !m.DatasetChanged && !m.NotFound {
		return nil
	}
	return m
}

// decodeRefusal decodes a trial's own error. It has the same text as the original, and the same
// results of errors.As and errors.Is for the errors of a trial.
func decodeRefusal(m *trainerpb.Refusal) error {
	var sentinels []error
	if m.GetDatasetChanged() {
		sentinels = append(sentinels, sweep.ErrDatasetChanged)
	}
	if m.GetNotFound() {
		sentinels = append(sentinels, sweep.ErrNotFound)
	}
	var typed []error
	if p := m.GetParameter(); p != nil {
		e := &sweep.ParameterError{Parameter: p.GetParameter(), Problem: p.GetProblem(), Nearest: p.GetNearest()}
		if len(p.GetValue()) > 0 {
			// A value that cannot be decoded is still in the text.
			e.Value, _ = sweep.DecodeValue(p.GetValue())
		}
		typed = append(typed, e)
	}
	if d := m.GetData(); d != nil {
		typed = append(typed, &sweep.DataError{
			Dataset: d.GetDataset(),
			Err:     &refusal{text: d.GetProblem(), causes: sentinels},
		})
	}
	if len(typed) == 1 && typed[0].Error() == m.GetMessage() && (m.GetData() != nil || len(sentinels) == 0) {
		return typed[0]
	}
	return &refusal{text: m.GetMessage(), causes: append(typed, sentinels...)}
}

// refusal is a decoded error: the text of the original and the errors that callers test for.
type refusal struct {
	text   string
	causes []error
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// Unwrap returns the causes.
func (r *refusal) Unwrap() []error { return r.causes }
