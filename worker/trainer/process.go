package trainer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"sweep/sweep"
)

const (
	// cancelGrace is how long a cancelled Train may take to return.
	cancelGrace = 3 * time.Second
	// closeGrace is how long a closed process may take to exit by itself.
	closeGrace = time.Second
	// deathGrace is how long a process may run after the loss of its connection.
	deathGrace = 2 * time.Second
)

// process is a launched trainer.
type process struct {
	*client
	name       string
	command    *command
	plugin     *plugin.Client
	connection *grpc.ClientConn
	// description is the trainer's answer at the start.
	description *sweep.Description

	close  sync.Once
	closed chan struct{}
}

func newProcess(name string, command *command, host *plugin.Client, connection *grpc.ClientConn) *process {
	p := &process{client: newClient(connection), name: name, command: command, plugin: host, connection: connection,
		closed: make(chan struct{})}
	p.abandon, p.scratch = command.kill, command.scratch.temp()
	p.fault = p.diagnose
	return p
}

// Describe implements sweep.Trainer. It returns the description that Launch requested.
func (p *process) Describe(ctx context.Context) (*sweep.Description, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !p.Alive() {
		return nil, p.diagnose(errors.New("not running"))
	}
	return p.description, nil
}

// Alive implements sweep.Process.
func (p *process) Alive() bool {
	select {
	case <-p.closed:
		return false
	case <-p.command.exited:
		return false
	default:
		return p.command.alive()
	}
}

// Stderr implements sweep.Process.
func (p *process) Stderr() string {
	p.command.stderr.drain()
	return p.command.stderr.String()
}

// Log implements sweep.Process.
func (p *process) Log(from int64) (text string, start, end int64) {
	p.command.stderr.drain()
	return p.command.stderr.since(from)
}

// Close implements sweep.Process. It asks the process to exit and kills it and its group after
// closeGrace.
func (p *process) Close() error {
	p.close.Do(func() {
		close(p.closed)
		p.end()
		shut(p.plugin, p.command, closeGrace)
	})
	return nil
}

// shut ends a process and frees everything that go-plugin holds for it.
func shut(host *plugin.Client, command *command, grace time.Duration) {
	timer := time.AfterFunc(grace, func() { command.kill("") })
	host.Kill()
	timer.Stop()
	command.kill("")
	if command.ID() != "" {
		<-command.gone
	}
}

// diagnose returns the cause of an error of the connection: a *DiedError if the process has died
// or no longer answers, and is killed; else the trainer's own error.
func (p *process) diagnose(err error) error {
	select {
	case <-p.closed:
		return fmt.Errorf("trainer %s: %w", p.name, ErrClosed)
	default:
	}
	suspect := !p.command.alive()
	switch status.Code(err) {
	case codes.Unavailable, codes.Internal, codes.Canceled:
		suspect = true
	}
	if suspect && !p.ends() && p.connection.GetState() != connectivity.Ready {
		p.command.kill("closed its connection but did not exit, killed")
		<-p.command.exited
	}
	select {
	case <-p.command.exited:
		return &DiedError{Name: p.name, Exit: p.command.exit(), Stderr: p.Stderr()}
	default:
	}
	if s, ok := status.FromError(err); ok {
		return fmt.Errorf("trainer %s: %s", p.name, s.Message())
	}
	return fmt.Errorf("trainer %s: %w", p.name, err)
}

// ends waits up to deathGrace for the end of the process, and reports whether it ended. On a busy
// machine the news of an end may come later than that.
func (p *process) ends() bool {
	select {
	case <-p.command.exited:
		return true
	case <-time.After(deathGrace):
	}
	pid, err := strconv.Atoi(p.command.ID())
	if err != nil || !hasEnded(pid) {
		return false
	}
	<-p.command.exited
	return true
}

// forget removes the socket after the only connection is open: nobody else can connect, and a
// killed worker leaves no files behind.
func forget(socketDir string) { _ = os.RemoveAll(socketDir) }
