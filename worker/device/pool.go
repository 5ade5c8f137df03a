package device

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"sweep/sweep"
)

// DefaultIdle is how much of a GPU's memory may be in use while it counts as free: drivers and displays take some.
const DefaultIdle = 500 << 20

const (
	// fresh is how old figures may be by which a device is given.
	fresh = 2 * time.Second
	// drainPause, freePause and usePause are the times between two looks: while a device that a trial has left is not
	// free yet, while something waits for a device, and while it is not known whether a trial uses its own.
	drainPause, freePause, usePause = 500 * time.Millisecond, time.Second, time.Second
)

// yieldTime is how long a person who holds more devices leaves a free one to those who hold less and wait.
const yieldTime = time.Second

// EnoughLooks is in how many looks no process of trials is seen on a device before they count as such that use none.
const EnoughLooks = 5

// Options are the settings of a Pool.
type Options struct {
	// Idle is how many bytes of a GPU's memory may be in use while it counts as free; DefaultIdle if not positive.
	Idle int64
	// Locks is the folder of the files that lock devices between processes; DefaultLocks if empty.
	Locks  string
	Logger *slog.Logger
}

// Pool leases the devices of a machine. Its methods may be called from several goroutines.
type Pool struct {
	machine *Machine
	options Options
	locks   *locks
	// fresh and yield are the constants, but in tests.
	fresh, yield time.Duration

	// looking is held during a look at the devices.
	looking sync.Mutex

	mu     sync.Mutex
	states []*state
	leases map[*Lease]bool
	// looked is when the last look ended, asked when the last one began. problem is why the last one failed, if it did.
	looked, asked time.Time
	problem       string
}

// state is a device and what is held of it.
type state struct {
	Device
	// held is how many thousandths of it leases hold.
	held int64
	// dirty means that a trial has used it since it was seen free. drains is since when no lease holds it, until it has been seen free.
	dirty  bool
	drains time.Time
	// busy is why it is not given to a trial, by the last look.
	busy string
	used int64
	lock *lock
	// elsewhere is why it could not be locked the last time. free is since when this process could have it.
	elsewhere string
	free      time.Time
}

// NewPool returns a pool of the devices of a machine, nil for none. The first look is Refresh's.
func NewPool(m *Machine, options Options) *Pool {
	if m == nil || len(m.Devices) == 0 {
		return nil
	}
	if options.Idle <= 0 {
		options.Idle = DefaultIdle
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Pool{machine: m, options: options, locks: newLocks(cmp.Or(options.Locks, DefaultLocks)),
		leases: map[*Lease]bool{}, fresh: fresh, yield: yieldTime}
	for _, d := range m.Devices {
		p.states = append(p.states, &state{Device: d, used: -1})
	}
	return p
}

// Offers counts the devices of the machine that are alike.
func (p *Pool) Offers() []sweep.DeviceOffer {
	if p == nil {
		return nil
	}
	return p.machine.Offers()
}

// Hidden are the variables of a program that is to see no GPU.
func (p *Pool) Hidden() []string {
	if p == nil {
		return nil
	}
	return append(p.machine.hide(), devicesVariable)
}

// told reports whether a driver tells what uses the device.
func (s *state) told() bool { return s.ID != "" && s.driver != nil }

// Refresh looks at the devices if that is due. wanted means that something waits for a device.
func (p *Pool) Refresh(ctx context.Context, wanted bool) {
	if !p.due(wanted) || !p.looking.TryLock() {
		return
	}
	defer p.looking.Unlock()
	began := time.Now()
	seen := map[string]figures{}
	var problem error
	for _, d := range p.machine.drivers() {
		found, err := d.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			problem = err
		}
		for id, f := range found {
			seen[id] = f
		}
	}
	origins := map[int]origin{}
	for _, f := range seen {
		for _, pid := range f.processes {
			origins[pid] = originOf(pid)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if problem != nil {
		if p.problem == "" {
			p.options.Logger.Error("the state of the GPUs is not known: none is given to trials", "error", problem)
		}
		p.problem = problem.Error()
		return
	}
	p.problem, p.looked = "", time.Now()
	for _, s := range p.states {
		if s.told() {
			s.judge(seen, origins, p.options.Idle, began)
		}
	}
	for l := range p.leases {
		l.look(seen, origins)
	}
}

// due reports whether the devices are to be looked at, and notes that.
func (p *Pool) due(wanted bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := time.Duration(0)
	sooner := func(d time.Duration) {
		if pause == 0 || d < pause {
			pause = d
		}
	}
	for _, s := range p.states {
		switch {
		case !s.told():
		case !s.drains.IsZero():
			sooner(drainPause)
		case wanted && s.held < sweep.WholeDevice:
			sooner(freePause)
		}
	}
	for l := range p.leases {
		if l.need.Presumed && l.seen == 0 {
			sooner(usePause)
		}
	}
	if pause == 0 || time.Since(p.asked) < pause {
		return false
	}
	p.asked = time.Now()
	return true
}

// judge says by what is seen, in a look that began at a time, why the device is not given to trials.
func (s *state) judge(seen map[string]figures, origins map[int]origin, idle int64, began time.Time) {
	f, known := seen[s.ID]
	if s.card != "" { // processes of a slice may be listed as those of its card: trials' own may be in another slice
		_, known = seen[s.card]
		f.used = -1
		for _, pid := range seen[s.card].processes {
			if !origins[pid].own {
				f.processes = append(slices.Clone(f.processes), pid)
			}
		}
	}
	s.used, s.busy = f.used, ""
	if !known {
		s.busy = "its driver tells nothing of it: it may have failed"
		return
	}
	for _, pid := range f.processes {
		switch o := origins[pid]; {
		case s.held == 0 && o.own:
			s.busy = fmt.Sprintf("process %d, of a trial that has ended, still uses it", pid)
		case s.held == 0, o.there && !o.own:
			s.busy = fmt.Sprintf("process %d uses it", pid)
		}
	}
	if s.held == 0 && s.busy == "" && f.used > idle {
		s.busy = fmt.Sprintf("%s of its memory is in use, by a process that is not listed", sweep.SizeText(f.used))
	}
	if s.held == 0 && s.busy == "" && s.drains.Before(began) {
		s.dirty, s.drains = false, time.Time{}
		s.unlock()
	}
}

func (s *state) unlock() {
	s.lock.close()
	s.lock = nil
}

// look notes whether a process of the lease's trial is seen on a device.
func (l *Lease) look(seen map[string]figures, origins map[int]origin) {
	l.looks++
	for id, f := range seen {
		for _, pid := range f.processes {
			if o := origins[pid]; o.own && (o.slot == l.slot || o.slot < 0 && l.has(id)) {
				l.seen = pid
			}
		}
	}
}

// Lease is a trial's right to devices.
type Lease struct {
	pool *Pool
	need *sweep.Need
	slot int
	// parts are what is held so far.
	parts []part
	// looks counts the looks at the devices meanwhile, seen is a process of the trial on one of them.
	looks, seen int
}

// part is what a lease holds of a device.
type part struct {
	*state
	share int64
}

func (l *Lease) has(id string) bool {
	return slices.ContainsFunc(l.parts, func(p part) bool { return p.ID == id || p.card == id })
}

// Take leases the devices of a need, if enough are free; else it returns nil.
func (p *Pool) Take(need *sweep.Need) *Lease {
	l := p.Reserve(need)
	if !l.Fill() {
		l.Cancel()
		return nil
	}
	return l
}

// Reserve begins a lease that Fill gives devices.
func (p *Pool) Reserve(need *sweep.Need) *Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &Lease{pool: p, need: need, slot: -1}
	p.leases[l] = true
	return l
}

// Fill gives the lease devices that are free, and reports whether it has all.
func (l *Lease) Fill() bool {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	complete := true
	if l.need.HoldsGPU() {
		complete = l.fill(sweep.GPUDevice, max(l.need.WholeGPUs(), 1)) && complete
	}
	for name, count := range l.need.Devices {
		complete = l.fill(name, count) && complete
	}
	return complete
}

// fill gives the lease devices of a name until it has a number of them. A part of a GPU goes where least is left, so
// that whole ones stay free.
func (l *Lease) fill(name string, count int64) bool {
	for _, p := range l.parts {
		if p.Name == name {
			count--
		}
	}
	tried := map[*state]bool{}
	for count > 0 {
		var best *state
		var bestShare int64
		for _, s := range l.pool.states {
			share := int64(sweep.WholeDevice)
			if name == sweep.GPUDevice {
				share = l.need.Share(s.Model, s.Memory)
			}
			if s.Name == name && share > 0 && !tried[s] && l.pool.free(s, share) && (best == nil || s.before(best)) {
				best, bestShare = s, share
			}
		}
		if best == nil {
			return false
		}
		if best.lock == nil {
			if tried[best] = true; !l.pool.fair(best) {
				continue
			}
			if best.lock, best.elsewhere = l.pool.locks.take(best.Device); best.lock == nil {
				best.free = time.Time{}
				continue
			}
		}
		count--
		best.held += bestShare
		l.parts = append(l.parts, part{best, bestShare})
	}
	return true
}

// Want notes whether this process waits for devices: other people's processes on the machine leave it those that come
// free until it holds as many as they.
func (p *Pool) Want(wants bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locks.want(wants)
}

// fair reports whether a device may be taken that is free: nobody waits who holds less, or nobody has taken it.
func (p *Pool) fair(s *state) bool {
	if s.free.IsZero() {
		s.free = time.Now()
	}
	others := p.locks.others()
	if len(others) == 0 || time.Since(s.free) > p.yield {
		return true
	}
	held := p.locks.held(p.machine.Devices)
	return !slices.ContainsFunc(others, func(person string) bool { return held[person] < held[p.locks.person] })
}

// before reports whether a device is given before another one: that of which more is held, else the smaller one.
func (s *state) before(other *state) bool {
	return s.held > other.held || s.held == other.held && s.Memory < other.Memory
}

// free reports whether a trial may hold so much of a device now.
func (p *Pool) free(s *state, share int64) bool {
	if s.told() && (p.problem != "" || time.Since(p.looked) > p.fresh || !s.drains.IsZero()) {
		return false
	}
	return s.busy == "" && s.held+share <= sweep.WholeDevice
}

// Could reports whether there are devices for a need when those that trials hold are free again: others do not use too
// many of them.
func (p *Pool) Could(need *sweep.Need) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	offer := sweep.Offer{}
	for _, s := range p.states {
		if s.held > 0 || s.busy == "" && s.elsewhere == "" {
			offer.Devices = append(offer.Devices, sweep.DeviceOffer{Name: s.Name, Model: s.Model, Memory: s.Memory, Count: 1})
		}
	}
	return (p.problem == "" || !need.HoldsGPU()) && offer.Fits(need) > 0
}

// In notes in which slot the trial runs.
func (l *Lease) In(slot int) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.slot = slot
}

// Release ends the lease of a trial whose processes have ended. Its devices are given to others when they are seen free.
func (l *Lease) Release() { l.end(true) }

// Cancel ends a lease that no trial has used.
func (l *Lease) Cancel() { l.end(false) }

func (l *Lease) end(used bool) {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.leases, l)
	for _, part := range l.parts {
		s := part.state
		s.dirty = s.dirty || used && s.told()
		if s.held -= part.share; s.held > 0 {
			continue
		}
		if used {
			s.free = time.Time{}
		}
		if s.dirty {
			s.drains, p.asked = time.Now(), time.Time{}
		} else {
			s.unlock()
		}
	}
	l.parts = nil
}

// Use returns how often the devices were looked at since the lease began, and a process of the trial that was seen on
// one, 0 if none was.
func (l *Lease) Use() (looks, pid int) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.looks, l.seen
}

// Need is what the lease is for.
func (l *Lease) Need() *sweep.Need { return l.need }

// String names what is held: "gpu 0, gpu 1", "0.5 of gpu 0".
func (l *Lease) String() string {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	var texts []string
	for _, p := range l.parts {
		text := p.Device.String()
		if p.share < sweep.WholeDevice {
			text = sweep.PartText(p.share) + " of " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// devicesVariable has the devices of a trial, as gpu:0,licence:2.
const devicesVariable = "SWEEP_DEVICES"

// Variables are those of the trial's programs: by them they see the GPUs of the lease alone.
func (l *Lease) Variables() []string {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	variables := p.machine.hide()
	tokens := map[driver][]string{}
	var names []string
	shared := false
	for _, part := range l.parts {
		names = append(names, fmt.Sprintf("%s:%d", part.Name, part.Index))
		if part.driver != nil {
			tokens[part.driver] = append(tokens[part.driver], part.Token)
			shared = shared || part.share < sweep.WholeDevice
		}
	}
	for _, d := range p.machine.drivers() {
		if list := tokens[d]; list != nil {
			variables = append(variables, d.show(list, p.machine.inherited)...)
		}
	}
	if shared {
		variables = append(variables, growing()...)
	}
	return append(variables, devicesVariable+"="+strings.Join(names, ","))
}

// Status is the state of a device.
type Status struct {
	Device
	// Held is how many thousandths of it trials hold.
	Held int64
	// Busy is why it is not given to a trial, empty if it is or may be.
	Busy string
	// Used is how much of its memory is in use, in bytes; -1 if that is not known.
	Used int64
}

// Status returns the states of all devices.
func (p *Pool) Status() (list []Status) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.states {
		busy := cmp.Or(s.busy, s.elsewhere)
		switch {
		case s.told() && p.problem != "":
			busy = "its state is not known: " + p.problem
		case busy == "" && !s.drains.IsZero():
			busy = "it is not known to be free yet, after a trial"
		}
		list = append(list, Status{s.Device, s.held, busy, s.used})
	}
	return list
}
