//go:build !unix

package sqlite

// firstVersion finds nobody where the first version had no lock.
func firstVersion(string) (process string, err error) { return "", nil }
