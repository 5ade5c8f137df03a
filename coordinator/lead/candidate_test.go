package lead

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"sweep/coordinator"
	"sweep/coordinator/store"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// forgetful is a store that, on one connection, does not find what is left of sweeps.
type forgetful struct {
	sweep.Store
	broken *atomic.Bool
}

func (f *forgetful) Backlog(ctx context.Context, ids ...string) ([]sweep.Backlog, error) {
	if f.broken.Load() {
		return nil, errors.New("cache lookup failed for relation 4711")
	}
	return f.Store.Backlog(ctx, ids...)
}

// A coordinator that fails with one error for long gives up the lead, also if nobody stands by: it may be its own
// memory, or its connection, that is at fault.
func TestStalledLeaderGivesUp(t *testing.T) {
	t.Parallel()
	server := wiretest.Run(t, wiretest.Options{Dir: t.TempDir(), Port: -1})
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	w, err := wire.New(server.Connect(t), wire.Options{AckWait: wire.DefaultAckWait, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	address := "sqlite:" + filepath.Join(t.TempDir(), "sweep.db")
	var connections atomic.Int64
	var broken atomic.Bool // the first connection
	c := New(Options{
		Options: coordinator.Options{Wire: w, Logger: log}, Holder: "test",
		Connect: func(ctx context.Context) (sweep.Store, error) {
			results, err := store.Connect(ctx, address)
			if connections.Add(1) == 1 && err == nil {
				results = &forgetful{results, &broken}
			}
			return results, err
		},
		Began: func(context.Context, sweep.Store) {},
	})
	c.stall = 2 * time.Second
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	leads := func() bool { return c.Active() != nil && c.Ready() == nil }
	sweeptest.Until(t, "it leads", leads)
	broken.Store(true)
	sweeptest.Until(t, "it leads again", func() bool { return connections.Load() > 1 && leads() })
	cancel()
	if err := sweeptest.Receive(t, "its end", ended); err != nil {
		t.Error(err)
	}
}
