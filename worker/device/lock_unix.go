//go:build unix

package device

import (
	"os"
	"syscall"
)

// openLock opens a file that may be in a folder of everybody's.
func openLock(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW, fileMode)
}

// lockFile locks a file, or fails at once.
func lockFile(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
