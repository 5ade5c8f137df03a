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
	"google.golang.org/grpc/tap"

	"sweep/sweep"
	"sweep/worker/group"
)

// parentInterval is how often a trainer checks that its worker still runs.
const parentInterval = time.Second

// parent is the process that started this one, noted as early as possible.
var parent = os.Getppid()

// Serve serves t to the worker that started this process, and returns when the
// worker has closed it; main should return then. It must be called before
// anything is written to standard output.
//
// While Serve runs:
//   - Standard error goes to the worker, which logs it and keeps its end for the
//     result of a trial that fails. os.Stdout is discarded.
//   - SIGINT and SIGTERM are ignored: the worker decides when a trainer ends. When
//     the worker dies, the process and its group are killed.
//   - A panic of t ends the process with the stack on standard error, and the
//     worker sees a *DiedError: nothing is recovered, so that no trial is trained
//     with the state that a panic left.
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
	// Notify, not Ignore: processes that the trainer starts would inherit the latter.
	signal.Notify(terminations, syscall.SIGTERM)

	stdout, stderr := discard(), os.Stderr
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{pluginName: &adapter{trainer: t}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, serverOptions(stdout, stderr)...)...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr}),
	})
}

// windowSize is how many bytes may be sent before they are read. If gRPC estimated it, each
// message of a trial would cost a ping and its answer.
const windowSize = 1 << 20

// serverOptions returns the options of a trainer's server: messages have no limit, since a
// checkpoint may exceed gRPC's 4 MiB. The first call sets os.Stdout and os.Stderr: go-plugin
// replaces them before it serves and sends both through gRPC, where the last lines of a dying
// process would be lost.
func serverOptions(stdout, stderr *os.File) []grpc.ServerOption {
	restore := sync.OnceFunc(func() { os.Stdout, os.Stderr = stdout, stderr })
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(math.MaxInt32),
		grpc.StaticConnWindowSize(windowSize),
		grpc.StaticStreamWindowSize(windowSize),
		grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
			restore()
			return ctx, nil
		}),
	}
}

// watchParent kills this process and its group when the process that started it has ended.
func watchParent() {
	for range time.Tick(parentInterval) {
		if os.Getppid() != parent {
			group.KillOwn()
		}
	}
}

// discard opens the null device; it returns standard error if that fails.
func discard() *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return os.Stderr
	}
	return f
}
