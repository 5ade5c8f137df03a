// Package model is the built-in trainer: it trains the networks of the papers by their protocol
// and implements sweep.Trainer with a [Trainer].
//
//	trainer, err := model.NewTrainer()
//	result, err := trainer.Train(ctx, sweep.TrainRequest{Trial: trial, DataDir: "data"}, sink)
//
// One trial: settingsOf reads the resolved parameters, dataset.Cache opens the data, task.Open
// says what is to be learnt of them, network.New makes the network, and run trains step by step
// on the task's stream of minibatches, validates as often as its schedule says, and reports
// curves. Between two steps it can be interrupted: a checkpoint holds all that follows depends on.
package model
