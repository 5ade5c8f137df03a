package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/coordinator/store"
	"sweep/coordinator/web"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// client is a client of the tools.
type client struct {
	t *testing.T
	*sdk.ClientSession
}

func connect(t *testing.T, transport sdk.Transport) client {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "7"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the test is over
	return client{t, session}
}

// answer calls a tool and returns its text and whether it is an error.
func (c client) answer(tool string, arguments map[string]any) (text string, failed bool) {
	result, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

// refused calls a tool, whose error must contain a text.
func (c client) refused(tool string, arguments map[string]any, want string) {
	c.t.Helper()
	if text, failed := c.answer(tool, arguments); !failed || !strings.Contains(text, want) {
		c.t.Errorf("%s %v: %q, expected an error with %q", tool, arguments, text, want)
	}
}

// bearer sends a token with each request.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// reading are tools that read a database.
func reading(t *testing.T) *Tools {
	t.Helper()
	results, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "results.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = results.Close() }) // it was only read
	tools, err := New(Options{
		Log:  slog.New(slog.DiscardHandler),
		Read: func(_ context.Context, do func(results sweep.Reader) error) error { return do(results) },
		Plan: func(context.Context, string) (*Plan, error) { return nil, errors.New("programs are not run from here") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// A client makes one call at a time, and one without a token has little time; others do not wait for it.
func TestTurns(t *testing.T) {
	t.Parallel()
	tokens := web.OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))
	secret, err := tokens.Create("alice", true, 0)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(tools *Tools) func(token string) client {
		server := httptest.NewServer(tools.Handler(tokens, false))
		t.Cleanup(server.Close)
		return func(token string) client {
			return connect(t, &sdk.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true,
				HTTPClient: &http.Client{Transport: bearer(token)}})
		}
	}
	hurried := reading(t)
	hurried.openTime = time.Millisecond
	as := serve(hurried)
	as("").refused("sql", map[string]any{
		"statement": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
	}, errOpenTime.Error())
	count := map[string]any{"statement": "SELECT count(*) AS trials FROM results"}
	if text, failed := as(secret).answer("sql", count); failed || !strings.Contains(text, `"rows":[[0]]`) {
		t.Error("with a token:", text)
	}

	tools := reading(t)
	as = serve(tools)
	script := map[string]any{"file": "program: train.py\nparameters: {lr: {value: 1}}\n"}
	as("").refused("check", script, "needs a token")
	as(secret).refused("check", script, "programs are not run from here")
	release, err := tools.turns.take(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	first, second, holder := as(""), as(""), as(secret)
	done := make(chan string, 2)
	for _, c := range []client{first, second} {
		go func() {
			text, _ := c.answer("sql", count)
			done <- text
		}()
	}
	sweeptest.Until(t, "two calls wait for their turn", func() bool {
		tools.turns.mu.Lock()
		defer tools.turns.mu.Unlock()
		return tools.turns.byClient[""].calls == 3
	})
	if text, failed := holder.answer("list", nil); failed {
		t.Error("with a token:", text)
	}
	as("").refused("status", map[string]any{"sweep": "latest"}, "no sweeps yet") // it takes no turn
	select {
	case text := <-done:
		t.Errorf("a call did not wait: %s", text)
	default:
	}
	release()
	for range 2 {
		if text := sweeptest.Receive(t, "an answer", done); !strings.Contains(text, "trials") {
			t.Errorf("after its turn: %s", text)
		}
	}
	if len(tools.turns.byClient) != 0 {
		t.Errorf("turns are left: %v", tools.turns.byClient)
	}
}

// A panic of a tool is an error of the call.
func TestPanicOfTool(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "sweep"}, nil)
	addReader(&Tools{turns: newTurns()}, server, "reader", "", func(context.Context, *listRequest) (*listAnswer, error) {
		panic("no such index")
	})
	addChanger(server, sdk.Tool{Name: "changer"}, false, func(context.Context, string, *submitRequest) (*submitAnswer, error) {
		panic("no such index")
	})
	near, far := sdk.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	c := connect(t, near)
	c.refused("reader", map[string]any{}, "a fault of this program, please report it: no such index")
	c.refused("changer", map[string]any{"file": "", "purpose": ""}, "a fault of this program, please report it: no such index")
}

// Requests without a token are few at a time; those with one are not counted.
func TestFewOpen(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	handler := fewOpen(func(r *http.Request) bool { return r.Header.Get("Authorization") == "" },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				inside <- struct{}{}
				<-leave
			}
		}))
	ask := func(path, token string) int {
		r, w := httptest.NewRequest("POST", path, nil), httptest.NewRecorder()
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		handler.ServeHTTP(w, r)
		_, _ = io.Copy(io.Discard, w.Result().Body)
		return w.Code
	}
	answered := make(chan int, maxOpen)
	for range maxOpen {
		go func() { answered <- ask("/wait", "") }()
		<-inside
	}
	if code := ask("/", ""); code != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", code)
	}
	if code := ask("/", "x"); code != http.StatusOK {
		t.Errorf("with a token: %d", code)
	}
	close(leave)
	for range maxOpen {
		if code := <-answered; code != http.StatusOK {
			t.Errorf("one of them: %d", code)
		}
	}
	if code := ask("/", ""); code != http.StatusOK {
		t.Errorf("afterwards: %d", code)
	}
}
