//go:build !unix

package group

import (
	"errors"
	"os"
	"syscall"
)

// There are no process groups: only the process itself is killed, by its os.Process.

// Attributes changes nothing here.
func Attributes() *syscall.SysProcAttr { return nil }

// Kill does nothing here.
func Kill(int) {}

// KillOwn ends this process.
func KillOwn() { os.Exit(1) }

// KillMarked does nothing here.
func KillMarked(string) {}

// Guard does not exist here.
type Guard struct{}

// StartGuard fails here.
func StartGuard(string, string, string) (*Guard, error) {
	return nil, errors.New("not supported on this system")
}

// Watch does nothing here.
func (g *Guard) Watch(...int) error { return nil }

// Stop does nothing here.
func (g *Guard) Stop() {}
