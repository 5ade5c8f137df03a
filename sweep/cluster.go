package sweep

import (
	"context"
	"time"
)

// Cluster is the identity of a database and its streams, and their leader.
type Cluster struct {
	// ID is made once, with the database.
	ID string `json:"id"`
	// Database names the database for people: kind, host and name, without password.
	Database string    `json:"database"`
	MadeAt   time.Time `json:"made_at,omitzero"`
	// Term counts the leads of the database. Leader is the name of the process that led last,
	// since LedSince; "" after it resigned.
	Term     int64     `json:"term,omitempty"`
	Leader   string    `json:"leader,omitempty"`
	LedSince time.Time `json:"led_since,omitzero"`
}

// LeadOptions are how a process leads.
type LeadOptions struct {
	// Holder is the name of the process.
	Holder string
	// Waiting, if not nil, is called once if another process, holder, leads.
	Waiting func(holder string)
	// Patience, if not 0, is how long to wait for a leader that does not bring the schema
	// up to date. After that the error is ErrLed, wrapped.
	Patience time.Duration
	// Check, if not nil, tells whether the process can do a leader's work now. After an error the
	// lead is neither taken nor renewed. The result is the highest term that it knows of besides
	// the database's, which a new term exceeds.
	Check func(ctx context.Context) (term int64, err error)
}

// Lead is a lease on being the active coordinator of a database. It is renewed while Check
// succeeds. After it has run out another process may take it; then the store's writes are
// *DeposedErrors.
type Lead interface {
	// Term counts the leads of the database: a later one has a larger number.
	Term() int64
	// Holds reports whether the lease has not run out: no other process can lead. It may hold
	// again.
	Holds() bool
	// Problem is why the last renewal failed, nil if it succeeded.
	Problem() error
	// Pace returns how long the quickest of the last renewals took, and the quickest of the last Checks; 0 while there
	// were only a few. The lease lasts the longer, the slower the renewals are.
	Pace() (renewal, check time.Duration)
	// Lost is closed when another process leads, when the database has not answered for long, and
	// by Resign.
	Lost() <-chan struct{}
	// Resign gives up the lead.
	Resign(ctx context.Context) error
}
