// Package worker runs trials. Its main type is Worker: each of its slots takes a job, has a
// trainer process train the trial, reports events, and acknowledges the job after the server
// has stored the result.
//
//	w := worker.New(worker.Options{Wire: w, Launcher: launcher, Slots: 8})
//	err := w.Run(ctx) // until ctx ends, then drains
//
// A worker receives jobs only from the queue of workers with the same offer. It refuses a
// trial that it cannot run, and from then on offers less.
//
// Failures of the machine (a full disk, a trainer that ran before and does not start, a signal
// from outside) are told apart from failures of the trial (refused parameters, a timeout, a
// panic, too much memory). After several failures of the machine in a row, over different
// trials, the worker stops taking jobs, no longer charges the failures to those trials, lets
// running trials finish, and returns a *BrokenError.
package worker
