//go:build unix

package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"sweep/worker/group"
)

// pipeGrace is how long processes that cannot be killed may keep the program's pipes open.
const pipeGrace = 500 * time.Millisecond

// pipe is a named pipe. The reader sees no end while the writer here is open.
type pipe struct {
	path   string
	reader *os.File
	writer *os.File
}

// newPipe makes a named pipe in a folder.
func newPipe(folder string) (*pipe, error) {
	p := &pipe{path: filepath.Join(folder, "events")}
	err := syscall.Mkfifo(p.path, 0o600)
	if err == nil {
		p.reader, err = os.OpenFile(p.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	if err == nil {
		if p.writer, err = os.OpenFile(p.path, os.O_WRONLY, 0); err != nil {
			_ = p.reader.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pipe for metrics: %w", err)
	}
	return p, nil
}

// process is a program to be run.
type process struct {
	argv, env []string
	directory string
	log       io.Writer
	// read reads what the program writes to the pipe events.
	events *pipe
	read   func(io.Reader)
}

// run runs the program in a process group of its own and reads its output to the end. When ctx
// ends, the group gets SIGTERM, and SIGKILL after grace. Processes that the program leaves behind
// are killed.
func (p *process) run(ctx context.Context, grace time.Duration) (*os.ProcessState, error) {
	// The kernel kills the program when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env = p.directory, p.env
	output, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = input, input
	program, err := group.Start(cmd)
	_ = input.Close() // the program has its own
	if program == nil {
		_ = output.Close()
		p.events.close()
		return nil, err
	}
	if err != nil {
		fmt.Fprintf(p.log, "sweep: %v\n", err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(p.log, &written{file: output}) })
	reading.Go(func() { p.read(&written{file: p.events.reader}) })

	gone := make(chan struct{})
	var stopping sync.WaitGroup
	stopping.Go(func() {
		select {
		case <-gone:
			return
		case <-ctx.Done():
		}
		program.Signal(syscall.SIGTERM) // gone, perhaps
		select {
		case <-gone:
		case <-time.After(grace):
			program.Signal(syscall.SIGKILL)
		}
	})
	state, err := program.Wait()
	close(gone)
	stopping.Wait()
	if err := program.Clear(); err != nil {
		fmt.Fprintf(p.log, "sweep: %v\n", err)
	}
	// With the last writer closed the reader reaches the end.
	_ = p.events.writer.Close()
	timer := time.AfterFunc(pipeGrace, func() {
		for _, file := range []*os.File{output, p.events.reader} {
			if file.SetReadDeadline(time.Now()) != nil {
				_ = file.Close()
			}
		}
	})
	reading.Wait()
	timer.Stop()
	_ = output.Close()
	_ = p.events.reader.Close()
	return state, err
}

// pipeSize is how many bytes a pipe holds at most, whatever a program makes of it.
const pipeSize = 1 << 20

// written reads a pipe. After the file's deadline it waits for nothing, but still reads what the
// pipe holds: the reader may be late, and what the program wrote last is there.
type written struct {
	file *os.File
	// late counts the bytes that were read after the deadline. A process that still writes must
	// not keep the reader for ever.
	late int
}

// Read implements io.Reader.
func (w *written) Read(p []byte) (n int, err error) {
	n, err = w.file.Read(p)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	p = p[:min(len(p), pipeSize-w.late)]
	conn, err := w.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := conn.Control(func(fd uintptr) {
		for n, err = syscall.Read(int(fd), p); errors.Is(err, syscall.EINTR); {
			n, err = syscall.Read(int(fd), p)
		}
	})
	if failed != nil || err != nil || n == 0 {
		return 0, io.EOF
	}
	w.late += n
	return n, nil
}

// close closes a pipe that is not read.
func (p *pipe) close() {
	_ = p.reader.Close()
	_ = p.writer.Close()
}

// signalled returns the signal that ended a process, "" if none did.
func signalled(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

// errTaken means that another process has locked a folder.
var errTaken = errors.New("another trial uses it")

// lockFolder locks a folder until the file is closed.
func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, errTaken)
	}
	return f, nil
}

// links is how many names a file has.
func links(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert // of another type on other systems
	}
	return 0
}
