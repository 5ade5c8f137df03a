package trainer_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"sweep/sweep"
	"sweep/worker/trainer/noop"
)

// counter is the cheapest sink.
type counter struct{ points, bytes int }

func (c *counter) Points(batch []sweep.Curve) error {
	for _, curve := range batch {
		c.points += len(curve.Steps)
	}
	return nil
}

func (c *counter) Checkpoint(_ int64, state []byte) error {
	c.bytes += len(state)
	return nil
}

func (c *counter) Artifact(_ sweep.Artifact, content io.Reader) error {
	n, err := io.Copy(io.Discard, content)
	c.bytes += int(n)
	return err
}

// BenchmarkTrain measures what the wire adds to a trial that costs nothing.
func BenchmarkTrain(b *testing.B) {
	for _, points := range []int64{0, 1000} {
		b.Run(fmt.Sprintf("points=%d", points), func(b *testing.B) {
			process := launch(b, launcher(), noop.Name)
			sink := &counter{}
			b.ReportAllocs()
			n := 0
			for ; b.Loop(); n++ {
				if _, err := process.Train(b.Context(), trial(sweep.Parameters{"x": n, "points": points}),
					sink); err != nil {
					b.Fatal(err)
				}
			}
			if sink.points != n*int(points) {
				b.Fatalf("%d points arrived of %d", sink.points, n*int(points))
			}
		})
	}
}

// BenchmarkValidate measures a call without a stream.
func BenchmarkValidate(b *testing.B) {
	process := launch(b, launcher(), noop.Name)
	for b.Loop() {
		if _, err := process.Validate(b.Context(), sweep.ValidateRequest{Parameters: sweep.Parameters{"x": 1}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLaunch measures a start with handshake, certificates and description,
// and the end; hiding adds what it takes to hide a file of a usual home from it.
func BenchmarkLaunch(b *testing.B) {
	home := b.TempDir()
	for i := range 100 {
		if err := os.WriteFile(filepath.Join(home, fmt.Sprint("file-", i)), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for name, secrets := range map[string][]string{"open": nil,
		"hiding": {filepath.Join(home, ".pgpass"), "/etc/sweep/sweep.conf"}} {
		b.Run(name, func(b *testing.B) {
			l := launcher()
			l.Secrets = secrets
			for b.Loop() {
				process, err := l.Launch(b.Context(), noop.Name)
				if err != nil {
					b.Fatal(err)
				}
				if err := process.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCheckpoint measures a large state on its way in and out, in bytes a
// second of the two together.
func BenchmarkCheckpoint(b *testing.B) {
	process := launch(b, launcher(), "echo")
	request := trial(nil)
	request.Checkpoint = make([]byte, 64<<20)
	b.SetBytes(2 * int64(len(request.Checkpoint)))
	for b.Loop() {
		if _, err := process.Train(b.Context(), request, &counter{}); err != nil {
			b.Fatal(err)
		}
	}
}
