package script

import "syscall"

// attributes puts a program in a group of its own and has the kernel kill it when
// the thread that starts it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
