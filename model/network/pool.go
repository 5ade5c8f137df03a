package network

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// spinTime is how long a worker looks for the next job before it sleeps. Waking
// a core takes about as long.
const spinTime = 100 * time.Microsecond

// A pool runs the parts of a job on several threads: the caller's, and workers
// that look out for the next job for a while before they sleep. Only one
// goroutine may use it. The zero value is one of the caller's thread alone.
type pool struct {
	workers []worker
	ended   sync.WaitGroup

	round   atomic.Uint64 // of the present job; grows when one is there
	closed  atomic.Bool
	parts   int
	do      func(part int)
	next    atomic.Int64 // part that is done next
	working atomic.Int64 // workers that are not done with the round
	panic   atomic.Pointer[any]
}

type worker struct {
	asleep atomic.Bool
	wake   chan struct{}
	_      [64]byte // a cache line for each
}

// newPool returns a pool of so many threads, the caller's included.
func newPool(threads int) *pool {
	p := new(pool)
	p.start(threads)
	return p
}

// start makes the pool one of so many threads, the caller's included. It is called once.
func (p *pool) start(threads int) {
	p.workers = make([]worker, threads-1)
	for i := range p.workers {
		w := &p.workers[i]
		w.wake = make(chan struct{}, 1)
		p.ended.Go(func() { p.work(w) })
	}
}

// threads is the number of threads.
func (p *pool) threads() int { return len(p.workers) + 1 }

// run calls do for the parts from 0 to parts-1 and returns when all are done. A
// panic in one is the caller's.
func (p *pool) run(parts int, do func(part int)) {
	if parts == 1 || len(p.workers) == 0 {
		for i := range parts {
			do(i)
		}
		return
	}
	p.parts, p.do = parts, do
	p.next.Store(0)
	p.working.Store(int64(len(p.workers)))
	p.begin()
	p.take()
	for spins := 0; p.working.Load() > 0; spins++ {
		if spins > 1000 {
			runtime.Gosched()
		}
	}
	if failure := p.panic.Swap(nil); failure != nil {
		panic(*failure)
	}
}

// begin lets the workers see a new round.
func (p *pool) begin() {
	p.round.Add(1)
	for i := range p.workers {
		if w := &p.workers[i]; w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// take does parts until there are none left.
func (p *pool) take() {
	defer func() {
		if failure := recover(); failure != nil {
			kept := failure // on the heap only now
			p.panic.Store(&kept)
		}
	}()
	for {
		part := int(p.next.Add(1)) - 1
		if part >= p.parts {
			return
		}
		p.do(part)
	}
}

func (p *pool) work(w *worker) {
	for seen := uint64(0); ; {
		seen = p.await(w, seen)
		if p.closed.Load() {
			return
		}
		p.take()
		p.working.Add(-1)
	}
}

// await returns the round that follows the one seen.
func (p *pool) await(w *worker, seen uint64) uint64 {
	start := time.Now()
	for spins := 1; ; spins++ {
		if round := p.round.Load(); round != seen {
			return round
		}
		if spins%256 != 0 || time.Since(start) < spinTime {
			continue
		}
		w.asleep.Store(true)
		// Either this goroutine takes its sleep back or begin does, and wakes it.
		if p.round.Load() == seen || !w.asleep.CompareAndSwap(true, false) {
			<-w.wake
		}
		start = time.Now()
	}
}

// close ends the workers.
func (p *pool) close() {
	p.closed.Store(true)
	p.begin()
	p.ended.Wait()
}
