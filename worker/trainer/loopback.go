package trainer

import (
	"context"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// Loopback returns t behind a connection within this process, and a function that closes the
// connection. It is for tests of trainers: they behave the same in a process of their own.
func Loopback(t sweep.Trainer) (sweep.Trainer, func(), error) {
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(serverOptions(os.Stdout, os.Stderr)...)
	trainerpb.RegisterTrainerServer(server, newServer(t))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Stop
	connection, err := grpc.NewClient("passthrough:///trainer",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		server.Stop()
		serving.Wait()
		return nil, nil, err
	}
	c := newClient(connection)
	c.abandon, c.scratch = func(string) {}, os.TempDir()
	c.grace = 5 * time.Minute // there is no process to kill
	c.fault = func(err error) error {
		if s, ok := status.FromError(err); ok {
			return &refusal{text: s.Message()}
		}
		return err
	}
	return c, func() {
		c.end()
		_ = connection.Close()
		server.Stop()
		serving.Wait()
	}, nil
}
