//go:build !unix

package worker

import (
	"errors"
	"os"
)

// lockDir opens a directory. Where there are no locks, nobody can tell whether one of another worker is in use.
func lockDir(path string, own bool) (*os.File, error) {
	if !own {
		return nil, errors.ErrUnsupported
	}
	return os.Open(path)
}
