//go:build !unix

package sqlite

// firstEdition finds nobody where the first edition had no lock.
func firstEdition(string) (process string, err error) { return "", nil }
