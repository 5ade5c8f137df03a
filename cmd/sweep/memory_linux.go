package main

import (
	"os"
	"strconv"
	"strings"
)

// hostMemory is the memory that this process may use: the host's, or the control
// group's if that is less; 0 if it is not known.
func hostMemory() int64 {
	var total int64
	text, _ := os.ReadFile("/proc/meminfo") // a file that cannot be read says nothing, nor do those below
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
			if kilobytes, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				total = kilobytes << 10
			}
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, _ := os.ReadFile(path)
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil &&
			(total == 0 || limit < total) {
			total = limit
		}
	}
	return total
}
