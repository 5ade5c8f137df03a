package sweep

import (
	"context"
	"time"
)

// Cluster is the identity of a database and of the streams that belong to it,
// and who leads it.
type Cluster struct {
	// ID is made once, with the database.
	ID string `json:"id"`
	// Database names the database for people: kind, host and name, no password.
	Database string    `json:"database"`
	MadeAt   time.Time `json:"made_at,omitzero"`
	// Term counts the leads of the database. Leader is what the process called
	// itself that led last, since LedSince; "" if it has resigned.
	Term     int64     `json:"term,omitempty"`
	Leader   string    `json:"leader,omitempty"`
	LedSince time.Time `json:"led_since,omitzero"`
}

// LeadOptions are how a process leads.
type LeadOptions struct {
	// Holder is what the process calls itself.
	Holder string
	// Waiting, if not nil, is called once when another process leads, with what that
	// one called itself.
	Waiting func(holder string)
	// Patience, if not 0, is how long to wait for a leader that does not bring the schema
	// up to date. After that the error is ErrLed, wrapped.
	Patience time.Duration
	// Check, if not nil, tells whether the process can do a leader's work now: it is
	// called before the lead is taken and before each renewal, neither of which
	// happens after an error. It returns the highest term that it knows of besides the
	// database's, which a new term exceeds.
	Check func(ctx context.Context) (term int64, err error)
}

// Lead is a lease on being the one active coordinator of a database. It is renewed as
// long as Check finds no fault; when it has run out another process may take it. What
// the store writes is refused from then on, as a *DeposedError.
type Lead interface {
	// Term counts the leads of the database: a later one has a larger number.
	Term() int64
	// Holds reports whether the lease has not run out, so that certainly no other
	// process leads. It may hold again later: nobody may have wanted the lead.
	Holds() bool
	// Problem tells why the lease was not renewed when it last should have been, nil
	// if it was.
	Problem() error
	// Lost is closed when another process leads, when the database has not answered
	// for long, and by Resign.
	Lost() <-chan struct{}
	// Resign gives up the lead.
	Resign(ctx context.Context) error
}
