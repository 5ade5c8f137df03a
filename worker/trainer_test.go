package worker_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
	"sweep/worker"
	"sweep/worker/trainer"
	"sweep/worker/trainer/trainertest"
)

// exampleDir holds the example trainer once a test has called buildExample;
// TestMain removes it.
var exampleDir string

var buildExample = sync.OnceValue(func() (err error) {
	if exampleDir, err = os.MkdirTemp("", "worker-test-*"); err != nil {
		return err
	}
	return trainertest.BuildExample(exampleDir)
})

// exampleVersion is the result version of the example trainer.
const exampleVersion = "1"

// realRig is a rig whose workers launch the example trainer.
type realRig struct {
	*rig
	launcher *trainer.Launcher
}

func newRealRig(t *testing.T) *realRig {
	t.Helper()
	if err := buildExample(); err != nil {
		t.Fatal(err)
	}
	rig := rigOver(t, wiretest.Start(t), nil)
	rig.offer.Trainers = []sweep.TrainerOffer{{Name: trainertest.ExampleName, ResultVersion: exampleVersion}}
	rig.setup()
	return &realRig{rig, &trainer.Launcher{Path: []string{exampleDir}, Log: logger(t)}}
}

func (r *realRig) start(options worker.Options) *run {
	options.Launcher = r.launcher
	return r.launch(options, 8*time.Second)
}

// quadratic is a job for the example trainer.
func quadratic(index int64, parameters sweep.Parameters) wire.Job {
	j := job(index)
	j.Requirement = sweep.Requirement{Trainer: trainertest.ExampleName, ResultVersion: exampleVersion}
	j.Parameters = sweep.Parameters{"epochs": int64(50), "seed": index}
	for name, value := range parameters {
		j.Parameters[name] = value
	}
	return j
}

func TestRealTrainerDeaths(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"kill": "killed", "panic": "the panic that was asked for", "exit": "exit status 3",
		"error": "the machine is at fault",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r := newRealRig(t)
			marker := filepath.Join(t.TempDir(), "marker")
			faulty := quadratic(1, sweep.Parameters{"fault": fault, "fault_epoch": int64(20), "fault_marker": marker})
			r.publish(faulty)
			r.start(worker.Options{})
			got := r.release(1, 1)
			if !got.Charged || !strings.Contains(got.Reason, want) {
				t.Errorf("release %+v", got)
			}
			// What a trainer that lives on has written may still be on its way.
			if fault != "error" && !strings.Contains(got.Stderr, "fault "+fault+" at epoch 20") {
				t.Errorf("release with standard error %q", got.Stderr)
			}
			// The marker is there now, so the second execution meets no fault.
			r.queueEmpties()
			r.publish(faulty, quadratic(2, nil))
			if got := r.result(1); got.State != sweep.Completed || got.Digest == "" {
				t.Errorf("result %+v", got)
			}
			r.result(2)
		})
	}
}

func TestRealTrainerKilledAndResumedGivesTheSameBits(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	r.start(worker.Options{CheckpointDir: t.TempDir()})
	calm := quadratic(1, sweep.Parameters{"epochs": int64(400)})
	r.publish(calm)
	want := r.result(1)

	// The same trial, killed at epoch 300 after checkpoints; its seed is that of calm.
	disturbed := quadratic(2, sweep.Parameters{"seed": int64(1), "epochs": int64(400), "checkpoint_every": int64(7),
		"fault": "kill", "fault_epoch": int64(300), "fault_marker": filepath.Join(t.TempDir(), "marker")})
	r.publish(disturbed)
	if got := r.release(2, 1); !got.Charged {
		t.Errorf("release %+v", got)
	}
	if n := len(r.of(sweep.EventCheckpoint, 2)); n == 0 {
		t.Error("no checkpoint reported")
	}
	r.queueEmpties()
	r.publish(disturbed)
	if got := r.result(2); got.Digest != want.Digest || got.WeightsDigest != want.WeightsDigest {
		t.Errorf("other bits after the death: %+v, want %+v", got, want)
	}
}

func TestRealTrainerRefusesParameters(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	r.publish(quadratic(1, sweep.Parameters{"epohcs": int64(3)}), quadratic(2, sweep.Parameters{"dimension": int64(0)}))
	r.start(worker.Options{})
	if got := r.result(1); got.State != sweep.Failed || !strings.Contains(got.Error, "epohcs") {
		t.Errorf("result %+v", got)
	}
	if got := r.result(2); got.State != sweep.Failed || !strings.Contains(got.Error, "dimension") {
		t.Errorf("result %+v", got)
	}
}

func TestRealTrainerThatHangsIsTimedOut(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"sleep", "hang"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r := newRealRig(t)
			hanging := quadratic(1, sweep.Parameters{"fault": fault})
			hanging.Limits.Timeout = 300 * time.Millisecond
			r.publish(hanging, quadratic(2, nil))
			r.start(worker.Options{})
			if got := r.result(1); got.State != sweep.Failed || !strings.Contains(got.Error, "timed out") {
				t.Errorf("result %+v", got)
			}
			r.result(2)
		})
	}
}

// A trainer that nobody has is refused, as often as it is asked for.
func TestRealTrainerUnknown(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	for i := range int64(5) {
		j := job(i)
		j.Requirement.Trainer = "nobody"
		r.publish(j)
	}
	r.start(worker.Options{MachineFailures: 1})
	for i := range int64(5) {
		if got := r.refusal(i, 1); !strings.Contains(got.Reason, "no worker offers trainer nobody") {
			t.Errorf("refusal %+v", got)
		}
	}
	r.publish(quadratic(7, nil))
	r.result(7)
}

// A trainer that takes more memory than its slot has is ended and charged; its
// worker goes on.
func TestRealTrainerThatTakesTooMuchMemory(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	r.offer.Memory = sweep.RoundMemory(256 << 20)
	r.setup()
	r.publish(quadratic(1, sweep.Parameters{"fault": "allocate"}), quadratic(2, nil))
	r.start(worker.Options{Memory: 256 << 20, MachineFailures: 1})
	if got := r.release(1, 1); !got.Charged || !strings.Contains(got.Reason, "its slot has 256 MiB") {
		t.Errorf("release %+v", got)
	}
	r.result(2)
}
