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

// Lead is the hold on being the one active coordinator of a database.
type Lead interface {
	// Term counts the leads of the database: a later one has a larger number.
	Term() int64
	// Lost is closed when the hold may have been lost: another coordinator may lead
	// by now, and this one must stop. It is closed by Resign too.
	Lost() <-chan struct{}
	// Resign gives up the lead.
	Resign(ctx context.Context) error
}
