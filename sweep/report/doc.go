// Package report turns results into the tables of the papers, beside the
// published figures.
//
// A Collection gathers completed trials by data set, model and grid point; its
// size grows with the number of grid points, not of trials' curves. A Request
// fills one from a store; UCR, MNIST and Tasks lay it out as a Table, which
// writes itself as text, Markdown, LaTeX, CSV or JSON.
package report
