package coordinator

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/wire"
)

// workerList is the list of workers, kept from their heartbeats, and the answers to
// their next ones.
type workerList struct {
	mu sync.Mutex
	// answers are those that wait for the worker's next heartbeat, by worker.
	answers map[string]wire.HeartbeatAnswer
	// workers has each worker's latest heartbeat. turns has those that sent theirs first at its front, so that a
	// heartbeat costs the same however many workers there are.
	workers map[string]*presence
	turns   list.List
	// troubled are the workers that cannot report results.
	troubled map[string]*presence
	// halted are running trials that are to stop, with the reasons.
	halted map[sweep.TrialID]wire.Halt
	// asides are what workers are told that are to stand aside, by worker.
	asides map[string]*order
	// needs are those of the queues of trials that hold devices, by the queues of the same offers of trials that hold
	// none.
	needs map[wire.Queue][]sweep.Need
}

// order is what a worker is told, until it takes no jobs. Then obeyed is closed.
type order struct {
	wire.Aside
	obeyed chan struct{}
}

// presence is a worker's latest heartbeat, when it came, and whether its trials were looked up.
type presence struct {
	wire.Heartbeat
	at     time.Time
	looked bool
	turn   *list.Element
}

func newWorkerList() workerList {
	return workerList{workers: map[string]*presence{}, troubled: map[string]*presence{}}
}

// addNeed notes that there is a queue of trials with a need.
func (l *workerList) addNeed(q wire.Queue, need sweep.Need) {
	l.dropNeed(q)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.needs == nil {
		l.needs = map[wire.Queue][]sweep.Need{}
	}
	q.Need = ""
	l.needs[q] = append(l.needs[q], need)
}

// dropNeed notes that a queue is gone.
func (l *workerList) dropNeed(q wire.Queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := q.Need
	q.Need = ""
	left := slices.DeleteFunc(slices.Clone(l.needs[q]), func(need sweep.Need) bool { return need.Key() == key })
	if len(left) == 0 {
		delete(l.needs, q)
	} else {
		l.needs[q] = left
	}
}

// put notes a worker's heartbeat.
func (l *workerList) put(h wire.Heartbeat) {
	l.remove(h.ID)
	if h.Gone {
		return
	}
	p := &presence{Heartbeat: h, at: time.Now()}
	p.turn = l.turns.PushBack(p)
	l.workers[h.ID] = p
	if h.Problem != "" {
		l.troubled[h.ID] = p
	}
}

// remove removes a worker, if it is there.
func (l *workerList) remove(id string) {
	if p := l.workers[id]; p != nil {
		l.turns.Remove(p.turn)
		delete(l.workers, id)
		delete(l.troubled, id)
	}
}

// executions are those that run at the worker, or have ended and whose artifacts wait there.
func (p *presence) executions() []wire.Running { return slices.Concat(p.Running, p.Storing) }

// Workers lists the workers by pool and name, each as in its latest heartbeat. Those
// that have sent none for wire.HeartbeatTimeout are left out.
func (c *Coordinator) Workers() []wire.WorkerStatus {
	l := &c.workers
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	var list []wire.WorkerStatus
	for _, p := range l.workers {
		list = append(list, p.WorkerStatus)
	}
	slices.SortFunc(list, func(a, b wire.WorkerStatus) int {
		return cmp.Or(strings.Compare(a.Pool, b.Pool), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return list
}

// forget removes the workers that are gone.
func (l *workerList) forget() {
	for e := l.turns.Front(); e != nil; e = l.turns.Front() {
		p := e.Value.(*presence)
		if time.Since(p.at) < wire.HeartbeatTimeout {
			return
		}
		l.remove(p.ID)
	}
}

// runs reports whether a worker has reported, after a time, that it runs an execution.
func (l *workerList) runs(execution string, since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.workers {
		if p.at.After(since) && slices.ContainsFunc(p.executions(), func(r wire.Running) bool {
			return r.Execution == execution
		}) {
			return true
		}
	}
	return false
}

// noteReports checks whether a worker cannot report its results, for example because the
// broker is full. The caller holds the list's lock.
func (c *Coordinator) noteReports() {
	const doing = "receiving results"
	for _, p := range c.workers.troubled {
		c.outages.failed(doing, false,
			fmt.Errorf("worker %s cannot report the results of its trials: %s", p.Name, p.Problem))
		return
	}
	c.outages.over(doing)
}

// heartbeat takes a worker's heartbeat and answers it, unless another coordinator may
// lead, which answers then. It never waits.
func (c *Coordinator) heartbeat(h wire.Heartbeat) *wire.HeartbeatAnswer {
	if !c.options.Leads() {
		return nil
	}
	fact := schedule.Heartbeat{Worker: h.ID, Name: h.Name, Offer: h.Offer, Ready: h.State == wire.WorkerReady,
		Gone: h.Gone}
	if h.State == wire.WorkerAside {
		fact.Aside = h.Reason
	}
	for _, r := range h.Running {
		fact.Running = append(fact.Running, schedule.Running(r))
	}
	for _, r := range h.Storing {
		fact.Storing = append(fact.Storing, schedule.Running(r))
	}
	for _, d := range h.Devices {
		fact.Devices = append(fact.Devices, schedule.Device{Device: d.Device, Kind: d.Kind, Held: d.Held, Busy: d.Busy})
	}
	c.facts.add(fact)
	l := &c.workers
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(h)
	l.forget()
	c.noteReports()
	answer := l.answers[h.ID]
	delete(l.answers, h.ID)
	if len(l.needs) > 0 && len(h.Offer.Devices) > 0 {
		answer.Needs = l.needs[wire.Queue{Pool: h.Pool, Offer: h.Offer.Key()}]
	}
	if o := l.asides[h.ID]; o != nil && h.State == wire.WorkerReady && !h.Gone {
		answer.Aside = &o.Aside
	} else if o != nil {
		close(o.obeyed)
		delete(l.asides, h.ID)
	}
	return &answer
}

// lookUp reads the states of the trials that workers run or keep checkpoints of. Those
// that have ended are stopped, even if the worker missed the broadcast of their
// cancellation, and their checkpoints are removed.
func (c *Coordinator) lookUp(ctx context.Context) error {
	l := &c.workers
	l.mu.Lock()
	l.forget()
	c.noteReports()
	var ids []sweep.TrialID
	var unchecked []presence
	for _, p := range l.workers {
		if p.looked {
			continue
		}
		for _, r := range p.executions() {
			ids = append(ids, r.TrialID)
		}
		ids = append(ids, p.Checkpoints...)
		unchecked = append(unchecked, *p)
		p.looked = true
	}
	l.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	states, err := c.store.States(ctx, ids)
	if err != nil {
		return fmt.Errorf("reading the states of %d trials that workers run: %w", len(ids), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answers == nil {
		l.answers = map[string]wire.HeartbeatAnswer{}
	}
	maps.DeleteFunc(l.answers, func(id string, _ wire.HeartbeatAnswer) bool { // nobody asks for it any more
		_, known := l.workers[id]
		return !known
	})
	for _, h := range unchecked {
		var answer wire.HeartbeatAnswer
		for _, r := range h.executions() {
			if states[r.TrialID].Terminal() {
				answer.Stop = append(answer.Stop, r)
			} else if halt, ok := l.halted[r.TrialID]; ok {
				answer.Halt = append(answer.Halt, wire.Halted{Running: r, Halt: halt})
			}
		}
		answer.Ended = slices.DeleteFunc(slices.Clone(h.Checkpoints), func(id sweep.TrialID) bool {
			return !states[id].Terminal()
		})
		delete(l.answers, h.ID)
		if len(answer.Stop)+len(answer.Ended)+len(answer.Halt) > 0 {
			l.answers[h.ID] = answer
		}
	}
	return nil
}
