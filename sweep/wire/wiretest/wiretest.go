// Package wiretest starts a real NATS server with JetStream inside a test.
package wiretest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Start returns a connection to a fresh server that listens on no port and
// keeps its files in a temporary directory; the test's end stops both.
func Start(t testing.TB) *nats.Conn {
	t.Helper()
	return StartIn(t, t.TempDir())
}

// StartIn is Start with the server's files in dir, for tests that start a
// server again on the files of an earlier one.
func StartIn(t testing.TB, dir string) *nats.Conn {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		ServerName: "test", JetStream: true, StoreDir: dir, DontListen: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatalf("NATS server: %v", err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS server: not ready after 10 s")
	}
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatalf("NATS server: %v", err)
	}
	t.Cleanup(conn.Close)
	return conn
}
