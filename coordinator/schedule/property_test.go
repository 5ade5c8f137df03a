package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sweep/sweep"
)

// TestProperties draws histories in which workers come, go, vanish and change what they
// offer, sweeps come, are paused, cancelled, deleted between any two actions and get another priority, trials start, end and fail,
// and the database and the broker of a pool fail and hang. The invariants of [world] hold at
// every step; in peace every trial that somebody can run ends, and the others' sweeps say
// why they wait; and the facts, told again, lead to the same decisions.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(1, 8).Draw(t, "window"), rapid.IntRange(0, 20).Draw(t, "largest window"),
			rapid.IntRange(1, 12).Draw(t, "page"), false)
		w.draw = func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "class") }
		w.judges = rapid.Bool().Draw(t, "judges")
		t.Repeat(w.events())
		w.peace(t)
		w.replay(t)
	})
}

// pools has one whose broker makes trouble; trainers are those of workers, of which nobody
// offers the last one that sweeps need.
var (
	pools    = []string{"cpu", "gpu"}
	trainers = [][]string{{"t"}, {"t", "u"}, {"u"}, {"v"}}
)

// events are what may happen.
func (w *world) events() map[string]func(*rapid.T) {
	workers := rapid.SampledFrom([]string{"v", "w", "x", "y"})
	some := func(do func(t *rapid.T, id string)) func(*rapid.T) {
		return func(t *rapid.T) {
			if id := workers.Draw(t, "worker"); w.workers[id] != nil {
				do(t, id)
			}
		}
	}
	sweeps := func(do func(t *rapid.T, id string)) func(*rapid.T) {
		return func(t *rapid.T) {
			if id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "sweep"); w.sweeps[id] != nil {
				do(t, id)
			}
		}
	}
	return map[string]func(*rapid.T){
		"": func(t *rapid.T) { w.verify(t) },
		"sweep": func(t *rapid.T) {
			id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "sweep")
			if w.sweeps[id] != nil || w.next[id] > 0 {
				return
			}
			w.sweeps[id] = &sweep.Backlog{
				Sweep: id, Pool: rapid.SampledFrom(pools).Draw(t, "pool"),
				Priority: rapid.IntRange(0, 2).Draw(t, "priority"),
				State:    sweep.SweepActive, Grids: 1, Unwritten: rapid.Int64Range(1, 30).Draw(t, "trials"),
				Canary: rapid.Bool().Draw(t, "canary"), MaxErrors: rapid.Int64Range(0, 4).Draw(t, "errors"),
			}
			switch rapid.SampledFrom([]string{"none", "none", "own", "shared"}).Draw(t, "budget") {
			case "own":
				trials := rapid.Int64Range(1, 20).Draw(t, "budget of trials")
				w.sweeps[id].Budget = &sweep.BudgetState{Number: int64(id[0]), Budget: sweep.Budget{Trials: trials}}
			case "shared":
				w.sweeps[id].Budget = &w.shared
			}
			w.classes[id] = []string{"t", "u", "nobody", "t@0.5", "u@1", "t@2", "u@0"}
			if batch := rapid.Int64Range(0, 6).Draw(t, "batch"); batch > 3 {
				w.searches[id], w.classes[id] = &searchWorld{batch: batch}, []string{"t", "u"}
			}
			w.tell(Changed{})
		},
		"worker": func(t *rapid.T) {
			id := workers.Draw(t, "worker")
			pool := rapid.SampledFrom(pools).Draw(t, "pool")
			if h := w.workers[id]; h != nil {
				pool = h.Offer.Pool // a worker has one pool
			}
			if h := w.workers[id]; h == nil || len(h.has) == 0 {
				w.joinWith(id, pool, rapid.IntRange(1, 3).Draw(t, "slots"), rapid.Int64Range(0, 2).Draw(t, "gpus"),
					rapid.SampledFrom(trainers).Draw(t, "offers")...)
			}
		},
		"gone": some(func(t *rapid.T, id string) { w.leave(id, rapid.Bool().Draw(t, "silent")) }),
		"take": some(func(t *rapid.T, id string) { w.work(id, rapid.Bool().Draw(t, "started")) }),
		"run":  some(func(_ *rapid.T, id string) { w.work(id, true) }),
		"end":  some(func(_ *rapid.T, id string) { w.end(id) }),
		"fail": some(func(t *rapid.T, id string) {
			w.endIn(id, sweep.Failed, rapid.SampledFrom([]string{"no file /a/1", "no file /b/2", "out of memory"}).Draw(t, "error"))
		}),
		"ready": some(func(_ *rapid.T, id string) { w.ready(id) }),
		"back":  some(func(t *rapid.T, id string) { w.release(id, rapid.Bool().Draw(t, "late")) }),
		"late":  func(*rapid.T) { w.tellLate() },
		"slow": func(t *rapid.T) {
			w.slow = rapid.Bool().Draw(t, "slow")
			w.chooseAll()
		},
		"uses": sweeps(func(t *rapid.T, id string) {
			w.tell(Used{id, sweep.DeviceUse{Class: rapid.IntRange(0, 3).Draw(t, "class"), Used: rapid.Bool().Draw(t, "used")}})
		}),
		"observe": sweeps(func(_ *rapid.T, id string) { w.tell(Observed{[]string{id}}) }),
		"priority": sweeps(func(t *rapid.T, id string) {
			w.sweeps[id].Priority = rapid.IntRange(0, 2).Draw(t, "priority")
		}),
		"pause": sweeps(func(_ *rapid.T, id string) {
			pool := w.sweeps[id].Pool
			if w.pause(id); w.mode[pool] == "" {
				for q, waiting := range w.queues {
					if slices.ContainsFunc(waiting, func(t sweep.TrialID) bool { return t.Sweep == id }) {
						w.fail("no job of a paused sweep waits", "sweep %s in queue %s", id, w.name(q))
					}
				}
			}
		}),
		"resume": sweeps(func(t *rapid.T, id string) {
			w.resume(id, rapid.Bool().Draw(t, "retried"))
		}),
		"cancel": sweeps(func(t *rapid.T, id string) { w.cancel(id) }),
		"delete": sweeps(func(t *rapid.T, id string) { w.deletions[id] = rapid.IntRange(0, 9).Draw(t, "actions") }),
		"broker": func(t *rapid.T) {
			mode := rapid.SampledFrom([]string{"", "", "hangs", "refuses", "breaks"}).Draw(t, "mode")
			w.setBroker(rapid.SampledFrom(pools).Draw(t, "pool"), mode)
		},
		"database": func(t *rapid.T) { w.down = rapid.Bool().Draw(t, "down") && rapid.Bool().Draw(t, "really") },
		"broken": sweeps(func(_ *rapid.T, id string) {
			w.tell(Broken{Sweep: id, Err: errors.New("index out of range")})
		}),
		"uncertain": func(*rapid.T) { w.tell(Uncertain{fmt.Errorf("the lease has run out")}) },
		"time":      func(t *rapid.T) { w.pass(time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second) },
	}
}

// work has a worker take a job if a slot is free.
func (w *world) work(id string, started bool) {
	if h := w.workers[id]; len(h.has) < h.Offer.Slots {
		w.take(id, started)
	}
}

// verify reports the invariants that did not hold.
func (w *world) verify(t *rapid.T) {
	for _, err := range w.broken {
		t.Error(err)
	}
	if len(w.broken) > 0 {
		t.FailNow()
	}
}

// peace has everything work, and a worker for everything that somebody can run.
func (w *world) peace(t *rapid.T) {
	w.down, w.slow = false, false
	w.chooseAll()
	w.tellLate()
	for _, pool := range pools {
		w.setBroker(pool, "")
	}
	for _, id := range sortedKeys(w.sweeps) {
		if w.sweeps[id] == nil { // deleted meanwhile
			continue
		}
		if budget := w.sweeps[id].Budget; budget != nil {
			budget.Trials = 0 // no bound
		}
		w.resume(id, true)
	}
	for _, id := range sortedKeys(w.workers) {
		for w.end(id) {
		}
		w.ready(id)
	}
	for _, pool := range pools {
		w.joinWith("last t "+pool, pool, 2, 2, "t")
		w.joinWith("last u "+pool, pool, 2, 2, "u")
	}
	w.pass(6 * time.Second)
	left := func() bool {
		for _, trial := range w.trials {
			if name := w.trainer(trial); !trial.state.Terminal() && name != "nobody" {
				return true
			}
		}
		return slices.ContainsFunc(sortedKeys(w.sweeps), func(id string) bool { return w.sweeps[id].Unwritten > 0 })
	}
	for rounds := 0; left(); rounds++ {
		if rounds > 300 {
			t.Fatalf("what can run ends in peace: trials are left")
		}
		for _, id := range sortedKeys(w.workers) {
			for range w.workers[id].Offer.Slots {
				w.work(id, true)
			}
			for w.end(id) {
			}
		}
		w.pass(time.Second)
	}
	w.pass(2*lastPause + time.Second) // a pool is tried again after a pause, and trusted after another
	for _, id := range sortedKeys(w.sweeps) {
		state := w.state.sweeps[id]
		waits := slices.ContainsFunc(w.backlog(id).Classes, func(c sweep.ClassBacklog) bool { return c.Pending > 0 })
		if state == nil || state.explained.Waiting != waits ||
			waits != strings.Contains(state.explained.Reason, "nobody") {
			t.Fatalf("what cannot run is explained: sweep %s, trials left %v: %+v", id, waits, state)
		}
	}
	if n := len(w.doubted(func(*trial) bool { return true })); n > 0 {
		t.Fatalf("every failure is confirmed or retracted in peace: %d are not", n)
	}
	for id, n := range w.comparisons {
		if w.sweeps[id] != nil && w.stored[id] != n {
			t.Fatalf("every decision is stored in peace: sweep %s: %d of %d", id, w.stored[id], n)
		}
	}
	if len(w.state.observed)+len(w.state.comparing)+len(w.state.unstored)+len(w.state.decided) > 0 {
		t.Fatalf("what was observed is compared in peace: %v, %v", w.state.observed, w.state.comparing)
	}
	if len(w.state.underway) > 0 || w.state.trouble || len(w.state.backoffs) > 0 {
		t.Fatalf("every trouble ends in peace: %v, %v, %v", w.state.underway, w.state.trouble, w.state.backoffs)
	}
	w.verify(t)
}

func (w *world) trainer(t *trial) string { return w.classes[t.id.Sweep][t.class] }

// replay tells the same facts again.
func (w *world) replay(t *rapid.T) {
	again := New(w.options)
	for i, step := range w.steps {
		if decided := w.showAll(again.Step(step.now, step.facts...)); decided != step.decided {
			t.Fatalf("facts replay: step %d decides\n%swhere it decided\n%s", i, decided, step.decided)
		}
	}
}

// A trial that was given back is dispatched again before the state hears of that, and while a worker still
// has its old job. It starts when that job is acknowledged.
func TestLateRelease(t *testing.T) {
	w := newWorld(4, 0, 4, false)
	w.sweeps["a"] = &sweep.Backlog{Sweep: "a", Pool: "cpu", State: sweep.SweepActive, Grids: 1, Unwritten: 1}
	w.classes["a"] = []string{"t"}
	w.join("w", "cpu", 2, "t")
	w.tell(Changed{})
	w.take("w", true)
	w.release("w", true)
	w.pass(LookInterval + time.Second)
	if len(w.late) > 0 {
		t.Fatal("the trial was not dispatched again")
	}
	w.end("w")
	w.pass(time.Second)
	if !w.take("w", true) {
		t.Error("the trial has no job")
	}
	for _, err := range w.broken {
		t.Error(err)
	}
}

// However many kinds of workers a pool has, its window bounds what waits for them, and
// each kind gets jobs for all of its slots and some to go on with.
func TestWindowIsThePools(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(0, 200).Draw(t, "window"), 0, 5000, false)
		w.sweeps["a"] = &sweep.Backlog{Sweep: "a", Pool: "cpu", State: sweep.SweepActive, Grids: 1}
		w.classes["a"] = []string{"t"}
		slots := rapid.SliceOfN(rapid.IntRange(1, 8), 1, 40).Draw(t, "slots")
		most := w.state.options.Window
		for i, n := range slots {
			w.join(fmt.Sprint(i), "cpu", n, "t", fmt.Sprint("u", i))
			most += 2 * int64(n)
		}
		for range 1000 {
			w.add("a", 0, sweep.Pending)
		}
		w.tell(Changed{})
		total := int64(0)
		for q, state := range w.state.queues {
			if total += state.total; state.total < state.slots+min(state.slots, w.state.options.Window) {
				t.Errorf("%d jobs for %d slots in queue %s", state.total, state.slots, w.name(q))
			}
		}
		if total > most {
			t.Errorf("%d jobs wait for %d kinds of workers with a window of %d", total, len(slots),
				w.state.options.Window)
		}
		w.verify(t)
	})
}
