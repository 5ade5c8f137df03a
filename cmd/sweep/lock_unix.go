//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Who asks whether a run is at work, as "sweep status" does, has the lock for a moment. So it is tried for a
// second before it counts as another run's.
const (
	lockTries = 50
	lockPause = 20 * time.Millisecond
)

// lockHome makes this process the only one that runs sweeps in dir; the lock
// goes with the process, whatever ends it.
func lockHome(dir string) (release func(), err error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock of the state directory: %w", err)
	}
	taken, err := tryLock(f)
	for range lockTries {
		if taken || err != nil {
			break
		}
		time.Sleep(lockPause)
		taken, err = tryLock(f)
	}
	if !taken {
		owner, _ := os.ReadFile(path) // only for the message
		_ = f.Close()
		if err == nil {
			return nil,
				fmt.Errorf("another \"sweep run\" (process %s) is using %s: wait for it, or use another --home",
					strings.TrimSpace(string(owner)), dir)
		}
		return nil, fmt.Errorf("lock of the state directory: %w", err)
	}
	_ = f.Truncate(0) // the process number is only for the message above
	_, _ = fmt.Fprintln(f, os.Getpid())
	return func() { _ = unlock(f) }, nil
}

// tryLock makes an open file this process's alone until unlock, unless it is another's.
func tryLock(f *os.File) (taken bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// unlock closes a file. It gives the lock up first: a process that is being started at
// this moment has the file open too.
func unlock(f *os.File) error {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // where there is none it fails
	return f.Close()
}
