package schedule

import (
	"errors"
	"testing"
	"time"

	"sweep/sweep"
)

// A pool that fails has not recovered because no step was taken for long: nothing was tried.
func TestBackoffOutlastsAGap(t *testing.T) {
	now := time.Now()
	s := New(Options{Window: 3, Page: 10, Heartbeat: time.Minute, Silence: time.Hour})
	reports := func(actions []Action) (n int) {
		for _, a := range actions {
			if r, is := a.(Report); is && r.Err == nil && r.Pool != "" {
				n++
			}
		}
		return n
	}
	// step takes a step and those that follow from it; the broker refuses, the database works.
	step := func() (recovered int) {
		facts := []Fact{Heartbeat{Worker: "w", Name: "w", Ready: true, Offer: sweep.Offer{Pool: "cpu", Slots: 1}}}
		for len(facts) > 0 {
			actions := s.Step(now, facts...)
			recovered += reports(actions)
			facts = nil
			for _, a := range actions {
				switch a.(type) {
				case Open:
					facts = append(facts, Done{Action: a, Err: errors.New("the broker refuses")})
				case Report:
				default:
					facts = append(facts, Done{Action: a})
				}
			}
		}
		return recovered
	}
	for range 5 {
		if n := step(); n > 0 {
			t.Fatal("a pool has recovered whose broker refuses")
		}
		now = now.Add(time.Minute)
	}
	if s.backoffs["cpu"] == nil {
		t.Fatal("the pool does not fail")
	}
}
