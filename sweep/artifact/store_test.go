package artifact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/sweeptest"
)

// faulty is a folder that fails as it is told.
type faulty struct {
	*artifact.Folder

	mu       sync.Mutex
	attempts int
	// underway is how many Writes there are at this moment, most how many there were at most.
	underway, most int
	// write, if set, takes the place of the folder's Write, size that of Size.
	write func(location string, content *io.SectionReader) error
	size  func(location string) (int64, error)
}

func (f *faulty) Write(ctx context.Context, location string, content *io.SectionReader) error {
	f.mu.Lock()
	f.attempts++
	f.underway++
	f.most = max(f.most, f.underway)
	write := f.write
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.underway--
	}()
	if write != nil {
		time.Sleep(time.Millisecond)
		return write(location, content)
	}
	return f.Folder.Write(ctx, location, content)
}

func (f *faulty) Size(ctx context.Context, location string) (int64, error) {
	if f.size != nil {
		return f.size(location)
	}
	return f.Folder.Size(ctx, location)
}

// set changes how the folder fails, and returns how many attempts there were before.
func (f *faulty) set(write func(location string, content *io.SectionReader) error) (attempts int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	attempts, f.attempts, f.most = f.attempts, 0, 0
	f.write = write
	return attempts
}

var errBroken = errors.New("out of order")

func broken(string, *io.SectionReader) error { return errBroken }

// While a store fails, one of all that wait tries at a time and ever less often; all are stored when it works again.
func TestOneBreaker(t *testing.T) {
	folder := newFolder(t)
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{Folder: folder, write: broken}
		var said strings.Builder
		s := artifact.New(f, slog.New(slog.NewTextHandler(&said, nil)))
		put := func(i int) error {
			content := fmt.Append(nil, i)
			r := artifacttest.Record(sweep.TrialID{Sweep: "s", Index: int64(i)}, content)
			return s.Put(t.Context(), r.Location, bytes.NewReader(content), r.Size)
		}
		const most = 50
		done := make(chan error, most)
		for i := range most {
			go func() { done <- put(i) }()
		}
		time.Sleep(time.Minute)
		if since, problem := s.Failing(); !errors.Is(problem, errBroken) || time.Since(since) < 50*time.Second {
			t.Errorf("failing: %v since %v", problem, since)
		}
		f.set(broken)
		time.Sleep(10 * time.Minute)
		if n := f.set(nil); n < 60 || n > 130 { // every five seconds
			t.Errorf("%d attempts in ten minutes", n)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if len(done) != most {
			t.Fatalf("%d of %d are stored six seconds after the store works again", len(done), most)
		}
		for range most {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if _, problem := s.Failing(); problem != nil {
			t.Errorf("still failing: %v", problem)
		}
		if n := strings.Count(said.String(), "not stored yet"); n != 1 {
			t.Errorf("%d warnings:\n%s", n, &said)
		}
	})
}

// A probe is alone.
func TestOneProbe(t *testing.T) {
	folder := newFolder(t)
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{Folder: folder, write: broken}
		s := artifact.New(f, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for i := range 20 {
			waiting.Go(func() { _ = s.Put(ctx, fmt.Sprint("cpu/s/0/", i), bytes.NewReader(nil), 0) })
		}
		time.Sleep(time.Second)
		f.set(func(string, *io.SectionReader) error {
			time.Sleep(20 * time.Second)
			return errBroken
		})
		time.Sleep(5 * time.Minute)
		cancel() // all return at once
		waiting.Wait()
		if f.most != 1 {
			t.Errorf("%d attempts at a time", f.most)
		}
	})
}

// A store that accepts what it does not keep is found out: nothing counts as stored before it is.
func TestLyingStore(t *testing.T) {
	lies := map[string]func(f *artifact.Folder) func(location string, content *io.SectionReader) error{
		"does not have them": func(*artifact.Folder) func(string, *io.SectionReader) error {
			return func(string, *io.SectionReader) error { return nil }
		},
		"has 500": func(f *artifact.Folder) func(string, *io.SectionReader) error {
			return func(location string, content *io.SectionReader) error {
				return f.Write(context.Background(), location, io.NewSectionReader(content, 0, content.Size()/2))
			}
		},
	}
	for want, lie := range lies {
		folder := newFolder(t)
		synctest.Test(t, func(t *testing.T) {
			f := &faulty{Folder: folder, write: lie(folder)}
			s := artifact.New(f, nil)
			content := artifacttest.Content(1, 1000)
			r := artifacttest.Record(sweep.TrialID{Sweep: "s"}, content)
			done := make(chan error, 1)
			go func() { done <- s.Put(t.Context(), r.Location, bytes.NewReader(content), r.Size) }()
			time.Sleep(20 * time.Minute)
			if _, problem := s.Failing(); problem == nil || !strings.Contains(problem.Error(), want) {
				t.Errorf("failing: %v, want %q", problem, want)
			}
			f.set(nil)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err := s.Check(t.Context(), r, true); err != nil {
				t.Error(err)
			}
		})
	}
}

// Whoever may write need not be allowed to look.
func TestUnverifiedStore(t *testing.T) {
	f := &faulty{Folder: newFolder(t), size: func(string) (int64, error) { return 0, sweep.ErrStoreFull }}
	if err := artifact.New(f, nil).Put(t.Context(), "cpu/s/0/x", bytes.NewReader(nil), 0); err != nil {
		t.Error(err)
	}
}

// An artifact that fails while others are stored is given up; it does not keep the others waiting.
func TestOneBadArtifact(t *testing.T) {
	folder := newFolder(t)
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{Folder: folder}
		f.write = func(location string, content *io.SectionReader) error {
			if strings.HasSuffix(location, "bad") {
				return errBroken
			}
			return f.Folder.Write(t.Context(), location, content)
		}
		s := artifact.New(f, nil)
		done := make(chan error, 1)
		go func() { done <- s.Put(t.Context(), "cpu/s/0/bad", bytes.NewReader(nil), 0) }()
		for i := range 100 {
			began := time.Now()
			if err := s.Put(t.Context(), fmt.Sprint("cpu/s/0/", i), bytes.NewReader(nil), 0); err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited >= 100*time.Millisecond { // the first pause
				t.Errorf("artifact %d waited for %v", i, waited)
			}
			time.Sleep(10 * time.Second)
		}
		if err := sweeptest.Receive(t, "the end of the bad one", done); !errors.Is(err, errBroken) {
			t.Error(err)
		}
	})
}

// Content that cannot be read is no fault of the store's.
func TestUnreadableContent(t *testing.T) {
	s := artifact.New(newFolder(t), nil)
	if err := s.Put(t.Context(), "cpu/s/0/x", strings.NewReader("short"), 100); err == nil {
		t.Error("stored what is not there")
	}
	if _, problem := s.Failing(); problem != nil {
		t.Errorf("failing: %v", problem)
	}
}
