//go:build unix && !linux

package script

import "syscall"

// attributes puts a program in a group of its own; the guard takes the place of a
// parent-death signal.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
