package sqlite_test

import (
	"context"
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
	storetest.Run(t, func(t *testing.T) string { return filepath.Join(t.TempDir(), "sweep.db") })
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) sweep.Store { return open(b, filepath.Join(b.TempDir(), "sweep.db")) }, nil)
}
