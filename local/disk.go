package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// diskInterval is the time between looks at the disk.
const diskInterval = time.Second

// watchDisk returns an error when dir takes no more data, nil when ctx ends. The broker
// reports a full disk only by no longer answering, so that a run would wait for ever.
func watchDisk(ctx context.Context, dir string) (err error) {
	look(ctx, func() bool {
		if err = probeDisk(dir); err != nil {
			err = fmt.Errorf("%s cannot be written: %w", dir, err)
		}
		return err != nil
	})
	return err
}

// AwaitRoom waits until directories take data again. It returns false when ctx ends
// first.
func AwaitRoom(ctx context.Context, dirs ...string) bool {
	full := func(dir string) bool { return probeDisk(dir) != nil }
	return look(ctx, func() bool { return !slices.ContainsFunc(dirs, full) })
}

// look calls found at intervals until it returns true. It returns false when ctx ends first.
func look(ctx context.Context, found func() bool) bool {
	ticker := time.NewTicker(diskInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
			if found() {
				return true
			}
		}
	}
}

// IsFull reports whether an error says that a disk has no room.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// probeDisk writes a small file and removes it.
func probeDisk(dir string) (err error) {
	f, err := os.CreateTemp(dir, "probe-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
