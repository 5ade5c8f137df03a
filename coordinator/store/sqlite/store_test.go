package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/coordinator/store"
	"sweep/coordinator/store/storetest"
	"sweep/sweep"
)

func open(t testing.TB, path string) sweep.Store {
	t.Helper()
	s, err := store.Open(context.Background(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	address := func(t *testing.T) string { return filepath.Join(t.TempDir(), "sweep.db") }
	storetest.Run(t, address, func(t *testing.T, original string) string {
		content, err := os.ReadFile(original)
		if err != nil {
			t.Fatal(err)
		}
		path := address(t)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	})
}

// A database whose file was removed is an error, not one that nobody else can find, also when there is a new one.
func TestReplaced(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	path := filepath.Join(home, "sweep.db")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, removed := t.Context(), open(t, path)
	if _, err := removed.CreateSweep(ctx, "s1", &sweep.Submission{}, 1); err != nil {
		t.Fatal(err)
	}
	use := func(s sweep.Store) []error {
		_, read := s.Sweeps(ctx)
		_, written := s.CreateSweep(ctx, "s2", &sweep.Submission{}, 1)
		return []error{read, written, s.Query(ctx, "SELECT 1", func([]string, []any) error { return nil })}
	}
	for _, again := range []bool{false, true} {
		if err := os.RemoveAll(home); err != nil {
			t.Fatal(err)
		}
		if again {
			if err := os.Mkdir(home, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, err := range use(open(t, path)) {
				if err != nil {
					t.Error(err)
				}
			}
		}
		for i, err := range use(removed) {
			if !errors.Is(err, sweep.ErrReplaced) || !strings.Contains(err.Error(), path+" was removed") {
				t.Errorf("made again: %v, use %d: error %v", again, i, err)
			}
		}
	}
}

// The files are their owner's alone.
func TestFilesArePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.db")
	open(t, path)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("sweep.db%s has mode %v", suffix, mode)
		}
	}
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) sweep.Store { return open(b, filepath.Join(b.TempDir(), "sweep.db")) }, nil)
}
