//go:build unix

package group

import "syscall"

// Kill kills every process of a group.
func Kill(pgid int) { _ = syscall.Kill(-pgid, syscall.SIGKILL) }

// KillOwn kills this process and, if it leads its group, what it has started.
func KillOwn() {
	if syscall.Getpgrp() == syscall.Getpid() {
		Kill(syscall.Getpid())
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
}
