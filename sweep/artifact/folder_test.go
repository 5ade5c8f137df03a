package artifact_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
)

func newFolder(t *testing.T) *artifact.Folder {
	t.Helper()
	f, err := artifact.NewFolder(filepath.Join(t.TempDir(), "a b", "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFolder(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) artifact.Backend {
		return newFolder(t)
	}, func(t *testing.T, b artifact.Backend, location string) {
		path := filepath.FromSlash(strings.TrimPrefix(b.Name(), "file://") + "/" + location)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 1
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	})
}

// No location leads out of the folder, and nothing unfinished stays.
func TestFolderStaysInside(t *testing.T) {
	f := newFolder(t)
	for _, location := range []string{"../x", "/etc/passwd", "cpu/../../x"} {
		if _, err := f.Read(t.Context(), location, 0); err == nil {
			t.Errorf("%s can be read", location)
		}
		if err := f.Remove(t.Context(), location, func(string) bool { return false }); err == nil {
			t.Errorf("%s can be removed", location)
		}
	}
}

// A folder that is read-only is a trouble that lasts: no minutes are spent on it.
func TestFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := artifact.NewFolder(filepath.Join(file, "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	if err := artifact.New(f, nil).Put(t.Context(), "cpu/s/0/x", nil, 0); err == nil || !f.Lasting(err) {
		t.Errorf("%v", err)
	}
}

// What a worker put into another store is not lost: nobody looked for it there.
func TestArtifactOfAnotherStore(t *testing.T) {
	there, here := newFolder(t), newFolder(t)
	content := []byte("weights")
	r := artifacttest.Record(sweep.TrialID{Sweep: "s"}, content)
	r.Store = there.Name()
	if err := artifact.New(there, nil).Put(t.Context(), r.Location, bytes.NewReader(content), r.Size); err != nil {
		t.Fatal(err)
	}
	err := artifact.New(here, nil).Check(t.Context(), r, false)
	if err == nil || errors.As(err, new(*sweep.LostError)) || !strings.Contains(err.Error(), there.Name()) ||
		!strings.Contains(err.Error(), here.Name()) {
		t.Errorf("%v; want an error that names both stores and does not say that the artifact is lost", err)
	}
	// The name of a store may change, as that of a mount does: what counts is what is there.
	r.Store = here.Name()
	if err := artifact.New(there, nil).Check(t.Context(), r, true); err != nil {
		t.Error(err)
	}
}
