//go:build !linux

package postgrestest

import "syscall"

// setParentDeathSignal does nothing: only Linux has such a signal.
func setParentDeathSignal(*syscall.SysProcAttr) {}
