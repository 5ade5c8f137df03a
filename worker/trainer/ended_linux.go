package trainer

import (
	"errors"

	"golang.org/x/sys/unix"
)

// hasEnded reports whether a process that this one started has ended, whether or not it was
// waited for.
func hasEnded(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return errors.Is(err, unix.ECHILD) || err == nil && info.Signo != 0
}
