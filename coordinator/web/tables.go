package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/paper"
	"sweep/sweep/report"
)

// tableFile is how a table in a format is sent.
type tableFile struct{ extension, mediaType string }

var tableFiles = map[string]tableFile{
	"text": {"txt", "text/plain; charset=utf-8"}, "markdown": {"md", "text/markdown; charset=utf-8"},
	"latex": {"tex", "application/x-tex; charset=utf-8"}, "csv": {"csv", "text/csv; charset=utf-8"},
	"json": {"json", "application/json"},
}

// table answers a table of the papers for the page, or, with format=…, as the file that "sweep table" prints.
func (s *Server) table(w http.ResponseWriter, r *http.Request) error {
	kind, format := r.PathValue("kind"), queryOf(r).text("format")
	if format != "" && !slices.Contains(report.Formats, format) {
		return bad(fmt.Errorf("format=%.40q: expected one of %s", format, strings.Join(report.Formats, ", ")))
	}
	table, used, err := s.gatherTable(r, kind)
	switch {
	case err != nil:
		return err
	case table == nil && format != "":
		return fmt.Errorf("%w: no completed trial belongs in the table %s", sweep.ErrNotFound, kind)
	case table == nil:
		return writeJSON(w, map[string]any{"table": nil, "sweeps": []string{}})
	case format != "":
		var file bytes.Buffer
		if err := table.Write(&file, format, false); err != nil {
			return err
		}
		form, h := tableFiles[format], w.Header()
		h.Set("Content-Type", form.mediaType)
		h.Set("Content-Disposition", attachment(kind+"."+form.extension))
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write(file.Bytes()) // who asked may be gone
		return nil
	}
	rules := []int{}
	for at, is := range table.Rules {
		if is {
			rules = append(rules, at)
		}
	}
	return writeJSON(w, map[string]any{"sweeps": used, "rules": rules, "table": map[string]any{
		"title": table.Title, "columns": table.Columns, "rows": table.Rows, "notes": table.Notes,
	}})
}

// gatherTable lays out a table from the sweeps that are named, or from the newest that has a row for it.
func (s *Server) gatherTable(r *http.Request, kind string) (*report.Table, []string, error) {
	q := queryOf(r)
	request, err := paper.ParseRequest(kind, q.text("select"))
	switch {
	case errors.Is(err, sweep.ErrNotFound):
		return nil, nil, err
	case err != nil:
		return nil, nil, bad(err)
	}
	request.Sweeps = q.list("sweep")
	turn := s.questions // it reads all trials of a sweep
	if request.Selection.Ensemble() > 0 {
		if s.options.Artifacts == nil {
			return nil, nil, errNoArtifacts
		}
		turn = s.voting
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-r.Context().Done():
		return nil, nil, r.Context().Err()
	}
	table, used, err := request.Gather(r.Context(), s.options.Store, s.options.Artifacts)
	if incomparable := (*report.IncomparableError)(nil); errors.As(err, &incomparable) ||
		errors.Is(err, report.ErrNoClasses) {
		return nil, nil, bad(err)
	}
	return table, used, err
}
