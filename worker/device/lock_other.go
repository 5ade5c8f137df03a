//go:build !unix

package device

import "os"

func openLock(path string, flags int) (*os.File, error) { return os.OpenFile(path, flags, fileMode) }

// lockFile does nothing: there is no such lock.
func lockFile(*os.File) error { return nil }
