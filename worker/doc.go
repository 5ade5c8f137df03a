// Package worker runs trials: each slot takes a job, has its trainer process
// train it, reports what happens, and acknowledges the job when the server has
// stored the result.
//
// A worker announces what it offers and takes jobs from the queue of such offers
// alone. What it finds that it cannot run it refuses, and offers less from then on.
//
// A worker watches itself. Failures that are the machine's (a full disk, a trainer
// that ran before and cannot start, a signal that nobody sent) are told from
// failures that are the trial's (refused parameters, a timeout, a panic, more
// memory than its slot has). After several of the machine's in a row, over
// different trials, it stops pulling, takes back what it charged to those trials,
// lets the others go on to their end, and says why.
package worker
