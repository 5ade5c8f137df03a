package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Leader is the hold on being the one active coordinator of a database: an
// advisory lock of a session of its own, which the server gives up when the
// session ends, whatever ended it.
type Leader struct {
	conn *pgx.Conn
	stop context.CancelFunc
	lost chan struct{}
}

const (
	// leaderPoll is how often a coordinator that stands by asks for the lock,
	// and the one that has it looks after its session.
	leaderPoll = 500 * time.Millisecond
	// leaderAnswer is how long the server may take to answer before the hold
	// counts as lost.
	leaderAnswer = 2 * time.Second
)

// Lead waits until no other session leads this database and takes the lead.
// waiting, if not nil, is called once when another one has it. An error of the
// connection is returned; the caller tries again.
func (s *Store) Lead(ctx context.Context, waiting func()) (*Leader, error) {
	config := s.pool.Config().ConnConfig.Copy()
	// If this host vanishes, the server must notice by itself.
	for name, value := range map[string]string{"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "2"} {
		config.RuntimeParams[name] = value
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, s.explain("take the lead", err)
	}
	tick := time.NewTicker(leaderPoll)
	defer tick.Stop()
	for {
		var taken bool
		err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(leaderLock)).Scan(&taken)
		if err == nil && taken {
			break
		}
		if err == nil {
			if waiting != nil {
				waiting()
				waiting = nil
			}
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return nil, s.explain("take the lead", errors.Join(err, conn.Close(context.WithoutCancel(ctx))))
	}
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Leader{conn: conn, stop: stop, lost: make(chan struct{})}
	go l.watch(watch)
	return l, nil
}

// watch asks the session for an answer until it fails or the lead is given up.
func (l *Leader) watch(ctx context.Context) {
	defer close(l.lost)
	tick := time.NewTicker(leaderPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		answer, cancel := context.WithTimeout(ctx, leaderAnswer)
		err := l.conn.Ping(answer)
		cancel()
		if err != nil {
			return
		}
	}
}

// Lost is closed when the session has ended or does not answer: another
// coordinator may lead by now, and this one must stop. It is closed by Resign
// too.
func (l *Leader) Lost() <-chan struct{} { return l.lost }

// Resign gives up the lead and ends the session.
func (l *Leader) Resign(ctx context.Context) error {
	l.stop()
	<-l.lost
	return l.conn.Close(ctx)
}
