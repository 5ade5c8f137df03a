package worker_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep/wire"
)

// deleteStreams loses everything that the server has.
func deleteStreams(t testing.TB, conn *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SWEEP_JOBS_cpu", wire.EventsStream} {
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}
