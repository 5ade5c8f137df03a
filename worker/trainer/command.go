package trainer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sweep/worker/group"
)

// pipeGrace is how long processes that outlive a dead process may keep its pipes open.
const pipeGrace = 500 * time.Millisecond

// command starts, watches and kills a trainer's process. It implements go-plugin's
// runner.Runner.
type command struct {
	argv []string
	env  []string
	// secrets are hidden from the process. scratch is its directory, removed when it has ended.
	secrets []string
	scratch *scratch
	// mark is in the environment of the process and of what it starts.
	mark   string
	log    *slog.Logger
	stderr tail
	// handshake and line carry the first line of standard output to go-plugin.
	handshake *io.PipeReader
	line      *io.PipeWriter
	// exited is closed when the process and its group have ended and their output was read;
	// state is set then. gone is closed when its directory is removed, too.
	exited, gone chan struct{}
	state        *os.ProcessState

	mu      sync.Mutex
	process *os.Process // nil before the start and after the end
	pid     int         // 0 before the start
	ended   bool        // the process has ended, or must not start any more
	reason  string      // why it was killed, if it was
	first   string      // the first line of standard output
	peak    int64       // the largest memory seen, in bytes
}

func newCommand(argv, secrets []string, scratch *scratch, log *slog.Logger) *command {
	c := &command{argv: argv, secrets: secrets, scratch: scratch, mark: group.NewMark(), log: log,
		exited: make(chan struct{}), gone: make(chan struct{})}
	c.handshake, c.line = io.Pipe()
	return c
}

// Start implements runner.Runner.
func (c *command) Start(context.Context) error {
	started := make(chan error, 1)
	go c.run(started)
	return <-started
}

// run starts the process, sends the error or nil to started, and waits for its end. It keeps its
// thread: the kernel sends the parent-death signal when the thread that started a process ends. A
// thread from which secrets are hidden is not used again: it ends with run.
func (c *command) run(started chan<- error) {
	runtime.LockOSThread()
	defer close(c.gone)
	defer c.scratch.remove()
	defer close(c.exited)
	defer func() { _ = c.line.Close() }()
	if len(c.secrets) > 0 && CanHide() == nil {
		if err := hide(c.secrets); err != nil {
			started <- fmt.Errorf("hide the worker's secrets from it: %w", err)
			return
		}
	} else {
		defer runtime.UnlockOSThread()
	}

	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env = append(c.env, c.mark)
	cmd.SysProcAttr = group.Attributes()
	stdout, stderr, err := c.launch(cmd)
	if err != nil {
		started <- err
		return
	}
	pid := cmd.Process.Pid
	guard, err := group.StartGuard("sweep-trainer-guard", c.mark, c.scratch.dir)
	if err == nil {
		err = guard.Watch(pid)
	}
	if err != nil {
		c.log.Debug("no guard: processes that the trainer starts may outlive this one", "error", err)
	}
	c.stderr.open(stderr, c.log)
	var reading sync.WaitGroup
	reading.Go(func() { c.readStdout(stdout) })
	reading.Go(func() { c.stderr.forward(stderr, c.log) })
	started <- nil

	// Process.Wait leaves the pipes open, which Cmd.Wait would close unread.
	c.state, err = cmd.Process.Wait()
	if err != nil {
		c.log.Error("waiting for the trainer", "error", err)
	}
	c.mu.Lock()
	c.process, c.ended = nil, true
	c.mu.Unlock()
	group.Kill(pid)
	group.KillMarked(c.mark)
	guard.Stop()
	// Processes that lost the mark may hold the pipes open. What the dead process wrote is read,
	// however late its readers are.
	timer := time.AfterFunc(pipeGrace, func() {
		if file, ok := stdout.(*os.File); !ok || file.SetReadDeadline(time.Now()) != nil {
			_ = stdout.Close()
		}
		c.stderr.drain()
		_ = stderr.Close()
	})
	reading.Wait()
	timer.Stop()
	_ = stdout.Close()
	_ = stderr.Close()
	c.log.Debug("trainer process ended", "how", c.exit())
}

// launch starts the process, unless it was killed before, and returns its output.
func (c *command) launch(cmd *exec.Cmd) (stdout, stderr io.ReadCloser, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, nil, errors.New("killed before it started")
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	if stderr, err = cmd.StderrPipe(); err != nil {
		return nil, nil, errors.Join(err, stdout.Close())
	}
	if err := cmd.Start(); err != nil { // which closes both
		return nil, nil, err
	}
	c.process, c.pid = cmd.Process, cmd.Process.Pid
	return stdout, stderr, nil
}

// readStdout sends the first line to go-plugin and discards the rest: a process that prints must
// not block.
func (c *command) readStdout(r io.Reader) {
	const longest = 16 << 10
	lines := bufio.NewReaderSize(r, longest)
	line, err := lines.ReadSlice('\n')
	if file, ok := r.(*os.File); ok && errors.Is(err, os.ErrDeadlineExceeded) {
		// The process has ended before its first line was read, but the pipe still has it.
		line = slices.Clone(line)
		if p := newPipe(file, func(more []byte) { line = append(line, more...) }); p != nil {
			_ = p.drain()
		}
		line = line[:min(len(line), longest)]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n+1]
		}
	}
	if len(line) > 0 {
		c.mu.Lock()
		c.first = strings.TrimSpace(string(line))
		c.mu.Unlock()
		_, _ = c.line.Write(line)
	}
	if err == nil || errors.Is(err, bufio.ErrBufferFull) {
		if err != nil {
			_, _ = c.line.Write([]byte{'\n'})
		}
		_, _ = io.Copy(io.Discard, lines)
	}
}

// kill kills the process and its group for a reason, which exit reports.
func (c *command) kill(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended && c.reason == "" {
		c.reason = reason
	}
	if c.process == nil {
		c.ended = true
		return
	}
	group.Kill(c.process.Pid)
	// The process may have left its group.
	_ = c.process.Kill()
}

// alive reports whether the process runs and has not been killed.
func (c *command) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.process != nil && c.reason == ""
}

// exit returns how the process ended.
func (c *command) exit() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.reason != "":
		return c.reason
	case c.state == nil:
		return "not started"
	}
	return c.state.String()
}

// firstLine returns the first line of standard output.
func (c *command) firstLine() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first
}

// Wait implements runner.AttachedRunner.
func (c *command) Wait(context.Context) error {
	<-c.exited
	if c.state == nil || !c.state.Success() {
		return errors.New(c.exit())
	}
	return nil
}

// Kill implements runner.AttachedRunner.
func (c *command) Kill(context.Context) error {
	c.kill("")
	return nil
}

// Diagnose implements runner.Runner; Launcher.explain says more.
func (c *command) Diagnose(context.Context) string { return "" }

// Stdout implements runner.Runner.
func (c *command) Stdout() io.ReadCloser { return c.handshake }

// Stderr implements runner.Runner: standard error is read here, not by go-plugin.
func (c *command) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name implements runner.Runner.
func (c *command) Name() string { return c.argv[0] }

// ID implements runner.AttachedRunner: the process id, or nothing before the start.
func (c *command) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid == 0 {
		return ""
	}
	return strconv.Itoa(c.pid)
}

// PluginToHost implements runner.AddrTranslator. It rejects a trainer that other machines can
// reach.
func (c *command) PluginToHost(network, address string) (string, string, error) {
	switch network {
	case "unix":
		return network, address, nil
	case "tcp":
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsLoopback() {
			return network, address, nil
		}
	}
	return "", "", fmt.Errorf("it listens on %s %s: only a Unix socket or a loopback address is safe", network, address)
}

// HostToPlugin implements runner.AddrTranslator.
func (c *command) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
