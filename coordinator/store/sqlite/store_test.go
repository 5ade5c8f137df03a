package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
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

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) sweep.Store { return open(b, filepath.Join(b.TempDir(), "sweep.db")) }, nil)
}
