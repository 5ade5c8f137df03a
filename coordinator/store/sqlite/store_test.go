package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"sweep/coordinator/store/sqlite"
	"sweep/coordinator/store/storetest"
	"sweep/sweep"
)

func open(t testing.TB, path string) sweep.Store {
	t.Helper()
	store, err := sqlite.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) sweep.Store { return open(t, filepath.Join(t.TempDir(), "sweep.db")) })
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) sweep.Store { return open(b, filepath.Join(b.TempDir(), "sweep.db")) })
}
