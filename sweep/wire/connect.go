package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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

// Connect returns a daemon's connection. It does not wait for servers that are
// away: the connection is made when there is one, and again whenever it breaks.
// Each time it says so in the log, once. Errors are those that do not pass by
// themselves: an address or a file that cannot be read, and servers that refuse
// the party, an *AuthorizationError. Servers that refuse it later are tried again,
// since their settings may be mended, and the log says so.
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
			if access.refused(err) != nil {
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
	// The client tells nobody why it is refused before its first connection.
	var waiting atomic.Pointer[nats.Conn]
	conn, err = nats.Connect(access.Addresses, append(options, nats.RetryOnFailedConnect(true),
		nats.CustomReconnectDelay(func(int) time.Duration {
			if c := waiting.Load(); c != nil && access.refused(c.LastError()) != nil {
				r.report(c.LastError())
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

// reporter logs what a connection's server says, refusals once each.
type reporter struct {
	access Access
	log    *slog.Logger

	lock sync.Mutex
	said map[string]bool
}

func (r *reporter) report(err error) {
	if refused := r.access.refused(err); refused != nil {
		err = refused
	} else if refused := newPermissionError(r.access.Addresses, err); refused != nil {
		err = refused
	} else {
		r.log.Warn("NATS", "error", err)
		return
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.said[err.Error()] {
		return
	}
	if r.said == nil {
		r.said = map[string]bool{}
	}
	r.said[err.Error()] = true
	r.log.Error("NATS refuses", "error", err)
}

// Dial returns a client's connection. It gives up after a few seconds, or when
// ctx ends; a connection that breaks later is made again. Servers that refuse the
// party are an *AuthorizationError, at once.
func Dial(ctx context.Context, access Access, name string) (*nats.Conn, error) {
	options, err := access.options()
	if err != nil {
		return nil, err
	}
	options = append(append(options, nats.Name(name)), reconnecting()...)
	options = append(options, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // a Client hears it
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
		if !errors.Is(err, nats.ErrNoServers) || time.Since(start) > connectWait {
			return nil, fmt.Errorf("NATS cannot be reached at %s: %w", Redacted(access.Addresses), err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(reconnectWait):
		}
	}
}

func reconnecting() []nats.Option {
	return []nats.Option{
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait/2, reconnectWait/2),
		nats.PingInterval(pingInterval),
	}
}
