package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// reconnectWait is the time between attempts to reconnect, plus up to half of it at random
	// so that a thousand workers do not reconnect at once.
	reconnectWait = 250 * time.Millisecond
	// pingInterval bounds the time until a vanished server is noticed: twice as long.
	pingInterval = 5 * time.Second
	// connectWait is how long a client tries to connect before it gives up.
	connectWait = 3 * time.Second
)

// handshakeTime bounds one attempt to connect, from the server's first word to its last. Tests change it.
var handshakeTime = 5 * time.Second

// Connect returns a daemon's connection. It does not wait for unreachable servers: the connection is
// made when one answers, and again whenever it breaks, which is logged. It fails only if retrying
// does not help: if an address or a file cannot be read, or with an *AuthorizationError if the
// servers refuse the party. If they refuse it later, that is logged and retried, since their
// settings may be corrected.
func Connect(access Access, name string, log *slog.Logger) (*nats.Conn, error) {
	options, err := access.options()
	if err != nil {
		return nil, err
	}
	where := Redacted(access.Addresses)
	r := &reporter{access: access, log: log}
	options = append(append(options, nats.Name(name)), reconnecting()...)
	options = append(options,
		nats.IgnoreAuthErrorAbort(),
		nats.ConnectHandler(func(c *nats.Conn) { log.Info("connected to NATS", "server", Redacted(c.ConnectedUrl())) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil && access.refused(err) == nil {
				log.Warn("lost the connection to NATS; reconnecting", "servers", where, "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			log.Info("reconnected to NATS", "server", Redacted(c.ConnectedUrl()))
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if access.refused(err) != nil || access.limited(err) != nil {
				r.report(err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { r.report(err) }),
	)
	conn, err := nats.Connect(access.Addresses, options...)
	if err == nil {
		return conn, nil
	}
	if refused := access.refused(err); refused != nil {
		return nil, refused
	}
	if access.limited(err) != nil { // others may end
		r.report(err)
	}
	// nats.go reports no refusals before the first connection.
	var waiting atomic.Pointer[nats.Conn]
	conn, err = nats.Connect(access.Addresses, append(options, nats.RetryOnFailedConnect(true),
		nats.CustomReconnectDelay(func(int) time.Duration {
			if c := waiting.Load(); c != nil {
				if err := c.LastError(); access.refused(err) != nil || access.limited(err) != nil {
					r.report(err)
				}
			}
			return reconnectWait + rand.N(reconnectWait/2)
		}))...)
	if err != nil {
		return nil, fmt.Errorf("NATS at %s: %w", where, err)
	}
	waiting.Store(conn)
	if !conn.IsConnected() {
		log.Warn("cannot connect to NATS; retrying", "servers", where)
	}
	return conn, nil
}

// reporter logs the errors of a connection, each refusal once.
type reporter struct {
	access Access
	log    *slog.Logger
	logged sync.Map // texts of refusals
}

func (r *reporter) report(err error) {
	if refused := r.access.refused(err); refused != nil {
		err = refused
	} else if refused := newPermissionError(r.access.Addresses, err); refused != nil {
		err = refused
	} else if limited := r.access.limited(err); limited != nil {
		err = limited
	} else {
		r.log.Warn("NATS", "error", err)
		return
	}
	if _, logged := r.logged.LoadOrStore(err.Error(), true); !logged {
		r.log.Error("NATS refuses", "error", err)
	}
}

// Dial returns a client's connection. It gives up after connectWait, when ctx ends, or with an
// *AuthorizationError if the servers refuse the party. A connection that breaks later is restored.
func Dial(ctx context.Context, access Access, name string) (*nats.Conn, error) {
	options, err := access.options()
	if err != nil {
		return nil, err
	}
	options = append(append(options, nats.Name(name)), reconnecting()...)
	// A Client handles errors itself.
	options = append(options, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	for start := time.Now(); ; {
		conn, err := nats.Connect(access.Addresses, options...)
		if err == nil {
			return conn, nil
		}
		if refused := access.refused(err); refused != nil {
			return nil, refused
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		limited := access.limited(err)
		if limited == nil && !errors.Is(err, nats.ErrNoServers) && !isLate(err) || time.Since(start) > connectWait {
			if limited != nil {
				return nil, limited
			}
			return nil, fmt.Errorf("NATS cannot be reached at %s: %w", Redacted(access.Addresses), err)
		}
		if err := pause(ctx, reconnectWait); err != nil {
			return nil, err
		}
	}
}

// isLate reports whether an attempt to connect failed only because the server, or this party, was slow.
func isLate(err error) bool {
	slow, ok := errors.AsType[net.Error](err)
	return ok && slow.Timeout() || errors.Is(err, nats.ErrTimeout) ||
		strings.Contains(strings.ToLower(err.Error()), "authentication timeout") // by the server
}

func reconnecting() []nats.Option {
	return []nats.Option{
		nats.Timeout(handshakeTime),
		nats.SetCustomDialer(&dialer{net.Dialer{Timeout: handshakeTime}}),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait/2, reconnectWait/2),
		nats.PingInterval(pingInterval),
	}
}
