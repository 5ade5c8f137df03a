//go:build unix

package trainer

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeSize is how many bytes a pipe holds at most, whatever a process makes of it.
const pipeSize = 1 << 20

// pipe is the reading end of a pipe. One goroutine waits for output; others read at once what a
// process has written, as when its result arrives by another way.
type pipe struct {
	conn   syscall.RawConn
	buffer []byte
	// ended is why no more can be read.
	ended error
	// read reads all that is there, for drain.
	read func(fd uintptr)
}

// newPipe returns a pipe that calls take with what it reads, nil if reading from the file may
// block.
func newPipe(file *os.File, take func([]byte)) *pipe {
	conn, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	waits := true
	err = conn.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		waits = err != nil || flags&unix.O_NONBLOCK == 0
	})
	if err != nil || waits {
		return nil
	}
	p := &pipe{conn: conn, buffer: make([]byte, 8<<10)}
	p.read = func(fd uintptr) {
		// Not for ever, if a process writes without a pause.
		for range pipeSize / len(p.buffer) {
			n, err := syscall.Read(int(fd), p.buffer)
			switch {
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return
			case err != nil:
				p.ended = err
				return
			case n == 0:
				p.ended = io.EOF
				return
			default:
				take(p.buffer[:n])
			}
		}
	}
	return p
}

// drain reads what has been written. Calls must not overlap. An error means that there will be
// no more.
func (p *pipe) drain() error {
	if p.ended == nil {
		if err := p.conn.Control(p.read); err != nil {
			p.ended = err
		}
	}
	return p.ended
}

// wait waits until there is something to read and has it read by drain, which calls p.drain under
// the caller's lock. An error means that there will be no more.
func (p *pipe) wait(drain func() (came bool, end error)) error {
	var end error
	err := p.conn.Read(func(uintptr) bool {
		var came bool
		came, end = drain()
		return came || end != nil
	})
	return errors.Join(err, end)
}
