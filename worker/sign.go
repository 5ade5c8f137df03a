package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"sweep/sweep"
)

// memoryPart is the part of a machine's memory below which it has too little left: 1/memoryPart.
const memoryPart = 64

// noMemory are texts with which programs end that get no memory. Those about a device's memory are not among them.
var noMemory = []string{"cannot allocate memory", "std::bad_alloc", ": memoryerror", "\nmemoryerror",
	"arraymemoryerror"}

// diskFull is the text with which programs end that find a disk full.
var diskFull = strings.ToLower(syscall.ENOSPC.Error())

// machineFailed returns what the machine lacks by its own account, of a trial that failed for that reason by the texts
// that it left; nil if it lacks nothing. A trial's unfinished files and its processes are gone by then: one that filled
// the disk or the memory itself is to blame.
func (w *Worker) machineFailed(texts ...string) error {
	for _, text := range texts {
		text = strings.ToLower(text)
		if strings.Contains(text, diskFull) || containsAny(text, noMemory) {
			return w.machine()
		}
	}
	return nil
}

// resultSigns are the texts of a result that tell why it failed.
func resultSigns(r *sweep.Result) []string { return []string{r.Error, r.Stderr} }

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// probeMemory returns an error if the machine has no memory left, as far as it tells.
func probeMemory() error {
	text, _ := os.ReadFile("/proc/meminfo") // a system without it says nothing
	return memoryLeft(string(text))
}

// memoryLeft returns an error if /proc/meminfo says that too little memory is left.
func memoryLeft(meminfo string) error {
	sizes := map[string]int64{}
	for line := range strings.Lines(meminfo) {
		if fields := strings.Fields(line); len(fields) > 1 {
			if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				sizes[fields[0]] = n << 10
			}
		}
	}
	total, left := sizes["MemTotal:"], sizes["MemAvailable:"]
	if total == 0 || left >= total/memoryPart {
		return nil
	}
	return fmt.Errorf("the machine has %s of %s of memory left: %w", sweep.SizeText(left), sweep.SizeText(total),
		syscall.ENOMEM)
}
