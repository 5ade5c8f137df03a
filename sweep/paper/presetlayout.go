package paper

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sweep/sweep"
	"sweep/sweep/figure"
	"sweep/sweep/report"
)

// presetTable is a report.Layout in YAML.
type presetTable struct {
	Label   string         `yaml:"label"`
	Rows    []presetRow    `yaml:"rows"`
	Columns []presetColumn `yaml:"columns"`
}

type presetRow struct {
	Label     string            `yaml:"label"`
	Where     map[string]any    `yaml:"where"`
	Published map[string]string `yaml:"published"`
	Note      string            `yaml:"note"`
	Rule      bool              `yaml:"rule"`
}

type presetColumn struct {
	Name      string         `yaml:"name"`
	Where     map[string]any `yaml:"where"`
	Metric    string         `yaml:"metric"`
	Scale     float64        `yaml:"scale"`
	Digits    int            `yaml:"digits"`
	Parameter string         `yaml:"parameter"`
	Count     bool           `yaml:"count"`
	Largest   string         `yaml:"largest"`
	Below     float64        `yaml:"below"`
	Diverging string         `yaml:"diverging"`
}

// presetFigure is a figure.Page in YAML.
type presetFigure struct {
	// Title is the preset's if it is empty.
	Title   string        `yaml:"title"`
	Columns int           `yaml:"columns"`
	Width   float64       `yaml:"width"`
	Height  float64       `yaml:"height"`
	Panels  []presetPanel `yaml:"panels"`
}

// presetPanel is a figure.Panel in YAML.
type presetPanel struct {
	Title   string         `yaml:"title"`
	Each    []string       `yaml:"each"`
	Kind    string         `yaml:"kind"`
	Metric  string         `yaml:"metric"`
	X       string         `yaml:"x"`
	Y       string         `yaml:"y"`
	XLabel  string         `yaml:"x_label"`
	YLabel  string         `yaml:"y_label"`
	GroupBy []string       `yaml:"group_by"`
	LogX    bool           `yaml:"log_x"`
	LogY    bool           `yaml:"log_y"`
	Where   map[string]any `yaml:"where"`
	// Between has the smallest and the largest value of parameters.
	Between map[string][2]float64 `yaml:"between"`
	Lines   []presetLine          `yaml:"lines"`
}

type presetLine struct {
	At     float64 `yaml:"at"`
	Metric string  `yaml:"metric"`
	Label  string  `yaml:"label"`
}

// Layout is the table as report lays it out, nil for one of Kinds.
func (p *Preset) Layout() *report.Layout {
	t := p.Result.Table
	if t == nil {
		return nil
	}
	l := &report.Layout{Title: p.Result.Title, Label: t.Label}
	for _, row := range t.Rows {
		l.Rows = append(l.Rows, report.LayoutRow{Label: row.Label, Where: normal(row.Where), Published: row.Published,
			Note: row.Note, Rule: row.Rule})
	}
	for _, c := range t.Columns {
		l.Columns = append(l.Columns, report.LayoutColumn{Name: c.Name, Where: normal(c.Where), Metric: c.Metric,
			Scale: c.Scale, Digits: c.Digits, Parameter: c.Parameter, Count: c.Count, Largest: c.Largest,
			Below: c.Below, Diverging: c.Diverging})
	}
	return l
}

// Draw draws the figure of some sweeps; that there is nothing to draw is figure.ErrNothing.
func (p *Preset) Draw(ctx context.Context, results sweep.Reader, records []*sweep.SweepRecord) (*figure.Figure,
	error) {
	var names []string
	for _, record := range records {
		names = append(names, record.Name)
	}
	drawn, err := figure.DrawPage(ctx, results, records, p.Page(names...))
	if err != nil {
		return nil, fmt.Errorf("the figure %s: %w", p.Name, err)
	}
	return drawn, nil
}

// Page is the figure as package figure draws it, of sweeps with some names.
func (p *Preset) Page(sweeps ...string) *figure.Page {
	f := p.Result.Figure
	page := &figure.Page{Title: cmp.Or(f.Title, p.Result.Title), Columns: f.Columns, Width: f.Width, Height: f.Height,
		Notes: p.notes(sweeps), Label: ModelName, Sparse: slices.Contains(sweeps, p.sweepName(Quick))}
	for i := range f.Panels {
		page.Panels = append(page.Panels, f.Panels[i].panel())
	}
	return page
}

// panel is the panel as package figure draws it.
func (p *presetPanel) panel() figure.Panel {
	o := figure.Options{Title: p.Title, Kind: cmp.Or(p.Kind, "curves"), Metric: p.Metric, X: p.X, Y: p.Y,
		XLabel: p.XLabel, YLabel: p.YLabel, GroupBy: p.GroupBy, LogX: p.LogX, LogY: p.LogY}
	for name, value := range normal(p.Where) {
		o.Where = append(o.Where, sweep.TrialCondition{Name: sweep.Name(name), Operator: "=", Value: value})
	}
	for name, ends := range p.Between {
		o.Where = append(o.Where, sweep.TrialCondition{Name: sweep.Name(name), Operator: ">=", Value: ends[0]},
			sweep.TrialCondition{Name: sweep.Name(name), Operator: "<=", Value: ends[1]})
	}
	slices.SortStableFunc(o.Where, func(a, b sweep.TrialCondition) int { return cmp.Compare(a.Name, b.Name) })
	for _, line := range p.Lines {
		o.References = append(o.References, figure.Reference(line))
	}
	return figure.Panel{Options: o, Each: p.Each}
}
