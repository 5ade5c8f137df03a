//go:build unix

package web

import (
	"errors"
	"os"
	"syscall"
)

// lockFile waits until no other open file has the lock of this one, and takes it until the file is closed.
func lockFile(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
