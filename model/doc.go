// Package model trains the networks of the papers: it assembles layers, their
// weights and a loss into a network, runs the training protocol over a data set,
// and implements sweep.Trainer with it.
//
// The flow of one trial: settingsOf reads the resolved parameters, dataset.Cache
// opens the data, task.Open says what is to be learnt of them, newNetwork makes the
// parameters, and run trains step by step on the task's stream of minibatches,
// validates as often as its schedule says and reports curves. A minibatch is cut into
// slices, each of which goes through a pass of its own: forward, loss, back. Where the
// output is as wide as a vocabulary, output layer and loss stand between the two, block
// by block on all threads.
package model
