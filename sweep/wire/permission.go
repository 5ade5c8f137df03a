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

// PermissionError means that the NATS servers deny a party a subject: its role does not include it.
// Retrying does not help.
type PermissionError struct {
	// Servers are their addresses, without passwords.
	Servers string
	Subject string
	// Subscribe means that the party wanted to subscribe, not to publish.
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

// violation matches the server's error.
var violation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]*)"`)
})

// newPermissionError returns the PermissionError for a server's error, nil if it is another error.
func newPermissionError(addresses string, err error) *PermissionError {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	e := &PermissionError{Servers: Redacted(addresses)}
	if m := violation().FindStringSubmatch(err.Error()); m != nil {
		e.Subscribe, e.Subject = strings.EqualFold(m[1], "subscription"), m[2]
	}
	return e
}

// permissions ends the requests on a connection whose subject the server denies. The server does
// not answer on the subject itself, so that they would wait.
type permissions struct{ uses sync.Map } // the keys are *permissionUse

type permissionUse struct {
	subject string
	end     context.CancelCauseFunc
}

// listen adds p to the handlers of the connection's errors.
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

// tell ends the uses of a subject. An inbox belongs to all of them.
func (p *permissions) tell(refused *PermissionError) {
	for key := range p.uses.Range {
		u := key.(*permissionUse)
		if refused.Subscribe || u.subject == refused.Subject || !strings.HasPrefix(refused.Subject, "sweep.") {
			u.end(refused)
		}
	}
}

// use returns a context that ends, with a *PermissionError as its cause, when the server denies the
// subject, and a function to be called at the end of the use.
func (p *permissions) use(ctx context.Context, subject string) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	u := &permissionUse{subject, end}
	p.uses.Store(u, true)
	return ctx, func() {
		end(nil)
		p.uses.Delete(u)
	}
}

// ended returns why a context has ended, a *PermissionError if the server denied the subject.
func ended(ctx context.Context) error {
	if refused, ok := errors.AsType[*PermissionError](context.Cause(ctx)); ok {
		return refused
	}
	return ctx.Err()
}
