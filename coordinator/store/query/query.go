// Package query has the limits of users' SQL queries, the same for both databases:
// no query may keep other users, or the coordinator, from the database.
package query

import (
	"errors"
	"fmt"
	"time"
)

const (
	// Places is how many queries run at a time; others wait.
	Places = 4
	// Timeout bounds the time that the database may take until the next rows.
	Timeout = time.Minute
	// Longest bounds a query in all, and with it how long a client that takes its
	// rows slowly keeps a place.
	Longest = 10 * time.Minute
	// Row bounds a row in this program's memory, in bytes.
	Row = 16 << 20
)

var (
	// ErrTimeout is why a query was ended whose rows did not come.
	ErrTimeout = fmt.Errorf("ended: the database worked on it for %v without an answer", Timeout)
	// ErrLongest is why a query was ended that took too long in all.
	ErrLongest = fmt.Errorf("ended after %v, the most that a query may take in all", Longest)
	// ErrRow is why a query was ended whose rows are too large.
	ErrRow = errors.New("a row has more bytes than fit into an answer: ask for less of it")
)
