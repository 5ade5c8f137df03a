package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// reconnectWait paces attempts to find a server again, with up to half of it
	// more by chance so that a thousand workers do not come at once.
	reconnectWait = 250 * time.Millisecond
	// pingInterval finds a server that went without a word within twice its time.
	pingInterval = 5 * time.Second
	// connectWait is how long a client looks for a server before it gives up.
	connectWait = 3 * time.Second
)

// Connect returns a daemon's connection to the servers at a comma-separated
// list of addresses. It does not wait for one that is away: the connection is
// made when there is one, and again whenever it breaks. Each time it says so in
// the log, once. Only an address that cannot be read is an error.
func Connect(addresses, name string, log *slog.Logger) (*nats.Conn, error) {
	where := Redacted(addresses)
	conn, err := nats.Connect(addresses, append(reconnecting(name),
		nats.RetryOnFailedConnect(true),
		nats.ConnectHandler(func(c *nats.Conn) { log.Info("connected to NATS", "server", c.ConnectedUrlRedacted()) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("lost NATS; trying again until it is back", "servers", where, "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { log.Info("NATS is back", "server", c.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("NATS", "error", err) }),
	)...)
	if err != nil {
		return nil, fmt.Errorf("NATS at %s: %w", where, err)
	}
	if !conn.IsConnected() {
		log.Warn("NATS cannot be reached; trying again until it can", "servers", where)
	}
	return conn, nil
}

// Dial returns a client's connection. It gives up after a few seconds, or when
// ctx ends; a connection that breaks later is made again.
func Dial(ctx context.Context, addresses, name string) (*nats.Conn, error) {
	for start := time.Now(); ; {
		conn, err := nats.Connect(addresses, append(reconnecting(name), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, nats.ErrNoServers) || time.Since(start) > connectWait {
			return nil, fmt.Errorf("NATS cannot be reached at %s: %w", Redacted(addresses), err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(reconnectWait):
		}
	}
}

func reconnecting(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait/2, reconnectWait/2),
		nats.PingInterval(pingInterval),
	}
}

// Redacted returns addresses without their passwords.
func Redacted(addresses string) string {
	list := strings.Split(addresses, ",")
	for i, address := range list {
		if u, err := url.Parse(strings.TrimSpace(address)); err == nil && u.User != nil {
			if _, has := u.User.Password(); has {
				list[i] = u.Redacted()
			} else {
				list[i] = strings.Replace(address, u.User.String()+"@", "xxxxx@", 1) // a token
			}
		}
	}
	return strings.Join(list, ",")
}
