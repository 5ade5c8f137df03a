//go:build unix

package sqlite

import (
	"errors"
	"path/filepath"
	"syscall"
)

// onReadOnlySystem reports whether a file is on a file system that nobody can write to now.
func onReadOnlySystem(path string) bool {
	const write = 2 // W_OK
	return errors.Is(syscall.Access(filepath.Dir(path), write), syscall.EROFS)
}
