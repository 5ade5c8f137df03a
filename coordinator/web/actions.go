package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"sweep/coordinator/web/frame"
)

// action says on which trials to act: those that fit the filter, of which the page
// has shown Expect. If there are others by now, nothing is done.
type action struct {
	States []string `json:"states"`
	Where  []string `json:"where"`
	Expect int64    `json:"expect"`
}

// mostActed bounds the trials that one action changes.
const mostActed = 100_000

var errMany = errors.New("")

// act does something with the trials that a request's filter selects, of those in
// some states.
func (s *Server) act(r *http.Request, allowed []string,
	do func(ctx context.Context, id string, indices []int64) (int64, error)) (any, error) {
	var a action
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<16)).Decode(&a); err != nil {
		return nil, bad(err)
	}
	states, where, err := parseFilter(a.States, a.Where)
	if err != nil {
		return nil, bad(err)
	}
	var indices []int64
	record, err := s.options.Store.Sweep(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	read, err := s.use(r.Context(), record.ID, func(f *frame.Frame) error {
		filter := frame.Filter{States: states, Where: where}
		possible, _, err := parseFilter(allowed, nil)
		if err != nil {
			return err
		}
		if len(filter.States) == 0 {
			filter.States = possible
		}
		filter.States = slices.DeleteFunc(slices.Clone(filter.States), func(one frame.State) bool {
			return !slices.Contains(possible, one)
		})
		if len(filter.States) == 0 {
			return nil
		}
		err = f.Matching(r.Context(), filter, func(index int64) error {
			if indices = append(indices, index); len(indices) > mostActed {
				return errMany
			}
			return nil
		})
		if errors.Is(err, errMany) {
			return bad(fmt.Errorf("more than %d trials match: select fewer", mostActed))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !read.Complete {
		return nil, &requestError{http.StatusConflict,
			fmt.Sprintf("%d of %d trials have been read: try again when all are", read.Trials, read.Of)}
	}
	if int64(len(indices)) != a.Expect {
		return nil, &requestError{http.StatusConflict,
			fmt.Sprintf("%d trials fit by now, and %d were expected: look again", len(indices), a.Expect)}
	}
	changed, err := do(r.Context(), record.ID, indices)
	if err != nil {
		return nil, err
	}
	return map[string]any{"trials": len(indices), "changed": changed}, nil
}

// retry puts the failed and cancelled ones of some trials back.
func (s *Server) retry(r *http.Request) (any, error) {
	return s.act(r, []string{"failed", "cancelled"}, s.options.Control.RetryNamed)
}

// cancel ends those of some trials that have no result.
func (s *Server) cancel(r *http.Request) (any, error) {
	return s.act(r, []string{"pending", "queued", "running"}, s.options.Control.CancelNamed)
}

// longestFile bounds the sweep files that are handed in, in bytes.
const longestFile = 1 << 20

// extend adds the points of a sweep file to a sweep; those that it has results for
// are not trained again.
func (s *Server) extend(r *http.Request) (any, error) {
	if s.options.Extend == nil {
		return nil, &requestError{http.StatusForbidden,
			"no sweep can be extended here: put the new values into the sweep file and \"sweep run\" it; " +
				"what is trained already is taken over"}
	}
	var body struct{ Source string }
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, longestFile)).Decode(&body); err != nil {
		return nil, bad(err)
	}
	record, err := s.options.Store.Sweep(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	points, err := s.options.Extend(r.Context(), record.ID, body.Source)
	if err != nil {
		return nil, bad(err)
	}
	return map[string]any{"points": points}, nil
}
