//go:build unix

package trainer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openNow opens a file without waiting for its writer: a trainer may name a pipe.
const openNow = syscall.O_NONBLOCK

// errLocked means that another process has locked a directory.
var errLocked = errors.New("another process uses it")

// lockDirectory locks a directory of this user. If the directory is removed meanwhile, the error
// wraps fs.ErrNotExist.
func lockDirectory(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
			err = fmt.Errorf("%s: %w", path, fs.ErrPermission)
		}
	}
	if err == nil && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		err = fmt.Errorf("%s: %w", path, errLocked)
	}
	if err == nil {
		var now os.FileInfo
		if now, err = os.Lstat(path); err == nil && !os.SameFile(now, info) {
			err = fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
