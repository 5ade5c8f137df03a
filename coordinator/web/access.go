package web

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	csrfHeader = "X-Sweep-CSRF"
	// sessionTime is how long a session lasts.
	sessionTime = 12 * time.Hour
	// maxSessions bounds their number; the one that ends first makes room.
	maxSessions = 1000
)

// session is what a token is exchanged for: the key in a cookie, and a word (csrf), unknown to other
// sites, that requests for changes carry besides. It names its token by digest, since a later token
// may have the same name; that of a ticket is local, in no file.
type session struct {
	digest, csrf string
	local        *Token
	ends         time.Time
}

type sessions struct {
	mu    sync.Mutex
	byKey map[string]*session
}

// sessionCookie names the cookie of a session by the port that the browser asked, since
// cookies ignore ports: dashboards at several ports of a host are signed in independently.
func sessionCookie(r *http.Request) string {
	const name = "sweep_session"
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return name // the scheme's own port
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return name
	}
	return name + "_" + port
}

func (s *sessions) begin(token *Token) (key string, begun *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.byKey, func(_ string, one *session) bool { return now.After(one.ends) })
	if len(s.byKey) >= maxSessions {
		delete(s.byKey, slices.MinFunc(slices.Collect(maps.Keys(s.byKey)), func(a, b string) int {
			return s.byKey[a].ends.Compare(s.byKey[b].ends)
		}))
	}
	key, begun = rand.Text(), &session{digest: token.Digest, csrf: rand.Text(), ends: now.Add(sessionTime)}
	if token.Digest == "" {
		begun.local = token
	}
	s.byKey[key] = begun
	return key, begun
}

func (s *sessions) find(r *http.Request) *session {
	cookie, err := r.Cookie(sessionCookie(r))
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byKey[cookie.Value]
	if one == nil || time.Now().After(one.ends) {
		return nil
	}
	return one
}

func (s *sessions) end(r *http.Request) {
	if cookie, err := r.Cookie(sessionCookie(r)); err == nil {
		s.mu.Lock()
		delete(s.byKey, cookie.Value)
		s.mu.Unlock()
	}
}

// who finds out whose a request is: the token that it carries, or that its session
// was exchanged for, nil if none is valid.
func (s *Server) who(r *http.Request) (token *Token, viaSession *session) {
	one := s.sessions.find(r)
	if one != nil && one.local != nil {
		return one.local, one
	}
	if s.options.Tokens == nil {
		return nil, nil
	}
	if token, carried := s.options.Tokens.OfRequest(r); carried {
		return token, nil
	}
	if one != nil {
		return s.options.Tokens.withDigest(one.digest), one // which may have been taken back
	}
	return nil, nil
}

// reading lets a request through that may read.
func (s *Server) reading(do func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return s.handle(func(w http.ResponseWriter, r *http.Request) error {
		if !s.mayRead(r) {
			return &requestError{http.StatusUnauthorized,
				`this dashboard needs a token: "sweep token create" makes one`}
		}
		return do(w, r)
	})
}

// mayRead reports whether a request may read.
func (s *Server) mayRead(r *http.Request) bool {
	token, _ := s.who(r)
	return MayRead(r, token, s.options.Closed)
}

// MayRead reports whether a request may read: one with a token or, unless the server is closed, one to this
// machine by a name of its own (any other is a site's that points here) that no proxy forwarded.
func MayRead(r *http.Request, token *Token, closed bool) bool {
	isForwarded := slices.ContainsFunc(forwarded, func(name string) bool { return len(r.Header.Values(name)) > 0 })
	return token != nil || !closed && IsLoopback(r.Host) && !isForwarded
}

// MayAct returns why the holder of a token may change nothing, nil if it may.
func MayAct(token *Token) error {
	switch {
	case token == nil:
		return &requestError{http.StatusUnauthorized, `this needs a token: "sweep token create" makes one`}
	case token.ReadOnly:
		return &requestError{http.StatusForbidden, "the token " + token.Name + " may only read"}
	}
	return nil
}

// OfRequest returns the valid token that a request carries, nil if there is none, and whether it carries any.
func (t *Tokens) OfRequest(r *http.Request) (token *Token, carried bool) {
	secret, carried := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !carried {
		return nil, false
	}
	return t.Find(secret), true
}

// forwarded are the headers of requests that came through a proxy: they may be anybody's,
// whatever host the proxy names.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"}

// IsLoopback reports whether a host, with or without a port, is this machine's alone.
func IsLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// acting lets a request through that may change something, and answers with what do
// returns.
func (s *Server) acting(do func(r *http.Request) (any, error)) http.HandlerFunc {
	return s.handle(func(w http.ResponseWriter, r *http.Request) error {
		token, via := s.who(r)
		if s.options.Control == nil {
			return &requestError{http.StatusForbidden, "nothing can be changed here: the dashboard was started to read"}
		}
		if err := MayAct(token); err != nil {
			return err
		}
		if via != nil && subtle.ConstantTimeCompare([]byte(r.Header.Get(csrfHeader)), []byte(via.csrf)) != 1 {
			return &requestError{http.StatusForbidden,
				"the request does not carry its session's word: load the page again"}
		}
		value, err := do(r)
		if err != nil {
			return err
		}
		s.log.Info("dashboard: done", "path", r.URL.Path, "token", token.Name)
		return writeJSON(w, value)
	})
}

// showSession tells a page what it may do.
func (s *Server) showSession(w http.ResponseWriter, r *http.Request) error {
	token, via := s.who(r)
	answer := map[string]any{
		"reads": s.mayRead(r), "acts": token != nil && !token.ReadOnly && s.options.Control != nil,
		"can_sign_in": s.options.Tokens != nil, "controls": s.options.Control != nil,
		"extends": s.options.Extend != nil, "cluster": s.options.Workers != nil,
		"artifacts": s.options.Artifacts != nil,
	}
	if token != nil {
		answer["name"] = token.Name
	}
	if via != nil {
		answer["csrf"] = via.csrf
	}
	return writeJSON(w, answer)
}

// signIn exchanges a token, or a ticket, for a session.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) error {
	var body struct{ Token, Ticket string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<12)).Decode(&body); err != nil {
		return bad(err)
	}
	token, err := s.tokenFor(r, strings.TrimSpace(body.Token), body.Ticket)
	if err != nil {
		return err
	}
	key, begun := s.sessions.begin(token)
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie(r), Value: key, Path: "/", HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode,
		MaxAge:   int(sessionTime.Seconds()),
	})
	s.log.Info("dashboard: signed in", "token", token.Name)
	return writeJSON(w, map[string]any{"name": token.Name, "csrf": begun.csrf})
}

// tokenFor returns the token that a request signs in with.
func (s *Server) tokenFor(r *http.Request, secret, ticket string) (*Token, error) {
	if ticket != "" {
		if !MayRead(r, nil, s.options.Closed) || !s.ticket.take(ticket) {
			return nil, &requestError{http.StatusUnauthorized,
				"the address was opened before, too long ago, or from another machine: sign in with a token"}
		}
		return &Token{Name: "this machine"}, nil
	}
	if s.options.Tokens == nil {
		return nil, &requestError{http.StatusForbidden, "nobody can sign in here"}
	}
	token := s.options.Tokens.Find(secret)
	if token == nil {
		return nil, &requestError{http.StatusUnauthorized,
			`no such token, or it has expired: "sweep token list" has those that there are`}
	}
	return token, nil
}

// signOut ends a session.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	s.sessions.end(r)
	http.SetCookie(w, &http.Cookie{Name: sessionCookie(r), Path: "/", HttpOnly: true, MaxAge: -1,
		SameSite: http.SameSiteStrictMode})
	return writeJSON(w, map[string]any{})
}
