package group

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of its descendants whose parents end. Old kernels cannot:
// then what leaves a program's group is only found by the mark, at the end of this process.
func adopt() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// children returns the process ids of this process' children.
func children() (pids []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is right
	if len(lists) == 0 {
		return childrenByParent()
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread has ended: its children are another's
		for _, word := range bytes.Fields(text) {
			if pid, err := strconv.Atoi(string(word)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// childrenByParent looks at all processes, for kernels that do not list children.
func childrenByParent() (pids []int) {
	own := []byte(strconv.Itoa(os.Getpid()))
	processes(func(pid int) {
		// pid (name) state parent …
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // it has ended
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && bytes.Equal(fields[1], own) {
			pids = append(pids, pid)
		}
	})
	return pids
}

// processes calls a function for every process.
func processes(each func(pid int)) {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer func() { _ = proc.Close() }()
	names, _ := proc.Readdirnames(-1) // as many as there are
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			each(pid)
		}
	}
}

// lookAgain is after what time KillMarked looks again.
const lookAgain = 2 * time.Millisecond

// KillMarked kills the processes that have a mark in their environment. What they start meanwhile is found in the next
// round, and so is a process that executes another program just now: it shows no environment for a moment.
func KillMarked(mark string) {
	const most, enough = 100, 3
	for round, without := 0, 0; round < most && without < enough; round++ {
		without++
		processes(func(pid int) {
			environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ") // it has ended, or is another user's
			if bytes.Contains(environ, []byte(mark)) && pid != os.Getpid() {
				without = 0
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		time.Sleep(lookAgain)
	}
}
