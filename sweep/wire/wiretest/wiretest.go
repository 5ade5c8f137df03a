// Package wiretest starts real NATS servers with JetStream in a test: one, a cluster or a leaf.
//
//	conn := wiretest.Start(t) // a connection to a new server
package wiretest

import (
	"net"
	"sync"
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

// StartIn is Start with the server's files in dir.
func StartIn(t testing.TB, dir string) *nats.Conn {
	t.Helper()
	return Run(t, Options{Dir: dir}).Connect(t)
}

// Options are the settings of a Server.
type Options struct {
	// Dir holds the server's files.
	Dir string
	// Port of the loopback interface: 0 listens on none, -1 on a free one.
	Port int
	// MaxPayload limits the size of messages; the server's default if 0.
	MaxPayload int32
	// MaxStore limits the bytes that JetStream keeps in files; the server's default
	// if 0.
	MaxStore int64
	// MaxConnections limits the connections; the server's default if 0.
	MaxConnections int
}

// Server is a NATS server that a test stops and starts.
type Server struct {
	server  *server.Server
	listens bool
	stop    sync.Once
}

// Run starts a server; the test's end stops it.
func Run(t testing.TB, options Options) *Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		ServerName: "test", JetStream: true, StoreDir: options.Dir, NoSigs: true, NoLog: true,
		Host: "127.0.0.1", Port: options.Port, DontListen: options.Port == 0, MaxPayload: options.MaxPayload,
		JetStreamMaxStore: options.MaxStore, MaxConn: options.MaxConnections,
	})
	if err != nil {
		t.Fatalf("NATS server: %v", err)
	}
	s.Start()
	running := &Server{server: s, listens: options.Port != 0}
	t.Cleanup(running.Stop)
	if !s.ReadyForConnections(2 * time.Minute) {
		t.Fatal("NATS server: not ready after two minutes")
	}
	return running
}

// Connect returns a connection that outlives restarts of a server that listens;
// the test's end closes it.
func (s *Server) Connect(t testing.TB) *nats.Conn {
	t.Helper()
	options := []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond),
		nats.Timeout(2 * time.Minute)}
	url := s.server.ClientURL()
	if !s.listens {
		url = ""
		options = append(options, nats.InProcessServer(s.server))
	}
	conn, err := nats.Connect(url, options...)
	if err != nil {
		t.Fatalf("NATS server: %v", err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// LimitStreams bounds how many streams there may be, as an account's max_streams; 0
// lifts the bound.
func (s *Server) LimitStreams(t testing.TB, most int) {
	t.Helper()
	if most == 0 {
		most = -1
	}
	limits := server.JetStreamAccountLimits{MaxMemory: -1, MaxStore: -1, MaxStreams: most, MaxConsumers: -1,
		MaxAckPending: -1, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1}
	err := s.server.GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": limits})
	if err != nil {
		t.Fatal(err)
	}
}

// Port is the port that the server listens on.
func (s *Server) Port() int { return s.server.Addr().(*net.TCPAddr).Port }

// Stop stops the server and waits until its files are written.
func (s *Server) Stop() {
	s.stop.Do(func() {
		s.server.Shutdown()
		s.server.WaitForShutdown()
	})
}
