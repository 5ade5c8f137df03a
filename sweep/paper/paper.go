// Package paper has the papers as data: their published figures and their tables, laid
// out over the general results of package report.
//
//	request, err := paper.ParseRequest("ucr", "mean")
//	table, sweeps, err := request.Gather(ctx, results, artifacts)
//
// A table is a [report.Kind]: a file of its own here and a line in [Kinds].
package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/report"
)

// Kinds are the tables that there are.
var Kinds = []report.Kind{
	{Name: "ucr", Holds: isUCR, Lay: UCR},
	{Name: "mnist", Holds: isPixel, Lay: MNIST},
	{Name: "tasks", Holds: isTask, Lay: Tasks},
}

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
	case "spectral-rnn":
		return "Spectral-RNN"
	case "fastrnn":
		return "FastRNN"
	default:
		return model
	}
}

// ParseRequest returns the request of a table and a selection by their names; the empty
// selection is [report.Mean]. A table that there is not is sweep.ErrNotFound.
func ParseRequest(table, selection string) (*report.Request, error) {
	at := slices.IndexFunc(Kinds, func(k report.Kind) bool { return k.Name == table })
	if at < 0 {
		return nil, fmt.Errorf("%w: no table %.40q", sweep.ErrNotFound, table)
	}
	by, err := report.ParseSelection(cmp.Or(selection, string(report.Mean)))
	if err != nil {
		return nil, err
	}
	return &report.Request{Kind: &Kinds[at], Names: Names, Selection: by}, nil
}
