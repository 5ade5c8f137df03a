//go:build !unix

package main

import "os"

// lockHome does nothing where there is no flock.
func lockHome(string) (release func(), err error) { return func() {}, nil }

// tryLock takes the file for this process's.
func tryLock(*os.File) (taken bool, err error) { return true, nil }

// unlock closes a file.
func unlock(f *os.File) error { return f.Close() }
