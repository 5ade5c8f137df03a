// Package paper has the papers as data: their published figures and their tables, laid
// out over the general results of package report.
//
//	request, err := paper.ParseRequest("ucr", "mean")
//	table, sweeps, err := request.Gather(ctx, results, artifacts)
//
// A table is data, the result.yaml of a [Preset], or, where data cannot lay it out, a [report.Kind].
package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/paper/archive"
	"sweep/sweep/report"
)

// Kinds are the tables of any sweep.
var Kinds = []report.Kind{
	{Name: "ucr", Holds: archive.Has, Lay: UCR},
	{Name: "tasks", Holds: isTask, Lay: Tasks},
}

// presetKinds are the tables of presets that data cannot lay out.
var presetKinds = []report.Kind{{Name: "table4", Holds: archive.Has, Lay: Table4}}

// Names are how the papers call data sets and models. The order is that of Table 4 of
// Zhang, Lei, Dhillon (2018), with the systems that it leaves out beside their kin.
var Names = report.Names{
	Set:   canonicalSet,
	Model: ModelName,
	Order: []string{"rnn", "irnn", "lstm", "gru", "ornn", "spectral-rnn"},
}

// ModelName is how the papers write a model.
func ModelName(model string) string {
	switch model {
	case "rnn", "irnn", "lstm", "gru", "vprnn", "sgornn", "mlp":
		return strings.ToUpper(model)
	case "ornn":
		return "oRNN"
	case "urnn":
		return "uRNN"
	case "fc-urnn":
		return "FC uRNN"
	case "factorized-rnn":
		return "factorized RNN"
	case "gated-spectral-rnn":
		return "Gated Spectral-RNN"
	case "spectral-lstm":
		return "Spectral-LSTM"
	case "resnet":
		return "ResNet"
	case "spectral-mlp":
		return "Spectral-MLP"
	case "spectral-resnet":
		return "Spectral-ResNet"
	case "spectral-rnn":
		return "Spectral-RNN"
	case "fastrnn":
		return "FastRNN"
	default:
		return model
	}
}

// ParseRequest returns the request of a table, or of a preset's table, and a selection by their names; the
// empty selection is [report.Mean], and the only one of a preset's own table. A table that there is not is
// sweep.ErrNotFound.
func ParseRequest(table, selection string) (*report.Request, error) {
	by, err := report.ParseSelection(cmp.Or(selection, string(report.Mean)))
	if err != nil {
		return nil, err
	}
	request := &report.Request{Names: Names, Selection: by}
	name, kinds := table, Kinds
	if p, err := FindPreset(table); err == nil && p.HasTable() {
		name, kinds, request.Layout = p.Result.Kind, presetKinds, p.Layout()
		request.Named, request.Notes, request.Forms = p.Names(), p.Result.Notes, map[string]string{
			p.sweepName(Standard): formNotes[Standard], p.sweepName(Quick): formNotes[Quick]}
		if request.Layout != nil && by != report.Mean {
			return nil, fmt.Errorf("the table %s shows means over replicates: it has no selection %q", table, selection)
		}
	}
	if request.Layout != nil {
		return request, nil
	}
	at := slices.IndexFunc(kinds, func(k report.Kind) bool { return k.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("%w: no table %.40q", sweep.ErrNotFound, table)
	}
	request.Kind = &kinds[at]
	return request, nil
}

// TableNames are the names of all tables.
func TableNames() (names []string) {
	for _, kind := range Kinds {
		names = append(names, kind.Name)
	}
	for _, p := range Presets() {
		if p.HasTable() {
			names = append(names, p.Name)
		}
	}
	return names
}

// FigureNames are the names of the presets' figures.
func FigureNames() (names []string) {
	for _, p := range Presets() {
		if p.HasFigure() {
			names = append(names, p.Name)
		}
	}
	return names
}

// isTask reports whether a data set is of no other table.
func isTask(set string) bool { return !archive.Has(set) }
