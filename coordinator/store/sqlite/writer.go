package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"sweep/coordinator/store/database"
)

// errClosed is the error of every method after Close.
var errClosed = errors.New("the store is closed")

// Update implements database.Database. The transactions take turns on the one
// connection that writes.
func (d *Database) Update(ctx context.Context, do func(tx database.Tx) error) error {
	select {
	case d.turn <- struct{}{}:
	case <-d.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.turn }()
	if err := d.replaced(); err != nil {
		return err
	}
	if err := d.openWriter(); err != nil {
		return err
	}
	if err := d.begin(ctx); err != nil {
		return err
	}
	last := context.WithoutCancel(ctx)
	committed := false
	defer func() {
		if !committed {
			// SQLite may have rolled back by itself (disk full), which is no error here.
			_ = d.writer.Script(last, `ROLLBACK`)
		}
	}()
	if err := do(d.writer); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.writer.Script(last, `COMMIT`); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// begin takes the write lock. IMMEDIATE takes it at once: a transaction that starts
// by reading could not wait for it later.
func (d *Database) begin(ctx context.Context) error {
	return patiently(ctx, func() error { return d.writer.begin(ctx, `BEGIN IMMEDIATE`) })
}

// patiently tries for up to busyTimeout what another may hold a lock against.
// SQLite's own waiting looks every 100 ms, which misses the moments between the
// transactions of a process that writes one after another: it was seen to starve the
// others for longer than busyTimeout. And of two who make a new database keep a log
// one is turned away without waiting at all.
func patiently(ctx context.Context, try func() error) error {
	for start := time.Now(); ; {
		err := try()
		if !isBusy(err) || time.Since(start) > busyTimeout {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(busyPause/2 + rand.N(busyPause)): // in step with nobody
		}
	}
}
