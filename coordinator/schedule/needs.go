package schedule

import (
	"fmt"
	"slices"
	"strings"

	"sweep/sweep"
)

// Device is a device of a worker, as of its heartbeat: of which kind it is, how many thousandths of it are held, and
// why it is not given to trials, if it is not.
type Device struct {
	Device, Kind string
	Held         int64
	Busy         string
}

// Used says whether a trial of a class used the GPU that it held, where the sweep file says nothing of GPUs.
type Used struct {
	Sweep string
	sweep.DeviceUse
}

// Learn says that it is known now whether the trials of a class use GPUs.
type Learn struct {
	Sweep string
	sweep.DeviceUse
}

func (Learn) executor() string { return "" }

// presumed is the need of a class whose sweep file says nothing, until it is known that it uses no GPU.
var presumed = sweep.PresumedNeed()

// need returns what trials of a class hold of the devices of workers that have such; nil for nothing.
func (sw *sweepState) need(class *sweep.ClassBacklog) *sweep.Need {
	r := &class.Requirement
	switch used, known := sw.uses[class.Class]; {
	case r.Need != nil && r.Need.Holds():
		return r.Need
	case r.Need != nil || !r.MayUseGPUs() || known && !used:
		return nil
	}
	return presumed
}

// requirement is that of the jobs of a class, with what they hold.
func requirement(class *sweep.ClassBacklog) *sweep.Requirement {
	if class.Need == class.Requirement.Need {
		return &class.Requirement
	}
	r := class.Requirement
	r.Need = class.Need
	return &r
}

// base is the queue of the same offer of trials that hold nothing.
func (q Queue) base() Queue { return Queue{Pool: q.Pool, Offer: q.Offer} }

// needQueues makes the queues of trials that hold devices, and drops those that no sweep needs any more.
func (s *State) needQueues() {
	if len(s.workers.equipped)+len(s.derived) == 0 {
		return
	}
	for _, sw := range s.sweeps {
		for i := range sw.Classes {
			class := &sw.Classes[i]
			if class.Need == nil || !sw.left(class) {
				continue
			}
			for base, crew := range s.workers.equipped {
				if base.Pool == sw.Pool && crew.offer != nil && crew.offer.Holding(class.Need) != nil &&
					crew.offer.Meets(&class.Requirement) {
					s.needQueue(base, class.Need)
				}
			}
		}
	}
	for _, list := range s.derived {
		for _, q := range list {
			s.addUp(q)
		}
	}
}

// needQueue makes the queue of an offer's trials with a need, unless it is there.
func (s *State) needQueue(base Queue, need *sweep.Need) {
	q := base
	q.Need = need.Key()
	if s.queues[q] == nil {
		s.queues[q] = &queueState{jobs: map[string]int64{}, since: s.now}
	}
	if !slices.Contains(s.derived[base], q) {
		s.derived[base] = append(s.derived[base], q)
	}
	state := s.queues[q]
	state.untold = state.untold || state.need == nil && state.open
	state.need = need
}

// left reports whether trials of a class are left, or may be written.
func (sw *sweepState) left(class *sweep.ClassBacklog) bool {
	return sw.Unwritten+class.Pending+class.Queued+class.Running > 0
}

// needed reports whether a queue is for trials that hold nothing, or for such of an active sweep.
func (s *State) needed(q Queue) bool {
	if q.Need == "" {
		return true
	}
	for _, sw := range s.sweeps {
		if sw.Pool != q.Pool {
			continue
		}
		for i := range sw.Classes {
			if class := &sw.Classes[i]; class.Need != nil && sw.left(class) && class.Need.Key() == q.Need {
				return true
			}
		}
	}
	return false
}

func (f Used) apply(s *State) {
	sw := s.sweeps[f.Sweep]
	if sw == nil {
		return
	}
	used, known := sw.uses[f.Class]
	if known && (used || !f.Used) {
		return
	}
	sw.uses[f.Class] = f.Used
	s.do(Learn(f))
	for i := range sw.Classes {
		sw.Classes[i].Need = sw.need(&sw.Classes[i])
	}
	for _, q := range s.sortedQueues() { // what waits for devices needs none, or the other way round
		wrong := !f.Used && q.Need == presumed.Key() || f.Used && known && q.Need == ""
		if wrong && q.Pool == sw.Pool && s.queues[q].jobs[f.Sweep] > 0 {
			s.doNext(Withdraw{Queue: q, Sweeps: []string{f.Sweep}})
		}
	}
	s.needQueues()
	s.stale[f.Sweep] = true
}

// awaitsDevices says for which devices the trials of a class wait, "" if they do not, or some run.
func (s *State) awaitsDevices(sw *sweepState, class *sweep.ClassBacklog) string {
	if class.Need == nil || class.Pending+class.Queued == 0 || class.Running > 0 {
		return ""
	}
	var have []string
	for q, state := range s.queues {
		if q.Pool != sw.Pool || !state.meets(class) {
			continue
		}
		if q.Need == "" { // its workers have no devices, and the file does not ask for any
			return ""
		}
		for _, w := range s.workers.crews[q.base()].members {
			text, free := w.devices(class.Need)
			if w.Ready && free {
				return ""
			}
			have = append(have, text)
		}
	}
	slices.Sort(have)
	const most = 3
	if len(have) > most {
		have = append(have[:most], fmt.Sprintf("%d more workers", len(have)-most))
	}
	if len(have) == 0 {
		return ""
	}
	where := ""
	if class.Need.WholeGPUs() > 1 {
		where = " on one machine"
	}
	return fmt.Sprintf("waits for %s%s; %s", class.Need, where, strings.Join(have, "; "))
}

// devices says which devices of a need a worker has, and whether a trial with the need could begin there.
func (w *worker) devices(need *sweep.Need) (text string, free bool) {
	var has, idle int
	busy := ""
	offer := sweep.Offer{}
	for _, d := range w.Devices {
		if d.Kind == sweep.GPUDevice && !need.HoldsGPU() || d.Kind != sweep.GPUDevice && need.Devices[d.Kind] == 0 {
			continue
		}
		has++
		if d.Busy != "" {
			busy = fmt.Sprintf(" (%s: %s)", d.Device, d.Busy)
		} else if d.Held == 0 {
			idle++
			offer.Devices = append(offer.Devices, sweep.DeviceOffer{Name: d.Kind, Count: 1})
		}
	}
	plain := sweep.Need{GPUs: need.GPUs, Devices: need.Devices} // heartbeats do not say which card is which
	if need.HoldsGPU() {
		plain.GPUs = max(plain.GPUs, 1)
	}
	count := "none"
	if idle > 0 {
		count = fmt.Sprint(idle)
	}
	return fmt.Sprintf("%s has %d, %s of them free%s", w.Name, has, count, busy), offer.Fits(&plain) > 0
}
