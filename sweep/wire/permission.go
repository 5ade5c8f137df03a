package wire

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// PermissionError says that the NATS servers do not let a party use a subject:
// its role does not include it. Trying again does not help.
type PermissionError struct {
	// Servers are those asked, without passwords.
	Servers string
	Subject string
	// Subscribe says that it was to be heard, not spoken to.
	Subscribe bool
}

// Error implements error.
func (e *PermissionError) Error() string {
	to := "publish to"
	if e.Subscribe {
		to = "subscribe to"
	}
	return fmt.Sprintf("NATS at %s does not let this user %s %q: its role does not include that; see deploy/nats",
		e.Servers, to, e.Subject)
}

// violation is what the server says of it.
var violation = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]*)"`)

// newPermissionError returns a PermissionError if that is what the server's word
// comes to, else nil.
func newPermissionError(addresses string, err error) *PermissionError {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	e := &PermissionError{Servers: Redacted(addresses)}
	if m := violation.FindStringSubmatch(err.Error()); m != nil {
		e.Subscribe, e.Subject = strings.EqualFold(m[1], "subscription"), m[2]
	}
	return e
}

// permissions tells those who use a connection when the server refuses them a
// subject: it answers nothing on the subject itself, so that they would wait.
type permissions struct {
	lock sync.Mutex
	uses map[*permissionUse]bool
}

type permissionUse struct {
	subject string
	end     context.CancelCauseFunc
}

// listen has the connection tell p; other listeners of its errors go on to hear
// them.
func (p *permissions) listen(conn *nats.Conn) {
	others := conn.ErrorHandler()
	conn.SetErrorHandler(func(c *nats.Conn, s *nats.Subscription, err error) {
		if refused := newPermissionError(conn.ConnectedUrl(), err); refused != nil {
			p.tell(refused)
		}
		if others != nil {
			others(c, s, err)
		}
	})
}

// tell ends the uses of a subject; an inbox is everybody's.
func (p *permissions) tell(refused *PermissionError) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for u := range p.uses {
		if refused.Subscribe || u.subject == refused.Subject || !strings.HasPrefix(refused.Subject, "sweep.") {
			u.end(refused)
		}
	}
}

// use returns a context that ends, with a *PermissionError as its cause, when the
// server refuses the subject, and what is to be called when it is not used any
// more.
func (p *permissions) use(ctx context.Context, subject string) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	u := &permissionUse{subject, end}
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.uses == nil {
		p.uses = map[*permissionUse]bool{}
	}
	p.uses[u] = true
	return ctx, func() {
		end(nil)
		p.lock.Lock()
		defer p.lock.Unlock()
		delete(p.uses, u)
	}
}

// ended returns why a context has ended: the server's refusal if it was that.
func ended(ctx context.Context) error {
	var refused *PermissionError
	if errors.As(context.Cause(ctx), &refused) {
		return refused
	}
	return ctx.Err()
}
