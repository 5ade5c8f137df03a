// Package script runs a program for each trial: any program, in any language, as
// a sweep file of Weights & Biases names it. It is a trainer like any other.
//
// A trial's program gets its parameters by its command line, whose macros are
// W&B's, by the file $SWEEP_PARAMETERS (JSON), and, if it uses the package wandb
// in Python, by wandb.config: a stand-in for that package, which needs no account
// and no network, is first on PYTHONPATH.
//
// # Environment
//
//	SWEEP_EVENTS          pipe for metrics, see below
//	SWEEP_PARAMETERS      file with the trial's parameters as JSON
//	SWEEP_CHECKPOINT_DIR  folder that outlives the process: an interrupted trial
//	                      finds in it what it left there
//	SWEEP_ARTIFACTS       folder for files to keep
//	SWEEP_DATA            folder of the data sets
//	SWEEP_ID, SWEEP_TRIAL sweep and index of the trial
//	WANDB_RUN_ID, WANDB_SWEEP_ID, WANDB_SWEEP_PARAM_PATH, WANDB_PROJECT,
//	WANDB_ENTITY          as W&B's agent sets them
//
// # Events
//
// Metrics are lines of flat JSON on $SWEEP_EVENTS, of at most MaxLine bytes:
//
//	{"step": 3, "loss": 0.2, "accuracy": 0.9}
//
// NaN, Infinity and -Infinity are numbers, true and false are 1 and 0. A line
// without step is one step after the line before it, the first at 1. The last
// value of a metric is its summary; a line with "_summary": true gives summary
// values alone. Other names that begin with _ are no metrics. What cannot be read
// is said in the trial's log, and how much of it there was in its result.
//
// # Ends
//
// Standard output and standard error are the log. Exit status 0 completes the
// trial, RetryStatus asks for another execution, every other status fails it. A
// trial that is to stop gets SIGTERM, with its whole process group, and SIGKILL
// after Grace. What it has left behind when it ends is killed.
package script
