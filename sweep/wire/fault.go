package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sweep/sweep"
)

// UnreachableError means that no coordinator answers a client's request.
type UnreachableError struct {
	// Servers are the addresses of the NATS servers.
	Servers string
	// Delivered means that the request may have been carried out nevertheless.
	Delivered bool
}

// Error implements error.
func (e *UnreachableError) Error() string {
	if e.Delivered {
		return fmt.Sprintf("the coordinator at %s stopped answering; it is not known whether it carried out the "+
			"request: see \"sweep status\"", e.Servers)
	}
	return fmt.Sprintf("no coordinator answers at %s: is \"sweep coordinator\" running, and does it reach its "+
		"database?", e.Servers)
}

// VersionError means that client and coordinator speak incompatible versions of the control protocol.
type VersionError struct {
	Client int `json:"client"`
	Server int `json:"server"`
}

// Error implements error.
func (e *VersionError) Error() string {
	older := "this program is older: update it"
	if e.Client > e.Server {
		older = "the coordinator is older: update it, or use its version of this program"
	}
	return fmt.Sprintf("this program speaks version %d of the control protocol, the coordinator version %d: %s",
		e.Client, e.Server, older)
}

// fault is the encoding of an error for a client: its text, and the errors that callers test for.
type fault struct {
	Text string `json:"text"`
	// Kinds name the sentinels that the error wraps.
	Kinds     []string              `json:"kinds,omitempty"`
	Parameter *sweep.ParameterError `json:"parameter,omitempty"`
	Data      *dataFault            `json:"data,omitempty"`
	Version   *VersionError         `json:"version,omitempty"`
	Lost      *sweep.LostError      `json:"lost,omitempty"`
	Damaged   *sweep.DamagedError   `json:"damaged,omitempty"`
}

// dataFault is a sweep.DataError.
type dataFault struct {
	Dataset string `json:"dataset"`
	Problem string `json:"problem"`
}

// sentinels are the sentinel errors that callers test for, by their names in messages.
var sentinels = map[string]error{
	"not_found":       sweep.ErrNotFound,
	"exists":          sweep.ErrExists,
	"newer_schema":    sweep.ErrNewerSchema,
	"running":         sweep.ErrRunning,
	"no_point":        sweep.ErrNoPoint,
	"too_many_points": sweep.ErrTooManyPoints,
	"dataset_changed": sweep.ErrDatasetChanged,
	"timeout":         context.DeadlineExceeded,
}

// encodeFault encodes an error.
func encodeFault(err error) []byte {
	f := fault{Text: err.Error()}
	for name, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			f.Kinds = append(f.Kinds, name)
		}
	}
	if p, ok := errors.AsType[*sweep.ParameterError](err); ok {
		f.Parameter = p
		if _, err := json.Marshal(p.Value); err != nil { // the text still has the value
			f.Parameter = &sweep.ParameterError{Parameter: p.Parameter, Problem: p.Problem, Nearest: p.Nearest}
		}
	}
	errors.As(err, &f.Version)
	errors.As(err, &f.Lost)
	errors.As(err, &f.Damaged)
	if data, ok := errors.AsType[*sweep.DataError](err); ok {
		f.Data = &dataFault{data.Dataset, data.Err.Error()}
	}
	encoded, err := json.Marshal(f)
	if err != nil { // cannot happen
		return []byte(`{"text":"an error that cannot be sent"}`)
	}
	return encoded
}

// remoteError is a server's error at the client, with the same text and the same results of errors.Is
// and errors.As.
type remoteError struct {
	text string
	tree []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.tree }

// decodeFault decodes an error.
func decodeFault(data []byte) error {
	var f fault
	if err := json.Unmarshal(data, &f); err != nil || f.Text == "" {
		return fmt.Errorf("the server reports an error that cannot be read: %.200q", data)
	}
	e := &remoteError{text: f.Text}
	for _, name := range f.Kinds {
		if sentinel := sentinels[name]; sentinel != nil {
			e.tree = append(e.tree, sentinel)
		}
	}
	add := func(there bool, err error) {
		if there {
			e.tree = append(e.tree, err)
		}
	}
	add(f.Parameter != nil, f.Parameter)
	add(f.Version != nil, f.Version)
	add(f.Lost != nil, f.Lost)
	add(f.Damaged != nil, f.Damaged)
	if f.Data != nil {
		e.tree = append(e.tree, &sweep.DataError{Dataset: f.Data.Dataset, Err: errors.New(f.Data.Problem)})
	}
	return e
}
