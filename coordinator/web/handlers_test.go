package web_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sweep/coordinator"
	"sweep/coordinator/web"
	"sweep/sweep"
	"sweep/sweep/artifact"
)

// call is a request to a handler.
type call struct {
	path, body string
	status     int
}

// handlerCalls has for each route of web.go a good request, and a bad one.
var handlerCalls = map[string][2]call{
	"GET /api/sweeps":      {{"sweeps", "", 200}, {"sweeps?limit=x", "", 400}},
	"GET /api/sweeps/{id}": {{"sweeps/first", "", 200}, {"sweeps/none", "", 404}},
	"GET /api/sweeps/{id}/overview": {{"sweeps/first/overview", "", 200},
		{"sweeps/none/overview", "", 404}},
	"GET /api/sweeps/{id}/columns": {{"sweeps/first/columns", "", 200},
		{"sweeps/none/columns", "", 404}},
	"GET /api/sweeps/{id}/trials": {{"sweeps/first/trials", "", 200},
		{"sweeps/first/trials?sort=none", "", 400}},
	"GET /api/sweeps/{id}/groups": {{"sweeps/first/groups?by=model&metric=loss", "", 200},
		{"sweeps/first/groups?by=none", "", 400}},
	"GET /api/sweeps/{id}/slice": {{"sweeps/first/slice?by=lr&metric=loss", "", 200},
		{"sweeps/first/slice?by=none", "", 400}},
	"GET /api/sweeps/{id}/lines": {{"sweeps/first/lines?column=lr&column=loss&metric=loss", "", 200},
		{"sweeps/first/lines?column=none", "", 400}},
	"GET /api/sweeps/{id}/importance": {{"sweeps/first/importance?metric=loss", "", 200},
		{"sweeps/first/importance?metric=none", "", 400}},
	"GET /api/sweeps/{id}/curves": {{"sweeps/first/curves?metric=loss&trial=0", "", 200},
		{"sweeps/first/curves?trial=x", "", 400}},
	"GET /api/sweeps/{id}/sql": {{"sweeps/first/sql", "", 200}, {"sweeps/none/sql", "", 404}},
	"GET /api/sweeps/{id}/trials/{index}": {{"sweeps/first/trials/3", "", 200},
		{"sweeps/first/trials/x", "", 400}},
	"GET /api/sweeps/{id}/trials/{index}/log": {{"sweeps/first/trials/4/log", "", 200},
		{"sweeps/first/trials/99/log", "", 404}},
	"GET /api/sweeps/{id}/trials/{index}/artifacts": {{"sweeps/first/trials/3/artifacts", "", 200},
		{"sweeps/first/trials/x/artifacts", "", 400}},
	"GET /api/sweeps/{id}/trials/{index}/artifacts/{name}": {{"sweeps/first/trials/3/artifacts/weights", "", 200},
		{"sweeps/first/trials/3/artifacts/none", "", 404}},
	"GET /api/compare": {{"compare?sweep=first&metric=loss", "", 200},
		{"compare?sweep=none", "", 404}},
	"GET /api/presets":       {{"presets", "", 200}, {"presets/none", "", 404}},
	"GET /api/tables/{kind}": {{"tables/tasks", "", 200}, {"tables/none", "", 404}},
	"GET /api/figures/{kind}": {{"figures/curves?sweep=first&metric=loss", "", 200},
		{"figures/none", "", 404}},
	"GET /api/workers":            {{"workers", "", 200}, {"workers/none", "", 404}},
	"GET /api/sweeps/{id}/report": {{"sweeps/first/report", "", 200}, {"sweeps/none/report", "", 404}},
	"GET /api/events":             {{"events", "", 200}, {"events/none", "", 404}},
	"GET /api/session":            {{"session", "", 200}, {"session/none", "", 404}},
	"POST /api/session":           {{"session", "TOKEN", 200}, {"session", "{", 400}},
	"DELETE /api/session":         {{"session", "", 200}, {"session/none", "", 405}},
	"POST /api/sweeps/{id}/retry": {{"sweeps/first/retry", `{"states":["failed"],"expect":1}`, 200},
		{"sweeps/first/retry", "{", 400}},
	"POST /api/sweeps/{id}/cancel": {{"sweeps/first/cancel", `{"where":["index=28"],"expect":1}`, 200},
		{"sweeps/first/cancel", "{", 400}},
	"POST /api/sweeps/{id}/annotate": {{"sweeps/first/annotate", `{"notes":"x"}`, 200},
		{"sweeps/first/annotate", "{", 400}},
	"POST /api/sweeps/{id}/extend": {{"sweeps/first/extend", `{"source":"x"}`, 200},
		{"sweeps/first/extend", "{", 400}},
	"GET /api/":  {{"", "", 404}, {"none", "", 404}},
	"POST /api/": {{"", "", 404}, {"none", "", 404}},
}

// Each handler answers a good request and a bad one.
func TestEveryHandler(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("web.go")
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	f.leave(sweepID)
	quiet := slog.New(slog.DiscardHandler)
	c := coordinator.New(coordinator.Options{Store: f.store, Artifacts: artifact.New(f.artifacts, quiet), Logger: quiet})
	served := web.New(web.Options{Store: f.store, Tokens: f.tokens, Control: c, Artifacts: c, Dir: t.TempDir(),
		Logger: quiet,
		Extend: func(context.Context, string, string) (int64, error) { return 1, nil }})
	defer served.Close()
	secret, err := f.tokens.Create("actor", false, 0)
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`"((?:GET|POST|DELETE) /api/[^"]*)"`)
	for _, route := range pattern.FindAllStringSubmatch(string(source), -1) {
		calls, known := handlerCalls[route[1]]
		if !known {
			t.Errorf("%s is not called by this test", route[1])
		}
		method, _, _ := strings.Cut(route[1], " ")
		for _, c := range calls {
			ctx, cancel := context.WithCancel(t.Context())
			body := strings.ReplaceAll(c.body, "TOKEN", `{"token":"`+secret+`"}`)
			request := httptest.NewRequestWithContext(ctx, method, "/api/"+c.path, strings.NewReader(body))
			request.Host = "127.0.0.1"
			request.Header.Set("Authorization", "Bearer "+secret)
			answer := httptest.NewRecorder()
			if c.path == "events" {
				cancel() // it ends when nobody listens any more
			}
			served.ServeHTTP(answer, request)
			cancel()
			if answer.Code != c.status {
				t.Errorf("%s %s: %d %.300s, want %d", method, c.path, answer.Code, answer.Body, c.status)
			}
		}
	}
}

// panicking is a store that panics when one sweep is read.
type panicking struct{ sweep.Store }

func (p panicking) Sweep(ctx context.Context, id string) (*sweep.SweepRecord, error) {
	if id == "bad" {
		panic("no such index")
	}
	return p.Store.Sweep(ctx, id)
}

// Rows panics: a handler has it read beside itself.
func (p panicking) Rows(context.Context, string, int64, int64, func(*sweep.TrialRow) error) error {
	panic("no such row")
}

// A panic is an error of its request alone, also where a handler has something done beside itself.
func TestPanicInHandler(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	served := web.New(web.Options{Store: panicking{f.store}, Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	defer served.Close()
	for _, c := range []call{{"sweeps/bad", "no such index", 500}, {"sweeps/first/trials", "no such row", 500},
		{"sweeps/first", `"name":"first"`, 200}} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/"+c.path, nil)
		request.Host = "127.0.0.1"
		answer := httptest.NewRecorder()
		served.ServeHTTP(answer, request)
		if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.body) {
			t.Errorf("%s: %d %.300s", c.path, answer.Code, answer.Body)
		}
	}
}
