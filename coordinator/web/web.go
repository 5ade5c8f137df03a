// Package web is the dashboard: pages over a store, their data as JSON under /api/, changes as
// server-sent events, and actions for users with a token. Its main type is Server. It does not
// know the broker: Options holds what a coordinator provides.
//
//	server := web.New(web.Options{Store: store, Control: control})
//	http.ListenAndServe("127.0.0.1:7766", server)
//
// The routes are in web.go, queries of addresses in request.go, access and tokens in access.go and
// token.go, ticket.go. A file handles one resource each: sweeps.go, overview.go, report.go, compare.go,
// trials.go, trial.go, curves.go, artifacts.go, presets.go, tables.go, figures.go, sql.go, actions.go, annotate.go,
// events.go. Package frame answers queries over all trials of a sweep; frames.go keeps the frames
// current. The pages are in assets.
package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// Store is what a dashboard reads of a database.
type Store interface {
	sweep.Reader
	// Rows is as in sweep.Store.
	Rows(ctx context.Context, id string, from, until int64, yield func(*sweep.TrialRow) error) error
	// Edited is as in sweep.Store.
	Edited(ctx context.Context, id string, after int64) (trials []int64, last int64, err error)
	// Statement is as in sweep.Store.
	Statement(ctx context.Context, id string, list sweep.Listing) (string, error)
}

// Options are what a Server needs and may be told.
type Options struct {
	// Store is where the results are; the caller closes it after Close.
	Store Store
	// Workers lists a cluster's workers; nil where there is none.
	Workers func(ctx context.Context) ([]Worker, error)
	// Control changes sweeps; nil where nothing may be changed.
	Control Control
	// Extend adds the points of a sweep file's text to a sweep, and returns their
	// number; nil where that cannot be done.
	Extend func(ctx context.Context, id, source string) (int64, error)
	// Artifacts reads what trials left; nil where there is no artifact store.
	Artifacts Artifacts
	// Problem tells what keeps trials from advancing, nil if nothing is known; it is asked
	// each second while somebody listens, and may be nil.
	Problem func() error
	// Tokens are who may do more than read on this machine; nil if nobody may.
	Tokens *Tokens
	// Closed says that reading needs a token too. It is for whoever listens on more
	// than this machine's own addresses.
	Closed bool
	// Dir is where columns are kept, "" for the directory of temporary files.
	Dir string
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

// Worker is a worker as the dashboard shows it.
type Worker struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Pool      string    `json:"pool"`
	Version   string    `json:"version"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	StartedAt time.Time `json:"started_at"`
	Slots     []Slot    `json:"slots"`
	Offer     string    `json:"offer"`
	// Problem is why its results are not reported, empty if they are.
	Problem  string          `json:"problem,omitempty"`
	Refusals []WorkerRefusal `json:"refusals,omitempty"`
}

// Slot is what one slot of a worker does; Trial is nil while it waits.
type Slot struct {
	Trial *sweep.TrialID `json:"trial"`
	Since time.Time      `json:"since"`
}

// WorkerRefusal is a trial that a worker could not run.
type WorkerRefusal struct {
	sweep.TrialID
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// Control is what changes sweeps: a coordinator.
type Control interface {
	RetryNamed(ctx context.Context, id string, indices []int64) (int64, error)
	CancelNamed(ctx context.Context, id string, indices []int64) (int64, error)
	Annotate(ctx context.Context, id string, edit sweep.Edit) error
}

// Server serves the dashboard.
type Server struct {
	options  Options
	log      *slog.Logger
	handler  http.Handler
	frames   frames
	sessions sessions
	ticket   ticket
	events   events
	// questions bounds how many questions over all trials are answered at a time.
	questions chan struct{}
	// checks bounds how many artifacts are read at a time to see whether they are whole.
	checks chan struct{}
	// drawing and voting bound the figures that are drawn at a time and the ensembles
	// that are counted: what takes seconds keeps nothing else waiting.
	drawing, voting chan struct{}

	ctx     context.Context
	stop    context.CancelFunc
	working sync.WaitGroup
}

// atOnce is how many questions over all trials are answered at a time: each needs a
// core, and memory for its groups.
const atOnce = 4

// New returns a server; Close ends what it began.
func New(options Options) *Server {
	s := &Server{
		options: options, log: cmp.Or(options.Logger, slog.Default()), frames: frames{byID: map[string]*watched{}},
		sessions: sessions{byKey: map[string]*session{}}, events: events{subscribers: map[chan event]struct{}{}},
		questions: make(chan struct{}, atOnce), checks: make(chan struct{}, checksAtOnce),
		drawing: make(chan struct{}, 1), voting: make(chan struct{}, 1),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	read := func(pattern string, answer func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, s.reading(func(w http.ResponseWriter, r *http.Request) error {
			value, err := answer(r)
			if err != nil {
				return err
			}
			return writeJSON(w, value)
		}))
	}
	read("GET /api/sweeps", s.listSweeps)
	read("GET /api/sweeps/{id}", s.ofSweep(s.showSweep))
	read("GET /api/sweeps/{id}/overview", s.ofSweep(s.overview))
	read("GET /api/sweeps/{id}/columns", s.columns)
	read("GET /api/sweeps/{id}/trials", s.trials)
	read("GET /api/sweeps/{id}/groups", s.ofSweep(s.groups))
	read("GET /api/sweeps/{id}/slice", s.ofSweep(s.slice))
	read("GET /api/sweeps/{id}/lines", s.ofSweep(s.lines))
	read("GET /api/sweeps/{id}/importance", s.ofSweep(s.importance))
	read("GET /api/sweeps/{id}/curves", s.ofSweep(s.curves))
	read("GET /api/sweeps/{id}/sql", s.ofSweep(s.sql))
	read("GET /api/sweeps/{id}/trials/{index}", s.ofSweep(s.trial))
	read("GET /api/sweeps/{id}/trials/{index}/log", s.ofSweep(s.executionLog))
	read("GET /api/sweeps/{id}/trials/{index}/artifacts", s.artifacts)
	mux.HandleFunc("GET /api/sweeps/{id}/trials/{index}/artifacts/{name}", s.reading(s.artifact))
	read("GET /api/compare", s.compare)
	read("GET /api/presets", s.presets)
	mux.HandleFunc("GET /api/tables/{kind}", s.reading(s.table))
	mux.HandleFunc("GET /api/figures/{kind}", s.reading(s.figure))
	read("GET /api/workers", s.workers)
	mux.HandleFunc("GET /api/sweeps/{id}/report", s.reading(s.report))
	mux.HandleFunc("GET /api/events", s.reading(s.stream))
	mux.HandleFunc("GET /api/session", s.handle(s.showSession))
	mux.HandleFunc("POST /api/session", s.handle(s.signIn))
	mux.HandleFunc("DELETE /api/session", s.handle(s.signOut))
	mux.HandleFunc("POST /api/sweeps/{id}/retry", s.acting(s.ofSweep(s.retry)))
	mux.HandleFunc("POST /api/sweeps/{id}/cancel", s.acting(s.ofSweep(s.cancel)))
	mux.HandleFunc("POST /api/sweeps/{id}/annotate", s.acting(s.ofSweep(s.annotate)))
	mux.HandleFunc("POST /api/sweeps/{id}/extend", s.acting(s.ofSweep(s.extend)))
	nothing := s.handle(func(http.ResponseWriter, *http.Request) error {
		return &requestError{http.StatusNotFound, "there is no such address"}
	})
	mux.HandleFunc("GET /api/", nothing)
	mux.HandleFunc("POST /api/", nothing)
	mux.Handle("GET /", pages())
	// Requests that other sites have a browser send are refused, whatever they carry.
	s.handler = secure(http.NewCrossOriginProtection().Handler(mux))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends what the server began, waits for it, and gives up its columns.
func (s *Server) Close() error {
	s.stop()
	s.working.Wait()
	return s.frames.close()
}

// ofSweep returns an answer to requests about a sweep, whose record it reads.
func (s *Server) ofSweep(
	answer func(r *http.Request, record *sweep.SweepRecord) (any, error)) func(r *http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		record, err := s.options.Store.Sweep(r.Context(), r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		return answer(r, record)
	}
}

// requestError is an error that is the request's.
type requestError struct {
	status int
	text   string
}

func (e *requestError) Error() string { return e.text }

func bad(err error) error { return &requestError{http.StatusBadRequest, err.Error()} }

// handle answers errors in the form that all have: {"error": "…"}.
func (s *Server) handle(do func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := guarded(do, w, r)
		if err == nil || r.Context().Err() != nil {
			return
		}
		status := http.StatusInternalServerError
		var request *requestError
		switch {
		case errors.As(err, &request):
			status = request.status
		case errors.As(err, new(*frame.UnknownError)):
			status = http.StatusBadRequest
		case errors.Is(err, sweep.ErrNotFound):
			status = http.StatusNotFound
		case errors.As(err, new(*sweep.LostError)), errors.As(err, new(*sweep.DamagedError)):
			status = http.StatusGone
		default:
			s.log.Warn("dashboard: a request failed", "path", r.URL.Path, "error", err)
			if panicked, is := errors.AsType[*sweep.PanicError](err); is {
				s.log.Error("the stack of the fault", "path", r.URL.Path, "stack", panicked.Stack)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // who asked may be gone
	}
}

// guarded calls do, whose panic is an error of its request.
func guarded(do func(w http.ResponseWriter, r *http.Request) error, w http.ResponseWriter,
	r *http.Request) (err error) {
	defer sweep.Catch(&err)
	return do(w, r)
}

func writeJSON(w http.ResponseWriter, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(data) // who asked may be gone
	return nil
}

// secure sets what browsers are to hold to on every page.
func secure(next http.Handler) http.Handler {
	policy := strings.Join([]string{
		"default-src 'none'", "script-src 'self' '" + importMapHash() + "'", "style-src 'self'", "img-src 'self' data:",
		"connect-src 'self'", "font-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'",
	}, "; ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// workers lists the cluster's workers.
func (s *Server) workers(r *http.Request) (any, error) {
	if s.options.Workers == nil {
		return map[string]any{"cluster": false, "workers": []Worker{}}, nil
	}
	list, err := s.options.Workers(r.Context())
	if err != nil {
		return nil, err
	}
	return map[string]any{"cluster": true, "workers": append([]Worker{}, list...)}, nil
}
