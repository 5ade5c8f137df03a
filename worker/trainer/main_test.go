package trainer_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/worker/trainer"
	"sweep/worker/trainer/noop"
	"sweep/worker/trainer/trainertest"
)

// The processes that the test binary can be instead of a test, by its first argument.
const (
	// asNoop serves the trainer noop.
	asNoop = "as-noop"
	// asEcho serves a trainer that sends its checkpoint back.
	asEcho = "as-echo"
	// asChatty serves a trainer that writes the index of each trial to standard error.
	asChatty = "as-chatty"
	// asWorker launches the example trainer from the directory in the second
	// argument, trains with the fault in the third until it is killed, and copies
	// what the trainer writes to standard error.
	asWorker = "as-worker"
	// asParent starts the test binary as noop without any of Launcher's care and
	// prints its process id once
	// it serves.
	asParent = "as-parent"
)

// examples is the directory of the example trainer.
var examples string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case asNoop:
			trainer.Serve(noop.New())
			return
		case asEcho:
			trainer.Serve(&stub{train: echo, describe: noopDescription})
			return
		case asChatty:
			trainer.Serve(&stub{train: chatter, describe: noopDescription})
			return
		case asWorker:
			beWorker(os.Args[2], os.Args[3])
		case asParent:
			beParent()
		}
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "trainer-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := trainertest.BuildExample(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	examples = dir
	return m.Run()
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func beWorker(dir, fault string) {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	launcher := &trainer.Launcher{Path: []string{dir}, Log: log}
	process, err := launcher.Launch(context.Background(), trainertest.ExampleName)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, err = process.Train(context.Background(), sweep.TrainRequest{Trial: sweep.Trial{
		Parameters: sweep.Parameters{"fault": fault, "epochs": 100_000, "pause": 100},
	}}, &trainertest.Sink{})
	fmt.Println(err)
	os.Exit(1)
}

func beParent() {
	cmd := exec.Command(self(), asNoop)
	cmd.Env = append(os.Environ(), "SWEEP_TRAINER=5d1a1be0f0a94d4cbf6f1f7a4e6b8f52", "PLUGIN_PROTOCOL_VERSIONS=1")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(stdout).ReadString('\n') // it serves
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("child", cmd.Process.Pid)
	_ = cmd.Wait()
}

func chatter(_ context.Context, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
	fmt.Fprintf(os.Stderr, "trial %d\n", request.Index)
	return &sweep.Result{State: sweep.Completed}, nil
}

func noopDescription() (*sweep.Description, error) {
	return noop.New().Describe(context.Background())
}

// launcher knows noop, echo and the example trainer.
func launcher() *trainer.Launcher {
	return &trainer.Launcher{
		BuiltIn: map[string]trainer.BuiltIn{
			noop.Name: {Command: []string{self(), asNoop}}, "echo": {Command: []string{self(), asEcho}},
		},
		Path:         []string{examples},
		StartTimeout: patience,
		CancelGrace:  patience,
		Log:          slog.New(slog.DiscardHandler),
	}
}

// launch starts a trainer that the test's end closes.
func launch(tb testing.TB, l *trainer.Launcher, name string) sweep.Process {
	tb.Helper()
	process, err := l.Launch(tb.Context(), name)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := process.Close(); err != nil {
			tb.Error(err)
		}
	})
	return process
}

// trial is a request to train with parameters.
func trial(p sweep.Parameters) sweep.TrainRequest {
	return sweep.TrainRequest{Trial: sweep.Trial{Parameters: p}, Points: sweep.DefaultPoints}
}

// patience bounds every wait: the machine may be slow, and busy with other tests.
const patience = sweeptest.Patience

// eventually polls until a condition holds.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	sweeptest.Until(tb, what, condition)
}
