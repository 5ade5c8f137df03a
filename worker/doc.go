// Package worker runs trials: each slot takes a job, has its trainer process
// train it, reports what happens, and acknowledges the job when the server has
// stored the result.
//
// A worker watches itself. Failures that are the machine's (a trainer that
// cannot start or is killed, a full disk) are told from failures that are the
// trial's (refused parameters, a timeout). After several of the machine's in a
// row, over different trials, it stops pulling, takes back what it charged to
// those trials, and says why.
package worker
