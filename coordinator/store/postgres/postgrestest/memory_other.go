//go:build !linux

package postgrestest

const memoryFolder = ""

func roomInMemory() bool { return false }
