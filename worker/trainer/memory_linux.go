package trainer

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// residentMemory is the resident memory of a process and of what it started, in
// bytes; 0 if it is gone. Pages that several of them share count for each.
func residentMemory(pid int) int64 {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	// The second number is the resident set in pages: see proc(5).
	fields := bytes.Fields(read(proc + "/statm"))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	sum := pages * int64(os.Getpagesize())
	tasks, err := os.ReadDir(proc + "/task")
	if err != nil {
		return sum
	}
	for _, task := range tasks {
		for _, child := range bytes.Fields(read(proc + "/task/" + task.Name() + "/children")) {
			if id, err := strconv.Atoi(string(child)); err == nil {
				sum += residentMemory(id)
			}
		}
	}
	return sum
}

// read returns a file's content, nothing if it is gone.
func read(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return data
}

// peakMemory is the largest resident memory that a process had which has ended,
// or one of those it waited for.
func peakMemory(state *os.ProcessState) int64 {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10 // kilobytes, on Linux
	}
	return 0
}
