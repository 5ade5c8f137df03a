package group

import (
	"bytes"
	"os"
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
	// Not by os.File, whose bookkeeping costs more than the lists of all threads do: each program's end asks for them.
	const flags = unix.O_RDONLY | unix.O_CLOEXEC
	dir, err := open(unix.AT_FDCWD, "/proc/self/task", flags|unix.O_DIRECTORY)
	if err != nil {
		return childrenByParent()
	}
	defer func() { _ = unix.Close(dir) }() // it was only read
	buffer := make([]byte, 4096)
	var threads []string
	for {
		n, err := unix.ReadDirent(dir, buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		_, _, threads = unix.ParseDirent(buffer[:n], -1, threads)
	}
	listed := false
	for _, thread := range threads {
		list, err := open(dir, thread+"/children", flags)
		if err != nil {
			continue // the thread has ended: its children are another's
		}
		listed = true
		for _, word := range bytes.Fields(readAll(list, buffer)) {
			if pid, err := strconv.Atoi(string(word)); err == nil {
				pids = append(pids, pid)
			}
		}
		_ = unix.Close(list)
	}
	if !listed {
		return childrenByParent()
	}
	return pids
}

// open opens a file, and tries again if it is interrupted.
func open(dir int, path string, flags int) (fd int, err error) {
	for {
		if fd, err = unix.Openat(dir, path, flags, 0); err != unix.EINTR {
			return fd, err
		}
	}
}

// readAll returns what is in a file, in buffer if it has room.
func readAll(fd int, buffer []byte) []byte {
	text := buffer[:0]
	for {
		if len(text) == cap(text) {
			text = append(text, 0)[:len(text)]
		}
		n, err := unix.Read(fd, text[len(text):cap(text)])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return text
		}
		text = text[:len(text)+n]
	}
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
		if round > 0 {
			time.Sleep(lookAgain)
		}
		without++
		processes(func(pid int) {
			environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ") // it has ended, or is another user's
			if bytes.Contains(environ, []byte(mark)) && pid != os.Getpid() {
				without = 0
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}
