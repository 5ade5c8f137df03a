package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/coordinator/web"
)

// A client makes one call at a time, and one without a token has little time; others do not wait for it.
func TestAgentTurns(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if _, stderr, code := output(t, home, "run", write(t, home, "valley.yaml", agentFile)); code != 0 {
		t.Fatal(stderr)
	}
	s := &settings{home: home}
	tokens := web.OpenTokens(filepath.Join(home, "tokens.json"))
	secret, err := tokens.Create("alice", true, 0)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(openTime time.Duration) (connect func(token string) *agent, turns *turns) {
		tools := agentTools{settings: s, options: &agentOptions{}, lab: &localLab{settings: s}, log: slog.New(slog.DiscardHandler),
			schemas: mcp.NewSchemaCache(), openTime: openTime, turns: newTurns()}
		server := httptest.NewServer(tools.handler(tokens, false))
		t.Cleanup(server.Close)
		return func(token string) *agent {
			return connectAgent(t, nil, &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true,
				HTTPClient: &http.Client{Transport: bearer(token)}})
		}, tools.turns
	}
	endless := object{"statement": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"}
	hurried, _ := serve(time.Millisecond)
	hurried("").refused("sql", endless, errOpenTime.Error())
	if rows := call[sqlAnswer](hurried(secret), "sql", object{"statement": "SELECT count(*) FROM results"}); len(rows.Rows) != 1 {
		t.Errorf("rows %+v", rows)
	}

	connect, turns := serve(openTime)
	script := object{"file": "program: train.py\nparameters: {lr: {value: 1}}\n"}
	connect("").refused("check", script, "needs a token")
	connect(secret).refused("check", script, "--script-dir")
	release, err := turns.take(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	first, second, holder := connect(""), connect(""), connect(secret)
	done := make(chan string, 2)
	for _, a := range []*agent{first, second} {
		go func() {
			text, _ := a.answer("sql", object{"statement": "SELECT count(*) AS trials FROM results"})
			done <- text
		}()
	}
	await(t, "two calls that wait for their turn", func() bool {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return turns.byClient[""].calls == 3
	})
	if list := call[listAnswer](holder, "list", object{}); len(list.Sweeps) != 1 {
		t.Errorf("with a token: %+v", list)
	}
	if status := call[statusAnswer](connect(""), "status", object{}); status.Progress.Completed != 12 {
		t.Errorf("status: %+v", status)
	}
	select {
	case text := <-done:
		t.Errorf("a call did not wait: %s", text)
	default:
	}
	release()
	for range 2 {
		if text := <-done; !strings.Contains(text, "trials") {
			t.Errorf("after its turn: %s", text)
		}
	}
	if len(turns.byClient) != 0 {
		t.Errorf("turns are left: %v", turns.byClient)
	}
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
	answered := make(chan int, mostOpen)
	for range mostOpen {
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
	for range mostOpen {
		if code := <-answered; code != http.StatusOK {
			t.Errorf("one of them: %d", code)
		}
	}
	if code := ask("/", ""); code != http.StatusOK {
		t.Errorf("afterwards: %d", code)
	}
}
