package main

import (
	"os"
	"runtime/debug"
)

// heapGrowth is the growth of the heap between two garbage collections, in percent of what lives.
const heapGrowth = 400

// collectLess makes the garbage collector of a process that dispatches trials work less often. Little
// lives in its heap, so that at Go's default the collector takes an eighth of the processor time of
// short trials. Near half of the memory that the process may use it works more often again. What the
// environment says (GOGC, GOMEMLIMIT) takes precedence. Trainers are not affected.
func collectLess() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(heapGrowth)
	if memory := hostMemory(); memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory / 2)
	}
}
