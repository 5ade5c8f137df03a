package web

import (
	"errors"
	"net/http"

	"sweep/sweep"
	"sweep/sweep/paper"
	"sweep/sweep/report"
)

// table answers a table of the papers, from the sweeps that are named, or from the
// newest that has a row for it.
func (s *Server) table(r *http.Request) (any, error) {
	q := queryOf(r)
	request, err := paper.ParseRequest(r.PathValue("kind"), q.text("select"))
	switch {
	case errors.Is(err, sweep.ErrNotFound):
		return nil, err
	case err != nil:
		return nil, bad(err)
	}
	request.Sweeps = q.list("sweep")
	turn := s.questions // it reads all trials of a sweep
	if request.Selection.Ensemble() > 0 {
		if s.options.Artifacts == nil {
			return nil, errNoArtifacts
		}
		turn = s.voting
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	table, used, err := request.Gather(r.Context(), s.options.Store, s.options.Artifacts)
	if incomparable := (*report.IncomparableError)(nil); errors.As(err, &incomparable) ||
		errors.Is(err, report.ErrNoClasses) {
		return nil, bad(err)
	}
	if err != nil {
		return nil, err
	}
	if table == nil {
		return map[string]any{"table": nil, "sweeps": []string{}}, nil
	}
	rules := []int{}
	for at, is := range table.Rules {
		if is {
			rules = append(rules, at)
		}
	}
	return map[string]any{"sweeps": used, "rules": rules, "table": map[string]any{
		"title": table.Title, "columns": table.Columns, "rows": table.Rows, "notes": table.Notes,
	}}, nil
}
