//go:build !linux

package trainer

// hasEnded is not known here before the process was waited for.
func hasEnded(int) bool { return false }
