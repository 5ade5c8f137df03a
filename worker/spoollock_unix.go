//go:build unix

package worker

import (
	"fmt"
	"os"
	"syscall"
)

// lockDir makes a directory this worker's until the file is closed or the process ends. It fails if it is another's.
func lockDir(path string, _ bool) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: another worker uses it: %w", path, err)
	}
	return f, nil
}
