package group

import "syscall"

// Attributes puts a process in a group of its own and has the kernel kill it when the thread
// that starts it ends.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
