//go:build !linux

package script

import "os"

// cloneFile is not supported here.
func cloneFile(_, _ *os.File) error { return errNoClone }
