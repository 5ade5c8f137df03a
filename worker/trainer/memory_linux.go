package trainer

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// residentMemory returns the resident memory of a process and its descendants, in bytes; 0 if
// it is gone. Shared pages count for each process.
func residentMemory(pid int) int64 {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	// The second number is the resident set in pages: see proc(5).
	statm, _ := os.ReadFile(proc + "/statm") // empty if the process is gone
	fields := bytes.Fields(statm)
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
		children, _ := os.ReadFile(proc + "/task/" + task.Name() + "/children")
		for _, child := range bytes.Fields(children) {
			if id, err := strconv.Atoi(string(child)); err == nil {
				sum += residentMemory(id)
			}
		}
	}
	return sum
}

// peakMemory returns the largest resident memory, in bytes, of a process that has ended or of
// one that it waited for.
func peakMemory(state *os.ProcessState) int64 {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10 // kilobytes, on Linux
	}
	return 0
}
