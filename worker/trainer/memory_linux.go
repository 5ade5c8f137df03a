package trainer

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
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
	for _, child := range children(proc) {
		sum += residentMemory(child)
	}
	return sum
}

// children returns the children of the process with this folder of /proc.
func children(proc string) (pids []int) {
	tasks, _ := os.ReadDir(proc + "/task") // none if the process is gone
	for _, task := range tasks {
		list, _ := os.ReadFile(proc + "/task/" + task.Name() + "/children")
		for _, child := range bytes.Fields(list) {
			if pid, err := strconv.Atoi(string(child)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// ticks is how often a second Linux counts processor time for /proc.
const ticks = 100

// processorTime returns the processor time of a process and its descendants, with that of their children that have
// ended and been waited for.
func processorTime(pid int) time.Duration {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	stat, _ := os.ReadFile(proc + "/stat") // empty if the process is gone
	// pid (name) state ppid … with utime, stime and those of ended children from field 14 on: see proc(5).
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return 0
	}
	var sum time.Duration
	for _, field := range fields[11:15] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * time.Second / ticks
	}
	for _, child := range children(proc) {
		sum += processorTime(child)
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
