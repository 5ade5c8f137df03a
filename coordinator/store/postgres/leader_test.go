package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sweep/coordinator/store/postgres"
	"sweep/coordinator/store/postgres/postgrestest"
)

// ends waits for a channel to be closed.
func ends(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: nothing happened", what)
	}
}

func TestLeader(t *testing.T) {
	server := postgrestest.Start(t)
	address := server.Database(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	first, second := open(t, address), open(t, address)
	leader, err := first.Lead(ctx, func() { t.Error("the first one waits") })
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{})
	type answer struct {
		leader *postgres.Leader
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		l, err := second.Lead(ctx, func() { close(waits) })
		answers <- answer{l, err}
	}()
	ends(t, "the second one waits", waits)
	select {
	case <-answers:
		t.Fatal("two lead")
	case <-leader.Lost():
		t.Fatal("the first one lost the lead")
	case <-time.After(50 * time.Millisecond):
	}

	// One that stands by can leave.
	short, stop := context.WithCancel(ctx)
	third := open(t, address)
	left := make(chan error)
	go func() {
		_, err := third.Lead(short, stop)
		left <- err
	}()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}

	resigned := time.Now()
	if err := leader.Resign(ctx); err != nil {
		t.Fatal(err)
	}
	ends(t, "resigned", leader.Lost())
	a := <-answers
	if a.err != nil {
		t.Fatal(a.err)
	}
	if took := time.Since(resigned); took > 2*time.Second {
		t.Errorf("the second one took over after %v", took)
	}
	// Another database has a leader of its own.
	other, err := open(t, server.Database(t)).Lead(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Resign(ctx) }() // its server is killed

	// The server dies: the lead is lost, and to be had again when it is back.
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	ends(t, "the server died", a.leader.Lost())
	_ = a.leader.Resign(ctx) // its session is broken
	if _, err := second.Lead(ctx, nil); err == nil {
		t.Error("there is a lead without a server")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	again, err := second.Lead(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Resign(ctx); err != nil {
		t.Error(err)
	}
}
