// Package sweep is the domain: sweeps, grid points, trials and results, how a grid expands, and
// the interfaces of a store and a trainer. It imports the standard library only; all other
// packages speak in its types.
//
//	grid, err := sweep.NewGrid(&spec)
//	for index, point := range grid.All(0) { … }
//
// A sweep file is decoded into a Spec. A Grid expands it lazily into points. A Description turns
// a point into a Trial, with all Parameters and a Fingerprint. A worker passes the Trial to a
// Trainer and reports Events. A Store records them; the first terminal Result counts.
package sweep
