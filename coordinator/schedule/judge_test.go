package schedule

import (
	"slices"

	"sweep/sweep"
)

// standing is how a worker fares with the trials of a class, as the ledger has it.
type standing struct {
	sweep     string
	class     int
	worker    string
	completed bool
	failures  int64
	cause     string
}

// standing finds that of a worker.
func (w *world) standing(id string, class int, worker string) *standing {
	for _, s := range w.standings {
		if s.sweep == id && s.class == class && s.worker == worker {
			return s
		}
	}
	s := &standing{sweep: id, class: class, worker: worker}
	w.standings = append(w.standings, s)
	return s
}

// doubt takes the end of a trial into the standing of its worker, and reports whether a failure is not confirmed.
func (w *world) doubt(t *trial, worker, text string) bool {
	own := w.standing(t.id.Sweep, t.class, worker)
	t.worker, t.text = worker, text
	complete, fail := false, false
	if t.state != sweep.Failed {
		own.completed, own.failures = true, 0
		w.confirm(func(o *trial) bool { return o.worker == worker && o.class == t.class && o.id.Sweep == t.id.Sweep }, false)
		return false
	}
	own.failures, own.cause = own.failures+1, text
	for _, s := range w.standings {
		if s != own && s.sweep == own.sweep && s.class == own.class {
			complete, fail = complete || s.completed, fail || s.cause == text
		}
	}
	if fail {
		w.confirm(func(o *trial) bool { return o.text == text && o.class == t.class && o.id.Sweep == t.id.Sweep }, true)
	}
	t.unconfirmed = !fail && (!own.completed || complete && own.failures >= sweep.StandsOut)
	return t.unconfirmed
}

// confirm has unconfirmed failures count.
func (w *world) confirm(fits func(*trial) bool, inRow bool) {
	for _, t := range w.doubted(fits) {
		t.unconfirmed = false
		if inRow {
			w.endsOf(t.id.Sweep, t.class).errors.Add(t.id.Index, t.text)
		}
	}
}

// retract puts trials whose failures are not confirmed back.
func (w *world) retract(a Retract) {
	for _, h := range w.workers {
		if h.Name == a.Worker && h.Ready && !h.deaf {
			w.fail("failures are retracted when their worker takes no jobs", "sweep %s, worker %s", a.Sweep, a.Worker)
		}
	}
	for _, t := range w.doubted(func(t *trial) bool {
		return t.id.Sweep == a.Sweep && t.class == a.Class && t.worker == a.Worker && !t.retracted
	}) {
		t.state, t.unconfirmed, t.retracted = sweep.Pending, false, true
	}
}

// doubted are the trials with unconfirmed failures that fit, in the order of their indices.
func (w *world) doubted(fits func(*trial) bool) (list []*trial) {
	for _, t := range w.trials {
		if t.unconfirmed && fits(t) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *trial) int { return compareTrials(a.id, b.id) })
	return list
}

// suspects are the workers with unconfirmed failures of a sweep.
func (w *world) suspects(id string) (list []sweep.Suspect) {
	for _, s := range w.standings {
		found := w.doubted(func(t *trial) bool { return t.id.Sweep == id && t.class == s.class && t.worker == s.worker })
		if s.sweep != id || len(found) == 0 {
			continue
		}
		suspect := sweep.Suspect{Class: s.class, Worker: s.worker, Unconfirmed: int64(len(found)), Failures: s.failures}
		for _, t := range found {
			if !t.retracted {
				suspect.Retractable++
			}
		}
		for _, o := range w.standings {
			suspect.Others = suspect.Others || o != s && o.sweep == id && o.class == s.class && o.completed
		}
		list = append(list, suspect)
	}
	return list
}

// standAside has a worker take no more jobs; its waiting ones go back.
func (w *world) standAside(a Aside) {
	h := w.workers[a.Worker]
	if h == nil || h.deaf {
		return
	}
	h.Ready, h.Aside = false, a.Reason
	w.told = append(w.told, w.heartbeat(a.Worker))
}

// ready has a worker take jobs again that was set aside.
func (w *world) ready(id string) {
	if h := w.workers[id]; h.Aside != "" {
		h.Ready, h.Aside = true, ""
		w.tell(w.heartbeat(id))
	}
}
