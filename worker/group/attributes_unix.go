//go:build unix && !linux

package group

import "syscall"

// Attributes puts a process in a group of its own. There is no parent-death signal: the guard
// kills the process.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
