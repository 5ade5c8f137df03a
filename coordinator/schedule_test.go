package coordinator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// needs is a class of trials of a trainer.
func needs(class int, trainer string, pending, outstanding int64) sweep.ClassBacklog {
	return sweep.ClassBacklog{
		Class: class, Requirement: sweep.Requirement{Trainer: trainer},
		Pending: pending, Queued: outstanding - outstanding/2, Running: outstanding / 2,
	}
}

func backlog(id string, priority int, unwritten int64, classes ...sweep.ClassBacklog) sweep.Backlog {
	return sweep.Backlog{Sweep: id, Pool: "cpu", Priority: priority, State: sweep.SweepActive, Grids: 1, Unwritten: unwritten, Classes: classes}
}

// beatOf is the beat of a worker that offers trainers.
func beatOf(id string, slots int, trainers ...string) wire.Beat {
	b := wire.Beat{WorkerStatus: wire.WorkerStatus{ID: id, Name: id, Pool: "cpu", State: wire.WorkerReady}}
	b.Offer = sweep.Offer{Pool: "cpu", Slots: slots}
	for _, name := range trainers {
		b.Offer.Trainers = append(b.Offer.Trainers, sweep.TrainerOffer{Name: name})
	}
	return b
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// planOf is a schedule with one worker of two slots that offers trainer t.
func planOf(window int, backlogs ...sweep.Backlog) (*schedule, wire.Queue) {
	s := newSchedule(window, 100)
	q, _ := s.beat(noon, beatOf("w", 2, "t"))
	s.settled = true
	s.left(backlogs, true)
	return s, q
}

func story(assignments []assignment) string {
	var b strings.Builder
	for _, p := range assignments {
		b.WriteString(p.sweep)
	}
	return b.String()
}

func TestDeal(t *testing.T) {
	for _, test := range []struct {
		name   string
		window int // besides two slots
		sweeps []sweep.Backlog
		want   string
	}{
		{"nothing", 3, nil, ""},
		{"room to spare", 7, []sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 3, 0))}, "aaa"},
		{"turns", 3, []sweep.Backlog{backlog("b", 0, 0, needs(0, "t", 9, 0)), backlog("a", 0, 0, needs(0, "t", 9, 0))}, "ababa"},
		{"the poorer first", 3, []sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 9, 3)), backlog("b", 0, 0, needs(0, "t", 9, 0))}, "bbbab"},
		{"one runs out", 3, []sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 9, 0)), backlog("b", 0, 0, needs(0, "t", 1, 0))}, "abaaa"},
		{"priority", 3, []sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 9, 0)), backlog("b", 2, 0, needs(0, "t", 3, 7)), backlog("c", 1, 0, needs(0, "t", 1, 0))}, "bbbca"},
		{"negative priority", 1, []sweep.Backlog{backlog("a", -1, 0, needs(0, "t", 9, 0)), backlog("b", 0, 0, needs(0, "t", 2, 0))}, "bba"},
		{"unwritten trials of higher priority", 3, []sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 9, 0)), backlog("b", 1, 100, needs(0, "t", 2, 0))}, "bb"},
		{"of a higher priority that nobody can run", 3, []sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 9, 0)), backlog("b", 1, 100, needs(0, "x", 2, 0))}, "aaaaa"},
		{"classes that can run and that cannot", 3, []sweep.Backlog{backlog("a", 0, 0, needs(0, "x", 500, 0), needs(1, "t", 2, 0), needs(2, "x", 9, 0), needs(3, "t", 9, 0))}, "aaaaa"},
		{"shares are those of sweeps, not of classes", 5, []sweep.Backlog{
			backlog("a", 0, 0, needs(0, "t", 9, 0)), backlog("b", 0, 0, needs(0, "t", 9, 0), needs(1, "t", 9, 0), needs(2, "t", 9, 0))}, "abababa"},
		{"another pool", 3, []sweep.Backlog{{Sweep: "a", Pool: "gpu", State: sweep.SweepActive, Classes: []sweep.ClassBacklog{needs(0, "t", 9, 0)}}}, ""},
	} {
		s, q := planOf(test.window, test.sweeps...)
		assignments := s.assign(1000)
		if got := story(assignments); got != test.want {
			t.Errorf("%s: assigned %q, want %q", test.name, got, test.want)
		}
		for _, p := range assignments {
			class := s.sweeps[p.sweep].Classes[p.class]
			if p.queue != q || class.Requirement.Trainer != "t" {
				t.Errorf("%s: a job of class %+v in queue %s", test.name, class, p.queue)
			}
		}
	}
}

func TestDealFillsQueuesByTheirSlots(t *testing.T) {
	s := newSchedule(20, 100)
	small, _ := s.beat(noon, beatOf("small", 1, "t"))
	large, _ := s.beat(noon, beatOf("large", 3, "t", "u"))
	s.left([]sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 8, 0)), backlog("b", 0, 0, needs(0, "u", 4, 0))}, true)
	counts := map[wire.Queue]map[string]int{small: {}, large: {}}
	for _, p := range s.assign(1000) {
		counts[p.queue][p.sweep]++
	}
	if counts[small]["b"] != 0 || counts[small]["a"] != 3 || counts[large]["a"] != 5 || counts[large]["b"] != 4 {
		t.Errorf("assigned %v", counts)
	}
}

// However many kinds of workers a pool has, its window bounds what waits for them, and
// each kind gets jobs for all of its slots and some to go on with.
func TestWindowIsThePools(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := newSchedule(random.IntN(600), 100)
		kinds, slots := 1+random.IntN(300), map[wire.Queue]int64{}
		for i := range kinds {
			n := 1 + random.IntN(8)
			b := beatOf(fmt.Sprint(i), n, "t")
			b.Offer.Labels = map[string]string{"host": fmt.Sprint(i)}
			q, _ := s.beat(noon, b)
			slots[q] = int64(n)
		}
		s.left([]sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 1e6, 0))}, true)
		counts, total, most := map[wire.Queue]int64{}, int64(0), s.window
		for _, p := range s.assign(1e6) {
			counts[p.queue]++
			total++
		}
		for q, n := range slots {
			if most += 2 * n; counts[q] < n+min(n, s.window) {
				t.Errorf("seed %d: %d jobs for %d slots", seed, counts[q], n)
			}
		}
		if total > most {
			t.Errorf("seed %d: %d jobs wait for %d kinds of workers with a window of %d", seed, total, kinds, s.window)
		}
	}
}

// One by one would cost as much as many at once.
func TestDealWaitsForRoom(t *testing.T) {
	s, q := planOf(18, backlog("a", 0, 0, needs(0, "t", 100, 0)))
	for i, p := range s.assign(1000) {
		s.published(p.queue, sweep.TrialID{Sweep: "a", Index: int64(i)}, 0)
	}
	if n := s.queues[q].total; n != 20 {
		t.Fatalf("%d jobs, want the window and the slots", n)
	}
	for i := range int64(5) {
		if n := len(s.assign(1000)); n != 0 {
			t.Errorf("%d jobs assigned while %d places are free", n, i)
		}
		s.heard(sweep.TrialID{Sweep: "a", Index: i})
	}
	if n := len(s.assign(1000)); n != 5 {
		t.Errorf("%d jobs assigned, want 5", n)
	}
	if n := len(s.assign(3)); n != 3 {
		t.Errorf("%d jobs assigned, want the 3 that are asked for", n)
	}
}

func TestWrite(t *testing.T) {
	for _, test := range []struct {
		name    string
		workers bool
		sweep   sweep.Backlog
		want    bool
	}{
		{"nothing written", true, backlog("a", 0, 1000), true},
		{"everything written", true, backlog("a", 0, 0, needs(0, "t", 1, 0)), false},
		{"enough", true, backlog("a", 0, 1000, needs(0, "t", 12, 0)), false},
		{"not enough", true, backlog("a", 0, 1000, needs(0, "t", 11, 0)), true},
		{"what nobody can run hides what some can", true, backlog("a", 0, 1000, needs(0, "x", 100*unmetPages-1, 0)), true},
		{"but not for ever", true, backlog("a", 0, 1000, needs(0, "x", 100*unmetPages, 0)), false},
		{"a page without workers", false, backlog("a", 0, 1000), true},
		{"no more without workers", false, backlog("a", 0, 1000, needs(0, "t", 100, 0)), false},
	} {
		s := newSchedule(10, 100)
		if test.workers {
			s.beat(noon, beatOf("w", 2, "t"))
		}
		s.left([]sweep.Backlog{test.sweep}, true)
		if got := len(s.write()) == 1; got != test.want {
			t.Errorf("%s: write %v", test.name, got)
		}
	}
}

// A sweep waits while nobody can run what is left of it, and goes on by itself.
func TestExplain(t *testing.T) {
	s := newSchedule(10, 100)
	s.left([]sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 5, 0))}, true)
	if list := s.explain(); list != nil {
		t.Errorf("before the workers had the time to come: %+v", list)
	}
	s.settled = true
	verdict := func() verdict {
		t.Helper()
		list := s.explain()
		if len(list) != 1 {
			t.Fatalf("verdicts %+v", list)
		}
		s.said(list[0])
		if again := s.explain(); len(again) != 0 {
			t.Errorf("said again: %+v", again)
		}
		return list[0]
	}
	if v := verdict(); !v.waiting || !strings.Contains(v.reason, "no worker of pool cpu is there") {
		t.Errorf("without workers: %+v", v)
	}
	s.beat(noon, beatOf("w", 2, "u"))
	if v := verdict(); !v.waiting || v.reason != "no worker offers trainer t; 1 worker has none of this name" {
		t.Errorf("with a worker of another kind: %+v", v)
	}
	s.beat(noon, beatOf("v", 2, "t"))
	if v := verdict(); v.waiting || v.reason != "" {
		t.Errorf("with a worker: %+v", v)
	}
	// A part that nobody can run is said, but the sweep does not wait.
	s.left([]sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 5, 0), needs(1, "x", 5, 0))}, true)
	if v := verdict(); v.waiting || !strings.Contains(v.reason, "trainer x") {
		t.Errorf("in part: %+v", v)
	}
	gone := beatOf("v", 2, "t")
	gone.Gone = true
	s.beat(noon, gone)
	if v := verdict(); !v.waiting || !strings.Contains(v.reason, "trainer t") {
		t.Errorf("without it again: %+v", v)
	}
	// Where workers leave because the whole process ends, nobody is told to start one.
	s.exclusive = true
	gone = beatOf("w", 2, "u")
	gone.Gone = true
	s.beat(noon, gone)
	if list := s.explain(); len(list) != 0 {
		t.Errorf("at the end of a run: %+v", list)
	}
}

func ids(n int64, of string) (list []sweep.TrialID) {
	for i := range n {
		list = append(list, sweep.TrialID{Sweep: of, Index: i})
	}
	return list
}

func TestWithdraw(t *testing.T) {
	put := func(s *schedule, q wire.Queue, ids []sweep.TrialID) {
		for _, id := range ids {
			s.published(q, id, 0)
		}
	}
	t.Run("a sweep that comes does not wait behind the others", func(t *testing.T) {
		s, q := planOf(10, backlog("a", 0, 0, needs(0, "t", 50, 12)))
		s.withdraw(noon) // a came
		put(s, q, ids(12, "a"))
		if list := s.withdraw(noon); len(list) != 0 {
			t.Fatalf("withdrawn %+v", list)
		}
		s.left([]sweep.Backlog{backlog("b", 0, 0, needs(0, "t", 50, 0))}, false)
		list := s.withdraw(noon)
		if len(list) != 1 || list[0].queue != q || !slices.Equal(list[0].sweeps, []string{"a"}) || list[0].all {
			t.Fatalf("withdrawn %+v", list)
		}
		if again := s.withdraw(noon); len(again) != 0 {
			t.Errorf("withdrawn again %+v", again)
		}
		// What a worker was given is not taken from it.
		if got := s.withdrawn(noon, q, ids(12, "a")[5:], []string{"a"}); len(got) != 7 {
			t.Errorf("%d jobs are taken back of 7 that waited", len(got))
		}
		if len(s.jobs) != 5 {
			t.Errorf("%d jobs are left, want the 5 that a worker has", len(s.jobs))
		}
	})
	t.Run("of two that come together the second to be written does not wait behind the first", func(t *testing.T) {
		s, q := planOf(10, backlog("a", 0, 0, needs(0, "t", 11, 0)), backlog("b", 0, 11))
		s.withdraw(noon) // both came
		put(s, q, ids(11, "a"))
		s.left([]sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 0, 11)), backlog("b", 0, 0, needs(0, "t", 11, 0))}, false)
		if list := s.withdraw(noon); len(list) != 1 || !slices.Equal(list[0].sweeps, []string{"a"}) {
			t.Errorf("withdrawn %+v", list)
		}
		s.left([]sweep.Backlog{backlog("b", 0, 0, needs(0, "t", 10, 1))}, false)
		if list := s.withdraw(noon); len(list) != 0 {
			t.Errorf("withdrawn again %+v", list)
		}
	})
	t.Run("lower priority only", func(t *testing.T) {
		s, q := planOf(10, backlog("a", 0, 0, needs(0, "t", 5, 5)), backlog("b", 2, 0, needs(0, "t", 5, 5)))
		put(s, q, ids(5, "a"))
		put(s, q, ids(5, "b"))
		s.left([]sweep.Backlog{backlog("c", 1, 0, needs(0, "t", 5, 0))}, false)
		if list := s.withdraw(noon); len(list) != 1 || !slices.Equal(list[0].sweeps, []string{"a"}) {
			t.Errorf("withdrawn %+v", list)
		}
	})
	t.Run("for what nobody can run, nothing", func(t *testing.T) {
		s, q := planOf(10, backlog("a", 0, 0, needs(0, "t", 5, 5)))
		s.withdraw(noon)
		put(s, q, ids(5, "a"))
		s.left([]sweep.Backlog{backlog("b", 9, 0, needs(0, "x", 2000, 0))}, false)
		if list := s.withdraw(noon); len(list) != 0 {
			t.Errorf("withdrawn %+v", list)
		}
	})
	t.Run("a queue without workers", func(t *testing.T) {
		s, q := planOf(10, backlog("a", 0, 0, needs(0, "t", 5, 5)))
		put(s, q, ids(5, "a"))
		if gone := s.silent(noon, noon); gone != 0 {
			t.Errorf("%d workers gone", gone)
		}
		if gone := s.silent(noon, noon.Add(time.Second)); gone != 1 {
			t.Errorf("%d workers gone", gone)
		}
		if list := s.withdraw(noon); len(list) != 1 || list[0].all || !slices.Equal(list[0].sweeps, []string{"a"}) {
			t.Errorf("what the worker was not given is not withdrawn at once: %+v", list)
		}
		if list := s.withdraw(noon.Add(queueGrace)); len(list) != 0 {
			t.Errorf("withdrawn too early %+v", list)
		}
		if list := s.withdraw(noon.Add(queueGrace + 1)); len(list) != 1 || !list[0].all || !slices.Equal(list[0].sweeps, []string{"a"}) {
			t.Errorf("withdrawn %+v", list)
		}
		if back := s.removed(q); len(back) != 5 || len(s.jobs) != 0 {
			t.Errorf("%d trials back, %d jobs", len(back), len(s.jobs))
		}
	})
	t.Run("what an idle worker could start at once", func(t *testing.T) {
		s, q := planOf(10, backlog("a", 0, 0, needs(0, "t", 0, 9)))
		s.withdraw(noon)
		put(s, q, ids(7, "a"))
		busy := beatOf("w", 2, "t")
		busy.Running = make([]wire.Running, 2)
		s.beat(noon, busy)
		s.beat(noon, beatOf("idle", 2, "x"))
		if list := s.withdraw(noon); len(list) != 0 {
			t.Errorf("withdrawn for one who cannot use it %+v", list)
		}
		idle, _ := s.beat(noon, beatOf("idle", 4, "t", "x"))
		s.left([]sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 1, 9))}, true)
		if list := s.withdraw(noon); len(list) != 0 {
			t.Errorf("withdrawn for one who can be given what is in no queue %+v", list)
		}
		s.left([]sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 0, 9))}, true)
		if list := s.withdraw(noon); len(list) != 1 || list[0].queue != q || !slices.Equal(list[0].sweeps, []string{"a"}) {
			t.Errorf("withdrawn %+v", list)
		}
		s.heard(sweep.TrialID{Sweep: "a", Index: 0}) // it has been handed out meanwhile
		back := s.withdrawn(noon, q, slices.Collect(maps.Keys(s.jobs)), []string{"a"})
		if len(back) != 6 {
			t.Fatalf("%d jobs back, want 6", len(back))
		}
		s.left([]sweep.Backlog{backlog("a", 0, 0, needs(0, "t", 6, 3))}, true)
		shares := map[wire.Queue]int{}
		for i, p := range s.assign(100) {
			shares[p.queue]++
			s.published(p.queue, back[i], 0)
		}
		if shares[q] != 1 || shares[idle] != 5 { // q trains two already
			t.Errorf("assigned anew %v", shares)
		}
		if list := s.withdraw(noon); len(list) != 0 {
			t.Errorf("withdrawn again %+v", list)
		}
		for _, id := range back { // the idle one has started what it was given
			if s.jobs[id].queue == idle {
				s.heard(id)
			}
		}
		if list := s.withdraw(noon); len(list) != 0 {
			t.Errorf("withdrawn for one who is busy %+v", list)
		}
	})
	t.Run("what a worker may have got, once", func(t *testing.T) {
		s, q := planOf(10, backlog("a", 0, 0, needs(0, "t", 0, 3)))
		s.withdraw(noon)
		busy := beatOf("w", 2, "t")
		busy.Running = make([]wire.Running, 2)
		s.beat(noon, busy)
		put(s, q, ids(1, "a"))
		s.beat(noon, beatOf("idle", 4, "t", "x"))
		if list := s.withdraw(noon); len(list) != 1 {
			t.Fatalf("withdrawn %+v", list)
		}
		if back := s.withdrawn(noon, q, nil, []string{"a"}); len(back) != 0 {
			t.Errorf("taken back though handed out: %v", back)
		}
		if list := s.withdraw(noon.Add(time.Second)); len(list) != 0 {
			t.Errorf("withdrawn again %+v", list)
		}
	})
}

// trialState is a trial in a simulated cluster.
type trialState struct {
	id    sweep.TrialID
	class int
	state sweep.State
	queue wire.Queue
}

// world is a cluster that does what the schedule decides, and in which things
// happen by chance: workers come, go and change what they offer, sweeps come,
// change their priority, are paused and cancelled, trials start and end.
type world struct {
	t      *testing.T
	random *rand.Rand
	plan   *schedule
	now    time.Time
	sweeps map[string]*sweep.Backlog
	trials map[sweep.TrialID]*trialState
	// workers that live, by id; offers what the workers of a queue have.
	workers map[string]wire.Beat
	offers  map[wire.Queue]sweep.Offer
	// queues that the broker has, with the jobs that nobody was given, in order.
	queues map[wire.Queue][]sweep.TrialID
	// unjust counts the decisions in a row after which jobs in a queue could have
	// started elsewhere.
	unjust  map[wire.Queue]int
	classes []sweep.Requirement
	ended   int
}

// list is what is left of the sweeps, as a database would have it.
func (w *world) list() []sweep.Backlog {
	counts := map[string][]sweep.ClassBacklog{}
	for _, t := range w.trials {
		list := counts[t.id.Sweep]
		if list == nil {
			for class, r := range w.classes {
				list = append(list, sweep.ClassBacklog{Class: class, Requirement: r})
			}
			counts[t.id.Sweep] = list
		}
		switch t.state {
		case sweep.Pending:
			list[t.class].Pending++
		case sweep.Queued:
			list[t.class].Queued++
		case sweep.Running:
			list[t.class].Running++
		}
	}
	var all []sweep.Backlog
	for _, b := range w.sweeps {
		c := *b
		c.Classes = counts[b.Sweep]
		all = append(all, c)
	}
	return all
}

// decide carries out what the schedule decides, and checks it.
func (w *world) decide() {
	w.plan.left(w.list(), true)
	for _, id := range w.plan.write() {
		b := w.sweeps[id]
		for range min(b.Unwritten, w.plan.page) {
			index := int64(0)
			for t := range w.trials {
				if t.Sweep == id {
					index = max(index, t.Index+1)
				}
			}
			trial := sweep.TrialID{Sweep: id, Index: index}
			w.trials[trial] = &trialState{id: trial, class: w.random.IntN(len(w.classes)), state: sweep.Pending}
			b.Unwritten--
		}
	}
	w.plan.left(w.list(), true)
	for _, back := range w.plan.withdraw(w.now) {
		waited := slices.Clone(w.queues[back.queue])
		w.queues[back.queue] = slices.DeleteFunc(w.queues[back.queue], func(id sweep.TrialID) bool { return back.all || slices.Contains(back.sweeps, id.Sweep) })
		list := w.plan.withdrawn(w.now, back.queue, waited, back.sweeps)
		if back.all {
			list = append(list, w.plan.removed(back.queue)...)
			delete(w.queues, back.queue)
		}
		for _, id := range list {
			if t := w.trials[id]; t != nil {
				switch {
				case t.state == sweep.Queued:
					t.state = sweep.Pending
				case t.state == sweep.Running && !back.all: // else nobody was heard of for long
					w.t.Fatalf("trial %s is taken back while it runs", id)
				}
			}
		}
	}
	w.plan.left(w.list(), true)
	for _, p := range w.plan.assign(50) {
		if offer := w.offers[p.queue]; !offer.Meets(&w.classes[p.class]) {
			w.t.Fatalf("a job that needs %+v in queue %s, which offers %+v", w.classes[p.class], p.queue, offer)
		}
		var taken *trialState
		for _, t := range w.trials {
			if t.id.Sweep == p.sweep && t.class == p.class && t.state == sweep.Pending && (taken == nil || t.id.Index < taken.id.Index) {
				taken = t
			}
		}
		if taken == nil {
			w.t.Fatalf("a place for a trial of %s that is not there", p.sweep)
		}
		taken.state, taken.queue = sweep.Queued, p.queue
		w.queues[p.queue] = append(w.queues[p.queue], taken.id)
		w.plan.published(p.queue, taken.id, taken.class)
		if plan := w.plan.queues[p.queue]; plan.total > w.plan.window+plan.slots {
			w.t.Fatalf("%d jobs in queue %s of %d slots", plan.total, p.queue, plan.slots)
		}
	}
	for q, plan := range w.plan.queues {
		ids := w.plan.idleElsewhere(w.now, q, plan, w.plan.idle())
		if w.unjust[q]++; len(ids) == 0 {
			w.unjust[q] = 0
		}
		if w.unjust[q] > 2 { // the next decision mends it
			w.t.Fatalf("jobs of %v wait in queue %s while workers elsewhere have nothing to do", ids, q)
		}
	}
	for _, v := range w.plan.explain() {
		w.plan.said(v)
	}
}

// work lets workers take jobs, and end trials.
func (w *world) work() {
	for _, b := range w.workers {
		q := wire.Queue{Pool: b.Pool, Offer: b.Offer.Key()}
		if len(w.queues[q]) > 0 && w.random.IntN(2) == 0 {
			id := w.queues[q][0]
			w.queues[q] = w.queues[q][1:]
			if t := w.trials[id]; t != nil && t.state == sweep.Queued {
				t.state = sweep.Running
				if w.random.IntN(3) > 0 { // else it is heard of only when it ends
					w.plan.heard(id)
				}
			}
		}
	}
	for id, t := range w.trials {
		if t.state == sweep.Running && w.random.IntN(3) == 0 {
			t.state = sweep.Completed
			w.ended++
			w.plan.heard(id)
		}
	}
}

var trainersOf = [][]string{{"t"}, {"t", "u"}, {"u"}, {"v"}}

func (w *world) beat(id string) {
	b := beatOf(id, 1+w.random.IntN(3), trainersOf[w.random.IntN(len(trainersOf))]...)
	w.workers[id] = b
	w.offers[wire.Queue{Pool: b.Pool, Offer: b.Offer.Key()}] = b.Offer
	if q, opened := w.plan.beat(w.now, b); opened {
		w.queues[q] = append([]sweep.TrialID{}, w.queues[q]...)
	}
}

// Whatever happens, jobs only reach queues that meet them, nothing that runs is
// taken back, the windows hold, and in the end every trial that somebody can run
// has ended and the others' sweeps say why they wait.
func TestScheduleOverSeeds(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() { // one goroutine a seed: nothing for the race detector
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &world{
				t: t, random: rand.New(rand.NewPCG(seed, 1)), plan: newSchedule(6, 10), now: noon,
				sweeps: map[string]*sweep.Backlog{}, trials: map[sweep.TrialID]*trialState{}, workers: map[string]wire.Beat{}, offers: map[wire.Queue]sweep.Offer{},
				queues: map[wire.Queue][]sweep.TrialID{}, unjust: map[wire.Queue]int{},
				classes: []sweep.Requirement{{Trainer: "t"}, {Trainer: "u"}, {Trainer: "nobody"}},
			}
			w.plan.settled = true
			for range 300 {
				w.now = w.now.Add(time.Second)
				id := fmt.Sprint("s", w.random.IntN(6))
				switch luck := w.random.IntN(20); {
				case luck < 2 && w.sweeps[id] == nil:
					b := backlog(id, w.random.IntN(3), 5+w.random.Int64N(40))
					w.sweeps[id] = &b
				case luck < 3 && w.sweeps[id] != nil:
					w.sweeps[id].Priority = w.random.IntN(3)
				case luck < 8:
					w.beat(fmt.Sprint("w", w.random.IntN(4)))
				case luck < 9:
					name := fmt.Sprint("w", w.random.IntN(4))
					if b, there := w.workers[name]; there { // it vanishes, or says that it goes
						delete(w.workers, name)
						if b.Gone = true; w.random.IntN(2) == 0 {
							w.plan.beat(w.now, b)
						}
					}
				}
				for _, b := range w.workers {
					w.plan.beat(w.now, b)
				}
				w.plan.silent(w.now, w.now.Add(-wire.BeatLost))
				w.decide()
				w.work()
			}
			// Peace: one worker of each kind.
			for i, trainers := range [][]string{{"t"}, {"u"}} {
				b := beatOf(fmt.Sprint("last", i), 2, trainers...)
				w.workers[b.ID] = b
				w.offers[wire.Queue{Pool: b.Pool, Offer: b.Offer.Key()}] = b.Offer
			}
			for range 500 {
				w.now = w.now.Add(time.Second)
				for _, b := range w.workers {
					w.plan.beat(w.now, b)
				}
				w.plan.silent(w.now, w.now.Add(-wire.BeatLost))
				w.decide()
				w.work()
			}
			for id, trial := range w.trials {
				if could := w.classes[trial.class].Trainer != "nobody"; could != (trial.state == sweep.Completed) {
					t.Errorf("trial %s that needs %+v is %s", id, w.classes[trial.class], trial.state)
				}
			}
			for id, plan := range w.plan.sweeps {
				left := slices.ContainsFunc(w.list(), func(b sweep.Backlog) bool {
					return b.Sweep == id && slices.ContainsFunc(b.Classes, func(c sweep.ClassBacklog) bool { return c.Pending > 0 })
				})
				if plan.Unwritten > 0 || plan.waiting != left || left != strings.Contains(plan.reason, "nobody") {
					t.Errorf("sweep %s: %d unwritten, waiting %v: %q", id, plan.Unwritten, plan.waiting, plan.reason)
				}
			}
			if w.ended < 20 {
				t.Errorf("only %d trials ended", w.ended)
			}
		})
	}
}

// Only workers that are known can show that a trial is none for them: those that are
// there, and those that were until an hour ago.
func TestUnschedulable(t *testing.T) {
	s := newSchedule(10, 100)
	s.left([]sweep.Backlog{backlog("a", 0, 7, needs(0, "t", 3, 4), needs(1, "u", 5, 0)), backlog("b", 0, 1e6, needs(0, "v", 100*unmetPages, 0))}, true)
	expect := func(when string, want map[string]int64) {
		t.Helper()
		if got := s.unschedulable(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	s.beat(noon, beatOf("w", 2, "t"))
	expect("before all workers are heard of", nil)
	s.settled = true
	expect("with a worker", map[string]int64{"a": 5, "b": 100*unmetPages + 1e6})
	s.beat(noon, beatOf("x", 1, "u"))
	expect("with another one", map[string]int64{"b": 100*unmetPages + 1e6})
	later := noon.Add(kindMemory / 2)
	s.beat(later, wire.Beat{WorkerStatus: beatOf("w", 2, "t").WorkerStatus, Gone: true})
	s.silent(later, later)
	expect("when all are gone", map[string]int64{"b": 100*unmetPages + 1e6})
	s.beat(later, beatOf("y", 1, "t", "u", "v"))
	expect("with one that has all trainers", nil)
	s.beat(later, beatOf("y", 1, "u", "v"))
	expect("when it has one less", nil)
	s.silent(noon.Add(kindMemory+1), noon)
	expect("when the first two are forgotten", map[string]int64{"a": 3})
	s.beat(noon.Add(kindMemory+1), wire.Beat{WorkerStatus: beatOf("y", 1, "u", "v").WorkerStatus, Gone: true})
	s.silent(later.Add(kindMemory+1), noon)
	expect("when no worker is known", nil)
}
