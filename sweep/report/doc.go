// Package report turns results into tables: it gathers completed trials by data set,
// model and grid point, selects the point or trial that represents each group, and writes
// tables as text, Markdown, LaTeX, CSV or JSON. It knows no paper: a caller such as package
// paper defines the tables as values of [Kind].
//
// The size of a [Collection] grows with the number of grid points, not of trials' curves:
//
//	c := report.NewCollection(choice, description, names)
//	err := results.Trials(ctx, query, c.Add)
//	for _, row := range c.Rows(report.Mean, wanted) { … }
package report
