// Package artifacttest is the suite that every kind of artifact store passes.
package artifacttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"sweep/sweep"
	"sweep/sweep/artifact"
)

// Run runs the suite on backends that open returns, each empty and prepared for the
// pool cpu. harm, if not nil, changes a byte of what is stored at a location.
func Run(t *testing.T, open func(t *testing.T) artifact.Backend, harm func(t *testing.T, b artifact.Backend,
	location string)) {
	t.Run("Sizes", func(t *testing.T) { testSizes(t, open(t)) })
	t.Run("Rests", func(t *testing.T) { testRests(t, open(t)) })
	t.Run("Replace", func(t *testing.T) { testReplace(t, open(t)) })
	t.Run("Lost", func(t *testing.T) { testLost(t, open(t)) })
	t.Run("Remove", func(t *testing.T) { testRemove(t, open(t)) })
	t.Run("Failing", func(t *testing.T) { testFailing(t, open(t)) })
	if harm != nil {
		t.Run("Damaged", func(t *testing.T) { testDamaged(t, open(t), harm) })
	}
}

// Content returns bytes that differ from seed to seed.
func Content(seed uint64, size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(content) // it never fails
	return content
}

// Record is the record of bytes that an artifact of a trial has.
func Record(id sweep.TrialID, content []byte) *sweep.ArtifactRecord {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	return &sweep.ArtifactRecord{
		TrialID: id, Location: sweep.ArtifactLocation("cpu", id, digest),
		Artifact: sweep.Artifact{Name: "weights", Size: int64(len(content)), Digest: digest},
	}
}

// open returns a store that tells the test's log what it tries again.
func open(t *testing.T, b artifact.Backend) *artifact.Store {
	return artifact.New(b, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func put(t *testing.T, s *artifact.Store, id sweep.TrialID, content []byte) *sweep.ArtifactRecord {
	t.Helper()
	r := Record(id, content)
	if err := s.Put(t.Context(), r.Location, bytes.NewReader(content), r.Size); err != nil {
		t.Fatal(err)
	}
	return r
}

func get(t *testing.T, s *artifact.Store, r *sweep.ArtifactRecord) ([]byte, error) {
	t.Helper()
	in, err := s.Get(t.Context(), r, 0)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(in)
	return content, errors.Join(err, in.Close())
}

func testSizes(t *testing.T, b artifact.Backend) {
	s := open(t, b)
	for i, size := range []int{0, 1, 1000, 128 << 10, 128<<10 + 1, 5<<20 + 3, 33 << 20} {
		if size > 16<<20 && testing.Short() {
			continue // the race detector has seen all there is to see
		}
		content := Content(uint64(size), size)
		r := put(t, s, sweep.TrialID{Sweep: "s", Index: int64(i)}, content)
		got, err := get(t, s, r)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %d came, error: %v", size, len(got), err)
		}
		for _, all := range []bool{false, true} {
			if err := s.Check(t.Context(), r, all); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
	}
}

// An interrupted download goes on from any byte.
func testRests(t *testing.T, b artifact.Backend) {
	s := open(t, b)
	content := Content(1, 33<<20)
	r := put(t, s, sweep.TrialID{Sweep: "s"}, content)
	for i, from := range []int{16 << 20, 1, 16<<20 - 1, 16<<20 + 1, 32 << 20, 33<<20 - 1, 33 << 20} {
		if i > 0 && testing.Short() {
			break // likewise
		}
		in, err := s.Get(t.Context(), r, int64(from))
		if err != nil {
			t.Errorf("from byte %d: %v", from, err)
			continue
		}
		rest, err := io.ReadAll(in)
		if err := errors.Join(err, in.Close()); err != nil || !bytes.Equal(rest, content[from:]) {
			t.Errorf("from byte %d: %d bytes came, error: %v", from, len(rest), err)
		}
	}
	for _, from := range []int64{-1, 33<<20 + 1} {
		if _, err := s.Get(t.Context(), r, from); err == nil {
			t.Errorf("there is a byte %d", from)
		}
	}
	longer := *r
	longer.Size++
	in, err := s.Get(t.Context(), &longer, 32<<20)
	if err != nil {
		t.Fatal(err)
	}
	var damaged *sweep.DamagedError
	if _, err := io.ReadAll(in); !errors.As(err, &damaged) {
		t.Errorf("a rest that is too short: %v", err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// The same bytes again are the same artifact; others at its place take its place.
func testReplace(t *testing.T, b artifact.Backend) {
	s := open(t, b)
	id := sweep.TrialID{Sweep: "s"}
	first := put(t, s, id, Content(1, 1<<20))
	put(t, s, id, Content(1, 1<<20))
	if err := s.Check(t.Context(), first, true); err != nil {
		t.Error(err)
	}
	other := Content(2, 1<<20)
	if err := s.Put(t.Context(), first.Location, bytes.NewReader(other), int64(len(other))); err != nil {
		t.Fatal(err)
	}
	var damaged *sweep.DamagedError
	if err := s.Check(t.Context(), first, true); !errors.As(err, &damaged) {
		t.Errorf("%v", err)
	}
	put(t, s, id, Content(1, 1<<20)) // mends it
	if err := s.Check(t.Context(), first, true); err != nil {
		t.Error(err)
	}
}

func testLost(t *testing.T, b artifact.Backend) {
	s := open(t, b)
	r := Record(sweep.TrialID{Sweep: "s"}, []byte("x"))
	var lost *sweep.LostError
	if _, err := get(t, s, r); !errors.As(err, &lost) {
		t.Errorf("%v", err)
	}
	if err := s.Check(t.Context(), r, false); !errors.As(err, &lost) {
		t.Errorf("%v", err)
	}
	if _, err := b.Size(t.Context(), r.Location); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	missing := &sweep.ArtifactRecord{TrialID: r.TrialID,
		Artifact: sweep.Artifact{Name: "weights", Problem: "too large"}}
	if _, err := get(t, s, missing); !errors.As(err, &lost) || lost.Problem != "too large" {
		t.Errorf("%v", err)
	}
}

func testRemove(t *testing.T, b artifact.Backend) {
	s := open(t, b)
	var records []*sweep.ArtifactRecord
	for _, id := range []string{"s1", "s10", "s2"} {
		for i := range int64(3) {
			records = append(records, put(t, s, sweep.TrialID{Sweep: id, Index: i}, fmt.Appendf(nil, "%s %d", id, i)))
		}
	}
	kept := records[1].Location
	for range 2 {
		if err := s.RemoveSweep(t.Context(), "cpu", "s1", func(location string) bool {
			return location == kept
		}); err != nil {
			t.Fatal(err)
		}
	}
	var left []string
	for _, r := range records {
		if err := s.Check(t.Context(), r, true); err == nil {
			left = append(left, r.String())
		}
	}
	if want := []string{"s1/1", "s10/0", "s10/1", "s10/2", "s2/0", "s2/1", "s2/2"}; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
	if err := s.RemoveSweep(t.Context(), "cpu", "none", func(string) bool { return false }); err != nil {
		t.Error(err)
	}
	// One alone, a large one, and one of the same trial stays.
	large := put(t, s, sweep.TrialID{Sweep: "s3"}, Content(3, 17<<20))
	beside := put(t, s, sweep.TrialID{Sweep: "s3"}, []byte("beside"))
	for range 2 {
		if err := s.Delete(t.Context(), large.Location); err != nil {
			t.Fatal(err)
		}
		if _, err := get(t, s, large); !isLost(err) {
			t.Errorf("after it was deleted: %v", err)
		}
	}
	if content, err := get(t, s, beside); err != nil || string(content) != "beside" {
		t.Errorf("%q %v", content, err)
	}
	if err := s.Delete(t.Context(), "none/s1/0/"+large.Digest); err != nil {
		t.Error(err)
	}
}

// isLost reports whether an artifact is not there.
func isLost(err error) bool {
	_, lost := errors.AsType[*sweep.LostError](err)
	return lost
}

// broken is content that cannot be read behind its first half.
type broken struct {
	*bytes.Reader
	end context.CancelFunc
}

func (b broken) ReadAt(p []byte, at int64) (int, error) {
	if at >= b.Size()/2 {
		b.end()
		return 0, errors.New("the disk is broken")
	}
	return b.Reader.ReadAt(p, at)
}

// What could not be stored is not there, not even a part of it.
func testFailing(t *testing.T, b artifact.Backend) {
	s := open(t, b)
	content := Content(1, 2<<20)
	r := Record(sweep.TrialID{Sweep: "s"}, content)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := s.Put(ctx, r.Location, broken{bytes.NewReader(content), cancel}, r.Size); err == nil {
		t.Error("stored what could not be read")
	}
	var lost *sweep.LostError
	if err := s.Check(t.Context(), r, false); !errors.As(err, &lost) {
		t.Errorf("%v", err)
	}
}

func testDamaged(t *testing.T, b artifact.Backend, harm func(t *testing.T, b artifact.Backend, location string)) {
	s := open(t, b)
	r := put(t, s, sweep.TrialID{Sweep: "s"}, Content(1, 300<<10))
	harm(t, b, r.Location)
	if err := s.Check(t.Context(), r, false); err != nil {
		t.Errorf("its size has changed: %v", err)
	}
	var damaged *sweep.DamagedError
	if err := s.Check(t.Context(), r, true); !errors.As(err, &damaged) {
		t.Errorf("%v", err)
	}
	if _, err := get(t, s, r); !errors.As(err, &damaged) {
		t.Errorf("%v", err)
	}
}
