package web

import (
	"crypto/rand"
	"crypto/subtle"
	"sync"
	"time"
)

// ticketTime is how long a ticket waits to be used.
const ticketTime = time.Hour

// ticket is a secret that one browser on this machine may exchange for a session that acts, once.
// It stands behind the # of an address, which browsers neither send nor pass on.
type ticket struct {
	mu     sync.Mutex
	secret string
	ends   time.Time
}

// Ticket makes a ticket, in place of an earlier one; "" if the dashboard listens beyond this machine.
func (s *Server) Ticket() string {
	if s.options.Closed {
		return ""
	}
	s.ticket.mu.Lock()
	defer s.ticket.mu.Unlock()
	s.ticket.secret, s.ticket.ends = rand.Text(), time.Now().Add(ticketTime)
	return s.ticket.secret
}

// take reports whether a secret is the ticket's, which is then used.
func (t *ticket) take(secret string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	isIt := t.secret != "" && subtle.ConstantTimeCompare([]byte(secret), []byte(t.secret)) == 1
	if isIt {
		t.secret = ""
	}
	return isIt && time.Now().Before(t.ends)
}
