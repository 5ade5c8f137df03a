package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sweep/sweep"
)

// Backend stores bytes. Its methods are safe for concurrent use. If a location has no bytes, their
// errors wrap fs.ErrNotExist.
type Backend interface {
	// Name is the address, without passwords.
	Name() string
	// Prepare creates what the artifacts of a pool need, as far as this party may.
	Prepare(ctx context.Context, pool string) error
	// Write stores or replaces the bytes of a location atomically. It may reuse what an
	// interrupted Write left.
	Write(ctx context.Context, location string, content *io.SectionReader) error
	// Read opens the bytes of a location from byte from on, which exists or is the first.
	// Size returns their number.
	Read(ctx context.Context, location string, from int64) (io.ReadCloser, error)
	Size(ctx context.Context, location string) (int64, error)
	// Remove removes all locations that begin with prefix, which ends in a slash, except those
	// for which keep is true.
	Remove(ctx context.Context, prefix string, keep func(location string) bool) error
	// Delete removes the bytes of a location. It succeeds if there are none.
	Delete(ctx context.Context, location string) error
	// Lasting reports whether retrying a failed Write does not help, for example for lack of
	// room (sweep.ErrStoreFull).
	Lasting(err error) bool
}

// Store is an artifact store.
type Store struct {
	backend Backend
	log     *slog.Logger
	breaker breaker
	// patience is how long an artifact is retried that fails while others are stored; firstPause is the time between
	// the first two attempts, doubled each time up to lastPause.
	patience, firstPause, lastPause time.Duration
	// unverified is set when the log says that the store does not tell what it has.
	unverified sync.Once
}

// New returns a store over a backend. It logs retries; log may be nil.
func New(backend Backend, log *slog.Logger) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{backend: backend, log: log, patience: 15 * time.Minute, firstPause: 100 * time.Millisecond,
		lastPause: 5 * time.Second}
	s.breaker = breaker{firstPause: s.firstPause, lastPause: s.lastPause, changed: make(chan struct{})}
	return s
}

// Name returns the address of the store.
func (s *Store) Name() string { return s.backend.Name() }

// Prepare creates what the artifacts of a pool need.
func (s *Store) Prepare(ctx context.Context, pool string) error {
	if err := s.backend.Prepare(ctx, pool); err != nil {
		return fmt.Errorf("artifact store %s: %w", s.Name(), err)
	}
	return nil
}

// Failing returns since when the store takes no artifacts, and why; nil if it does, as far as is known.
func (s *Store) Failing() (since time.Time, problem error) { return s.breaker.state() }

// Stored returns when the store last took an artifact; zero if it has taken none.
func (s *Store) Stored() time.Time { return s.breaker.last() }

// Put stores size bytes of content at a location, and makes sure that the store has them. While the store fails, all
// Puts wait, and one of them tries from time to time. Put resumes if the backend can. It fails when ctx ends, when
// retrying does not help, and when the artifact has failed for patience while others were stored.
func (s *Store) Put(ctx context.Context, location string, content io.ReaderAt, size int64) error {
	var first time.Time
	for pause := s.firstPause; ; pause = min(2*pause, s.lastPause) {
		probe, err := s.breaker.enter(ctx, location)
		if err != nil {
			return err
		}
		local := &source{ReaderAt: content}
		err = s.write(ctx, location, io.NewSectionReader(local, 0, size))
		if err == nil {
			s.worked(probe)
			return nil
		}
		err = fmt.Errorf("artifact store %s: %w", s.Name(), err)
		switch {
		case ctx.Err() != nil || local.failed.Load():
			s.breaker.leave(probe)
			return err
		case s.backend.Lasting(err):
			s.worked(probe)
			return err
		}
		if first.IsZero() {
			first = time.Now()
		}
		if s.breaker.failed(probe, location, err) {
			s.log.Warn("artifact not stored yet; trying again", "location", location, "bytes", size, "error", err)
		}
		if time.Since(first) > s.patience && s.breaker.last().After(first) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// worked notes that the store answered.
func (s *Store) worked(probe bool) {
	if failed := s.breaker.works(probe); failed > 0 {
		s.log.Info("the artifact store takes artifacts again", "store", s.Name(), "after",
			failed.Round(time.Millisecond))
	}
}

// write stores content and compares what the store then has: some services accept what they do not keep.
func (s *Store) write(ctx context.Context, location string, content *io.SectionReader) error {
	if err := s.backend.Write(ctx, location, content); err != nil {
		return err
	}
	size, err := s.backend.Size(ctx, location)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("it accepted the %d bytes of %s and does not have them", content.Size(), location)
	case err != nil && s.backend.Lasting(err): // whoever may write need not be allowed to look
		s.unverified.Do(func() {
			s.log.Warn("the artifact store does not tell what it has: artifacts are not verified", "store", s.Name(),
				"error", err)
		})
		return nil
	case err != nil:
		return fmt.Errorf("cannot tell whether it has %s: %w", location, err)
	case size != content.Size():
		return fmt.Errorf("it accepted the %d bytes of %s and has %d", content.Size(), location, size)
	}
	return nil
}

// source is content that notes whether reading it failed: then the store is not to blame.
type source struct {
	io.ReaderAt
	failed atomic.Bool
}

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, at int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(p, at)
	if n < len(p) {
		s.failed.Store(true)
	}
	return n, err
}

// Get opens an artifact from byte from on. Reading it to its end fails with a *sweep.DamagedError if
// its size differs from the record, or its digest, which is verified only if from is 0. Get fails
// with a *sweep.LostError if the artifact does not exist, unless its worker put it into another
// store.
func (s *Store) Get(ctx context.Context, r *sweep.ArtifactRecord, from int64) (io.ReadCloser, error) {
	if err := s.there(r); err != nil {
		return nil, err
	}
	switch {
	case from < 0 || from > r.Size:
		return nil, fmt.Errorf("artifact %s: it has no byte %d: its size is %d", name(r), from, r.Size)
	case from == r.Size && from > 0:
		return io.NopCloser(strings.NewReader("")), nil
	}
	in, err := s.backend.Read(ctx, r.Location, from)
	if err != nil {
		return nil, s.explain(r, err)
	}
	v := &verified{ReadCloser: in, store: s, record: r, size: from}
	if from == 0 {
		v.digest = sha256.New()
	}
	return v, nil
}

// Check returns what is wrong with an artifact's bytes: a *sweep.LostError, a *sweep.DamagedError, or
// nil. It verifies the digest if all is set, else the size only.
func (s *Store) Check(ctx context.Context, r *sweep.ArtifactRecord, all bool) error {
	if err := s.there(r); err != nil {
		return err
	}
	size, err := s.backend.Size(ctx, r.Location)
	if err != nil {
		return s.explain(r, err)
	}
	if size != r.Size {
		return s.damaged(r, fmt.Sprintf("it has %d bytes, and had %d", size, r.Size))
	}
	if !all {
		return nil
	}
	in, err := s.Get(ctx, r, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, in.Close())
}

// RemoveSweep removes the artifacts of a sweep except those for which keep is true: other sweeps may
// reuse them.
func (s *Store) RemoveSweep(ctx context.Context, pool, id string, keep func(location string) bool) error {
	if err := s.backend.Remove(ctx, sweep.ArtifactPrefix(pool, id), keep); err != nil {
		return fmt.Errorf("artifact store %s: remove what sweep %s left: %w", s.Name(), id, err)
	}
	return nil
}

// Delete removes the bytes of a location, if there are any.
func (s *Store) Delete(ctx context.Context, location string) error {
	if err := s.backend.Delete(ctx, location); err != nil {
		return fmt.Errorf("artifact store %s: remove %s: %w", s.Name(), location, err)
	}
	return nil
}

// there returns an error if an artifact was never stored.
func (s *Store) there(r *sweep.ArtifactRecord) error {
	if r.Problem != "" || r.Location == "" {
		return &sweep.LostError{Artifact: name(r), Problem: r.Problem}
	}
	return nil
}

func name(r *sweep.ArtifactRecord) string { return r.String() + "/" + r.Name }

func (s *Store) damaged(r *sweep.ArtifactRecord, problem string) error {
	return &sweep.DamagedError{Artifact: name(r), Store: s.Name(), Problem: problem}
}

// explain returns why an artifact cannot be read.
func (s *Store) explain(r *sweep.ArtifactRecord, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("artifact %s: %s: %w", name(r), s.Name(), err)
	}
	if r.Store != "" && r.Store != s.Name() { // it may exist there
		return fmt.Errorf("artifact %s: it is not in %s; its worker put it into %s, which is not looked into here: "+
			"name that by --artifacts, or ask the coordinator (without --store)",
			name(r), s.Name(), r.Store)
	}
	where := "it is lost in " + s.Name() + "; train it again, with --reuse=false, to have it made anew"
	return &sweep.LostError{Artifact: name(r), Problem: where}
}

// verified reads an artifact and compares it with its record.
type verified struct {
	io.ReadCloser
	store  *Store
	record *sweep.ArtifactRecord
	digest hash.Hash // nil if the artifact is not read from its beginning
	size   int64
}

// Read implements io.Reader.
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.size += int64(n)
	if v.digest != nil {
		v.digest.Write(p[:n])
	}
	switch {
	case v.size > v.record.Size:
		return n, v.store.damaged(v.record, fmt.Sprintf("it has more than its %d bytes", v.record.Size))
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, v.store.explain(v.record, err)
	}
	switch {
	case v.size < v.record.Size:
		return n, v.store.damaged(v.record, fmt.Sprintf("it has %d bytes, and had %d", v.size, v.record.Size))
	case v.digest != nil && !strings.EqualFold(hex.EncodeToString(v.digest.Sum(nil)), v.record.Digest):
		return n, v.store.damaged(v.record, "its digest does not match")
	}
	return n, io.EOF
}
