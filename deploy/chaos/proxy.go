package main

import (
	"net"
	"sync"
	"time"
)

// cut is how a link is broken.
type cut string

// The kinds of cuts. What is cut in a direction is delivered when the link works again; a refusing link closes its
// connections and takes no others.
const (
	uncut   cut = "no cut"
	cutUp   cut = "cut to the server"
	cutDown cut = "cut from the server"
	cutBoth cut = "cut both ways"
	refuses cut = "refused"
)

var cuts = []cut{cutUp, cutDown, cutBoth, refuses}

// link is a TCP connection's way to a server, which can be cut and slowed down.
type link struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	changed *sync.Cond
	cut     cut
	delay   time.Duration
	open    map[net.Conn]bool
	closed  bool
}

// newLink listens at an address for connections to a target.
func newLink(address, target string) (*link, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, target: target, cut: uncut, open: map[net.Conn]bool{}}
	l.changed = sync.NewCond(&l.mu)
	go l.accept()
	return l, nil
}

// set cuts the link, or slows it down; set(uncut, 0) mends it.
func (l *link) set(cut cut, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.delay = cut, delay
	if cut == refuses {
		for conn := range l.open {
			_ = conn.Close()
		}
	}
	l.changed.Broadcast()
}

// close ends the link and its connections.
func (l *link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.set(refuses, 0)
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // it is closed
		}
		go l.serve(client)
	}
}

// serve joins a connection with one to the target.
func (l *link) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	if !l.add(client) {
		return
	}
	defer l.remove(client)
	server, err := net.DialTimeout("tcp", l.target, queryLimit)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	if !l.add(server) {
		return
	}
	defer l.remove(server)
	var both sync.WaitGroup
	both.Go(func() { l.carry(client, server, cutUp) })
	both.Go(func() { l.carry(server, client, cutDown) })
	both.Wait()
}

// add notes an open connection; false if the link takes none.
func (l *link) add(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut == refuses {
		return false
	}
	l.open[conn] = true
	return true
}

func (l *link) remove(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, conn)
}

// packet is what was read, and when it is due.
type packet struct {
	due  time.Time
	data []byte
}

// carry carries what one side sends to the other, until one of them closes. way is the cut that stops it.
func (l *link) carry(from, to net.Conn, way cut) {
	defer func() { _ = to.Close() }()
	defer func() { _ = from.Close() }()
	var queue []packet
	ended := false
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			l.mu.Lock()
			if n > 0 {
				queue = append(queue, packet{time.Now().Add(l.delay), append([]byte(nil), buffer[:n]...)})
			}
			ended = ended || err != nil
			l.changed.Broadcast()
			l.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	for {
		l.mu.Lock()
		for !l.closed && (len(queue) == 0 && !ended || len(queue) > 0 && (l.cut == way || l.cut == cutBoth)) {
			l.changed.Wait()
		}
		if len(queue) == 0 || l.closed {
			l.mu.Unlock()
			_ = from.Close() // ends the reading
			return
		}
		p := queue[0]
		queue = queue[1:]
		l.mu.Unlock()
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			_ = from.Close()
			return
		}
	}
}
