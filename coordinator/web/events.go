package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"sweep/sweep"
)

// pause is how often the store is asked for what has changed, while somebody
// listens: once for all who do.
const pause = time.Second

// aliveInterval is how long a silent connection lasts before it is written to, so that
// proxies do not close it.
const aliveInterval = 20 * time.Second

// event is a change: a sweep's new progress, that it was deleted, or what keeps trials from
// advancing.
type event struct {
	kind string
	data []byte
}

func newEvent(kind string, value any) event {
	data, _ := json.Marshal(value) // texts, numbers and times can be
	return event{kind, data}
}

func problemEvent(problem string) event {
	return newEvent("problem", map[string]string{"problem": problem})
}

// events tell whoever listens what has changed.
type events struct {
	mu          sync.Mutex
	subscribers map[chan event]struct{}
	polling     bool
	// known has the last event of each unfinished sweep; poll alone changes it.
	known map[string]event
	// problem is what was reported last of what keeps trials from advancing.
	problem string
}

// backlog is how many changes wait for a listener; one who is slower is told to ask
// for everything anew.
const backlog = 64

// stream sends changes for as long as the request lasts.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) error {
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	sent := func(text string) bool {
		_, err := io.WriteString(w, text)
		return err == nil && control.Flush() == nil
	}
	if !sent("retry: 2000\nevent: hello\ndata: {}\n\n") {
		return nil
	}
	changes := s.subscribe()
	defer s.unsubscribe(changes)
	alive := time.NewTicker(aliveInterval)
	defer alive.Stop()
	for {
		text := ": alive\n\n"
		select {
		case <-r.Context().Done():
			return nil
		case <-s.ctx.Done():
			return nil
		case <-alive.C:
		case e := <-changes:
			text = fmt.Sprintf("event: %s\ndata: %s\n\n", e.kind, e.data)
		}
		if !sent(text) {
			return nil
		}
	}
}

func (s *Server) subscribe() chan event {
	changes := make(chan event, backlog)
	e := &s.events
	e.mu.Lock()
	defer e.mu.Unlock()
	e.subscribers[changes] = struct{}{}
	for _, last := range e.known { // what changed between its first requests and now
		if len(changes) < backlog {
			changes <- last
		}
	}
	if e.problem != "" && len(changes) < backlog {
		changes <- problemEvent(e.problem)
	}
	if !e.polling && s.ctx.Err() == nil {
		e.polling = true
		s.working.Go(s.poll)
	}
	return changes
}

func (s *Server) unsubscribe(changes chan event) {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	delete(s.events.subscribers, changes)
}

// poll asks for what has changed until nobody listens any more.
func (s *Server) poll() {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		changes, err := s.changes(s.ctx)
		s.tell(append(changes, s.problems(err)...))
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		s.events.mu.Lock()
		if len(s.events.subscribers) == 0 {
			s.events.polling, s.events.known, s.events.problem = false, nil, ""
			s.events.mu.Unlock()
			return
		}
		s.events.mu.Unlock()
	}
}

// changes returns what has changed of the unfinished sweeps, and of those that were unfinished
// before.
func (s *Server) changes(ctx context.Context) (list []event, err error) {
	defer sweep.Catch(&err)
	records, err := s.options.Store.Sweeps(ctx, sweep.SweepActive, sweep.SweepWaiting, sweep.SweepPaused)
	if err != nil {
		return nil, err
	}
	before, now := s.events.known, map[string]event{}
	add := func(record *sweep.SweepRecord) error {
		one, err := s.item(ctx, record)
		if err != nil {
			return err
		}
		e := newEvent("sweep", one)
		if now[record.ID] = e; !bytes.Equal(before[record.ID].data, e.data) {
			list = append(list, e)
		}
		return nil
	}
	for i := range records {
		if err := add(&records[i]); err != nil {
			return nil, err
		}
	}
	for id := range before {
		if _, unfinished := now[id]; unfinished {
			continue
		}
		record, err := s.options.Store.Sweep(ctx, id)
		if err == nil {
			err = add(record)
		}
		if errors.Is(err, sweep.ErrNotFound) {
			list = append(list, newEvent("deleted", map[string]string{"id": id}))
			continue
		}
		if err != nil {
			return nil, err
		}
		delete(now, id)
	}
	s.events.mu.Lock()
	s.events.known = now
	s.events.mu.Unlock()
	return list, nil
}

// problems returns the change in what keeps trials from advancing, if there is one;
// unread is why what has changed could not be read.
func (s *Server) problems(unread error) []event {
	now := ""
	if s.options.Problem != nil {
		if err := s.options.Problem(); err != nil {
			now = err.Error()
		}
	}
	if now == "" && unread != nil {
		now = "the results cannot be read: " + unread.Error()
	}
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	if now == s.events.problem {
		return nil
	}
	s.events.problem = now
	return []event{problemEvent(now)}
}

// tell hands changes to whoever listens.
func (s *Server) tell(changes []event) {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	for listener := range s.events.subscribers {
		for _, e := range changes {
			select {
			case listener <- e:
			default: // it is behind, and must ask for everything anyway
				empty(listener)
				listener <- newEvent("anew", struct{}{})
				listener <- problemEvent(s.events.problem) // nobody can ask for it
			}
		}
	}
}

// empty takes out what a listener has not received. It never waits: the listener may receive at the same time.
func empty(listener chan event) {
	for {
		select {
		case <-listener:
		default:
			return
		}
	}
}
