package wiretest

import (
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Leaf starts two servers with a JetStream domain each, "hub" and "leaf", of which the
// second is a leaf node of the first; the test's end stops them.
func Leaf(t testing.TB) (hub, leaf *Server) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	start := func(options *server.Options) *Server {
		t.Helper()
		options.JetStream, options.JetStreamDomain, options.StoreDir = true, options.ServerName, t.TempDir()
		options.NoSigs, options.NoLog, options.DontListen = true, true, true
		s, err := server.NewServer(options)
		if err != nil {
			t.Fatalf("NATS server %s: %v", options.ServerName, err)
		}
		s.Start()
		running := &Server{server: s}
		t.Cleanup(running.Stop)
		if !s.ReadyForConnections(time.Until(deadline)) {
			t.Fatalf("NATS server %s: not ready after two minutes", options.ServerName)
		}
		return running
	}
	options := &server.Options{ServerName: "hub", LeafNode: server.LeafNodeOpts{Host: "127.0.0.1", Port: -1}}
	hub = start(options)
	port := options.LeafNode.Port // the free one that the server has found
	leaf = start(&server.Options{ServerName: "leaf", LeafNode: server.LeafNodeOpts{
		ReconnectInterval: 50 * time.Millisecond,
		Remotes: []*server.RemoteLeafOpts{{URLs: []*url.URL{{Scheme: "nats",
			Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}}}},
	}})
	conn := leaf.Connect(t)
	for {
		_, err := conn.Request("$JS.hub.API.INFO", nil, time.Second)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("NATS leaf node: does not reach its hub's JetStream after two minutes: %v", err)
		}
		time.Sleep(10 * time.Millisecond) // no one answers until the hub has told what it listens to
	}
	return hub, leaf
}
