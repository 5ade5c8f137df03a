package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"sweep/sweep/sweeptest"
)

// A seed has one plan, whose faults are mended after they were made, and a few hundred seeds have all kinds.
func TestPlan(t *testing.T) {
	t.Parallel()
	times := map[string]int{}
	for seed := range uint64(200) {
		p := newPlan(seed)
		if again := newPlan(seed); p.String() != again.String() {
			t.Fatalf("seed %d has two plans:\n%s\n%s", seed, p, again)
		}
		if len(p) < 8 || len(p) > 14 {
			t.Errorf("seed %d has %d faults", seed, len(p))
		}
		for _, f := range p {
			times[f.name]++
			if f.mended < f.at+f.shortest || f.mended > f.at+f.longest {
				t.Errorf("seed %d: %s", seed, f)
			}
		}
		begun := 0
		for i, m := range p.moments(nil) {
			if i > 0 && m.at < p.moments(nil)[i-1].at {
				t.Errorf("seed %d: %s comes too late", seed, m.what)
			}
			if strings.HasPrefix(m.what, "break") {
				begun++
			}
		}
		if begun != len(p) {
			t.Errorf("seed %d: %d of %d faults are made", seed, begun, len(p))
		}
	}
	for _, k := range kinds {
		if times[k.name] < 40 {
			t.Errorf("%d times: %s", times[k.name], k.name)
		}
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	rows := func(names ...string) (r results) {
		for _, name := range names {
			r = append(r, []string{name, "1"})
		}
		return r
	}
	for _, c := range []struct {
		got, want results
		text      string
	}{
		{rows("a", "b"), rows("a", "b"), ""},
		{rows("a"), rows("a", "b"), "is missing"},
		{rows("a", "b"), rows("a"), "is too much"},
		{rows("a", "c"), rows("a", "b"), "differs"},
	} {
		if text := c.got.differs(c.want); (text == "") != (c.text == "") || !strings.Contains(text, c.text) {
			t.Errorf("%v instead of %v: %q", c.got, c.want, text)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "1-1", "--seed 7": "7-7", "--seeds 3-9": "3-9", "--seeds 4": "4-4",
		"--seeds 9-3": "error", "--seeds a-b": "error", "--parallel 0": "error", "more": "error"} {
		o, err := parse(strings.Fields(text))
		got := fmt.Sprintf("%d-%d", o.first, o.last)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

// echo is a server that sends back what it gets.
func echo(t *testing.T) (address string) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return server.Addr().String()
}

// A link carries what comes, holds back what is cut, delivers it when it is mended, and refuses connections.
func TestLink(t *testing.T) {
	t.Parallel()
	l, err := newLink("127.0.0.1:0", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	conn, err := net.Dial("tcp", l.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		defer close(got)
		buffer := make([]byte, 1)
		for {
			if _, err := conn.Read(buffer); err != nil {
				return
			}
			got <- string(buffer)
		}
	}()
	send := func(text string) {
		t.Helper()
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(text string) {
		t.Helper()
		if found := sweeptest.Receive(t, "what was sent", got); found != text {
			t.Fatalf("%q, want %q", found, text)
		}
	}
	send("a")
	want("a")
	for _, way := range []cut{cutUp, cutDown, cutBoth} {
		l.set(way, 0)
		send("b")
		select {
		case text := <-got:
			t.Fatalf("%q came through a link that is %s", text, way)
		case <-time.After(50 * time.Millisecond):
		}
		l.set(uncut, 0)
		want("b")
	}
	l.set(uncut, 100*time.Millisecond)
	sent := time.Now()
	send("c")
	want("c")
	if took := time.Since(sent); took < 200*time.Millisecond { // once each way
		t.Errorf("a slow link took %v", took)
	}
	l.set(refuses, 0)
	if text, open := <-got; open {
		t.Errorf("%q came through a closed connection", text)
	}
	again, err := net.Dial("tcp", l.listener.Addr().String())
	if err == nil {
		if _, err = again.Read(make([]byte, 1)); err == nil {
			t.Error("a link that refuses takes a connection")
		}
		_ = again.Close()
	}
}
