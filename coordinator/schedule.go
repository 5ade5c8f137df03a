package coordinator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// schedule decides what is written, queued and taken back, and says why a sweep
// waits. It is told facts (what is left of the sweeps, what workers offer, what
// was published, who was heard of) and answers with decisions; it knows no clock,
// no database and no broker. One goroutine owns it, the scheduler's.
//
// The way of a trial through it:
//
//	an unwritten point ──write──► pending ─assign─► a job in a queue ──heard──► gone
//	                                 ▲                    │
//	                                 └──────withdraw──────┘
//
// A queue is what the workers of one pool and equal offers share. A job is put
// into the queue of an offer that meets its requirement, so that what no worker
// can run never leaves the database and delays no other trial.
type schedule struct {
	// window is how many jobs wait in a pool's queues besides one for each slot, page
	// how many trial rows are written at once.
	window, page int64
	// settled says that the workers have had the time to be heard of.
	settled bool
	// exclusive says that all workers are this process's own: they leave when it is
	// about to end, and nobody is to start another.
	exclusive bool

	sweeps  map[string]*sweepPlan
	workers map[string]*workerPlan
	queues  map[wire.Queue]*queuePlan
	jobs    map[sweep.TrialID]job
	// kinds are the offers of workers that are there or were until a while ago.
	kinds map[wire.Queue]kind

	// resting has the pools whose queues the broker refuses, and says of each whether
	// it is left alone for now; refusals say why.
	resting  map[string]bool
	refusals map[string]string
}

// kind is what workers of equal offers offer, and when one was last heard of.
type kind struct {
	offer sweep.Offer
	heard time.Time
}

// kindMemory is how long the kinds of workers are known that are gone: a pool without
// workers is not to get new ones all the time for trials that the last ones could not run.
// After that it is tried again whether the new ones can.
const kindMemory = time.Hour

// sweepPlan is an active sweep.
type sweepPlan struct {
	sweep.Backlog
	// waiting and reason are what was said last of why it waits; told is whether
	// anything was.
	waiting bool
	reason  string
	told    bool
}

// workerPlan is a worker that was heard of.
type workerPlan struct {
	queue wire.Queue
	offer sweep.Offer
	// ready says that it takes jobs; running are the trials under way.
	ready   bool
	running []wire.Running
	heard   time.Time
}

// queuePlan is a queue that has workers, or jobs.
type queuePlan struct {
	// offer is that of its workers; without any it meets nothing.
	offer *sweep.Offer
	slots int64
	// busy is at most how many of the slots train: what the workers said last, and
	// what was started since; what ended since is not taken off.
	busy int64
	// jobs counts those that wait in it, by sweep.
	jobs  map[string]int64
	total int64
	// unbalanced says that its jobs are to be assigned anew; since is when the last
	// worker went, cleared that what it was not given has been taken back since.
	unbalanced bool
	since      time.Time
	cleared    bool
}

// job is one that waits in a queue, as far as is known.
type job struct {
	queue wire.Queue
	// class is that of its trial, anyClass if it is not known.
	class int
	// given is when it was found to be in a worker's hands.
	given time.Time
}

// anyClass stands for the class of a trial whose job another coordinator published.
const anyClass = -1

func newSchedule(window, page int) *schedule {
	return &schedule{
		window: int64(window), page: int64(page),
		sweeps: map[string]*sweepPlan{}, workers: map[string]*workerPlan{},
		queues: map[wire.Queue]*queuePlan{}, jobs: map[sweep.TrialID]job{}, kinds: map[wire.Queue]kind{},
		resting: map[string]bool{}, refusals: map[string]string{},
	}
}

// The facts.

// left tells what is left of sweeps; all says that there are no other active ones.
func (s *schedule) left(backlogs []sweep.Backlog, all bool) {
	there := map[string]bool{}
	for _, b := range backlogs {
		there[b.Sweep] = true
		plan := s.sweeps[b.Sweep]
		switch {
		case b.State != sweep.SweepActive && b.State != sweep.SweepWaiting:
			delete(s.sweeps, b.Sweep)
			continue
		case plan == nil:
			plan = &sweepPlan{Backlog: b}
			s.sweeps[b.Sweep] = plan
			s.reassign(b.Sweep)
		case plan.Priority != b.Priority || plan.Grids != b.Grids || begins(&plan.Backlog, &b):
			plan.Backlog = b
			s.reassign(b.Sweep)
		}
		plan.Backlog = b
	}
	if all {
		maps.DeleteFunc(s.sweeps, func(id string, _ *sweepPlan) bool { return !there[id] })
	}
}

// begins reports whether a sweep that had no trial in hand has some now: what others
// were given meanwhile is assigned anew.
func begins(before, now *sweep.Backlog) bool {
	has := func(c sweep.ClassBacklog) bool { return c.Pending+c.Queued+c.Running > 0 }
	return !slices.ContainsFunc(before.Classes, has) && slices.ContainsFunc(now.Classes, has)
}

// reassign has the jobs in the queues that a sweep could use assigned anew, so that one
// that has come, or has another priority now, does not wait behind the others.
func (s *schedule) reassign(id string) {
	pool := s.sweeps[id].Pool
	for q, plan := range s.queues {
		plan.unbalanced = plan.unbalanced || q.Pool == pool
	}
}

// unbalance has the jobs of a queue assigned anew, those of one without workers taken
// back.
func (s *schedule) unbalance(q wire.Queue) {
	if plan := s.queues[q]; plan != nil {
		plan.unbalanced, plan.cleared = true, false
	}
}

// beat tells what a worker says of itself, and returns its queue and whether the
// queue is new.
func (s *schedule) beat(now time.Time, b wire.Beat) (q wire.Queue, opened bool) {
	q = wire.Queue{Pool: b.Pool, Offer: b.Offer.Key()}
	before := s.workers[b.ID]
	if b.Gone {
		delete(s.workers, b.ID)
		if before != nil {
			s.count(now, before.queue)
		}
		return q, false
	}
	s.workers[b.ID] = &workerPlan{
		queue: q, offer: b.Offer, ready: b.State == wire.WorkerReady, running: b.Running, heard: now,
	}
	if s.queues[q] == nil {
		s.queues[q] = &queuePlan{jobs: map[string]int64{}, since: now}
		opened = true
	}
	if before != nil && before.queue != q {
		s.count(now, before.queue)
		if plan := s.queues[before.queue]; plan == nil || plan.offer == nil { // it has found out which data it lacks
			delete(s.kinds, before.queue)
		}
	}
	if b.State == wire.WorkerReady {
		s.kinds[q] = kind{b.Offer, now}
	}
	s.count(now, q)
	return q, opened
}

// silent forgets the workers that were not heard of since before.
func (s *schedule) silent(now, before time.Time) (gone int) {
	for id, w := range s.workers {
		if w.heard.Before(before) {
			delete(s.workers, id)
			s.count(now, w.queue)
			gone++
		}
	}
	maps.DeleteFunc(s.kinds, func(_ wire.Queue, k kind) bool { return now.Sub(k.heard) > kindMemory })
	return gone
}

// count adds up the workers of a queue.
func (s *schedule) count(now time.Time, q wire.Queue) {
	plan := s.queues[q]
	if plan == nil {
		return
	}
	had := plan.offer != nil
	plan.offer, plan.slots, plan.busy = nil, 0, 0
	for _, w := range s.workers {
		if w.queue == q && w.ready {
			plan.offer = &w.offer
			plan.slots += int64(w.offer.Slots)
			plan.busy += int64(len(w.running))
		}
	}
	if had && plan.offer == nil {
		plan.since, plan.cleared = now, false
	}
}

// rest tells that the broker refuses the queues of a pool, and why; "" that it does so
// no more.
func (s *schedule) rest(pool, why string) {
	if why == "" {
		delete(s.resting, pool)
		delete(s.refusals, pool)
		return
	}
	s.resting[pool], s.refusals[pool] = true, why
}

// wanted reports whether a queue is there, or has workers.
func (s *schedule) wanted(q wire.Queue) bool {
	if s.queues[q] != nil {
		return true
	}
	for _, w := range s.workers {
		if w.queue == q {
			return true
		}
	}
	return false
}

// served are the queues that have workers.
func (s *schedule) served() (list []wire.Queue) {
	for q, plan := range s.queues {
		if plan.offer != nil {
			list = append(list, q)
		}
	}
	return list
}

// published tells that the job of a trial of a class, anyClass if that is not known,
// is in a queue.
func (s *schedule) published(q wire.Queue, id sweep.TrialID, class int) {
	s.drop(id)
	plan := s.queues[q]
	if plan == nil { // of a coordinator before, for workers that are gone
		plan = &queuePlan{jobs: map[string]int64{}}
		s.queues[q] = plan
	}
	s.jobs[id] = job{queue: q, class: class}
	plan.jobs[id.Sweep]++
	plan.total++
}

// heard tells that a trial waits no more: it runs, has ended, or went back.
func (s *schedule) heard(id sweep.TrialID) {
	if plan := s.drop(id); plan != nil {
		plan.busy++
	}
}

// drop forgets a trial's job, and returns the queue that it was in; nil if there is none.
func (s *schedule) drop(id sweep.TrialID) *queuePlan {
	j, there := s.jobs[id]
	if !there {
		return nil
	}
	delete(s.jobs, id)
	plan := s.queues[j.queue]
	plan.total--
	if plan.jobs[id.Sweep]--; plan.jobs[id.Sweep] == 0 {
		delete(plan.jobs, id.Sweep)
	}
	return plan
}

// removed tells that a queue is gone, and returns the trials whose jobs were in it.
func (s *schedule) removed(q wire.Queue) (back []sweep.TrialID) {
	for id, j := range s.jobs {
		if j.queue == q {
			back = append(back, id)
			delete(s.jobs, id)
		}
	}
	delete(s.queues, q)
	return back
}

// The decisions.

// places is how many jobs a queue may hold: one for each slot, and its part by slots of
// its pool's window, which is at least one more for each slot if the window has so many. So
// what a pool has at the broker does not grow with the kinds of its workers.
func (s *schedule) places(plan *queuePlan, poolSlots int64) int64 {
	if plan.offer == nil {
		return 0
	}
	return plan.slots + max(s.window*plan.slots/max(poolSlots, 1), min(plan.slots, s.window))
}

// poolSlots counts the slots of each pool's workers.
func (s *schedule) poolSlots() map[string]int64 {
	slots := map[string]int64{}
	for q, plan := range s.queues {
		slots[q.Pool] += plan.slots
	}
	return slots
}

// meets reports whether a queue's workers can run a class.
func (plan *queuePlan) meets(class *sweep.ClassBacklog) bool {
	return plan.offer != nil && plan.offer.Meets(&class.Requirement)
}

// runnable reports whether any worker can run a class.
func (s *schedule) runnable(pool string, class *sweep.ClassBacklog) bool {
	for q, plan := range s.queues {
		if q.Pool == pool && plan.meets(class) {
			return true
		}
	}
	return false
}

// unmetPages is how many pages of trials that no worker can run are written of a
// sweep, in the search for some that one can.
const unmetPages = 20

// write returns the sweeps of which trial rows should be written, those of the
// largest priority first: those whose written trials run out.
func (s *schedule) write() (ids []string) {
	for _, plan := range s.ordered("") {
		want := s.window
		for q, queue := range s.queues {
			if q.Pool == plan.Pool {
				want += queue.slots
			}
		}
		if runnable, _ := s.pending(plan); runnable < want && s.writable(plan) {
			ids = append(ids, plan.Sweep)
		}
	}
	return ids
}

// writable reports whether further rows of a sweep may be written: not too many
// that no worker can run, and hardly any while there is no worker.
func (s *schedule) writable(plan *sweepPlan) bool {
	if plan.Unwritten == 0 {
		return false
	}
	most := s.page
	if len(s.offers(plan.Pool)) > 0 {
		most *= unmetPages
	}
	_, unmet := s.pending(plan)
	return unmet < most
}

// pending counts a sweep's pending trials: those that some worker can run, and
// those that none can.
func (s *schedule) pending(plan *sweepPlan) (runnable, unmet int64) {
	for i := range plan.Classes {
		if class := &plan.Classes[i]; s.runnable(plan.Pool, class) {
			runnable += class.Pending
		} else {
			unmet += class.Pending
		}
	}
	return runnable, unmet
}

// unschedulable counts, by sweep, the trials that workers are known of in their pool and
// none of these can run. Of a pool of which no worker is known it is not said of any.
func (s *schedule) unschedulable() map[string]int64 {
	counts := map[string]int64{}
	if !s.settled {
		return counts
	}
	kinds := map[string][]*sweep.Offer{}
	for q, k := range s.kinds {
		kinds[q.Pool] = append(kinds[q.Pool], &k.offer)
	}
	for id, plan := range s.sweeps {
		known := kinds[plan.Pool]
		if len(known) == 0 {
			continue
		}
		for i := range plan.Classes {
			class := &plan.Classes[i]
			if class.Pending > 0 && !slices.ContainsFunc(known, func(o *sweep.Offer) bool { return o.Meets(&class.Requirement) }) {
				counts[id] += class.Pending
			}
		}
		if counts[id] >= s.page*unmetPages { // no further ones are written
			counts[id] += plan.Unwritten
		}
	}
	return counts
}

// ordered returns the sweeps of a pool, of all for "": larger priority first, then
// the older one.
func (s *schedule) ordered(pool string) []*sweepPlan {
	plans := make([]*sweepPlan, 0, len(s.sweeps))
	for _, plan := range s.sweeps {
		if pool == "" || plan.Pool == pool {
			plans = append(plans, plan)
		}
	}
	slices.SortFunc(plans, func(a, b *sweepPlan) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Sweep, b.Sweep))
	})
	return plans
}

// withdrawal takes jobs of sweeps out of a queue. All says that the queue itself
// goes, because its workers are gone.
type withdrawal struct {
	queue  wire.Queue
	sweeps []string
	all    bool
}

// withdraw returns what should be taken back: jobs of queues without workers, and
// jobs that others should not have to wait behind.
func (s *schedule) withdraw(now time.Time) (list []withdrawal) {
	idle := s.idle()
	for _, q := range slices.SortedFunc(maps.Keys(s.queues), compareQueues) {
		plan := s.queues[q]
		if plan.offer == nil {
			gone := now.Sub(plan.since) > queueGrace
			if s.settled && (gone || !plan.cleared && plan.total > 0) {
				list = append(list, withdrawal{q, slices.Sorted(maps.Keys(plan.jobs)), gone})
			}
			plan.cleared = plan.cleared || s.settled
			continue
		}
		back := s.idleElsewhere(now, q, plan, idle)
		if plan.unbalanced {
			plan.unbalanced = false
			back = slices.Compact(slices.Sorted(slices.Values(append(back, s.inTheWay(q, plan)...))))
		}
		if len(back) > 0 {
			list = append(list, withdrawal{q, back, false})
		}
	}
	return list
}

// queueGrace is how long a queue stays whose workers are all gone: what they were
// given may come back to them.
const queueGrace = 2 * wire.BeatInterval

// givenGrace is how long a job that a worker has counts as one that starts: the worker
// may return it.
const givenGrace = 2 * time.Second

// inTheWay returns the sweeps in a queue whose jobs are to be assigned anew: for
// each there is another that could use the queue and has a larger priority, or an
// equal one and a smaller part of it.
func (s *schedule) inTheWay(q wire.Queue, plan *queuePlan) (ids []string) {
	others := s.ordered(q.Pool)
	for id, has := range plan.jobs {
		own := s.sweeps[id]
		inWay := own == nil // it is over, or paused
		for _, other := range others {
			if own == nil || other == own || other.Priority < own.Priority || !s.couldUse(plan, other) {
				continue
			}
			inWay = inWay || other.Priority > own.Priority || plan.jobs[other.Sweep]+1 < has
		}
		if inWay {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// couldUse reports whether a sweep has trials for a queue that are not in one, or
// may have.
func (s *schedule) couldUse(plan *queuePlan, p *sweepPlan) bool {
	for i := range p.Classes {
		if class := &p.Classes[i]; class.Pending > 0 && plan.meets(class) {
			return true
		}
	}
	return p.Unwritten > 0 && len(p.Classes) == 0
}

// idle returns the queues whose workers have nothing to do, and for which no pending
// trial waits.
func (s *schedule) idle() (queues []wire.Queue) {
	for q, plan := range s.queues {
		if plan.offer != nil && plan.total == 0 && plan.busy < plan.slots && s.choice(q.Pool, plan) == 0 {
			queues = append(queues, q)
		}
	}
	return queues
}

// idleElsewhere returns the sweeps in a queue with jobs that could start at once in an
// idle one: assigned anew, each queue gets its part by its slots. Without that the last
// jobs of a sweep would wait for a few slow workers.
func (s *schedule) idleElsewhere(now time.Time, q wire.Queue, plan *queuePlan, queues []wire.Queue) []string {
	startHere := max(plan.slots-plan.busy, 0)
	if plan.total <= startHere {
		return nil
	}
	var idle []*queuePlan // that could start what some sweep has in a queue
	for _, other := range queues {
		if other.Pool != q.Pool {
			continue
		}
		for id := range plan.jobs {
			if s.startsQueued(s.queues[other], id, anyClass) {
				idle = append(idle, s.queues[other])
				break
			}
		}
	}
	if len(idle) == 0 {
		return nil
	}
	found, waiting := map[string]bool{}, int64(0)
	for id, j := range s.jobs {
		if j.queue != q || now.Sub(j.given) < givenGrace {
			continue
		}
		waiting++
		if !found[id.Sweep] && slices.ContainsFunc(idle, func(has *queuePlan) bool { return s.startsQueued(has, id.Sweep, j.class) }) {
			found[id.Sweep] = true
		}
	}
	if waiting <= startHere {
		return nil
	}
	return slices.Sorted(maps.Keys(found))
}

// startsQueued reports whether a queue's workers can run the class of a sweep, or for
// anyClass one of which trials are queued.
func (s *schedule) startsQueued(plan *queuePlan, id string, class int) bool {
	p := s.sweeps[id]
	return p != nil && slices.ContainsFunc(p.Classes, func(c sweep.ClassBacklog) bool {
		return (c.Class == class || class == anyClass && c.Queued > 0) && plan.meets(&c)
	})
}

// assign gives the free places in the queues to sweeps, in the order in which the
// jobs are to be published. The queue with the least that waits and trains for its slots
// comes first, among equals the one that can run the fewest kinds of what waits. In a
// queue a sweep of lower priority gets nothing while one of higher priority has a trial
// for it, written or not; among equals the next place goes to the sweep with the fewest
// trials queued and running, so that each has the same share of the workers.
func (s *schedule) assign(most int) (assignments []assignment) {
	var vacancies []*vacancy
	slots := s.poolSlots()
	for q, plan := range s.queues {
		places := s.places(plan, slots[q.Pool])
		// One by one would cost as much as many at once.
		if room := places - plan.total; room > 0 && !s.resting[q.Pool] && room >= places/4 {
			vacancies = append(vacancies, &vacancy{queue: q, plan: plan, room: room, has: plan.total + min(plan.busy, plan.slots), choice: s.choice(q.Pool, plan)})
		}
	}
	slices.SortFunc(vacancies, func(a, b *vacancy) int {
		return cmp.Or(cmp.Compare(a.choice, b.choice), compareQueues(a.queue, b.queue))
	})
	candidates := map[string][]*candidate{}
	for len(vacancies) > 0 && len(assignments) < most {
		h := slices.MinFunc(vacancies, func(a, b *vacancy) int {
			return cmp.Compare(a.has*max(b.plan.slots, 1), b.has*max(a.plan.slots, 1))
		})
		if candidates[h.queue.Pool] == nil {
			for _, plan := range s.ordered(h.queue.Pool) {
				candidates[h.queue.Pool] = append(candidates[h.queue.Pool], newCandidate(plan, s.writable(plan)))
			}
		}
		next, class := h.next(candidates[h.queue.Pool])
		if next == nil || h.room == 0 {
			vacancies = slices.DeleteFunc(vacancies, func(other *vacancy) bool { return other == h })
			continue
		}
		next.pending[class]--
		next.has++
		h.has++
		h.room--
		assignments = append(assignments, assignment{h.queue, source{next.Sweep, next.Classes[class].Class}, &next.Classes[class].Requirement})
	}
	return assignments
}

// assignment has a trial of a source put into a queue.
type assignment struct {
	queue wire.Queue
	source
	requirement *sweep.Requirement
}

// source is where a trial is taken from.
type source struct {
	sweep string
	class int
}

// vacancy is a queue with room while places are assigned.
type vacancy struct {
	queue wire.Queue
	plan  *queuePlan
	// has counts what waits and what trains.
	room, has int64
	// choice is how many classes of pending trials the queue's workers can run.
	choice int
}

// choice counts the classes of pending trials that a queue's workers can run.
func (s *schedule) choice(pool string, plan *queuePlan) (n int) {
	for _, p := range s.sweeps {
		for i := range p.Classes {
			if p.Pool == pool && p.Classes[i].Pending > 0 && plan.meets(&p.Classes[i]) {
				n++
			}
		}
	}
	return n
}

// candidate is a sweep while places are assigned: has counts its trials that are queued
// or run, pending those that wait, by class.
type candidate struct {
	*sweepPlan
	has     int64
	pending []int64
	// more says that rows are to be written of it.
	more bool
}

func newCandidate(plan *sweepPlan, more bool) *candidate {
	s := &candidate{sweepPlan: plan, pending: make([]int64, len(plan.Classes)), more: more}
	for i, class := range plan.Classes {
		s.has += class.Queued + class.Running
		s.pending[i] = class.Pending
	}
	return s
}

// next returns the sweep that the queue's next place goes to, and the position of
// its class; nil if there is none. The candidates are in order of priority.
func (h *vacancy) next(candidates []*candidate) (found *candidate, class int) {
	more := false
	for i, s := range candidates {
		if found != nil && s.Priority < found.Priority {
			break
		}
		if c := s.open(h.plan); c >= 0 && (found == nil || s.has < found.has) {
			found, class = s, c
		}
		// Rows that are written soon may be for this queue: lower priorities wait.
		more = more || s.more && slices.ContainsFunc(s.Classes, func(c sweep.ClassBacklog) bool { return h.plan.meets(&c) })
		if last := i+1 == len(candidates) || candidates[i+1].Priority < s.Priority; last && found == nil && more {
			return nil, 0
		}
	}
	return found, class
}

// open returns the position of the first class that has a trial for a queue, -1
// if none has.
func (s *candidate) open(plan *queuePlan) int {
	for i := range s.Classes {
		if s.pending[i] > 0 && plan.meets(&s.Classes[i]) {
			return i
		}
	}
	return -1
}

// verdict is what is to be said of a sweep: whether it waits, and why, in whole
// or in part.
type verdict struct {
	sweep   string
	waiting bool
	reason  string
}

// explain returns what has changed of why sweeps wait: a sweep waits when no
// worker can run what is left of it.
func (s *schedule) explain() (list []verdict) {
	if !s.settled || s.exclusive && !s.manned() {
		return nil
	}
	for _, plan := range s.ordered("") {
		v := verdict{sweep: plan.Sweep, reason: s.refusals[plan.Pool]}
		var unmet, others int64
		for i := range plan.Classes {
			class := &plan.Classes[i]
			others += class.Queued + class.Running
			if class.Pending == 0 {
				continue
			}
			if s.runnable(plan.Pool, class) {
				others += class.Pending
				continue
			}
			if unmet += class.Pending; v.reason == "" {
				v.reason = class.Requirement.Unmet(plan.Pool, s.offers(plan.Pool))
			}
		}
		v.waiting = unmet > 0 && others == 0 // of the unwritten it is not known yet
		if plan.told && v.waiting == plan.waiting && v.reason == plan.reason {
			continue
		}
		list = append(list, v)
	}
	return list
}

// manned reports whether any worker takes jobs.
func (s *schedule) manned() bool {
	for _, w := range s.workers {
		if w.ready {
			return true
		}
	}
	return false
}

// said tells that a verdict is known.
func (s *schedule) said(v verdict) {
	if plan := s.sweeps[v.sweep]; plan != nil {
		plan.waiting, plan.reason, plan.told = v.waiting, v.reason, true
	}
}

// reserve returns how many jobs wait in the shortest of the queues that have some or that
// a pending trial waits for: what its workers can start before they need another job. It is
// 0 if no queue has any.
func (s *schedule) reserve() int64 {
	least := int64(-1)
	for q, plan := range s.queues {
		if plan.offer != nil && (plan.total > 0 || s.choice(q.Pool, plan) > 0) && (least < 0 || plan.total < least) {
			least = plan.total
		}
	}
	return max(least, 0)
}

// offers returns the offers of the workers of a pool that take jobs.
func (s *schedule) offers(pool string) (offers []sweep.Offer) {
	for _, w := range s.workers {
		if w.queue.Pool == pool && w.ready {
			offers = append(offers, w.offer)
		}
	}
	return offers
}

// withdrawn tells that the jobs of some trials were taken out of a queue before a worker
// got them, and returns these trials. Workers have the other jobs of the sweeps.
func (s *schedule) withdrawn(now time.Time, q wire.Queue, taken []sweep.TrialID, sweeps []string) (back []sweep.TrialID) {
	waited := make(map[sweep.TrialID]bool, len(taken))
	for _, id := range taken {
		waited[id] = true
	}
	for id, j := range s.jobs {
		switch {
		case j.queue != q || !slices.Contains(sweeps, id.Sweep):
		case waited[id]:
			back = append(back, id)
			s.drop(id)
		default:
			j.given = now
			s.jobs[id] = j
		}
	}
	return back
}

// inHand calls visit for the trials that workers say they run.
func (s *schedule) inHand(visit func(sweep.TrialID)) {
	for _, w := range s.workers {
		for _, r := range w.running {
			visit(r.TrialID)
		}
	}
}

// runs reports whether a worker has said since a time that it runs an execution.
func (s *schedule) runs(execution string, since time.Time) bool {
	for _, w := range s.workers {
		if w.heard.After(since) && slices.ContainsFunc(w.running, func(r wire.Running) bool { return r.Execution == execution }) {
			return true
		}
	}
	return false
}

func compareQueues(a, b wire.Queue) int {
	return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Offer, b.Offer))
}
