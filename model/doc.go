// Package model trains the networks of the papers: it assembles a recurrent
// cell, its weights and an output layer into a Network, runs the training
// protocol over a data set, and implements sweep.Trainer with it.
//
// The flow of one trial: settingsOf reads the resolved parameters, dataset.Cache
// opens the data, newTask arranges it into sequences, newNetwork makes the
// parameters, and run trains epoch by epoch, reporting curves.
package model
