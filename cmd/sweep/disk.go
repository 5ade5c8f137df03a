package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// diskInterval is the time between looks at the disk.
const diskInterval = time.Second

// watchDisk returns an error when dir takes no more data, nil when ctx ends. The
// broker reports a full disk only by no longer answering, so that a run would
// wait for ever.
func watchDisk(ctx context.Context, dir string) error {
	ticker := time.NewTicker(diskInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := probeDisk(dir); err != nil {
				return fmt.Errorf("%s is full or cannot be written: what is done is kept; make room and run the same command again to go on: %w", dir, err)
			}
		}
	}
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
