//go:build unix && !linux

package trainer

import "syscall"

// attributes puts a trainer in a group of its own. There is no parent-death
// signal: the guard, and the check in Serve, take its place.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
