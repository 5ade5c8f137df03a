package device

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// SlotVariable has the number of a trial's slot.
const SlotVariable = "SWEEP_SLOT"

// origin says where a process comes from.
type origin struct {
	// there means that it can be seen here: a driver may number processes as the host does.
	there bool
	// own means that this process has started it, directly or not, in a slot, which is -1 if it is not known.
	own  bool
	slot int
}

// originOf finds out where a process comes from.
func originOf(pid int) origin {
	o := origin{slot: -1}
	const deepest = 64
	for p, depth := pid, 0; p > 1 && depth < deepest; depth++ {
		if p == os.Getpid() {
			o.own = true
			break
		}
		// pid (name) state parent …
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		if err != nil {
			break
		}
		o.there = true
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			break
		}
		if p, err = strconv.Atoi(string(fields[1])); err != nil {
			break
		}
	}
	if o.own {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // it has ended
		for entry := range bytes.SplitSeq(environ, []byte{0}) {
			if value, ok := bytes.CutPrefix(entry, []byte(SlotVariable+"=")); ok {
				if slot, err := strconv.Atoi(string(value)); err == nil {
					o.slot = slot
				}
			}
		}
	}
	return o
}
