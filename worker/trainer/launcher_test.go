package trainer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/worker/trainer"
	"sweep/worker/trainer/noop"
	"sweep/worker/trainer/trainertest"
)

// The example trainer passes the suite in a process too.
func TestSuiteInProcess(t *testing.T) {
	trainertest.Run(t, func(t *testing.T) sweep.Trainer {
		return launch(t, launcher(), trainertest.ExampleName)
	}, trainertest.Fixture{
		Parameters: sweep.Parameters{"epochs": 50, "momentum": 0.5},
		Long:       sweep.Parameters{"epochs": 100_000, "pause": 5, "checkpoint_every": 10},
		// A checkpoint above gRPC's limit of 4 MiB.
		Resumable: sweep.Parameters{"epochs": 4, "dimension": 100_000, "momentum": 0.9, "checkpoint_every": 2},
		Refused:   []sweep.Parameters{{"learning_rte": 0.1}},
	})
}

func TestDescribe(t *testing.T) {
	process := launch(t, launcher(), noop.Name)
	got, err := process.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := noop.New().Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n%+v, want\n%+v", got, want)
	}
}

// A trainer's end in the middle of a trial is a *DiedError with how it ended and
// the end of its standard error; another process takes its place.
func TestDeath(t *testing.T) {
	for _, test := range []struct{ fault, exit, stderr, text string }{
		{"kill", "signal: killed", "fault kill at epoch 3\n", "fault kill at epoch 3"},
		{"exit", "exit status 3", "fault exit at epoch 3\n", "(exit status 3)"},
		{"panic", "exit status 2", "goroutine ", "panic: the panic that was asked for"},
		{"stderr", "signal: killed", "\nthe last line\n", "the last line"},
	} {
		t.Run(test.fault, func(t *testing.T) {
			process := launch(t, launcher(), trainertest.ExampleName)
			sink := &trainertest.Sink{}
			_, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": test.fault, "fault_epoch": 3}), sink)
			var died *trainer.DiedError
			if !errors.As(err, &died) {
				t.Fatalf("Train: %v, want a *trainer.DiedError", err)
			}
			if died.Name != trainertest.ExampleName || died.Exit != test.exit {
				t.Errorf("name %q, exit %q, want %q and %q", died.Name, died.Exit, trainertest.ExampleName, test.exit)
			}
			if !strings.Contains(died.Stderr, test.stderr) || len(died.Stderr) > 64<<10 {
				t.Errorf("stderr (%d bytes)\n%.1000s\nwant %q in it", len(died.Stderr), died.Stderr, test.stderr)
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("text %q, want %q in it", err, test.text)
			}
			if process.Alive() {
				t.Error("still alive")
			}
			if process.Stderr() != died.Stderr {
				t.Error("Stderr differs from the error's")
			}
			died = nil
			if _, err := process.Train(t.Context(), trial(nil), sink); !errors.As(err, &died) {
				t.Errorf("Train on the dead process: %v", err)
			}
			if _, err := process.Validate(t.Context(), sweep.ValidateRequest{}); !errors.As(err, &died) {
				t.Errorf("Validate on the dead process: %v", err)
			}
			if _, err := process.Describe(t.Context()); !errors.As(err, &died) {
				t.Errorf("Describe on the dead process: %v", err)
			}
			if err := process.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}

			next := launch(t, launcher(), trainertest.ExampleName)
			if _, err := next.Train(t.Context(), trial(nil), sink); err != nil {
				t.Errorf("Train on the next process: %v", err)
			}
		})
	}
}

// A fault with a marker strikes once, so that a second attempt succeeds.
func TestFaultMarker(t *testing.T) {
	p := sweep.Parameters{"fault": "exit", "fault_marker": filepath.Join(t.TempDir(), "marker")}
	process := launch(t, launcher(), trainertest.ExampleName)
	var died *trainer.DiedError
	if _, err := process.Train(t.Context(), trial(p), &trainertest.Sink{}); !errors.As(err, &died) {
		t.Fatalf("the first attempt: %v", err)
	}
	process = launch(t, launcher(), trainertest.ExampleName)
	if _, err := process.Train(t.Context(), trial(p), &trainertest.Sink{}); err != nil {
		t.Fatalf("the second attempt: %v", err)
	}
}

// An error that is not the trial's own leaves the process alive.
func TestMachineError(t *testing.T) {
	process := launch(t, launcher(), trainertest.ExampleName)
	_, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "error"}), &trainertest.Sink{})
	var died *trainer.DiedError
	var refused *sweep.ParameterError
	if err == nil || errors.As(err, &died) || errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "the machine is at fault") {
		t.Errorf("Train: %v", err)
	}
	if !process.Alive() {
		t.Error("not alive")
	}
	if _, err := process.Train(t.Context(), trial(nil), &trainertest.Sink{}); err != nil {
		t.Errorf("the next trial: %v", err)
	}
}

// A trial that is cancelled returns soon; a trainer that does not stop is killed.
func TestCancel(t *testing.T) {
	for _, test := range []struct {
		fault string
		alive bool
	}{{"sleep", true}, {"hang", false}} {
		t.Run(test.fault, func(t *testing.T) {
			l := launcher()
			if !test.alive {
				l.CancelGrace = 0 // the usual one, after which it is killed
			}
			process := launch(t, l, trainertest.ExampleName)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := process.Train(ctx, trial(sweep.Parameters{"fault": test.fault}), &trainertest.Sink{})
				done <- err
			}()
			eventually(t, "the fault strikes", func() bool { return strings.Contains(process.Stderr(), "fault") })
			cancel()
			if err := sweeptest.Receive(t, "the end of Train, which was cancelled", done); !errors.Is(err,
				context.Canceled) {
				t.Errorf("Train: %v, want %v", err, context.Canceled)
			}
			if process.Alive() != test.alive {
				t.Errorf("alive: %v, want %v", process.Alive(), test.alive)
			}
			if !test.alive {
				_, err := process.Train(t.Context(), trial(nil), &trainertest.Sink{})
				if err == nil || !strings.Contains(err.Error(), "did not stop within") {
					t.Errorf("Train on the killed process: %v", err)
				}
			}
		})
	}
}

// Whatever a process writes to standard output after its handshake is nobody's
// business and does not block it.
func TestStdoutNoise(t *testing.T) {
	process := launch(t, launcher(), trainertest.ExampleName)
	if _, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "stdout"}),
		&trainertest.Sink{}); err != nil {
		t.Fatal(err)
	}
}

// Close ends a process in the middle of a trial, again and again, and from
// several goroutines.
func TestClose(t *testing.T) {
	process := launch(t, launcher(), trainertest.ExampleName)
	done := make(chan error, 1)
	go func() {
		_, err := process.Train(t.Context(), trial(sweep.Parameters{"fault": "hang"}), &trainertest.Sink{})
		done <- err
	}()
	eventually(t, "the fault strikes", func() bool { return strings.Contains(process.Stderr(), "fault") })
	closed := make(chan error, 3)
	for range 3 {
		go func() { closed <- process.Close() }()
	}
	for range 3 {
		if err := sweeptest.Receive(t, "the end of Close", closed); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if err := <-done; !errors.Is(err, trainer.ErrClosed) {
		t.Errorf("Train: %v, want %v", err, trainer.ErrClosed)
	}
	if _, err := process.Validate(t.Context(), sweep.ValidateRequest{}); !errors.Is(err, trainer.ErrClosed) {
		t.Errorf("Validate: %v, want %v", err, trainer.ErrClosed)
	}
	if process.Alive() {
		t.Error("still alive")
	}
}

// A launch and a close leave nothing behind: no goroutine, descriptor or file.
func TestNoLeaks(t *testing.T) {
	sockets := t.TempDir()
	if len(sockets) > 60 {
		sockets = examples
	}
	t.Setenv("TMPDIR", sockets)
	cycle := func() {
		process, err := launcher().Launch(t.Context(), noop.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := process.Train(t.Context(), trial(nil), &trainertest.Sink{}); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(sockets, "plugin*")); err != nil || len(left) > 0 {
			t.Fatalf("sockets while the process runs: %q, %v", left, err)
		}
		if err := process.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	goroutines, descriptors := runtime.NumGoroutine(), openFiles()
	for range 5 {
		cycle()
	}
	eventually(t, "as many goroutines and descriptors as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles() <= descriptors
	})
}

// openFiles counts the open descriptors; 0 where the system does not tell.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// script makes an executable that is not a trainer, or half of one.
func script(t *testing.T, name, text string) *trainer.Launcher {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	l := launcher()
	l.Path = []string{dir}
	return l
}

// What goes wrong at a start is told in words that say what to do.
func TestStartErrors(t *testing.T) {
	cert := strings.Repeat("A", 60)
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"banner", "#!/bin/sh\necho Welcome to CUDA\nsleep 600\n",
			[]string{`wrote "Welcome to CUDA" to standard output before its handshake`, "standard error"}},
		{"long banner", "#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' x\nsleep 600\n",
			[]string{`xxx…" to standard output before its handshake`}},
		{"failing", "#!/bin/sh\necho the license has expired >&2\nexit 7\n",
			[]string{"ended (exit status 7) without a handshake", "the license has expired"}},
		{"silent", "#!/bin/sh\nexit 0\n", []string{"ended (exit status 0) without a handshake: is it a trainer?"}},
		{"text", "just some text\n", []string{"cannot be started", "exec format error"}},
		{"interpreter", "#!/no/such/python\n", []string{"cannot be started"}},
		{"newer", "#!/bin/sh\necho '1|3|unix|/tmp/x|grpc|" + cert + "'\nsleep 600\n",
			[]string{"speaks version 3 of the trainer contract, this program version 2"}},
		{"open port", "#!/bin/sh\necho '1|2|tcp|0.0.0.0:1234|grpc|" + cert + "'\nsleep 600\n",
			[]string{"tcp 0.0.0.0:1234", "only a Unix socket or a loopback address"}},
		{"no certificate", "#!/bin/sh\necho '1|2|unix|/tmp/no-such-socket|grpc|'\nsleep 600\n", []string{"AutoMTLS"}},
		{"no socket", "#!/bin/sh\necho '1|2|unix|/tmp/no-such-socket|grpc|" + cert + "'\nsleep 600\n",
			[]string{"did not start"}},
		{"other plugin", "#!/bin/sh\necho '1|2|unix|/tmp/x|netrpc|" + cert + "'\nsleep 600\n",
			[]string{"did not start", "netrpc"}},
		{"deaf", "#!/bin/sh\nexec sleep 600\n", []string{"has not completed its handshake within 500ms"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := script(t, test.name, test.text)
			if test.name == "deaf" {
				l.StartTimeout = 500 * time.Millisecond
			}
			process, err := l.Launch(t.Context(), test.name)
			if err == nil {
				_ = process.Close()
				t.Fatal("no error")
			}
			for _, want := range append(test.want, test.name) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if errors.Is(err, sweep.ErrNotFound) {
				t.Errorf("%v: it was found", err)
			}
		})
	}
}

func TestNotExecutable(t *testing.T) {
	l := script(t, "plain", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(l.Path[0], "plain"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := l.Launch(t.Context(), "plain")
	if !errors.Is(err, os.ErrPermission) || errors.Is(err, sweep.ErrNotFound) ||
		!strings.Contains(fmt.Sprint(err), "chmod +x") {
		t.Errorf("Launch: %v, want %v", err, os.ErrPermission)
	}
	if err := os.Mkdir(filepath.Join(l.Path[0], "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Launch(t.Context(), "folder"); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("Launch of a directory: %v, want %v", err, sweep.ErrNotFound)
	}
}

// A launch ends with its context, and a context that has ended starts nothing.
func TestLaunchCancelled(t *testing.T) {
	l := script(t, "deaf", "#!/bin/sh\ntouch \"$0.ran\"\nexec sleep 600\n")
	ran := filepath.Join(l.Path[0], "deaf.ran")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Launch(ctx, "deaf"); !errors.Is(err, context.Canceled) {
		t.Errorf("Launch with a context that has ended: %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the trainer was started")
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := l.Launch(ctx, "deaf")
		done <- err
	}()
	eventually(t, "the trainer starts", func() bool {
		_, err := os.Stat(ran)
		return err == nil
	})
	cancel()
	if err := sweeptest.Receive(t, "the end of Launch, which was cancelled", done); !errors.Is(err, context.Canceled) {
		t.Errorf("Launch: %v, want %v", err, context.Canceled)
	}
}

// The first directory wins, and NAME before sweep-trainer-NAME.
func TestSearchOrder(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for path, word := range map[string]string{
		filepath.Join(first, "sweep-trainer-a"): "first prefixed", filepath.Join(second, "a"): "second",
		filepath.Join(second, "b"): "plain", filepath.Join(second, "sweep-trainer-b"): "prefixed",
	} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+word+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l := launcher()
	l.Path = []string{filepath.Join(first, "missing"), first, second}
	for name, want := range map[string]string{"a": "first prefixed", "b": "plain"} {
		if _, err := l.Launch(t.Context(), name); err == nil || !strings.Contains(err.Error(), `"`+want+`"`) {
			t.Errorf("Launch(%q): %v, want %q", name, err, want)
		}
	}
	if names := l.Names(); !reflect.DeepEqual(names, []string{"a", "b", "echo", noop.Name}) {
		t.Errorf("names %q", names)
	}
}

// Of the host's environment a trainer gets what it needs and nothing else.
func TestEnvironment(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://user:secret@host/db")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("SWEEP_KERNEL", "avx2")
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("EXTRA", "wanted")
	l := script(t, "env", "#!/bin/sh\nenv > \"$0.out\"\n")
	l.Environment = []string{"EXTRA", "NOT_SET"}
	if _, err := l.Launch(t.Context(), "env"); err == nil {
		t.Fatal("no error")
	}
	data, err := os.ReadFile(filepath.Join(l.Path[0], "env.out"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, want := range []string{"SWEEP_KERNEL=avx2\n", "GOMAXPROCS=1\n", "EXTRA=wanted\n", "PATH="} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, secret := range []string{"secret", "DATABASE_URL", "NOT_SET"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q reaches the trainer:\n%s", secret, text)
		}
	}
}

// Each process has a home and a temporary directory of its own, nobody else's,
// which are gone with it; unless the launcher names a home.
func TestHome(t *testing.T) {
	host := t.TempDir()
	t.Setenv("HOME", host)
	const text = "#!/bin/sh\nenv > \"$0.out\"\nls -ld \"$HOME\" \"$TMPDIR\" >> \"$0.out\"\necho cached > " +
		"\"$HOME/cache\"\nmktemp\n"
	seen := map[string]bool{}
	for range 2 {
		l := script(t, "env", text)
		if _, err := l.Launch(t.Context(), "env"); err == nil {
			t.Fatal("no error")
		}
		data, err := os.ReadFile(filepath.Join(l.Path[0], "env.out"))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(data), "\ndrwx------"); runtime.GOOS != "windows" && n != 2 {
			t.Errorf("of home and temporary directory %d are the trainer's alone:\n%s", n, data)
		}
		for _, name := range []string{"HOME", "TMPDIR"} {
			_, rest, _ := strings.Cut("\n"+string(data), "\n"+name+"=")
			dir, _, _ := strings.Cut(rest, "\n")
			if dir == "" || dir == host || dir == os.TempDir() || seen[dir] {
				t.Errorf("%s=%s", name, dir)
			}
			seen[dir] = true
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		}
	}
	l := script(t, "env", text)
	l.Home = host
	if _, err := l.Launch(t.Context(), "env"); err == nil {
		t.Fatal("no error")
	}
	if cached, err := os.ReadFile(filepath.Join(host, "cache")); err != nil || string(cached) != "cached\n" {
		t.Errorf("in the home that was named: %q %v", cached, err)
	}
}

// A trainer that a person starts says what it is.
func TestStartedByHand(t *testing.T) {
	l := script(t, "by-hand", "#!/bin/sh\nunset SWEEP_TRAINER\nexec "+filepath.Join(examples,
		trainertest.ExampleName)+"\n")
	_, err := l.Launch(t.Context(), "by-hand")
	if err == nil || !strings.Contains(err.Error(), "exit status 1") ||
		!strings.Contains(err.Error(), "trainer: quadratic") {
		t.Errorf("Launch: %v", err)
	}
}

// What a trainer wrote before its result is in its log when the result is there,
// and an empty log costs nothing.
func TestLogIsThereWithTheResult(t *testing.T) {
	l := launcher()
	l.BuiltIn["chatty"] = trainer.BuiltIn{Command: []string{self(), asChatty}}
	process := launch(t, l, "chatty")
	_, _, from := process.Log(0)
	for i := range int64(300) {
		request := trial(nil)
		request.Index = i
		if _, err := process.Train(t.Context(), request, &trainertest.Sink{}); err != nil {
			t.Fatal(err)
		}
		text, start, end := process.Log(from)
		if want := fmt.Sprintf("trial %d\n", i); text != want || start != from || end != from+int64(len(want)) {
			t.Fatalf("%q from %d to %d, want %q from %d", text, start, end, want, from)
		}
		from = end
	}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = process.Log(from) }); n != 0 {
		t.Errorf("%v allocations for an empty log", n)
	}
}
