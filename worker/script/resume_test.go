package script

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sweep/worker/trainer/trainertest"
)

// A trial that is interrupted and resumes from an older checkpoint has the curves, steps and summaries of one that
// is not, whether its program counts steps itself or not.
func TestResume(t *testing.T) {
	const losses = `losses = [.9, .1, .5, .6, .7, .8]
def start(at):  # where to go on, and where this execution ends
    path = os.environ["SWEEP_CHECKPOINT_DIR"] + "/epoch"
    return int(open(path).read()) if os.path.exists(path) else at, path
`
	for name, test := range map[string]struct {
		program string
	}{
		"wandb, explicit": {`
import os, wandb
` + losses + `
run = wandb.init(); wandb.define_metric("loss", summary="min"); wandb.define_metric("acc", summary="mean,max")
first, path = start(0)
assert run.resumed == (first > 0) and (first == 0 or run.summary["first"] == 7), run.summary
if first == 0:
    wandb.log({"first": 7}, step=0)
for e in range(first, 6):
    wandb.log({"loss": losses[e], "acc": e}, step=e)
    if e % 2 == 1: open(path, "w").write(str(e + 1))
    if e == 2 and first == 0 and os.environ["STOP"]: os._exit(75)  # its checkpoint is that of epoch 1
`},
		"wandb, counted": {`
import os, wandb
` + losses + `
run = wandb.init(); wandb.define_metric("loss", summary="min,mean")
first, path = start(0)
assert run.step == first == run.starting_step
for e in range(first, 6):
    wandb.log({"loss": losses[e]})
    open(path, "w").write(str(e + 1))
    if e in (2, 3) and first != e and os.environ["STOP"]: os._exit(75)
`},
		"lines, explicit": {`
import json, os
` + losses + `
first, path = start(0)
events = open(os.environ["SWEEP_EVENTS"], "a")
for e in range(first, 6):
    events.write(json.dumps({"step": e, "loss": losses[e]}) + "\n"); events.flush()
    if e % 2 == 1: open(path, "w").write(str(e + 1))
    if e == 2 and first == 0 and os.environ["STOP"]: os._exit(75)
`},
		"lines, counted": {`
import json, os
` + losses + `
first, path = start(0)
events = open(os.environ["SWEEP_EVENTS"], "a")
for e in range(first, 6):
    events.write(json.dumps({"loss": losses[e], "nan": float("nan")}) + "\n"); events.flush()
    open(path, "w").write(str(e + 1))
    if e == 2 and first == 0 and os.environ["STOP"]: os._exit(75)
`},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(stop string) string {
				t.Setenv("STOP", stop)
				r := newPython(t, test.program)
				for {
					result, err := r.train(nil)
					if err != nil {
						if strings.Contains(err.Error(), "another execution") {
							r.sink = trainertest.Sink{}
							continue
						}
						t.Fatalf("%v\n%s", err, &r.log)
					}
					curves := map[string]string{}
					for _, c := range append(r.sink.Curves(), result.Curves...) {
						steps, values := r.curve(result, c.Metric)
						curves[c.Metric] = fmt.Sprint(steps, values)
					}
					if entries, _ := os.ReadDir(r.options.Checkpoints); len(entries) != 0 {
						t.Errorf("left: %v", entries)
					}
					return fmt.Sprint(result.State, result.Summary, result.Error, curves) // NaN equals itself as text
				}
			}
			whole, resumed := run(""), run("1")
			if whole != resumed {
				t.Errorf("resumed %v\nuninterrupted %v", resumed, whole)
			}
		})
	}
}
