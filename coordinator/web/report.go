package web

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sweep/sweep"
	"sweep/sweep/figure"
	"sweep/sweep/frame"
)

//go:embed report.html
var reportText string

//go:embed assets/style.css
var style string

var reportTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Parse(
		strings.Replace(reportText, "/* colours of the dashboard */", lightColours(), 1)))
})

// lightColours are the colours of the dashboard on light ground, which the first rule of its style sheet has.
func lightColours() string {
	rule, _, _ := strings.Cut(style, "}")
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(rule, "\n"), func(line string) bool {
		return !strings.HasPrefix(line, "  --")
	}), "")
}

// maxReported is how many of the best settings a report has.
const maxReported = 10

// sweepReport is what the template shows of a sweep.
type sweepReport struct {
	Name, ID, Description, Created, Counts string
	Trials                                 int64
	Objective, Goal                        string
	Best                                   *reportedTrial
	Groups, Importance                     *reportedTable
	Figures                                []reportedFigure
	Failed                                 int64
	Causes                                 []cause
	Files                                  []reportedFile
	Notes                                  string
}

type reportedTrial struct {
	Index      int64
	Value      string
	Parameters reportedTable
}

type reportedTable struct {
	Columns []string
	Rows    [][]string
}

type reportedFigure struct {
	Title  string
	Source template.URL
}

type reportedFile struct{ Title, Text string }

// Report writes one HTML file with what a sweep comes to, which needs no other file and no server.
func (s *Server) Report(ctx context.Context, out io.Writer, reference string) error {
	record, err := s.options.Store.Sweep(ctx, reference)
	if err != nil {
		return err
	}
	r := &sweepReport{Name: record.Name, ID: record.ID, Created: record.CreatedAt.UTC().Format("2006-01-02 15:04 UTC"),
		Trials: record.Points(), Objective: objectiveOf(record)}
	progress, err := s.options.Store.Progress(ctx, record.ID)
	if err != nil {
		return err
	}
	r.Counts, r.Description = countsText(progress), record.Notes
	for i := range record.Grids {
		g := &record.Grids[i]
		title := "Sweep file"
		if i > 0 {
			title = fmt.Sprintf("Extension %d", i)
		}
		r.Files = append(r.Files, reportedFile{title, g.Submission.Source})
	}
	var found examined
	var important []frame.Importance
	err = s.useWhole(ctx, record.ID, func(f *frame.Frame) (err error) {
		found, important, err = r.read(ctx, f, record)
		return err
	})
	if err != nil {
		return err
	}
	seen, err := s.conclude(ctx, record, &found)
	if err != nil {
		return err
	}
	r.Failed, r.Causes = seen.Failed, seen.Causes
	if r.Best != nil {
		if err := s.drawReport(ctx, r, record, important); err != nil {
			return err
		}
	}
	return reportTemplate().Execute(out, r)
}

// read fills in what the sweep's columns tell.
func (r *sweepReport) read(ctx context.Context, f *frame.Frame,
	record *sweep.SweepRecord) (found examined, important []frame.Importance, err error) {
	replicated, measured := false, false
	for _, c := range f.Columns() {
		replicated = replicated || c.Kind == "parameter" && c.Called() == sweep.SeedParameter && c.Varies
		measured = measured || c.Kind == "metric" && c.Called() == r.Objective
	}
	if !measured {
		found, err = examine(ctx, f, record, "", nil)
		return found, nil, err
	}
	r.Goal = goalOf(record, r.Objective)
	names := varied(f, record)
	shown := names
	if replicated {
		shown = append(shown[:len(shown):len(shown)], sweep.SeedParameter)
	}
	columns := make([]string, len(shown))
	for i, own := range shown {
		columns[i] = string(sweep.ParameterKind.Of(own))
	}
	if found, err = examine(ctx, f, record, r.Objective, columns); err != nil || found.best == nil {
		return found, nil, err
	}
	r.Best = &reportedTrial{Index: found.best.Index, Value: shownValue(found.best.Cells[0]),
		Parameters: reportedTable{Columns: shown, Rows: [][]string{shownValues(found.best.Cells[1:])}}}
	if replicated && len(names) > 0 {
		if r.Groups, err = groupsTable(ctx, f, names, r.Objective, r.Goal); err != nil {
			return found, nil, err
		}
	}
	importance, err := f.Importance(ctx, frame.ImportanceQuery{Metric: r.Objective, Goal: r.Goal, Parameters: names})
	if err != nil {
		return found, nil, err
	}
	if important = importance.Parameters; len(important) > 0 {
		r.Importance = &reportedTable{Columns: []string{"parameter", "explains"}}
		for _, one := range important {
			explains := fmt.Sprintf("%.1f %%", 100*one.Variance)
			if one.Few {
				explains = "too few trials"
			}
			r.Importance.Rows = append(r.Importance.Rows, []string{one.Parameter, explains})
		}
	}
	return found, important, nil
}

// groupsTable lays out the best settings by the mean of a metric.
func groupsTable(ctx context.Context, f *frame.Frame, names []string, metric, goal string) (*reportedTable, error) {
	groups, err := f.Groups(ctx, frame.GroupQuery{By: names, Metrics: []string{metric}, OrderBy: "mean",
		Descending: goal == sweep.Maximize, Goals: map[string]string{metric: goal}, Limit: maxReported})
	if err != nil {
		return nil, err
	}
	table := &reportedTable{Columns: append(append([]string{metric + " mean ± sd"}, names...), "trials")}
	for _, g := range groups.Groups {
		one := g.Metrics[0]
		if one.Mean == nil {
			continue
		}
		mean := shownValue(*one.Mean)
		if one.SD != nil {
			mean += " ± " + strconv.FormatFloat(*one.SD, 'g', 2, 64)
		}
		trials := strconv.FormatInt(one.N, 10)
		if one.N < g.Count {
			trials += fmt.Sprintf(" of %d", g.Count)
		}
		table.Rows = append(table.Rows, append(append([]string{mean}, shownValues(g.Values)...), trials))
	}
	return table, nil
}

// maxMapped is how many values a parameter has that a report's heat map is over: of more, as of
// values that were drawn, few cells would have a trial.
const maxMapped = 16

func mapped(p frame.Importance) bool { return p.Values >= 0 && p.Values <= maxMapped }

// drawReport draws the report's figures: those for which there is something to draw.
func (s *Server) drawReport(ctx context.Context, r *sweepReport, record *sweep.SweepRecord,
	important []frame.Importance) error {
	if record.Points() > maxFigured {
		r.Notes = fmt.Sprintf("Figures are drawn of sweeps of up to %d trials.", maxFigured)
		return nil
	}
	list := []figure.Options{{Kind: "curves", Title: "Curves of the four best settings", Groups: 4}}
	if len(important) > 0 {
		list = append(list, figure.Options{Kind: "slice", X: important[0].Own, Groups: 8, Metric: r.Objective,
			Title: r.Objective + " over " + important[0].Own})
	}
	if len(important) > 1 && mapped(important[0]) && mapped(important[1]) {
		list = append(list, figure.Options{Kind: "heatmap", X: important[0].Own, Y: important[1].Own,
			Metric: r.Objective, Groups: 8,
			Title: fmt.Sprintf("%s over %s and %s", r.Objective, important[0].Own, important[1].Own)})
	}
	for _, options := range list {
		options.Width, options.Top = 18, 10
		drawn, err := figure.Draw(ctx, s.options.Store, []*sweep.SweepRecord{record}, options)
		if errors.Is(err, figure.ErrNothing) || errors.As(err, new(*figure.OptionError)) {
			continue // a sweep without curves, or a parameter that has no such picture
		}
		if err != nil {
			return err
		}
		var picture bytes.Buffer
		if err := drawn.Write(&picture, "svg"); err != nil {
			return err
		}
		source := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(picture.Bytes())
		r.Figures = append(r.Figures, reportedFigure{options.Title, template.URL(source)})
	}
	return nil
}

// countsText names the states that any trial is in.
func countsText(p sweep.Progress) string {
	var parts []string
	for _, one := range []struct {
		state  string
		trials int64
	}{{"completed", p.Completed - p.Diverged}, {"diverged", p.Diverged}, {"failed", p.Failed}, {"running", p.Running},
		{"queued", p.Queued}, {"pending", p.Pending}, {"cancelled", p.Cancelled}, {"stopped", p.Stopped},
		{"skipped", p.Skipped}} {
		if one.trials > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.trials, one.state))
		}
	}
	return strings.Join(parts, ", ")
}

func shownValue(value any) string {
	switch v := value.(type) {
	case nil:
		return "none"
	case float64:
		return strconv.FormatFloat(v, 'g', 5, 64)
	case json.RawMessage:
		return string(v)
	}
	return fmt.Sprint(value)
}

func shownValues(values []any) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = shownValue(value)
	}
	return texts
}

// report answers the report of a sweep as a file.
func (s *Server) report(w http.ResponseWriter, r *http.Request) error {
	record, err := s.options.Store.Sweep(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	select { // it draws figures
	case s.drawing <- struct{}{}:
		defer func() { <-s.drawing }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	var file bytes.Buffer
	if err := s.Report(r.Context(), &file, record.ID); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Disposition", attachment(record.Name+".html"))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(file.Bytes()) // who asked may be gone
	return nil
}
