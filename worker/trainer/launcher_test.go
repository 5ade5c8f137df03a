package trainer_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"sweep/sweep"
	"sweep/worker/trainer"
	"sweep/worker/trainer/noop"
)

// TestMain lets the test binary be the processes that the tests need.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "noop" {
		trainer.Serve(noop.New())
		return
	}
	os.Exit(m.Run())
}

func noopLauncher(tb testing.TB) *trainer.Launcher {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return &trainer.Launcher{
		BuiltIn: map[string][]string{noop.Name: {self, "noop"}},
		Log:     slog.New(slog.DiscardHandler),
	}
}

type discard struct{ points int }

func (d *discard) Points(batch []sweep.Curve) error {
	for _, c := range batch {
		d.points += len(c.Steps)
	}
	return nil
}
func (d *discard) Checkpoint(int64, []byte) error { return nil }

// BenchmarkTrain measures what the wire adds to a trial that costs nothing.
func BenchmarkTrain(b *testing.B) {
	for _, points := range []int64{0, 1000} {
		b.Run(fmt.Sprintf("points=%d", points), func(b *testing.B) {
			process, err := noopLauncher(b).Launch(context.Background(), noop.Name)
			if err != nil {
				b.Fatal(err)
			}
			defer process.Close()
			sink := &discard{}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: sweep.Parameters{"x": int64(i), "points": points}}}
				if _, err := process.Train(context.Background(), request, sink); err != nil {
					b.Fatal(err)
				}
			}
			if int64(sink.points) < points {
				b.Fatalf("%d points arrived", sink.points)
			}
		})
	}
}

// BenchmarkLaunch measures a start with its handshake, certificates and first
// answer, and the end.
func BenchmarkLaunch(b *testing.B) {
	launcher := noopLauncher(b)
	for b.Loop() {
		process, err := launcher.Launch(context.Background(), noop.Name)
		if err != nil {
			b.Fatal(err)
		}
		if err := process.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
