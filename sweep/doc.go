// Package sweep is the domain of the orchestrator: what a sweep, a trial, a
// point and a result are, how a grid expands, and what a store and a trainer
// must do. It imports the standard library only; every other package of the
// system speaks in its types.
//
// The way of one trial: a Spec (decoded from a sweep file) expands lazily into
// points through a Grid; a Description turns a point into a Trial with resolved
// Parameters and a Fingerprint; a worker hands the Trial to a Trainer and
// reports Events; a Store records them, and the first terminal Result wins.
package sweep
