package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

const (
	// renewal is how often a lease is renewed, and how often it is checked that the leader can do its work.
	renewal = 700 * time.Millisecond
	// A lease lasts leaseFactor times as long as the slowest of the last renewals took, within these bounds: a
	// database that answers slowly is no reason for another leader.
	shortestLease = 2500 * time.Millisecond
	longestLease  = 30 * time.Second
	leaseFactor   = 5
	// silent is after how long without an answer of the database the lead is lost, so that
	// all connections are opened again. leastAnswer bounds a renewal of a short lease.
	silent      = 10 * time.Second
	leastAnswer = 5 * time.Second
	// checkTime bounds a check of what the leader needs. One that takes checkFactor times as long as the slowest
	// of the last ones, and longer than leastCheck, counts as failed until it ends.
	checkTime   = 10 * time.Second
	leastCheck  = 1500 * time.Millisecond
	checkFactor = 3
)

// pace is how long the last answers took, the latest in no particular place.
type pace struct {
	took [8]time.Duration
	n    int
}

func (p *pace) note(took time.Duration) {
	p.took[p.n%len(p.took)] = took
	p.n++
}

func (p *pace) slowest() time.Duration { return slices.Max(p.took[:]) }

// quickest is 0 while only a few answers are known.
func (p *pace) quickest() time.Duration { return slices.Min(p.took[:]) }

// lease is how long the next lease lasts.
func (p *pace) lease() time.Duration {
	return min(max(leaseFactor*p.slowest(), shortestLease), longestLease)
}

// answer bounds the next renewal.
func (p *pace) answer() time.Duration { return min(max(p.lease(), leastAnswer), silent) }

// patience is how long the next check may take.
func (p *pace) patience() time.Duration {
	return min(max(checkFactor*p.slowest(), leastCheck), checkTime)
}

// lead implements sweep.Lead.
type lead struct {
	s     *Store
	term  int64
	check func(ctx context.Context) (int64, error)
	// lock is the database's lock, where it shows who leads; nil while a leader that
	// cannot do its work has given it up.
	lock database.Lock

	// ending is closed when nothing is to be renewed any more; stop ends what still runs, too.
	ending         chan struct{}
	stop           context.CancelFunc
	done           chan struct{}
	lost           chan struct{}
	losing, ceased sync.Once

	mu sync.Mutex
	// until is when the lease runs out at the earliest, by this host's clocks;
	// answered when the database last answered.
	until, answered time.Time
	problem         error
	// renewals and checks are how long the last ones took.
	renewals, checks pace
	// checking is when the check began that has not ended, zero if there is none; unable is what the last one found.
	checking time.Time
	unable   error
}

// Term implements sweep.Lead.
func (l *lead) Term() int64 { return l.term }

// Holds implements sweep.Lead. A host that slept is seen by the time of day alone.
func (l *lead) Holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return now.Before(l.until) && now.Round(0).Before(l.until.Round(0))
}

// Problem implements sweep.Lead.
func (l *lead) Problem() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.problem
}

// Pace implements sweep.Lead.
func (l *lead) Pace() (renewal, check time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.renewals.quickest(), l.checks.quickest()
}

// Lost implements sweep.Lead.
func (l *lead) Lost() <-chan struct{} { return l.lost }

// lose notes that the lead is lost.
func (l *lead) lose() { l.losing.Do(func() { close(l.lost) }) }

// end notes that the term is over, for a reason if it was not given up.
func (l *lead) end(problem error) {
	l.mu.Lock()
	l.until, l.problem = time.Time{}, problem
	l.mu.Unlock()
	l.lose()
}

// bounded is a check within its time.
func bounded(ctx context.Context, check func(context.Context) (int64, error)) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return check(ctx)
}

// examine checks again and again, until ctx ends, whether the leader can do its work. This goes on beside the renewals,
// so that a broker that answers slowly does not delay them.
func (l *lead) examine(ctx context.Context) {
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		began := time.Now()
		l.mu.Lock()
		l.checking = began
		l.mu.Unlock()
		_, err := bounded(ctx, l.check)
		l.mu.Lock()
		if l.checking, l.unable = (time.Time{}), err; err == nil {
			l.checks.note(time.Since(began))
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// inability is why the leader cannot do its work, nil if it can as far as is known.
func (l *lead) inability() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unable == nil && !l.checking.IsZero() {
		if since := time.Since(l.checking); since > l.checks.patience() {
			return fmt.Errorf("the broker has not answered for %v", since.Round(time.Millisecond))
		}
	}
	return l.unable
}

// cease ends the renewals. It waits for the one that runs until ctx ends: a statement that is broken off takes its
// connection along, and another one takes many answers.
func (l *lead) cease(ctx context.Context) {
	l.ceased.Do(func() { close(l.ending) })
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	l.stop()
	<-l.done
}

// keep renews the lease until ctx ends, the renewals are to end, or the term is over.
func (l *lead) keep(ctx context.Context) {
	defer close(l.done)
	ctx, cancel := context.WithCancel(ctx)
	var examining sync.WaitGroup
	defer examining.Wait()
	defer cancel()
	examining.Go(func() { l.examine(ctx) })
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		err := l.renew(ctx)
		if ctx.Err() != nil {
			return
		}
		if deposed := (*sweep.DeposedError)(nil); errors.As(err, &deposed) {
			l.end(err)
			return
		}
		l.mu.Lock()
		if !errors.As(l.problem, new(*sweep.DeposedError)) { // a write may have been told meanwhile
			l.problem = err
		}
		quiet := time.Since(l.answered) > silent
		l.mu.Unlock()
		if quiet {
			l.lose()
		}
		if err != nil && l.lock != nil && !l.Holds() { // whoever can may lead
			_ = l.lock.Release(ctx)
			l.lock = nil
		}
		select {
		case <-l.ending:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case <-l.ending: // while the last renewal took longer than a tick
			return
		default:
		}
	}
}

// renew renews the lease if the leader can do its work. If not it looks, at least,
// whether another one leads by now.
func (l *lead) renew(ctx context.Context) error {
	problem := l.inability()
	if db := l.s.locking(); problem == nil && db != nil && l.lock == nil {
		if l.lock, problem = db.Lock(ctx); l.lock == nil && problem == nil {
			problem = errHeld
		}
	}
	l.mu.Lock()
	last, most := l.renewals.lease(), l.renewals.answer()
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	asked := time.Now()
	held, err := false, error(nil)
	if problem == nil {
		held, err = l.s.db.Renew(ctx, l.term, last)
	}
	took := time.Since(asked)
	if !held && err == nil {
		err = l.s.db.View(ctx, func(tx database.Tx) error { return l.checkTerm(ctx, tx) })
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if problem == nil && (err == nil || errors.Is(ctx.Err(), context.DeadlineExceeded)) {
		l.renewals.note(took)
	}
	if err != nil {
		return l.s.explain("renew the lease", err)
	}
	if l.answered = asked; problem == nil {
		l.until = asked.Add(last)
	}
	return problem
}

// checkTerm returns a *sweep.DeposedError if the term is over.
func (l *lead) checkTerm(ctx context.Context, tx database.Tx) error {
	now := sweep.DeposedError{Term: l.term}
	err := tx.Query(ctx, func(row database.Row) error {
		return row.Scan(&now.Now, &now.Leader)
	}, `SELECT term, leader FROM cluster`)
	if err == nil && now.Now != l.term {
		err = &now
	}
	return err
}
