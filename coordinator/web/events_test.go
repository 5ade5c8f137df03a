package web

import (
	"fmt"
	"testing"

	"sweep/sweep/sweeptest"
)

// TestListenerBehind holds that one who misses changes is told to ask for them, and
// what keeps trials from advancing, which nobody can ask for.
func TestListenerBehind(t *testing.T) {
	t.Parallel()
	var s Server
	listener := make(chan event, backlog)
	s.events.subscribers = map[chan event]struct{}{listener: {}}
	s.events.problem = "the disk is full"
	changes := []event{problemEvent(s.events.problem)}
	for i := range backlog {
		changes = append(changes, event{"sweep", fmt.Appendf(nil, `{"id":"%d"}`, i)})
	}
	s.tell(changes)
	close(listener)
	var got string
	for e := range listener {
		got += fmt.Sprintf("%s %s\n", e.kind, e.data)
	}
	if want := "anew {}\nproblem {\"problem\":\"the disk is full\"}\n"; got != want {
		t.Errorf("told\n%swant\n%s", got, want)
	}
}

// TestListenerCatchesUp holds that a listener which reads just while it is told to ask for everything, as one does that
// had been behind, keeps nobody from being told anything.
func TestListenerCatchesUp(t *testing.T) {
	t.Parallel()
	var s Server
	listener := make(chan event, backlog)
	s.events.subscribers = map[chan event]struct{}{listener: {}}
	told := make(chan struct{})
	go func() {
		defer close(told)
		for range 20_000 {
			s.tell(make([]event, 2*backlog))
		}
	}()
	go func() {
		for {
			select {
			case <-listener:
			case <-told:
				return
			}
		}
	}()
	sweeptest.Receive(t, "all that is told", told)
}
