package wire_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// Who finds that a server has no room for a further connection hears that, however the server closes the connection,
// and a daemon connects when there is room.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	server := wiretest.Run(t, wiretest.Options{Dir: t.TempDir(), Port: -1, MaxConnections: 1})
	first := server.Connect(t)
	access := wire.Access{Addresses: first.ConnectedUrl()}
	for range 5 {
		conn, err := wire.Dial(t.Context(), access, "client")
		if limit, ok := errors.AsType[*wire.LimitError](err); !ok || limit.Account ||
			!strings.Contains(err.Error(), "max_connections") {
			t.Fatalf("%v, %v; want a LimitError", conn, err)
		}
	}
	log := &lines{}
	conn, err := wire.Connect(access, "daemon", slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	log.await(t, "level=ERROR", "max_connections")
	first.Close()
	eventually(t, "the daemon is connected", conn.IsConnected)
	if text := log.String(); strings.Contains(text, "broken pipe") || strings.Count(text, "max_connections") != 1 {
		t.Errorf("the log says\n%s", text)
	}
}
