package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// action selects the trials to act on: those that match the filter, Expect of them when the page
// showed them. If the number differs by now, nothing is done.
type action struct {
	States []string `json:"states"`
	Where  []string `json:"where"`
	Expect int64    `json:"expect"`
}

// maxActed bounds the trials that one action changes.
const maxActed = 100_000

// act does something with the trials that match a request's filter and are in one of the allowed
// states.
func (s *Server) act(r *http.Request, record *sweep.SweepRecord, allowed []frame.State,
	do func(ctx context.Context, id string, indices []int64) (int64, error)) (any, error) {
	var a action
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<16)).Decode(&a); err != nil {
		return nil, bad(err)
	}
	filter, err := parseFilter(a.States, a.Where)
	if err != nil {
		return nil, bad(err)
	}
	if _, err := conditions(sweep.NamesOf(record), filter); err != nil {
		return nil, err
	}
	if len(filter.States) > 0 {
		allowed = slices.DeleteFunc(allowed, func(one frame.State) bool {
			return !slices.Contains(filter.States, one)
		})
	}
	filter.States = allowed
	var indices []int64
	err = s.useWhole(r.Context(), record.ID, func(f *frame.Frame) (err error) {
		if len(allowed) > 0 {
			indices, err = f.Matching(r.Context(), filter, maxActed+1)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(indices) > maxActed:
		return nil, bad(fmt.Errorf("more than %d trials match: select fewer", maxActed))
	case int64(len(indices)) != a.Expect:
		return nil, &requestError{http.StatusConflict,
			fmt.Sprintf("the filter matches %s now, not %d: reload the page",
				sweep.CountText(len(indices), "trial"), a.Expect)}
	}
	changed, err := do(r.Context(), record.ID, indices)
	if err != nil {
		return nil, err
	}
	return map[string]any{"trials": len(indices), "changed": changed}, nil
}

// retry puts failed and cancelled trials back.
func (s *Server) retry(r *http.Request, record *sweep.SweepRecord) (any, error) {
	return s.act(r, record, []frame.State{frame.Failed, frame.Cancelled}, s.options.Control.RetryNamed)
}

// cancel cancels trials that have no result.
func (s *Server) cancel(r *http.Request, record *sweep.SweepRecord) (any, error) {
	return s.act(r, record, []frame.State{frame.Pending, frame.Queued, frame.Running}, s.options.Control.CancelNamed)
}

// longestFile bounds the sweep files of requests, in bytes.
const longestFile = 1 << 20

// extend adds the points of a sweep file to a sweep; points that have a result are not
// trained again.
func (s *Server) extend(r *http.Request, record *sweep.SweepRecord) (any, error) {
	if s.options.Extend == nil {
		return nil, &requestError{http.StatusForbidden,
			"this dashboard cannot extend sweeps: add the new values to the sweep file and \"sweep run\" it; " +
				"finished trials are reused"}
	}
	var body struct{ Source string }
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, longestFile)).Decode(&body); err != nil {
		return nil, bad(err)
	}
	points, err := s.options.Extend(r.Context(), record.ID, body.Source)
	if err != nil {
		return nil, bad(err)
	}
	return map[string]any{"points": points}, nil
}
