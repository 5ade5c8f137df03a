//go:build unix

package trainer

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// pipe is the end of a pipe from which somebody reads as something comes, and
// others what is there: what a process wrote before it said something elsewhere is
// there.
type pipe struct {
	conn   syscall.RawConn
	buffer []byte
	// ended is why nothing more will be found.
	ended error
	// read is drain's part that has the file, made once.
	read func(fd uintptr)
}

// newPipe returns a pipe that hands what it reads to take, nil if reading from the
// file might wait.
func newPipe(file *os.File, take func([]byte)) *pipe {
	conn, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	waits := true
	err = conn.Control(func(fd uintptr) {
		waits, _ = isBlocking(int(fd))
	})
	if err != nil || waits {
		return nil
	}
	p := &pipe{conn: conn, buffer: make([]byte, 8<<10)}
	p.read = func(fd uintptr) {
		for {
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

// drain takes what is there. Whoever calls it has a lock that keeps others out. The
// error says that there will be no more.
func (p *pipe) drain() error {
	if p.ended == nil {
		if err := p.conn.Control(p.read); err != nil {
			p.ended = err
		}
	}
	return p.ended
}

// wait waits until something comes and has it taken in by drain, which is p's
// within its lock. The error says that there will be no more.
func (p *pipe) wait(drain func() (came bool, end error)) error {
	var end error
	err := p.conn.Read(func(uintptr) bool {
		var came bool
		came, end = drain()
		return came || end != nil
	})
	return errors.Join(err, end)
}

// isBlocking reports whether reading from a file waits.
func isBlocking(fd int) (bool, error) {
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if errno != 0 {
		return true, errno
	}
	return flags&syscall.O_NONBLOCK == 0, nil
}
