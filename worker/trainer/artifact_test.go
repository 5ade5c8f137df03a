//go:build unix

package trainer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sweep/sweep"
	"sweep/worker/trainer"
	"sweep/worker/trainer/trainerpb"
	"sweep/worker/trainer/trainertest"
)

// over trains one trial of a trainer over the wire, whose sweep keeps the artifact
// weights.
func over(t *testing.T, sink sweep.Sink, hand func(sink sweep.Sink) error) error {
	t.Helper()
	wired, end, err := trainer.Loopback(&stub{describe: noopDescription,
		train: func(_ context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
			if len(request.Artifacts) != 1 || request.Artifacts[0] != "weights" {
				t.Errorf("asked for %v", request.Artifacts)
			}
			if err := hand(sink); err != nil {
				return nil, err
			}
			return &sweep.Result{State: sweep.Completed}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	_, err = wired.Train(t.Context(), sweep.TrainRequest{Artifacts: []string{"weights"}}, sink)
	return err
}

func weights(content io.Reader) func(sweep.Sink) error {
	return func(sink sweep.Sink) error {
		return sink.Artifact(sweep.Artifact{Name: "weights", MediaType: "a/b"}, content)
	}
}

// An artifact arrives as it is, whatever its size, with its size and digest, and
// leaves no file.
func TestArtifactOverTheWire(t *testing.T) {
	for _, size := range []int{0, 1, 256 << 10, 256<<10 + 1, 20 << 20} {
		t.Setenv("TMPDIR", t.TempDir())
		content := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		sink := &trainertest.Sink{}
		if err := over(t, sink, weights(bytes.NewReader(content))); err != nil {
			t.Fatal(err)
		}
		a := sink.Artifacts()["weights"]
		if !bytes.Equal(a.Content, content) || a.Size != int64(size) || !sweep.IsDigest(a.Digest) ||
			a.MediaType != "a/b" {
			t.Errorf("%d bytes arrive as %d, %+v", size, len(a.Content), a.Artifact)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
			t.Errorf("left: %v %v", left, err)
		}
	}
}

// A file of the temporary directory goes without being copied, and is the
// worker's then.
func TestArtifactOfOwnFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(os.TempDir(), "sub", "model.pt")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	sink := &trainertest.Sink{}
	if err := over(t, sink, weights(f)); err != nil {
		t.Fatal(err)
	}
	if a := sink.Artifacts()["weights"]; string(a.Content) != "weights" || a.Size != 7 {
		t.Errorf("%+v", a)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// What is not asked for is not even read, and a wrong name is an error.
func TestArtifactThatNobodyWants(t *testing.T) {
	sink := &trainertest.Sink{}
	err := over(t, sink, func(sink sweep.Sink) error {
		return sink.Artifact(sweep.Artifact{Name: "samples"}, failing{})
	})
	if err != nil || len(sink.Artifacts()) != 0 {
		t.Errorf("%v, %v", err, sink.Artifacts())
	}
	err = over(t, sink, func(sink sweep.Sink) error {
		return sink.Artifact(sweep.Artifact{Name: "../weights"}, failing{})
	})
	if err == nil || !strings.Contains(err.Error(), "artifact") {
		t.Errorf("%v", err)
	}
	for _, odd := range []sweep.Artifact{{Name: "weights", Size: 3}, {Name: "weights", Digest: "x"}} {
		if err := over(t, sink, func(sink sweep.Sink) error {
			return sink.Artifact(odd, strings.NewReader("x"))
		}); err == nil {
			t.Errorf("%+v is taken", odd)
		}
	}
	if err := over(t, sink, weights(failing{})); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("%v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("it cannot be read") }

// The sink's error ends the trial, as those of points do.
func TestArtifactRefusedByTheSink(t *testing.T) {
	full := errors.New("full")
	if err := over(t, &trainertest.Sink{Fail: full}, weights(strings.NewReader("x"))); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// A trainer cannot have the worker read, or remove, what is outside its own
// directory, nor wait for ever.
func TestArtifactStaysInScratch(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	if err := errors.Join(
		os.Symlink(outside, filepath.Join(scratch, "link")),
		os.Symlink(filepath.Dir(outside), filepath.Join(scratch, "folder")),
		os.Mkdir(filepath.Join(scratch, "directory"), 0o700), syscall.Mkfifo(filepath.Join(scratch, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(scratch, outside)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{outside, relative, "link", "folder/credentials", "directory", "pipe", "absent",
		"a\x00b", "/dev/zero"} {
		sink := &trainertest.Sink{}
		if err := trainer.TakeArtifact(scratch, &trainerpb.Artifact{Name: "weights", File: file}, sink); err == nil ||
			len(sink.Artifacts()) != 0 {
			t.Errorf("%q: %v, %v", file, err, sink.Artifacts())
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
