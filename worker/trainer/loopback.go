package trainer

import (
	"context"
	"math"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// Loopback returns t as it looks from the other end of the wire, without a
// process in between, and a function that takes the wire down. It is for tests
// of trainers: what passes here passes in a process.
func Loopback(t sweep.Trainer) (sweep.Trainer, func(), error) {
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(serverOptions(&streams{stdout: os.Stdout, stderr: os.Stderr})...)
	trainerpb.RegisterTrainerServer(server, newServer(t))
	served := make(chan struct{})
	go func() {
		defer close(served)
		// Serve ends with Stop; there is nobody else to hear of it.
		_ = server.Serve(listener)
	}()
	connection, err := grpc.NewClient("passthrough:///trainer",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		server.Stop()
		<-served
		return nil, nil, err
	}
	c := newClient(connection)
	c.abandon, c.scratch = func(string) {}, os.TempDir()
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
		<-served
	}, nil
}
