package wiretest

import (
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Cluster starts n servers that form a cluster and keep their files under a temporary
// directory; the test's end stops them. Streams may have up to n replicas.
func Cluster(t testing.TB, n int) []*Server {
	t.Helper()
	servers := make([]*Server, n)
	// A server of a cluster starts with a route only. The first one's leads nowhere:
	// the ports of the others are not known yet.
	routes := []*url.URL{{Scheme: "nats", Host: "127.0.0.1:1"}}
	dir := t.TempDir()
	deadline := time.Now().Add(2 * time.Minute)
	for i := range servers {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("node%d", i+1), JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i+1)),
			NoSigs: true, NoLog: true,
			Host: "127.0.0.1", Port: -1, Routes: routes,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: -1},
		})
		if err != nil {
			t.Fatalf("NATS server %d: %v", i+1, err)
		}
		s.Start()
		servers[i] = &Server{server: s, listens: true}
		t.Cleanup(servers[i].Stop)
		for ; i == 0 && s.ClusterAddr() == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("NATS cluster: the first server listens for no others after two minutes")
			}
		}
		if i == 0 { // the others find each other through the first
			routes = []*url.URL{{Scheme: "nats", Host: s.ClusterAddr().String()}}
		}
	}
	for i, s := range servers {
		if !s.server.ReadyForConnections(time.Until(deadline)) {
			t.Fatalf("NATS server %d: not ready after two minutes", i+1)
		}
	}
	for ; ; time.Sleep(10 * time.Millisecond) {
		leaders, peers := 0, 0
		for _, s := range servers {
			if s.server.JetStreamIsLeader() {
				leaders++
				peers = len(s.server.JetStreamClusterPeers())
			}
		}
		if leaders == 1 && peers == n {
			return servers
		}
		if time.Now().After(deadline) {
			t.Fatalf("NATS cluster: %d leaders of JetStream and %d peers after two minutes, want 1 and %d",
				leaders, peers, n)
		}
	}
}
