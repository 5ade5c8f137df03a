package worker

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/worker/device"
)

const (
	// needPause is how often the queues of trials that hold devices are asked for jobs while devices are free, idleNeeds
	// how often the devices are looked at while there are no such queues.
	needPause = 250 * time.Millisecond
	idleNeeds = time.Second
	// needWait bounds the wait for the answer of a queue.
	needWait = 5 * time.Second
)

// needs takes jobs of trials that hold devices, each when it has leased the devices, so that none waits here while
// another worker could run it. A nil one has no devices.
//
// One job may wait for several devices. It gets those that come free until it has all, so that trials which hold less
// do not keep it waiting for ever.
type needs struct {
	worker *Worker
	pool   *device.Pool
	// wake holds a token when something has changed.
	wake chan struct{}
	// consumers are those of the queues, by the keys of needs; of the queues of offer. Only run uses them.
	consumers map[string]*wire.JobConsumer
	offer     wire.Queue
	// waiting has the job that waits for several devices, and reserved those that it has.
	waiting  *backlog
	reserved *device.Lease
	// hungry means that there are jobs for which devices are missing, as far as is known.
	hungry bool

	mu sync.Mutex
	// list are the needs for which there are queues, those first that were served longest ago.
	list []sweep.Need
	// leases are those of the jobs here.
	leases map[*wire.Delivery]*device.Lease
	// unseen counts the looks in which no trial of a class was seen on a device, where the sweep file does not say.
	unseen map[class]int
}

// class is a class of trials of a sweep.
type class struct {
	sweep  string
	number int
}

func newNeeds(w *Worker) *needs {
	if w.options.Devices == nil {
		return nil
	}
	return &needs{worker: w, pool: w.options.Devices, wake: make(chan struct{}, 1), waiting: newBacklog(1),
		consumers: map[string]*wire.JobConsumer{}, leases: map[*wire.Delivery]*device.Lease{}, unseen: map[class]int{}}
}

// lease returns what a job holds, nil if it holds nothing.
func (n *needs) lease(d *wire.Delivery) *device.Lease {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leases[d]
}

// release ends what a job holds, if it holds something; used means that its trial has run.
func (n *needs) release(d *wire.Delivery, used bool) {
	lease := n.lease(d)
	if lease == nil {
		return
	}
	n.mu.Lock()
	delete(n.leases, d)
	n.mu.Unlock()
	if used {
		lease.Release()
	} else {
		lease.Cancel()
	}
	n.soon()
}

// soon has the queues be asked at once.
func (n *needs) soon() {
	select {
	case n.wake <- struct{}{}:
	default: // a token is there
	}
}

// set takes the needs for which there are queues, and keeps their order.
func (n *needs) set(list []sweep.Need) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	has := func(list []sweep.Need, key string) bool {
		return slices.ContainsFunc(list, func(need sweep.Need) bool { return need.Key() == key })
	}
	n.list = slices.DeleteFunc(n.list, func(need sweep.Need) bool { return !has(list, need.Key()) })
	for _, need := range list {
		if !has(n.list, need.Key()) {
			n.list = append(n.list, need)
			n.soon()
		}
	}
}

// run takes jobs until ctx ends.
func (n *needs) run(ctx context.Context) {
	defer func() {
		n.closeAll()
		n.giveUp()
		n.pool.Want(false)
	}()
	for ctx.Err() == nil {
		pause := needPause
		if n.round(ctx) {
			pause = 0
		} else if n.quiet() {
			pause = idleNeeds
		}
		select {
		case <-ctx.Done():
		case <-n.wake:
		case <-time.After(pause):
		}
	}
}

// quiet reports whether nothing waits for devices.
func (n *needs) quiet() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.list) == 0
}

// round looks at the devices and takes jobs, and reports whether it took any.
func (n *needs) round(ctx context.Context) bool {
	if queue := n.worker.offer.queue(); queue != n.offer { // the next heartbeat's answer has its needs
		n.closeAll()
		n.offer = queue
		n.set(nil)
	}
	n.mu.Lock()
	list := slices.Clone(n.list)
	n.mu.Unlock()
	n.pool.Refresh(ctx, len(list) > 0)
	n.pool.Want(len(list) > 0 && n.hungry)
	took := n.fill()
	for more := true; more && ctx.Err() == nil && !n.worker.isAside() && n.room(); {
		more = n.takeAny(ctx)
		took = took || more
	}
	return took
}

// takeAny takes a job of the need that was served longest ago, of those for which there are jobs and devices.
func (n *needs) takeAny(ctx context.Context) bool {
	n.mu.Lock()
	list := slices.Clone(n.list)
	n.mu.Unlock()
	for _, need := range list {
		if n.take(ctx, &need) {
			n.served(&need)
			return true
		}
	}
	return false
}

// room reports whether a further job may begin: none that holds devices waits for a slot.
func (n *needs) room() bool {
	free, _ := n.worker.backlog.room()
	ready := 0
	n.worker.backlog.each(func(d *wire.Delivery) {
		if n.lease(d) != nil {
			ready++
		}
	})
	return ready == 0 || ready < free
}

// served moves a need behind the others.
func (n *needs) served(need *sweep.Need) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := need.Key()
	if i := slices.IndexFunc(n.list, func(other sweep.Need) bool { return other.Key() == key }); i >= 0 {
		n.list = append(slices.Delete(n.list, i, i+1), *need)
	}
}

// take leases the devices of a need and takes a job that holds them, if both are there. A job that needs several whole
// GPUs is taken when they are not yet free, if no other waits so.
func (n *needs) take(ctx context.Context, need *sweep.Need) bool {
	lease := n.pool.Take(need)
	n.hungry = n.hungry || lease == nil
	waits := lease == nil && need.WholeGPUs() > 1 && n.reserved == nil && n.pool.Could(need)
	if lease == nil && !waits {
		return false
	}
	d := n.request(ctx, need)
	n.hungry = d != nil
	switch {
	case d == nil && lease != nil:
		lease.Cancel()
	case d != nil && waits:
		n.waiting.push(d)
		n.reserved = n.pool.Reserve(need)
	case d != nil:
		n.begin(d, lease)
	}
	return d != nil
}

// begin has a job that holds its devices begin in the next free slot.
func (n *needs) begin(d *wire.Delivery, lease *device.Lease) {
	n.mu.Lock()
	n.leases[d] = lease
	n.mu.Unlock()
	n.worker.backlog.pushFirst(d)
}

// fill gives the waiting job the devices that are free, and reports whether it has all and begins. It goes back if
// others use too many of them, or if it has been cancelled.
func (n *needs) fill() bool {
	if n.reserved == nil {
		return false
	}
	_, waiting := n.waiting.room()
	switch {
	case waiting == 0 || !n.pool.Could(n.reserved.Need()):
		n.giveUp()
		return false
	case !n.reserved.Fill():
		return false
	}
	lease := n.reserved
	n.reserved = nil
	for _, d := range n.waiting.remove(func(*wire.Delivery, time.Duration) bool { return true }) {
		n.begin(d, lease)
		return true
	}
	lease.Cancel() // it was cancelled just now
	return false
}

// giveUp returns the waiting job to its queue.
func (n *needs) giveUp() {
	n.worker.returnJobs(n.waiting, -1)
	if n.reserved != nil {
		n.reserved.Cancel()
		n.reserved = nil
	}
}

// request takes a job from the queue of a need, nil if there is none.
func (n *needs) request(ctx context.Context, need *sweep.Need) *wire.Delivery {
	key := need.Key()
	jobs := n.consumers[key]
	if jobs == nil {
		queue := n.offer
		queue.Need = key
		var err error
		if jobs, err = n.worker.wire.Jobs(queue); err != nil {
			n.worker.log.Debug("jobs not requested", "queue", queue, "error", err)
			return nil
		}
		n.consumers[key] = jobs
	}
	err := error(nil)
	if jobs.Requested() == 0 {
		err = jobs.RequestNow(1)
	}
	var d *wire.Delivery
	if err == nil {
		d, err = jobs.Next(ctx, needWait)
	}
	if err != nil {
		n.worker.log.Debug("jobs not received", "need", need, "error", err)
		jobs.Close()
		delete(n.consumers, key)
		return nil
	}
	if d == nil || !n.worker.puller.accept(d) {
		return nil
	}
	return d
}

func (n *needs) closeAll() {
	for key, jobs := range n.consumers {
		jobs.Close()
		delete(n.consumers, key)
	}
}

// devices lists the devices, as they are shown.
func (n *needs) devices() (list []wire.WorkerDevice) {
	if n == nil {
		return nil
	}
	for _, s := range n.pool.Status() {
		list = append(list, wire.WorkerDevice{Device: s.String(), Kind: s.Name, Held: s.Held, Busy: s.Busy})
	}
	return list
}

// variables are those of a trainer in a slot, by which it sees the devices that a job holds.
func (s *slot) variables(d *wire.Delivery) []string {
	list := []string{device.SlotVariable + "=" + strconv.Itoa(s.number)}
	n := s.worker.needs
	if n == nil {
		return list
	}
	if lease := n.lease(d); lease != nil {
		lease.In(s.number)
		return append(list, lease.Variables()...)
	}
	return append(list, n.pool.Hidden()...)
}

// use tells what is known of the use of devices by the execution's trial, if the sweep file does not say; nil if nothing is.
func (e *execution) use() *sweep.DeviceUse {
	if e.lease == nil || !e.lease.Need().Presumed {
		return nil
	}
	looks, pid := e.lease.Use()
	n, c := e.slot.worker.needs, class{e.delivery.Sweep, e.delivery.Class}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.unseen[c] += looks; pid == 0 && n.unseen[c] < device.EnoughLooks {
		return nil
	}
	delete(n.unseen, c)
	return &sweep.DeviceUse{Class: c.number, Used: pid != 0, Process: pid, Devices: e.lease.String()}
}
