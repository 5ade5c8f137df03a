package postgres_test

import (
	"context"
	"testing"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/coordinator/store/storetest"
	"sweep/sweep"
)

func open(t testing.TB, address string) sweep.Store {
	t.Helper()
	s, err := store.Open(context.Background(), address)
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

// fullOnly leaves a test out under -short, with which the race detector looks at the store: one thing is done after
// the other.
func fullOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: the race detector has nothing to find")
	}
}

func TestConformance(t *testing.T) {
	server := postgrestest.Start(t)
	storetest.Run(t,
		func(t *testing.T) string { return server.Database(t) },
		func(t *testing.T, address string) string { return server.Copy(t, address) })
}

// BenchmarkStore measures with the durability of a real server.
func BenchmarkStore(b *testing.B) {
	server := postgrestest.Start(b, "fsync=on", "synchronous_commit=on", "full_page_writes=on", "shared_buffers=512MB",
		"max_wal_size=4GB")
	storetest.Bench(b, func(b *testing.B) sweep.Store { return open(b, server.Database(b)) }, server.CPU)
}
