package postgrestest

import "syscall"

const (
	// memoryFolder is where files are in memory.
	memoryFolder = "/dev/shm"
	// plenty is more than the servers of some tests at a time need.
	plenty = 8 << 30
)

// roomInMemory reports whether there is plenty of room.
func roomInMemory() bool {
	var s syscall.Statfs_t
	return syscall.Statfs(memoryFolder, &s) == nil && s.Bavail*uint64(s.Bsize) >= plenty
}
