//go:build unix

package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// firstVersion returns the process that leads by the lock of the first version,
// or "sweep run" has: a file called lock in the folder of the database, the
// program's home unless it was moved. "" if there is none, or it is this process.
func firstVersion(database string) (process string, err error) {
	f, err := os.Open(filepath.Join(filepath.Dir(database), "lock"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	// A process that is being started at this moment has the file open too, and would keep the lock.
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // where there is none it fails
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return "", err
	}
	text, err := os.ReadFile(f.Name())
	if process = strings.TrimSpace(string(text)); process == strconv.Itoa(os.Getpid()) {
		return "", err
	}
	return "process " + process, err
}
