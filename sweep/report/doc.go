// Package report turns results into tables: it collects the completed trials of a frame by data set,
// model and grid point, selects the point or trial that represents each group, and writes
// tables as text, Markdown, LaTeX, CSV or JSON. It knows no paper: a caller such as package
// paper defines the tables as values of [Kind].
//
// The size of a [Collection] grows with the number of grid points, not of trials' curves:
//
//	c, err := report.NewCollection(ctx, trials, choice, description, names)
//	for _, row := range c.Rows(report.Mean, wanted) { … }
package report
