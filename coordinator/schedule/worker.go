package schedule

import (
	"container/list"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"sweep/sweep"
)

// worker is a worker as of its latest heartbeat.
type worker struct {
	Heartbeat
	queue Queue
	heard time.Time
	// turn is its element of workers.turns.
	turn *list.Element
}

// workers are the workers. A heartbeat and a look for silent ones cost the same however many there are.
type workers struct {
	byID map[string]*worker
	// turns has those that sent their latest heartbeat first at its front.
	turns list.List
	crews map[Queue]*crew
	// equipped are the crews whose machines have devices.
	equipped map[Queue]*crew
	// versions counts the changes of the offers of each pool's workers that take jobs.
	versions map[string]int64
}

// crew is the workers of a queue.
type crew struct {
	members map[string]*worker
	// offer is that of one that takes jobs, nil if none does. ready, slots and busy count those that do, their
	// slots, and what they run.
	offer *sweep.Offer
	ready int
	slots int64
	busy  int64
}

// fits is how many trials with a need all of its workers that take jobs have room for, holding how many they run.
func (c *crew) fits(need *sweep.Need) (fits, holding int64) {
	key := need.Key()
	for _, w := range c.members {
		if w.Ready {
			fits += min(w.Offer.Fits(need), int64(w.Offer.Slots))
		}
		for _, r := range w.Running {
			if r.Need == key {
				holding++
			}
		}
	}
	return fits, holding
}

func newWorkers() workers {
	return workers{byID: map[string]*worker{}, crews: map[Queue]*crew{}, equipped: map[Queue]*crew{}, versions: map[string]int64{}}
}

// add adds a worker.
func (l *workers) add(w *worker) {
	l.byID[w.Worker] = w
	w.turn = l.turns.PushBack(w)
	c := l.crews[w.queue]
	if c == nil {
		c = &crew{members: map[string]*worker{}}
		l.crews[w.queue] = c
		if len(w.Offer.Devices) > 0 {
			l.equipped[w.queue] = c
		}
	}
	c.members[w.Worker] = w
	if w.Ready {
		c.offer = &w.Offer
		c.ready++
		c.slots += int64(w.Offer.Slots)
		c.busy += int64(len(w.Running))
	}
}

// remove removes a worker.
func (l *workers) remove(w *worker) {
	delete(l.byID, w.Worker)
	l.turns.Remove(w.turn)
	c := l.crews[w.queue]
	delete(c.members, w.Worker)
	if len(c.members) == 0 {
		delete(l.crews, w.queue)
		delete(l.equipped, w.queue)
	}
	if w.Ready {
		c.ready--
		c.slots -= int64(w.Offer.Slots)
		c.busy -= int64(len(w.Running))
		if c.ready == 0 {
			c.offer = nil
		}
	}
}

// changed notes that the offers of a pool's workers that take jobs are others now.
func (l *workers) changed(pool string) { l.versions[pool]++ }

// kind is an offer, and when a worker with it last sent a heartbeat.
type kind struct {
	offer sweep.Offer
	heard time.Time
}

// kindMemory is how long the offers of workers that are gone are remembered. Meanwhile an
// autoscaler does not start workers again and again for trials that the last ones could not run.
const kindMemory = time.Hour

func (f Heartbeat) apply(s *State) {
	before := s.workers.byID[f.Worker]
	if before != nil {
		s.workers.remove(before)
	}
	if f.Gone {
		delete(s.asked, f.Worker)
		if before != nil {
			s.workers.changed(before.queue.Pool)
			s.addUp(before.queue)
		}
		return
	}
	if !f.Ready { // it may be told again when it takes jobs again
		delete(s.asked, f.Worker)
	}
	var q Queue
	if before != nil && reflect.DeepEqual(before.Offer, f.Offer) {
		q = before.queue
	} else {
		q = Queue{Pool: f.Offer.Pool, Offer: f.Offer.Key()}
		s.workers.changed(f.Offer.Pool)
	}
	if before != nil && (before.queue != q || before.Ready != f.Ready || before.Aside != f.Aside) {
		s.workers.changed(before.queue.Pool)
		s.workers.changed(q.Pool)
	}
	s.workers.add(&worker{Heartbeat: f, queue: q, heard: s.now})
	if s.queues[q] == nil {
		s.queues[q] = &queueState{jobs: map[string]int64{}, since: s.now}
	}
	if len(f.Offer.Devices) > 0 {
		s.needQueues()
	}
	if before != nil && before.queue != q {
		s.addUp(before.queue)
		if state := s.queues[before.queue]; state == nil || state.offer == nil { // the offer has shrunk
			delete(s.kinds, before.queue)
		}
	}
	if f.Ready {
		s.kinds[q] = kind{f.Offer, s.now}
	}
	s.addUp(q)
}

// forgetSilent forgets the workers that have not sent a heartbeat for long.
func (s *State) forgetSilent() {
	var silent []*worker
	for e := s.workers.turns.Front(); e != nil; e = s.workers.turns.Front() {
		w := e.Value.(*worker)
		if s.now.Sub(w.heard) <= s.options.Silence {
			break
		}
		s.workers.remove(w)
		delete(s.asked, w.Worker)
		s.workers.changed(w.queue.Pool)
		s.addUp(w.queue)
		silent = append(silent, w)
	}
	if len(silent) > 0 {
		slices.SortFunc(silent, func(a, b *worker) int { return strings.Compare(a.Worker, b.Worker) })
		gone := Gone{}
		for _, w := range silent {
			gone.Workers = append(gone.Workers, w.Name)
		}
		s.do(gone)
	}
	maps.DeleteFunc(s.kinds, func(_ Queue, k kind) bool { return s.now.Sub(k.heard) > kindMemory })
}

// addUp takes a queue's offer, slots and busy slots from its workers.
func (s *State) addUp(q Queue) {
	state := s.queues[q]
	if state == nil {
		return
	}
	had := state.offer != nil
	state.offer, state.slots, state.busy = nil, 0, 0
	if c := s.workers.crews[q.base()]; c != nil && state.open && s.needed(q) {
		if q.Need == "" {
			state.offer, state.slots, state.busy = c.offer, c.slots, c.busy
		} else if state.need != nil {
			state.offer = c.offer
			state.slots, state.busy = c.fits(state.need)
		}
	}
	if had && state.offer == nil {
		state.since, state.cleared = s.now, false
	}
	for _, other := range s.derived[q] {
		s.addUp(other)
	}
}

// workerOf returns the name of the first worker of a queue.
func (s *State) workerOf(q Queue) (name string, found bool) {
	if c := s.workers.crews[q.base()]; c != nil {
		for _, w := range c.members {
			if !found || w.Name < name {
				name, found = w.Name, true
			}
		}
	}
	return name, found
}

// Discovered reports whether the workers have had the time to send a heartbeat.
func (s *State) Discovered() bool { return s.discovered }

// staffed reports whether a worker of a pool, of any for "", takes jobs.
func (s *State) staffed(pool string) bool {
	for q, c := range s.workers.crews {
		if c.ready > 0 && (pool == "" || q.Pool == pool) {
			return true
		}
	}
	return false
}

// Offers returns the offers of those workers of a pool that take jobs.
func (s *State) Offers(pool string) (offers []sweep.Offer) {
	for q, c := range s.workers.crews {
		if q.Pool != pool {
			continue
		}
		for _, w := range c.members {
			if w.Ready {
				offers = append(offers, w.Offer)
			}
		}
	}
	return offers
}

// unmet is why no worker of a pool meets the requirement of a class, as of a version of the workers' offers.
type unmet struct {
	version int64
	why     string
}

// unmet says why no worker of a sweep's pool takes trials of a class: one that could is set aside, or something is
// missing.
func (s *State) unmet(sw *sweepState, class *sweep.ClassBacklog) string {
	version := s.workers.versions[sw.Pool]
	known, there := sw.unmet[class.Class]
	if !there || known.version != version {
		known = unmet{version, s.whyUnmet(sw.Pool, class)}
		sw.unmet[class.Class] = known
	}
	return known.why
}

func (s *State) whyUnmet(pool string, class *sweep.ClassBacklog) string {
	for _, id := range sortedKeys(s.workers.byID) {
		if w := s.workers.byID[id]; w.Aside != "" && w.queue.Pool == pool && w.Offer.Meets(&class.Requirement) {
			return fmt.Sprintf("worker %s is set aside: %s", w.Name, w.Aside)
		}
	}
	return class.Requirement.Unmet(pool, s.Offers(pool))
}

// EachRunning calls visit for each trial that a worker reports as running, or whose artifacts it stores.
func (s *State) EachRunning(visit func(sweep.TrialID)) {
	for _, w := range s.workers.byID {
		for _, r := range w.Running {
			visit(r.TrialID)
		}
		for _, r := range w.Storing {
			visit(r.TrialID)
		}
	}
}
