package wiretest

import (
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Proxy is between clients and a server. When it is cut, it accepts connections and passes nothing on.
type Proxy struct {
	listener net.Listener
	mu       sync.Mutex
	cut      bool
	held     int
	conns    []net.Conn
}

// Proxy starts a proxy of a server that listens; the test's end stops it.
func (s *Server) Proxy(t testing.TB) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.accept(client, net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port())))
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		p.close()
	})
	return p
}

func (p *Proxy) accept(client net.Conn, server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, client)
	if p.cut {
		p.held++
		return
	}
	to, err := net.Dial("tcp", server)
	if err != nil {
		_ = client.Close()
		return
	}
	p.conns = append(p.conns, to)
	pass := func(from, to net.Conn) {
		_, _ = to.(*net.TCPConn).ReadFrom(from) // until either is closed
		_ = to.Close()
	}
	go pass(client, to)
	go pass(to, client)
}

// Connect returns a connection through the proxy. It waits as good as for ever for a server that says nothing.
func (p *Proxy) Connect(t testing.TB) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect("nats://"+p.listener.Addr().String(), nats.Timeout(time.Hour), nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.close()
		conn.Close()
	})
	return conn
}

// Cut breaks all connections and holds those that follow.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut = true
	p.mu.Unlock()
	p.close()
}

// Held is how many connections were made since the cut.
func (p *Proxy) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

func (p *Proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}
