package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sweep/coordinator"
	"sweep/coordinator/store"
	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// counted is a target that counts the bytes of artifacts that come, and at one of
// them does something else first.
type counted struct {
	target
	came, at int64
	do       func() error
}

func (c *counted) Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
	out io.Writer) (*sweep.ArtifactRecord, error) {
	return c.target.Artifact(ctx, id, name, from, writer(func(p []byte) (int, error) {
		if c.do != nil && c.came >= c.at {
			do := c.do
			c.do = nil
			if err := do(); err != nil {
				return 0, err
			}
		}
		n, err := out.Write(p)
		c.came += int64(n)
		return n, err
	}))
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// shelf is a store with the artifact weights of trial s/0, and where it is.
type shelf struct {
	target
	id     sweep.TrialID
	record *sweep.ArtifactRecord
	// stop and start are the broker's, through which the bytes come; nil if there is none.
	stop, start func()
}

// newShelf makes a shelf over a backend; serve has what clients reach it by.
func newShelf(t *testing.T, backend artifact.Backend, content []byte,
	serve func(c *coordinator.Coordinator, s sweep.Store) target) *shelf {
	t.Helper()
	ctx := t.Context()
	results, err := store.Open(ctx, filepath.Join(t.TempDir(), "sweep.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = results.Close() })
	artifacts := artifact.New(backend, nil)
	s := &shelf{id: sweep.TrialID{Sweep: "s"}}
	s.record = artifacttest.Record(s.id, content)
	submission := &sweep.Submission{Spec: sweep.Spec{Name: "s", Pool: "cpu", Artifacts: []string{"weights"}}}
	_, err = results.CreateSweep(ctx, "s", submission, 1)
	if err == nil {
		_, err = results.AddTrials(ctx, "s", 0, 0, []sweep.Trial{{TrialID: s.id, Parameters: sweep.Parameters{}}}, nil)
	}
	if err == nil {
		_, err = results.Record(ctx, []sweep.Event{{Kind: sweep.EventResult, TrialID: s.id, Execution: "x", Worker: "w",
			Time:   time.Now(),
			Result: &sweep.Result{State: sweep.Completed, Artifacts: []sweep.Artifact{s.record.Artifact}}}})
	}
	if err == nil {
		err = artifacts.Prepare(ctx, "cpu")
	}
	if err == nil {
		err = artifacts.Put(ctx, s.record.Location, bytes.NewReader(content), s.record.Size)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.target = serve(coordinator.New(coordinator.Options{Store: results, Artifacts: artifacts}), results)
	return s
}

// A download that is cut off goes on where it was, and no partial file is trusted.
func TestDownload(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	content := artifacttest.Content(1, 20<<20)
	size := int64(len(content))
	folder := t.TempDir()
	shelves := map[string]func(t *testing.T) *shelf{
		"Local": func(t *testing.T) *shelf {
			backend, err := artifact.NewFolder(folder)
			if err != nil {
				t.Fatal(err)
			}
			return newShelf(t, backend, content, func(c *coordinator.Coordinator, s sweep.Store) target {
				return localStore{s, c}
			})
		},
		"Cluster": func(t *testing.T) *shelf {
			dir := t.TempDir()
			port := freePorts(t, 1) // that no client takes before the server is started again
			server := wiretest.Run(t, wiretest.Options{Dir: dir, Port: port})
			w, err := wire.New(server.Connect(t), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Setup(t.Context(), sweep.Cluster{ID: "c1", Database: "test"}, false); err != nil {
				t.Fatal(err)
			}
			backend, err := w.Objects(wire.DefaultBucket, 0)
			if err != nil {
				t.Fatal(err)
			}
			s := newShelf(t, backend, content, func(c *coordinator.Coordinator, s sweep.Store) target {
				service, err := w.ServeControl(c, s, func() bool { return true })
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(service.Close)
				conn := server.Connect(t)
				return remote{wire.NewClient(conn), conn}
			})
			s.stop = server.Stop
			s.start = func() { wiretest.Run(t, wiretest.Options{Dir: dir, Port: port}) }
			return s
		},
	}
	for name, open := range shelves {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			path := filepath.Join(t.TempDir(), "weights")
			part := path + "." + s.record.Digest[:12] + ".part"
			// get downloads it and returns how many bytes came.
			get := func() int64 {
				t.Helper()
				c := &counted{target: s}
				r, err := download(t.Context(), c, s.id, "weights", path)
				if err != nil || r.Digest != s.record.Digest {
					t.Fatalf("%+v, %v", r, err)
				}
				got, err := os.ReadFile(path)
				if err != nil || !bytes.Equal(got, content) {
					t.Fatalf("%d bytes are there, and not those of the artifact: %v", len(got), err)
				}
				if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				return c.came
			}
			// cut downloads the beginning, until do ends it, and returns how much.
			cut := func(do func() error) int64 {
				t.Helper()
				_, err := download(t.Context(), &counted{target: s, at: 17 << 20, do: do}, s.id, "weights", path)
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Fatalf("cut off: %v", err)
				}
				info, err := os.Stat(part)
				if err != nil || info.Size() < 17<<20 || info.Size() >= size {
					t.Fatalf("kept: %v, %v", info, err)
				}
				return info.Size()
			}
			had := cut(func() error { return errors.New("the line is cut") })
			if came := get(); came != size-had {
				t.Errorf("%d bytes came after %d of %d", came, had, size)
			}
			if s.stop != nil {
				had := cut(func() error { s.stop(); return nil })
				s.start()
				if came := get(); came != size-had {
					t.Errorf("behind a broker that was restarted %d bytes came after %d of %d", came, had, size)
				}
			}
			write := func(b []byte) {
				t.Helper()
				if err := os.WriteFile(part, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			other := artifacttest.Content(2, 20<<20)
			for name, test := range map[string]struct {
				part []byte
				came int64
			}{
				"all of it":          {content, 0},
				"another's":          {other[:12<<20], 8<<20 + size},
				"another's, whole":   {other, size},
				"more than there is": {append(bytes.Clone(content), 'x'), size},
				"nothing":            {nil, size},
			} {
				write(test.part)
				if came := get(); came != test.came {
					t.Errorf("with a partial file of %s %d bytes came, want %d", name, came, test.came)
				}
			}
			// Two at once do not write into one file.
			var second error
			c := &counted{target: s, at: 1 << 20, do: func() error {
				_, second = download(t.Context(), s, s.id, "weights", path)
				return nil
			}}
			if _, err := download(t.Context(), c, s.id, "weights", path); err != nil || second == nil ||
				!strings.Contains(second.Error(), "another process") {
				t.Errorf("%v; the second: %v", err, second)
			}
			if err := os.Symlink(path, part); err != nil {
				t.Fatal(err)
			}
			if _, err := download(t.Context(), s, s.id, "weights", path); err == nil ||
				!strings.Contains(err.Error(), "in the way") {
				t.Errorf("a link in its place: %v", err)
			}
			if err := os.Remove(part); err != nil {
				t.Fatal(err)
			}
			if s.stop == nil { // what is damaged where it is kept is seen, and nothing of it stays
				damaged := bytes.Clone(content)
				damaged[size-1] ^= 1
				if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(s.record.Location)), damaged,
					0o600); err != nil {
					t.Fatal(err)
				}
				write(content[:1<<20])
				var failure *sweep.DamagedError
				if _, err := download(t.Context(), s, s.id, "weights", path); !errors.As(err, &failure) {
					t.Errorf("%v", err)
				}
				if _, err := os.Stat(part); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a part of it is left: %v", err)
				}
			}
		})
	}
}
