package postgres_test

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// delayed carries connections to a server, and what either side sends arrives late.
type delayed struct {
	listener net.Listener
	socket   string
	// delay is that of each way, asked how often the clients have sent something.
	delay, asked atomic.Int64
}

// delay starts a server's proxy, and returns it and the address of a database behind it.
func delay(t *testing.T, address string) (d *delayed, through string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d = &delayed{listener: listener, socket: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			carrying.Go(func() { d.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // it was only read from
		carrying.Wait()
	})
	u.Host, u.RawQuery = listener.Addr().String(), "sslmode=disable"
	return d, u.String()
}

func (d *delayed) carry(conn net.Conn) {
	server, err := net.Dial("unix", d.socket)
	if err != nil {
		_ = conn.Close() // the client finds out
		return
	}
	var both sync.WaitGroup
	both.Go(func() { d.pump(conn, server, new(atomic.Int64)) })
	both.Go(func() { d.pump(server, conn, &d.asked) })
	both.Wait()
}

// pump sends on what it reads when it is due, counting it, and closes both ends at the end of either.
func (d *delayed) pump(to, from net.Conn, count *atomic.Int64) {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 1<<16) // more than a test sends in the time of the delay
	var sending sync.WaitGroup
	sending.Go(func() {
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			_, _ = to.Write(p.data) // the ends find out
		}
		_ = to.Close()
		_ = from.Close()
	})
	for {
		data := make([]byte, 64<<10)
		n, err := from.Read(data)
		if n > 0 {
			count.Add(1)
			pieces <- piece{data[:n], time.Now().Add(time.Duration(d.delay.Load()))}
		}
		if err != nil {
			break // io.EOF, or closed by the other direction
		}
	}
	close(pieces)
	sending.Wait()
}

// TestSlowDatabaseKeepsTheLead: a leader keeps its lead, and renews its lease in time, however slowly the
// database answers it, although a standby waits to which it answers at once.
func TestSlowDatabaseKeepsTheLead(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	address := server.Database(t)
	slow, through := delay(t, address)
	s, standby := open(t, through), open(t, address)
	slow.delay.Store(int64(500 * time.Millisecond))
	ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
	defer cancel()
	lead, err := s.Lead(ctx, sweep.LeadOptions{Holder: "host"})
	if err != nil {
		t.Fatal(err)
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	took := make(chan error, 1)
	go func() {
		other, err := standby.Lead(waiting, sweep.LeadOptions{Holder: "standby"})
		if err == nil {
			err = other.Resign(ctx)
		}
		took <- err
	}()
	watcher := hold(t, address, `SELECT 1`)
	var last time.Time
	for renewals := 0; renewals < 8; {
		var expires time.Time
		if err := watcher.QueryRow(ctx, `SELECT expires_at FROM cluster`).Scan(&expires); err != nil {
			t.Fatal(err)
		}
		if !expires.Equal(last) {
			last = expires
			renewals++
		}
		select {
		case err := <-took:
			t.Fatalf("the standby has taken the lead: %v", err)
		case <-lead.Lost():
			t.Fatalf("the lead was lost: %v", lead.Problem())
		case <-time.After(20 * time.Millisecond):
		}
		if !lead.Holds() {
			t.Fatalf("the lease does not hold after %d renewals: %v", renewals, lead.Problem())
		}
	}
	sweeptest.Until(t, "the leader to say that the database is slow", func() bool {
		renewal, _ := lead.Pace()
		return renewal >= time.Second
	})
	stop()
	<-took
	// Giving the lead up is one answer, too, so that a standby need not wait for the end of a long lease. The pool
	// may ask first whether the connection is alive, and a renewal may have begun.
	before := slow.asked.Load()
	if err := lead.Resign(ctx); err != nil {
		t.Error(err)
	}
	if asked := slow.asked.Load() - before; asked > 3 {
		t.Errorf("the database was asked %d times to give up the lead", asked)
	}
}
