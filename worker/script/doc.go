// Package script is the trainer "script": it runs a program for each trial, in any language, as
// the sweep files of Weights & Biases name it. Its main type is Trainer:
//
//	trainer.Serve(script.New(script.Options{}))
//
// The program receives the parameters on its command line (with W&B's macros), in the JSON file
// $SWEEP_PARAMETERS and, in Python, in wandb.config: a stand-in for the package wandb, which
// needs no account and no network, is first on PYTHONPATH. It reports metrics as lines of JSON on
// $SWEEP_EVENTS:
//
//	{"step": 3, "loss": 0.2, "accuracy": 0.9}
//
// Exit status 0 completes the trial, RetryStatus asks for another execution, and every other
// status fails the trial. See docs/scripts.md for all variables and rules.
package script
