package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sweep/coordinator/store"
	"sweep/coordinator/store/database"
)

// proxy stands between a coordinator and a server, and a test can break it.
type proxy struct {
	t        *testing.T
	listener net.Listener
	network  string
	server   string

	mu     sync.Mutex
	silent chan struct{} // while it is not nil nothing is carried
	down   bool
	conns  map[net.Conn]bool
}

// newProxy returns a proxy of a server at an address of a network.
func newProxy(t *testing.T, network, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &proxy{t: t, listener: listener, network: network, server: server, conns: map[net.Conn]bool{}}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			carrying.Go(func() { l.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // it was only read from
		l.cut()
		carrying.Wait()
	})
	return l
}

// address is where the server seems to be.
func (l *proxy) address() string { return l.listener.Addr().String() }

// carry carries a connection until one of its ends closes it.
func (l *proxy) carry(conn net.Conn) {
	defer func() { _ = conn.Close() }() // it may be closed
	server, err := net.Dial(l.network, l.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }() // likewise
	l.mu.Lock()
	if l.conns[conn], l.conns[server] = true, true; l.down {
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	var both sync.WaitGroup
	for _, ends := range [][2]net.Conn{{conn, server}, {server, conn}} {
		both.Go(func() {
			_, _ = io.Copy(carrier{l, ends[0]}, ends[1]) // the ends find out
			_ = ends[0].Close()
			_ = ends[1].Close()
		})
	}
	both.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
	delete(l.conns, server)
}

// carrier writes what a proxy carries, once it carries something.
type carrier struct {
	l *proxy
	net.Conn
}

func (w carrier) Write(p []byte) (int, error) {
	w.l.mu.Lock()
	silent := w.l.silent
	w.l.mu.Unlock()
	if silent != nil {
		<-silent
	}
	return w.Conn.Write(p)
}

// cut closes all connections, and further ones at once.
func (l *proxy) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for conn := range l.conns {
		_ = conn.Close() // it may be closed
	}
	l.carryOn()
}

// silence carries nothing and closes nothing, as a network that drops packets.
func (l *proxy) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = make(chan struct{})
}

// mend makes it work again.
func (l *proxy) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
	l.carryOn()
}

func (l *proxy) carryOn() {
	if l.silent != nil {
		close(l.silent)
		l.silent = nil
	}
}

// member is a coordinator of a cluster with proxies of its own.
type member struct {
	name, health string
	nats, db     *proxy
}

// newMember starts a coordinator.
func newMember(t *testing.T, c *cluster, name string) *member {
	t.Helper()
	address, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(address.Query().Get("host"), ".s.PGSQL."+address.Query().Get("port"))
	m := &member{name: name, health: freeAddress(t), nats: newProxy(t, "tcp", c.nats), db: newProxy(t, "unix", socket)}
	c.start(name, "coordinator", "--listen", m.health, "--nats", "nats://"+m.nats.address(),
		"--store", "postgres://"+address.User.String()+"@"+m.db.address()+address.Path+"?sslmode=disable")
	return m
}

// TestStandbyTakesOver: whatever keeps the leader from its work, the coordinator that
// stands by records, answers commands, and is left alone by the other one when that is
// back, which stands by itself then. SWEEP_TEST_TAKEOVERS is how often each thing
// happens, and makes it a measurement: then each must take five seconds at most.
func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	leader := newMember(t, c, "coordinator-1")
	await(t, "the first to lead", func() bool { return leads(leader.health) })
	standby := newMember(t, c, "coordinator-2")
	c.start("worker", "worker", "--slots", "4")
	id := c.submit(write(t, t.TempDir(), "long.yaml", "name: long\ntrainer: noop\nparameters:\n  milliseconds: "+
		"{value: 20}\n  x: {min: 1, max: 1000000}\n"))
	signal := func(m *member, s syscall.Signal) {
		if err := c.parts[m.name].cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	term := func() (term int64) {
		err := c.results.(*store.Store).Database().View(t.Context(), func(tx database.Tx) error {
			return tx.Query(t.Context(), func(row database.Row) error {
				return row.Scan(&term)
			}, `SELECT term FROM cluster`)
		})
		if err != nil {
			t.Fatal(err)
		}
		return term
	}
	rounds, limit := 1, time.Duration(0)
	if text := os.Getenv("SWEEP_TEST_TAKEOVERS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		limit = 5 * time.Second
	}
	took := map[string][]time.Duration{}
	// recorded waits until the given coordinator leads and results are recorded.
	recorded := func(m *member, after string) {
		t.Helper()
		await(t, m.name+" to lead after "+after, func() bool { return leads(m.health) })
		before := c.progress(id).Completed
		await(t, "results after "+after, func() bool { return c.progress(id).Completed > before })
	}
	type fault struct {
		name      string
		do, after func(m *member)
	}
	for _, fault := range slices.Repeat([]fault{
		{"SIGSTOP", func(m *member) { signal(m, syscall.SIGSTOP) }, func(m *member) { signal(m, syscall.SIGCONT) }},
		{"SIGKILL", func(m *member) { c.kill(m.name) }, func(m *member) { c.again(m.name) }},
		{"the loss of NATS", func(m *member) { m.nats.cut() }, func(m *member) { m.nats.mend() }},
		{"the silence of the database", func(m *member) { m.db.silence() }, func(m *member) { m.db.mend() }},
	}, rounds) {
		// round returns false if the lead changed without the fault, as on a machine that
		// stands still for seconds: then it proves nothing.
		round := func() bool {
			await(t, "one to lead and one to stand by before "+fault.name, func() bool {
				if leads(standby.health) {
					leader, standby = standby, leader
				}
				return leads(leader.health) && get(standby.health, "/readyz") == "ok\n" && !leads(standby.health)
			})
			at, before := c.progress(id).Completed, term()
			await(t, "results before "+fault.name, func() bool { return c.progress(id).Completed > at+20 })
			if term() != before {
				return false
			}
			since := time.Now()
			fault.do(leader)
			recorded(standby, fault.name)
			took[fault.name] = append(took[fault.name], time.Since(since).Round(time.Millisecond))
			if _, stderr, code := c.output("status"); code != 0 {
				t.Errorf("after %s commands are not answered: exit code %d: %s", fault.name, code, stderr)
			}
			after := term()
			if after <= before {
				t.Errorf("after %s the term is %d, it was %d", fault.name, after, before)
			}
			fault.after(leader)
			await(t, leader.name+" to stand by after "+fault.name, func() bool {
				return get(leader.health, "/readyz") == "ok\n" && (!leads(leader.health) || term() != after)
			})
			return leads(standby.health) && term() == after
		}
		for attempt := 1; !round(); attempt++ {
			if attempt == 5 {
				t.Fatalf("after %s its victim takes the lead back", fault.name)
			}
		}
	}

	for name, times := range took {
		slices.Sort(times)
		t.Logf("after %s results were recorded within %v to %v, median %v (%d times)", name, times[0],
			times[len(times)-1], times[len(times)/2], len(times))
		if limit > 0 && times[len(times)-1] > limit {
			t.Errorf("after %s nothing was recorded for %v", name, times[len(times)-1])
		}
	}

	// A database that was restored knows less of terms than the broker.
	before := term()
	c.kill(leader.name)
	c.kill(standby.name)
	err := c.results.(*store.Store).Database().Update(context.Background(), func(tx database.Tx) error {
		_, err := tx.Exec(context.Background(), `UPDATE cluster SET term = 0, leader = '', expires_at = NULL`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.parts[leader.name].log.Reset()
	c.again(leader.name)
	recorded(leader, "the database was restored")
	if led := strings.Count(c.parts[leader.name].log.String(), "leading: this"); led != 1 || term() != before+1 {
		t.Errorf("with a restored database it led %d times, and the term is %d after %d", led, term(), before)
	}

	if _, stderr, code := c.output("cancel", id); code != 0 {
		t.Errorf("cancel: exit code %d: %s", code, stderr)
	}
	p := c.progress(id)
	if p.Faults != 0 || p.Failed != 0 {
		t.Errorf("%+v", p)
	}
	stdout, stderr, code := c.output("sql", "SELECT count(*) AS trials, count(DISTINCT trial_index) AS indices FROM "+
		"results WHERE state = 'completed'", "--format", "csv")
	if want := fmt.Sprintf("trials,indices\n%d,%[1]d\n", p.Completed); code != 0 || stdout != want {
		t.Errorf("exit code %d, %s%s, want %s", code, stdout, stderr, want)
	}
}
