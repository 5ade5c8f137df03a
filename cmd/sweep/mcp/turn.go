package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// What requests without a token may cost.
const (
	// openTime is how long a call works.
	openTime = 10 * time.Second
	// maxOpen is how many requests are answered at a time, those that wait included.
	maxOpen = 16
)

// errOpenTime is why a call without a token is ended.
var errOpenTime = fmt.Errorf("ended after %v, the most that a call without a token may take: \"sweep token create\" "+
	"makes one", openTime)

// turns have each client make one call at a time.
type turns struct {
	mu sync.Mutex
	// byClient has the calls of a client: the one that works, and those that wait.
	byClient map[string]*turn
}

type turn struct {
	calls int
	mine  chan struct{}
}

func newTurns() *turns { return &turns{byClient: map[string]*turn{}} }

// take waits for a client's turn, which release ends.
func (t *turns) take(ctx context.Context, client string) (release func(), err error) {
	t.mu.Lock()
	own := t.byClient[client]
	if own == nil {
		own = &turn{mine: make(chan struct{}, 1)}
		t.byClient[client] = own
	}
	own.calls++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.calls--; own.calls == 0 {
			delete(t.byClient, client)
		}
	}
	select {
	case own.mine <- struct{}{}:
		return func() { <-own.mine; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// inTurn calls answer when no other call of the client is at work, and ends it in time if the client has no token.
func inTurn[Out any](ctx context.Context, a *Tools, answer func(ctx context.Context) (Out, error)) (out Out,
	err error) {
	release, err := a.turns.take(ctx, a.token)
	if err != nil {
		return out, err
	}
	defer release()
	if a.open {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, a.openTime, errOpenTime)
		defer stop()
	}
	out, err = answer(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errOpenTime) {
		err = errOpenTime
	}
	return out, err
}

// fewOpen bounds how many requests without a token are answered at a time.
func fewOpen(open func(r *http.Request) bool, next http.Handler) http.Handler {
	places := make(chan struct{}, maxOpen)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open(r) {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			default:
				w.Header().Set("Retry-After", "1")
				http.Error(w, fmt.Sprintf("%d requests without a token are being answered: try again, or send a token",
					maxOpen), http.StatusServiceUnavailable)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
