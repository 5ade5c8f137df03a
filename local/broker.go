package local

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// broker is an in-process NATS server with JetStream on disk. It listens on no
// port: only this process can reach it.
type broker struct {
	server *server.Server
	conn   *nats.Conn
}

// startTime bounds the server's start and the connection to it: a busy machine takes its time.
const startTime = 30 * time.Second

// startBroker starts the server with its files under dir. The server's own
// fsync interval is left as it is: the database is the truth, and a broker that
// loses its files costs time and nothing else.
func startBroker(dir string) (*broker, error) {
	s, err := server.NewServer(&server.Options{
		ServerName:      "sweep-local",
		JetStream:       true,
		StoreDir:        filepath.Join(dir, "broker"),
		DontListen:      true,
		NoSigs:          true,
		NoLog:           true,
		NoSystemAccount: true,
	})
	if err != nil {
		return nil, fmt.Errorf("in-process NATS server: %w", err)
	}
	b := &broker{server: s}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		b.Close()
		return nil, fmt.Errorf("in-process NATS server: not ready after %v; is the disk of %s full?", startTime, dir)
	}
	b.conn, err = nats.Connect("", nats.InProcessServer(s), nats.Name("sweep run"), nats.MaxReconnects(-1),
		nats.Timeout(startTime))
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("in-process NATS server: %w", err)
	}
	return b, nil
}

// Close ends the connection, if there is one, and waits for the server: its files suffer otherwise.
func (b *broker) Close() {
	b.conn.Close()
	b.server.Shutdown()
	b.server.WaitForShutdown()
}
