package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/figure"
)

// mostFigured is of how many points a figure's sweeps may be: the trials are all held
// in memory while it is drawn, some kilobytes each.
const mostFigured = 100_000

// figure draws what "sweep figure" draws, as SVG or PNG: one at a time.
func (s *Server) figure(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	kind, format := r.PathValue("kind"), cmp.Or(q.text("format"), "svg")
	if !slices.Contains(figure.Kinds, kind) {
		return &requestError{http.StatusNotFound, fmt.Sprintf("no figure %.40q: there are %s", kind,
			strings.Join(figure.Kinds, ", "))}
	}
	if !slices.Contains(figure.Formats, format) {
		return bad(fmt.Errorf("format=%.40q: expected one of %s", format, strings.Join(figure.Formats, ", ")))
	}
	groups := int64(8)
	if kind == "table" {
		groups = 40
	}
	options := figure.Options{
		Kind: kind, Metric: q.text("metric"), X: q.text("x"), Y: q.text("y"), GroupBy: q.list("group-by"),
		Groups: int(q.number("groups", groups)),
		LogX:   q.flag("log-x"), LogY: q.flag("log-y"), Top: q.fraction("top", 10), Where: q.filter().Where,
		Title: q.text("title"),
		Width: q.fraction("width", 14), Height: q.fraction("height", 0),
	}
	if q.text("top") != "" && kind != "parallel" && q.err == nil {
		q.err = bad(fmt.Errorf("top does not apply to the figure %s, only to parallel", kind))
	}
	if q.err != nil {
		return q.err
	}
	if err := options.Check(); err != nil {
		return bad(err)
	}
	references := q.list("sweep")
	if len(references) < 1 || len(references) > mostFrames {
		return bad(fmt.Errorf("name 1 to %d sweeps to draw, as sweep=ID", mostFrames))
	}
	var records []*sweep.SweepRecord
	points := int64(0)
	for _, reference := range references {
		record, err := s.options.Store.Sweep(r.Context(), reference)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(records, func(one *sweep.SweepRecord) bool { return one.ID == record.ID }) {
			records = append(records, record)
			points += record.Points()
		}
	}
	if points > mostFigured {
		return bad(fmt.Errorf("the dashboard draws figures of up to %d trials, not %d: \"sweep figure %s\" "+
			"draws them", mostFigured, points, kind))
	}
	select {
	case s.drawing <- struct{}{}:
		defer func() { <-s.drawing }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	drawn, err := figure.Draw(r.Context(), s.options.Store, records, options)
	switch {
	case errors.Is(err, figure.ErrNothing):
		return &requestError{http.StatusNotFound, err.Error()}
	case errors.As(err, new(*figure.OptionError)):
		return bad(err)
	case err != nil:
		return err
	}
	var file bytes.Buffer
	if err := drawn.Write(&file, format); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", map[string]string{"svg": "image/svg+xml", "png": "image/png"}[format])
	h.Set("Content-Disposition", attachment(fmt.Sprintf("%s-%s.%s", records[0].Name, kind, format)))
	// its fonts are in it
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; font-src data:; sandbox")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(file.Bytes()) // who asked may be gone
	return nil
}
