package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
	if err := relay.Flush(); err != nil {
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
