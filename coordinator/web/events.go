package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// event is a change: of a sweep, its new progress, or that it was deleted; or what keeps
// trials from advancing.
type event struct {
	kind string
	data []byte
}

// events tell whoever listens what has changed.
type events struct {
	mu          sync.Mutex
	subscribers map[chan event]struct{}
	polling     bool
	// known is what was told of the sweeps that go on.
	known map[string]string
	// problem is what was told last of what keeps trials from advancing.
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
	if _, err := fmt.Fprint(w, "retry: 2000\nevent: hello\ndata: {}\n\n"); err != nil {
		return nil
	}
	if err := control.Flush(); err != nil {
		return nil
	}
	changes := s.subscribe()
	defer s.unsubscribe(changes)
	alive := time.NewTicker(aliveInterval)
	defer alive.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return nil
		case <-s.ctx.Done():
			return nil
		case <-alive.C:
			_, err = fmt.Fprint(w, ": alive\n\n")
		case e := <-changes:
			_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.kind, e.data)
		}
		if err == nil {
			err = control.Flush()
		}
		if err != nil {
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
	for _, data := range e.known { // what changed between its first questions and now
		if len(changes) < backlog {
			changes <- event{"sweep", []byte(data)}
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

// changes returns what has changed of the sweeps that go on, and of those that went
// on before.
func (s *Server) changes(ctx context.Context) (list []event, err error) {
	records, err := s.options.Store.Sweeps(ctx, sweep.SweepActive, sweep.SweepWaiting, sweep.SweepPaused)
	if err != nil {
		return nil, err
	}
	s.events.mu.Lock()
	before := s.events.known
	s.events.mu.Unlock()
	now := map[string]string{}
	add := func(record *sweep.SweepRecord) error {
		one, err := s.item(ctx, record)
		if err != nil {
			return err
		}
		data, err := json.Marshal(one)
		if err != nil {
			return err
		}
		now[record.ID] = string(data)
		if before[record.ID] != string(data) {
			list = append(list, event{"sweep", data})
		}
		return nil
	}
	for i := range records {
		if err := add(&records[i]); err != nil {
			return nil, err
		}
	}
	for id := range before {
		if _, goesOn := now[id]; goesOn {
			continue
		}
		record, err := s.options.Store.Sweep(ctx, id)
		if err == nil {
			err = add(record)
		}
		if errors.Is(err, sweep.ErrNotFound) {
			data, _ := json.Marshal(map[string]string{"id": id}) // a text can be
			list = append(list, event{"deleted", data})
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

func problemEvent(problem string) event {
	data, _ := json.Marshal(map[string]string{"problem": problem}) // a text can be
	return event{"problem", data}
}

// tell hands changes to whoever listens.
func (s *Server) tell(changes []event) {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	for listener := range s.events.subscribers {
		for _, e := range changes {
			select {
			case listener <- e:
			default: // it is behind: what waits for it is worth nothing any more
				for len(listener) > 0 {
					<-listener
				}
				listener <- event{"anew", []byte("{}")}
				listener <- problemEvent(s.events.problem) // nobody can ask for it
			}
		}
	}
}
