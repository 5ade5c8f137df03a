package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/figure"
	"sweep/sweep/paper"
)

// maxFigured is of how many points a figure's sweeps may be: the trials are all held
// in memory while it is drawn, some kilobytes each.
const maxFigured = 100_000

// maxOpenArea is how large a PNG is drawn without a token, in square centimetres: it takes up to 70 MB, and a second.
const maxOpenArea = 900

// drawer draws a figure of some sweeps.
type drawer func(ctx context.Context, results sweep.Reader, records []*sweep.SweepRecord) (*figure.Figure, error)

// figure draws what "sweep figure" draws, as SVG or PNG: one at a time.
func (s *Server) figure(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	kind, format := r.PathValue("kind"), cmp.Or(q.text("format"), "svg")
	if !slices.Contains(figure.Formats, format) {
		return bad(fmt.Errorf("format=%.40q: expected one of %s", format, strings.Join(figure.Formats, ", ")))
	}
	name, draw, err := drawerOf(kind, q)
	if err != nil {
		return err
	}
	records, err := s.figured(r.Context(), kind, q.list("sweep"))
	if err != nil {
		return err
	}
	select {
	case s.drawing <- struct{}{}:
		defer func() { <-s.drawing }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	drawn, err := draw(r.Context(), s.options.Store, records)
	switch {
	case errors.Is(err, figure.ErrNothing):
		return &requestError{http.StatusNotFound, err.Error()}
	case errors.As(err, new(*figure.OptionError)):
		return bad(err)
	case err != nil:
		return err
	}
	if token, _ := s.who(r); token == nil && format == "png" && name == "" && drawn.Area() > maxOpenArea {
		return &requestError{http.StatusUnauthorized, fmt.Sprintf("a PNG of more than %d cm² needs a token: ask for "+
			"less, or for format=svg, or have \"sweep figure\" draw it", maxOpenArea)}
	}
	var file bytes.Buffer
	if err := drawn.Write(&file, format); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", map[string]string{"svg": "image/svg+xml", "png": "image/png"}[format])
	h.Set("Content-Disposition", attachment(cmp.Or(name, records[0].Name+"-"+kind)+"."+format))
	// its fonts are in it
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; font-src data:; sandbox")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(file.Bytes()) // who asked may be gone
	return nil
}

// drawerOf draws a kind of figure, or a preset's, which has a name of its own and no options.
func drawerOf(kind string, q *query) (name string, draw drawer, err error) {
	if p, err := paper.FindPreset(kind); err == nil && p.HasFigure() {
		for option := range q.values {
			if option != "sweep" && option != "format" {
				return "", nil, bad(fmt.Errorf("%.40s does not apply to the figure %s", option, kind))
			}
		}
		return p.Name, p.Draw, nil
	}
	if !slices.Contains(figure.Kinds, kind) {
		return "", nil, &requestError{http.StatusNotFound, fmt.Sprintf("no figure %.40q: there are %s", kind,
			strings.Join(slices.Concat(figure.Kinds, paper.FigureNames()), ", "))}
	}
	groups := int64(8)
	if kind == "table" {
		groups = 40
	}
	options := figure.Options{
		Kind: kind, Metric: q.text("metric"), X: q.text("x"), Y: q.text("y"), GroupBy: q.list("group-by"),
		Groups: int(q.number("groups", groups)),
		LogX:   q.flag("log-x"), LogY: q.flag("log-y"), Top: q.fraction("top", 10),
		Title: q.text("title"),
		Width: q.fraction("width", 14), Height: q.fraction("height", 0),
	}
	filter := q.filter()
	if q.text("top") != "" && kind != "parallel" && q.err == nil {
		q.err = bad(fmt.Errorf("top does not apply to the figure %s, only to parallel", kind))
	}
	if q.err != nil {
		return "", nil, q.err
	}
	if err := options.Check(); err != nil {
		return "", nil, bad(err)
	}
	return "", func(ctx context.Context, results sweep.Reader, records []*sweep.SweepRecord) (*figure.Figure, error) {
		names := sweep.NamesOf(records...)
		where, err := conditions(names, filter)
		if err != nil {
			return nil, err
		}
		named := options.Named(names, len(records))
		named.Where = where
		return figure.Draw(ctx, results, records, named)
	}, nil
}

// figured are the sweeps of a figure, each once, unless they are too many or too large.
func (s *Server) figured(ctx context.Context, kind string, references []string) (records []*sweep.SweepRecord,
	err error) {
	if len(references) < 1 || len(references) > maxFrames {
		return nil, bad(fmt.Errorf("name 1 to %d sweeps to draw, as sweep=ID", maxFrames))
	}
	points := int64(0)
	for _, reference := range references {
		record, err := s.options.Store.Sweep(ctx, reference)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(records, func(one *sweep.SweepRecord) bool { return one.ID == record.ID }) {
			records = append(records, record)
			points += record.Points()
		}
	}
	if points > maxFigured {
		return nil, bad(fmt.Errorf("the dashboard draws figures of up to %d trials, not %d: \"sweep figure %s\" "+
			"draws them", maxFigured, points, kind))
	}
	return records, nil
}
