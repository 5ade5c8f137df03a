package trainer

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"sweep/sweep"
	"sweep/worker/group"
)

// parentInterval is how often a trainer looks whether its worker still lives.
const parentInterval = time.Second

// parent is the process that started this one. It is taken down before anything
// else, so that hardly a parent can end unnoticed.
var parent = os.Getppid()

// Serve serves t to the worker that started this process, and returns when the
// worker has closed it; main should return then. It must be called before
// anything is written to standard output.
//
// While Serve runs:
//   - Standard error goes to the worker, which logs it and keeps its end for the
//     result of a trial that fails. os.Stdout is discarded.
//   - SIGINT and SIGTERM are ignored: it is the worker that decides when a
//     trainer ends. When the worker dies, the process and its group are killed.
//   - A panic of t ends the process with the stack on standard error, and the
//     worker sees a *DiedError: nothing is recovered, so that no trial is trained
//     on what a panic has left behind.
//
// A process that was not started by a worker gets a message and exits with status 1.
func Serve(t sweep.Trainer) {
	if os.Getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
		name := filepath.Base(os.Args[0])
		fmt.Fprintf(os.Stderr, "%s is a trainer, which sweep starts by itself.\n"+
			"Put it into a directory of --trainer-path and name it in a sweep file: \"trainer: %s\".\n", name, name)
		os.Exit(1)
	}
	go watchParent()
	terminations := make(chan os.Signal, 1)
	// Notify, not Ignore: what the trainer starts would inherit the latter.
	signal.Notify(terminations, syscall.SIGTERM)

	streams := &streams{stdout: discard(), stderr: os.Stderr}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{pluginName: &adapter{trainer: t}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, serverOptions(streams)...)...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr}),
	})
}

// windowSize is how many bytes may be on their way unread. One that gRPC estimates
// costs a ping and its answer for each message of a trial.
const windowSize = 1 << 20

// serverOptions lets checkpoints of any size in, which gRPC limits to 4 MiB.
func serverOptions(s *streams) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(math.MaxInt32),
		grpc.StaticConnWindowSize(windowSize),
		grpc.StaticStreamWindowSize(windowSize),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
	}
}

// watchParent kills this process, and what it has started, when its parent is no
// longer the one that started it. It runs as long as the process.
func watchParent() {
	for range time.Tick(parentInterval) {
		if os.Getppid() != parent {
			group.KillOwn()
		}
	}
}

// streams puts os.Stdout and os.Stderr back: go-plugin sends both through gRPC,
// where the last words of a process that dies would be lost. It replaces them
// before it serves, so the first call is the time to undo it.
type streams struct {
	once           sync.Once
	stdout, stderr *os.File
}

func (s *streams) restore() {
	s.once.Do(func() { os.Stdout, os.Stderr = s.stdout, s.stderr })
}

func (s *streams) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo,
	handle grpc.UnaryHandler) (any, error) {
	s.restore()
	return handle(ctx, request)
}

func (s *streams) stream(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo,
	handle grpc.StreamHandler) error {
	s.restore()
	return handle(service, stream)
}

// discard returns a file that takes everything; standard error, if there is none.
func discard() *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return os.Stderr
	}
	return f
}
