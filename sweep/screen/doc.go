// Package screen is the full-screen view of "sweep watch": sweeps, workers, the
// trials of a sweep, one trial with its curves, and its log. It asks a
// sweep.Reader for the page that is shown, once a second, and for no more rows than
// fit; what is not a terminal gets no screen.
package screen
