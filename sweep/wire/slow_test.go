package wire_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// slow returns a Wire whose requests to JetStream reach the server late: each after the time that
// delay returns for its subject.
func slow(t *testing.T, delay func(subject string) time.Duration) *wire.Wire {
	t.Helper()
	server := wiretest.Run(t, wiretest.Options{Dir: t.TempDir()})
	relay := server.Connect(t)
	if _, err := relay.Subscribe("$JS.slow.API.>", func(m *nats.Msg) {
		m.Subject = strings.Replace(m.Subject, ".slow", "", 1)
		time.AfterFunc(delay(m.Subject), func() { _ = relay.PublishMsg(m) }) // fails when the test has ended
	}); err != nil {
		t.Fatal(err)
	}
	if err := relay.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	w, err := wire.New(server.Connect(t), wire.Options{Domain: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A withdrawal waits for a slow server.
func TestWithdrawFromASlowServer(t *testing.T) {
	t.Parallel()
	w := slow(t, func(subject string) time.Duration {
		if strings.Contains(subject, ".MSG.NEXT.") {
			return 3 * time.Second
		}
		return 0
	})
	if err := w.Setup(t.Context(), cluster, false); err != nil {
		t.Fatal(err)
	}
	if err := w.OpenQueue(t.Context(), queue("cpu")); err != nil {
		t.Fatal(err)
	}
	publish(t, w, jobsOf(2)...)
	if taken, err := w.Withdraw(t.Context(), queue("cpu"), "s1"); err != nil || len(taken) != 2 {
		t.Errorf("Withdraw = %v, %v; want both jobs", taken, err)
	}
}

// The store of artifacts is prepared however long its requests take together.
func TestObjectsOfASlowServer(t *testing.T) {
	const answerTime = time.Second
	wire.SetAnswerTimeout(t, answerTime)
	w := slow(t, func(string) time.Duration { return answerTime / 10 })
	objects, err := w.Objects(wire.DefaultBucket, 0)
	if err != nil {
		t.Fatal(err)
	}
	attempt := 0
	eventually(t, "a preparation succeeds", func() bool {
		attempt++
		begin := time.Now()
		err := objects.Prepare(t.Context(), fmt.Sprint("cpu", attempt))
		if took := time.Since(begin); err == nil && took < answerTime {
			t.Errorf("a preparation of a few requests, in %v, shows nothing", took)
		}
		return err == nil // an answer may come even later
	})
}

// What is sent to a server that accepts connections and says nothing ends with its context.
func TestMuteServer(t *testing.T) {
	t.Parallel()
	server := wiretest.Run(t, wiretest.Options{Dir: t.TempDir(), Port: -1})
	proxy := server.Proxy(t)
	w, err := wire.New(proxy.Connect(t), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	eventually(t, "the client connects again", func() bool { return proxy.Held() > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		ended <- w.Publish(ctx, "cpu", "w", sweep.Event{Kind: sweep.EventStarted, Execution: "e",
			TrialID: sweep.TrialID{Sweep: "s"}})
	}()
	go func() {
		_, err := w.SendHeartbeat(ctx, wire.Heartbeat{WorkerStatus: wire.WorkerStatus{Name: "w", ID: "w", Pool: "cpu"}})
		ended <- err
	}()
	cancel()
	for range 2 {
		if err := sweeptest.Receive(t, "the end of a message", ended); err == nil {
			t.Error("a message was sent")
		}
	}
}
