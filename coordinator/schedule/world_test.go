package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sweep/sweep"
)

// world is a cluster in memory that carries out what a State decides: a database, a broker
// and workers. It checks the invariants at every step.
type world struct {
	options Options
	state   *State
	now     time.Time
	// log are the actions since it was last read.
	log []string
	// broken are the invariants that did not hold.
	broken []error

	// The database.
	sweeps map[string]*sweep.Backlog
	// classes are those of a sweep's trials; draw tells that of the next one written.
	classes map[string][]string
	draw    func(classes int) int
	trials  map[sweep.TrialID]*trial
	next    map[string]int64
	down    bool

	// ends are how the trials of sweeps' classes ended last.
	ends map[string]map[int]*ends
	// searches are the sweeps whose trials are written in generations.
	searches map[string]*searchWorld
	// most is how many trials of a sweep are queued or run at a time; others are withheld.
	most map[string]int64
	// slow has generations be chosen when chooseAll is called, and not at once.
	slow bool
	// comparing are the sweeps whose trials that run are being compared, comparisons how often they were, stored how
	// many decisions were stored.
	comparing   map[string]bool
	comparisons map[string]int
	stored      map[string]int

	// The broker: what waits in each queue, and the answers that are withheld by pool.
	queues map[Queue][]sweep.TrialID
	mode   map[string]string
	held   map[string][]func()
	told   []Fact
	// late are facts that the state has not been told of yet; lost are trials whose jobs went with their queue.
	late []Fact
	lost []sweep.Heard
	// deletions are sweeps that others delete after so many actions on the database.
	deletions map[string]int

	// The workers that live; silent ones are not heard of.
	workers     map[string]*hand
	heartbeatAt time.Time
	names       map[Queue]string
	needs       map[string]*sweep.Need
	offers      map[Queue]sweep.Offer
	ended       int
	commands    int64
	// steps are all that were taken.
	steps []step
	// shared is a budget that sweeps share.
	shared sweep.BudgetState
	// judges says that failures may be unconfirmed, standings how workers fare.
	judges    bool
	standings []*standing
	// unjust is since when jobs of a queue could have started elsewhere.
	unjust map[Queue]time.Time
}

// step is one that was taken.
type step struct {
	now     time.Time
	facts   []Fact
	decided string
}

func (w *world) showAll(actions []Action) string {
	var b strings.Builder
	for _, a := range actions {
		b.WriteString(w.show(a) + "\n")
	}
	return b.String()
}

// ends are how the trials of a class ended last.
type ends struct {
	tried  bool
	errors sweep.Errors
}

// searchWorld is a search by results. choosing is what is being chosen, nil if nothing is.
type searchWorld struct {
	batch    int64
	choosing *Choose
}

// trial is one in the database.
type trial struct {
	id    sweep.TrialID
	class int
	state sweep.State
	// inHand says that a worker has its job, released that it has given the trial back nevertheless.
	inHand, released bool
	// worker is the one that failed it, with the error text.
	worker, text           string
	unconfirmed, retracted bool
}

// hand is a worker.
type hand struct {
	Heartbeat
	silent bool
	// deaf says that it does not stand aside.
	deaf bool
	has  []sweep.TrialID
	// holds are the queues that its trials came from, gpus is how many it has, taken how many others use.
	holds       map[sweep.TrialID]Queue
	gpus, taken int64
}

// requires is what a class needs of workers: TRAINER, or TRAINER@GPUS.
func requires(class string) sweep.Requirement {
	trainer, count, holds := strings.Cut(class, "@")
	r := sweep.Requirement{Trainer: trainer}
	if holds {
		gpus, err := strconv.ParseFloat(count, 64)
		if err != nil {
			panic(err)
		}
		r.Need = &sweep.Need{GPUs: int64(gpus * sweep.WholeDevice)}
	}
	return r
}

// name is that of a queue in stories: POOL:TRAINERS, with @GPUS for trials that hold some.
func (w *world) name(q Queue) string {
	name := w.names[q.base()]
	if need := w.needs[q.Need]; need != nil {
		name += "@" + sweep.PartText(need.GPUs)
		if need.Presumed {
			name += "?"
		}
	}
	return name
}

// free is how many thousandths of GPUs a worker has left.
func (w *world) free(h *hand) int64 {
	free := (h.gpus - h.taken) * sweep.WholeDevice
	for _, id := range h.has {
		if q := h.holds[id]; q.Need != "" && w.needs[q.Need] != nil {
			free -= w.needs[q.Need].GPUs
		}
	}
	return free
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newWorld(window, largest, page int, exclusive bool) *world {
	options := Options{Window: int64(window), MaxWindow: int64(largest), Page: int64(page), Exclusive: exclusive, Heartbeat: 5 * time.Second,
		Silence: 20 * time.Second}
	w := &world{
		options: options, state: New(options),
		now: noon, sweeps: map[string]*sweep.Backlog{}, classes: map[string][]string{},
		trials: map[sweep.TrialID]*trial{}, ends: map[string]map[int]*ends{}, searches: map[string]*searchWorld{}, most: map[string]int64{},
		next: map[string]int64{}, deletions: map[string]int{}, queues: map[Queue][]sweep.TrialID{}, mode: map[string]string{},
		held:    map[string][]func(){},
		workers: map[string]*hand{}, names: map[Queue]string{}, needs: map[string]*sweep.Need{}, offers: map[Queue]sweep.Offer{},
		unjust: map[Queue]time.Time{}, comparing: map[string]bool{}, comparisons: map[string]int{}, stored: map[string]int{},
		shared: sweep.BudgetState{Number: 1, Budget: sweep.Budget{Name: "shared", Trials: 12}},
	}
	w.draw, w.heartbeatAt = func(int) int { return 0 }, noon.Add(5*time.Second)
	return w
}

// fail notes that an invariant does not hold.
func (w *world) fail(invariant, format string, args ...any) {
	w.broken = append(w.broken, fmt.Errorf(invariant+": "+format, args...))
}

// add writes a trial.
func (w *world) add(id string, class int, state sweep.State) {
	t := sweep.TrialID{Sweep: id, Index: w.next[id]}
	w.next[id]++
	w.trials[t] = &trial{id: t, class: class, state: state}
}

// backlog is what is left of a sweep.
func (w *world) backlog(id string) sweep.Backlog {
	b := *w.sweeps[id]
	b.Classes = nil
	if b.Budget != nil {
		budget := *b.Budget
		budget.Active = w.active(b.Budget)
		b.Budget = &budget
	}
	for class, trainer := range w.classes[id] {
		e := w.endsOf(id, class)
		b.Classes = append(b.Classes, sweep.ClassBacklog{Class: class,
			Requirement: requires(trainer), Tried: e.tried, Errors: e.errors})
	}
	written := false
	for t := range maps.Values(w.trials) {
		if t.id.Sweep != id {
			continue
		}
		written = true
		if t.unconfirmed {
			b.Classes[t.class].Unconfirmed++
		}
		switch c := &b.Classes[t.class]; t.state {
		case sweep.Pending:
			c.Pending++
		case sweep.Queued:
			c.Queued++
		case sweep.Running:
			c.Running++
		}
	}
	if !written {
		b.Classes = nil
	}
	b.Suspects = w.suspects(id)
	if most, bound := w.most[id]; bound {
		for i := range b.Classes {
			most -= b.Classes[i].Queued + b.Classes[i].Running
		}
		for i := range b.Classes {
			c := &b.Classes[i]
			c.Withheld = c.Pending - min(c.Pending, max(most, 0))
			most -= c.Pending - c.Withheld
		}
	}
	return b
}

// endsOf are how the trials of a class ended last.
func (w *world) endsOf(id string, class int) *ends {
	if w.ends[id] == nil {
		w.ends[id] = map[int]*ends{}
	}
	if w.ends[id][class] == nil {
		w.ends[id][class] = &ends{}
	}
	return w.ends[id][class]
}

// resume is what the coordinator does when a person resumes a sweep; retried, when its failed trials are retried.
func (w *world) resume(id string, retried bool) {
	w.sweeps[id].State = sweep.SweepActive
	for _, e := range w.ends[id] {
		if e.errors.Count > 0 {
			e.tried, e.errors = !retried, sweep.Errors{}
		}
	}
	for _, t := range w.trials {
		if retried && t.id.Sweep == id && t.state == sweep.Failed {
			t.state, t.unconfirmed, t.retracted = sweep.Pending, false, false
		}
	}
	w.tell(Changed{})
}

// active counts the queued and running trials of the sweeps that have a budget.
func (w *world) active(budget *sweep.BudgetState) (n int64) {
	for _, t := range w.trials {
		if b := w.sweeps[t.id.Sweep]; b != nil && b.Budget == budget && (t.state == sweep.Queued || t.state == sweep.Running) {
			n++
		}
	}
	return n
}

// spend notes that a trial has run to an end.
func (w *world) spend(id sweep.TrialID) {
	if b := w.sweeps[id.Sweep]; b != nil && b.Budget != nil {
		b.Budget.SpentTrials++
	}
}

// tell has the state take steps until there is nothing to do but wait.
func (w *world) tell(facts ...Fact) {
	for steps := 0; ; steps++ {
		facts = append(facts, w.told...)
		w.told = nil
		if steps > 10000 {
			w.fail("every step has an end", "10000 steps at %v", w.now)
			return
		}
		var answers []Fact
		failed := false
		actions := w.state.Step(w.now, facts...)
		w.steps = append(w.steps, step{w.now, facts, w.showAll(actions)})
		for _, a := range actions {
			w.log = append(w.log, w.show(a))
			if pool := a.executor(); pool != "" {
				w.ask(pool, func() { w.told = append(w.told, w.brokers(a)) })
			} else if fact := w.databases(a, failed); fact != nil {
				answers = append(answers, fact)
				_, failed = fact.(Failed)
			}
		}
		w.check()
		if facts = answers; len(answers)+len(w.told) == 0 {
			return
		}
	}
}

// ask has the broker do something for a pool, after what it was asked before.
func (w *world) ask(pool string, do func()) {
	if w.mode[pool] == "hangs" {
		w.held[pool] = append(w.held[pool], do)
		return
	}
	do()
}

// setBroker has the broker work for a pool, hang, refuse, or break while jobs are published.
func (w *world) setBroker(pool, mode string) {
	w.mode[pool] = mode
	if mode == "hangs" {
		return
	}
	held := w.held[pool]
	delete(w.held, pool)
	for _, do := range held {
		do()
	}
	w.tell()
}

// brokers carries an action on the broker out.
func (w *world) brokers(a Action) Fact {
	done := Done{Action: a}
	if w.mode[a.executor()] == "refuses" {
		done.Err = errors.New("the broker refuses")
	}
	switch a := a.(type) {
	case Open:
		if (a.Queue.Need != "") != (a.Need != nil) {
			w.fail("queues of needs have them", "%+v", a)
		}
		if done.Err == nil && w.queues[a.Queue] == nil {
			w.queues[a.Queue] = []sweep.TrialID{}
		}
	case Withdraw:
		if done.Err == nil {
			w.queues[a.Queue] = slices.DeleteFunc(w.queues[a.Queue], func(id sweep.TrialID) bool {
				own := slices.Contains(a.Sweeps, id.Sweep)
				if own {
					done.Trials = append(done.Trials, id)
				}
				return own
			})
		}
	case Remove:
		if done.Err == nil {
			for _, id := range w.queues[a.Queue] {
				if w.trials[id].state == sweep.Queued && !w.state.Expects(id) { // as the reconciler finds
					w.lost = append(w.lost, sweep.Heard{TrialID: id})
				}
			}
			delete(w.queues, a.Queue)
		}
	case Aside:
		w.standAside(a)
	case Purge:
		for q, waiting := range w.queues {
			if q.Pool == a.Pool && done.Err == nil {
				w.queues[q] = slices.DeleteFunc(waiting, func(id sweep.TrialID) bool {
					return id.Sweep == a.Sweep && (len(a.Indices) == 0 || slices.Contains(a.Indices, id.Index))
				})
			}
		}
	default:
		panic(a)
	}
	return done
}

// databases carries an action on the database out, unless one failed before.
func (w *world) databases(a Action, failed bool) Fact {
	switch a := a.(type) {
	case Report, Gone, Learn:
		return nil
	case Choose:
		w.choose(a)
		return nil
	}
	if failed {
		return nil
	}
	w.deleteDue()
	if w.down {
		return Failed{Err: errors.New("the database is down")}
	}
	if id := sweepOf(a); id != "" && w.sweeps[id] == nil { // it is gone
		return Done{Action: a}
	}
	switch a := a.(type) {
	case Read:
		ids := a.Sweeps
		if len(ids) == 0 {
			ids = sortedKeys(w.sweeps)
		}
		done := Done{Action: a}
		for _, id := range ids {
			if b := w.sweeps[id]; b != nil && (len(a.Sweeps) > 0 || b.State != sweep.SweepPaused) {
				done.Backlogs = append(done.Backlogs, w.backlog(id))
			}
		}
		return done
	case Write:
		return w.write(a)
	case Stop:
		if n := a.Decision.(int); n != w.stored[a.Sweep]+1 && n != w.stored[a.Sweep] {
			w.fail("decisions are stored in their order", "sweep %s: %d after %d", a.Sweep, n, w.stored[a.Sweep])
		}
		w.stored[a.Sweep] = a.Decision.(int)
	case Requeue:
		for _, id := range a.Trials {
			if t := w.trials[id]; t.state == sweep.Queued {
				t.state = sweep.Pending
			}
		}
		for _, h := range a.Lost {
			w.putBack(h.TrialID)
		}
	case Retract:
		w.retract(a)
	case Confirm:
		w.confirm(func(t *trial) bool {
			return t.id.Sweep == a.Sweep && (a.Class == anyClass || t.class == a.Class) &&
				(a.Worker == "" || t.worker == a.Worker)
		}, true)
	case Suspend:
		if s := w.sweeps[a.Sweep]; s.State == sweep.SweepActive {
			s.State = sweep.SweepPaused
		}
	case Halt:
		w.sweeps[a.Sweep].State = sweep.SweepPaused
	case Exhaust:
		w.sweeps[a.Sweep].State = sweep.SweepPaused
	case Dispatch:
		return w.dispatch(a)
	case Fail, Explain:
	default:
		panic(a)
	}
	return Done{Action: a}
}

// write writes a page of trials, of a search a generation that has been chosen.
func (w *world) write(a Write) Fact {
	b, most := w.sweeps[a.Sweep], w.state.options.Page
	done := Done{Action: a}
	if found := w.searches[a.Sweep]; found != nil {
		done.Generations = &Generations{Generation: (w.next[a.Sweep] + found.batch - 1) / found.batch, Written: w.next[a.Sweep]}
		if a.Decision != w.next[a.Sweep] {
			done.Generations.Choosing = w.unfinished(a.Sweep) == 0
			return done
		}
		if w.unfinished(a.Sweep) > 0 {
			w.fail("a generation is written when all before it have ended", "sweep %s", a.Sweep)
		}
		most = found.batch
		done.Generations.Generation++
	}
	for range min(b.Unwritten, most) {
		w.add(a.Sweep, w.draw(len(w.classes[a.Sweep])), sweep.Pending)
		b.Unwritten--
	}
	return done
}

// sweepOf is the one sweep that an action on the database is about, "" if it may be about several.
func sweepOf(a Action) string {
	switch a := a.(type) {
	case Write:
		return a.Sweep
	case Stop:
		return a.Sweep
	case Explain:
		return a.Sweep
	case Suspend:
		return a.Sweep
	case Exhaust:
		return a.Sweep
	case Halt:
		return a.Sweep
	}
	return ""
}

// deleteDue has others delete sweeps whose time has come, which the state is not told.
func (w *world) deleteDue() {
	for _, id := range sortedKeys(w.deletions) {
		if w.deletions[id]--; w.deletions[id] >= 0 {
			continue
		}
		delete(w.deletions, id)
		if w.sweeps[id] == nil {
			continue
		}
		for t := range maps.Values(w.trials) {
			if t.id.Sweep == id && !t.state.Terminal() {
				t.state = sweep.Cancelled
			}
		}
		delete(w.sweeps, id)
		delete(w.searches, id)
		w.next[id] = max(w.next[id], 1) // no other sweep gets its id
	}
}

// unfinished counts the written trials of a sweep that have not ended.
func (w *world) unfinished(id string) (n int) {
	for _, t := range w.trials {
		if t.id.Sweep == id && !t.state.Terminal() {
			n++
		}
	}
	return n
}

// choose has the next generation of a search be chosen, or trials that run be compared.
func (w *world) choose(a Choose) {
	if found := w.searches[a.Sweep]; a.Running {
		if w.comparing[a.Sweep] {
			w.fail("a sweep is compared once at a time", "sweep %s", a.Sweep)
		}
		w.comparing[a.Sweep] = true
	} else if found != nil {
		found.choosing = &a
	}
	if !w.slow {
		w.told = append(w.told, w.chosen()...)
	}
}

// chosen are the answers that are awaited: the decision about a generation is the number of trials before it, about
// trials that run a number of its own.
func (w *world) chosen() (facts []Fact) {
	for _, id := range sortedKeys(w.searches) {
		if a := w.searches[id].choosing; a != nil {
			facts = append(facts, Chosen{Sweep: id, Decision: a.Written})
			w.searches[id].choosing = nil
		}
	}
	for _, id := range sortedKeys(w.comparing) {
		w.comparisons[id] = w.stored[id] + 1
		facts = append(facts, Chosen{Sweep: id, Running: true, Decision: w.comparisons[id]})
		delete(w.comparing, id)
	}
	return facts
}

// chooseAll has all be chosen that is awaited.
func (w *world) chooseAll() { w.tell(w.chosen()...) }

func (w *world) putBack(id sweep.TrialID) {
	switch t := w.trials[id]; {
	case t.state == sweep.Queued:
		t.state = sweep.Pending
	case t.state == sweep.Running && t.inHand:
		w.fail("nothing that runs is taken back", "trial %s", id)
	}
}

// dispatch marks trials, and has the broker take their jobs.
func (w *world) dispatch(a Dispatch) Fact {
	done := Done{Action: a}
	batches := map[Queue][]sweep.TrialID{}
	for _, p := range a.Places {
		offer := w.offers[p.Queue.base()]
		if !offer.Meets(p.Requirement) || offer.Holding(p.Requirement.Need).Key() != p.Queue.Need {
			w.fail("jobs reach only queues that meet them", "a job that needs %+v in queue %s", p.Requirement,
				w.name(p.Queue))
		}
		var taken *trial
		for _, t := range w.trials {
			if t.id.Sweep == p.Sweep && t.class == p.Class && t.state == sweep.Pending &&
				(taken == nil || t.id.Index < taken.id.Index) {
				taken = t
			}
		}
		if taken == nil || w.sweeps[p.Sweep] == nil || w.sweeps[p.Sweep].State == sweep.SweepPaused {
			continue
		}
		taken.state = sweep.Queued
		w.checkFirst(taken)
		batches[p.Queue] = append(batches[p.Queue], taken.id)
		done.Jobs = append(done.Jobs, Job{p.Queue, taken.id, p.Class})
	}
	w.told, w.late = append(w.told, w.late...), nil // in between, as bad luck has it
	for _, q := range slices.SortedFunc(maps.Keys(batches), compareQueues) {
		w.ask(a.Pool, func() { w.told = append(w.told, w.publish(q, batches[q])) })
	}
	return done
}

// checkFirst checks that a trial which is queued does not wait for the first one of its class, and that none of its class
// has failed so that the sweep is to be paused.
func (w *world) checkFirst(t *trial) {
	b, e := w.backlog(t.id.Sweep), w.endsOf(t.id.Sweep, t.class)
	if n := e.errors.Count; n > 0 && (b.Canary && !e.tried || b.MaxErrors > 0 && n >= b.MaxErrors) {
		w.fail("what fails is not queued", "trial %s: %+v", t.id, e.errors)
	}
	if !b.Canary || e.tried {
		return
	}
	var active, others int64
	for _, class := range b.Classes {
		if n := class.Queued + class.Running; !class.Tried {
			active += n
			if class.Class == t.class {
				others = n - 1
			}
		}
	}
	if slots := w.state.poolSlots()[b.Pool]; active > max(slots, 1) {
		w.fail("classes without a completed trial have one for each slot", "%d of sweep %s on %d slots", active, b.Sweep,
			slots)
	}
	if c := w.state.sweeps[b.Sweep].canaries[t.class]; others > 0 && !c.long {
		w.fail("the first trial of a class runs alone", "trial %s is queued beside %d", t.id, others)
	}
}

func (w *world) publish(q Queue, ids []sweep.TrialID) Fact {
	done := Published{Queue: q, Trials: ids}
	if w.mode[q.Pool] == "refuses" {
		done.Err = errors.New("the broker refuses")
		return done
	}
	if w.mode[q.Pool] == "breaks" { // stores half of the jobs, and confirms these
		done.Err, done.Stored = errors.New("the broker breaks"), map[sweep.TrialID]bool{}
		ids = ids[:len(ids)/2]
	}
	for _, id := range ids {
		t := w.trials[id]
		if t.inHand {
			done.Duplicate = append(done.Duplicate, id)
			continue
		}
		if t.state != sweep.Queued && t.state != sweep.Cancelled {
			w.fail("trials are marked before their jobs are published", "trial %s is %s", id, t.state)
		}
		for other, waiting := range w.queues {
			if slices.Contains(waiting, id) {
				w.fail("a trial has one job", "trial %s has one in %s", id, w.name(other))
			}
		}
		w.queues[q] = append(w.queues[q], id)
		if done.Err != nil {
			done.Stored[id] = true
		}
	}
	return done
}

// check verifies what must hold after every step.
func (w *world) check() {
	for q, state := range w.state.queues {
		if slots := w.state.poolSlots()[q.Pool]; state.offer != nil && state.total > w.state.places(q.Pool, state, slots) &&
			state.slots >= state.total {
			w.fail("the window bounds what waits", "%d jobs in queue %s of %d slots", state.total,
				w.name(q), state.slots)
		}
		ids := w.state.idleElsewhere(q, state, w.state.idle())
		if len(ids) == 0 || w.state.underway[q.Pool] > 0 || w.state.backoffs[q.Pool] != nil || w.down || w.state.trouble {
			w.unjust[q] = w.now
		}
		if since, known := w.unjust[q]; known && w.now.Sub(since) > LookInterval+deliveredGrace {
			w.fail("no job waits while workers elsewhere are idle", "sweeps %v in queue %s", ids, w.name(q))
		}
	}
	for id, b := range w.sweeps {
		if b.Budget != nil && b.Budget.Trials > 0 && b.Budget.SpentTrials+w.active(b.Budget) > b.Budget.Trials {
			w.fail("no budget is exceeded", "sweep %s has used %+v", id, *b.Budget)
		}
	}
	for _, n := range w.state.underway {
		if n < 0 || n > 64 {
			w.fail("every answer was asked for", "%d actions under way", n)
		}
	}
}

// heartbeat is one of a worker.
func (w *world) heartbeat(id string) Fact {
	h := w.workers[id]
	h.Running = nil
	for _, t := range h.has {
		if w.trials[t].state == sweep.Running {
			h.Running = append(h.Running, Running{TrialID: t, Execution: t.String(), Need: h.holds[t].Need})
		}
	}
	h.Devices = nil
	held := (h.gpus-h.taken)*sweep.WholeDevice - w.free(h)
	for i := range h.gpus {
		d := Device{Device: fmt.Sprintf("gpu %d", i), Kind: sweep.GPUDevice, Held: min(held, sweep.WholeDevice)}
		if held -= d.Held; i >= h.gpus-h.taken {
			d.Busy = "process 7 uses it"
		}
		h.Devices = append(h.Devices, d)
	}
	return h.Heartbeat
}

// join has a worker come, or change what it offers.
func (w *world) join(id, pool string, slots int, trainers ...string) {
	w.joinWith(id, pool, slots, 0, trainers...)
}

// joinWith has a worker come that has GPUs.
func (w *world) joinWith(id, pool string, slots int, gpus int64, trainers ...string) {
	h := w.workers[id]
	if h == nil {
		h = &hand{holds: map[sweep.TrialID]Queue{}}
		w.workers[id] = h
	}
	h.gpus, h.taken = gpus, 0
	offer := sweep.Offer{Pool: pool, Slots: slots}
	if gpus > 0 {
		offer.Devices = []sweep.DeviceOffer{{Name: sweep.GPUDevice, Count: gpus}}
	}
	for _, name := range trainers {
		offer.Trainers = append(offer.Trainers, sweep.TrainerOffer{Name: name})
	}
	h.Heartbeat = Heartbeat{Worker: id, Name: id, Offer: offer, Ready: true}
	q := Queue{Pool: pool, Offer: offer.Key()}
	name := pool + ":" + strings.Join(trainers, "+")
	if gpus > 0 {
		name += fmt.Sprintf("/%d", gpus)
	}
	w.names[q], w.offers[q] = name, offer
	w.tell(w.heartbeat(id))
}

// leave has a worker say that it ends, or vanish.
func (w *world) leave(id string, silent bool) {
	h := w.workers[id]
	delete(w.workers, id)
	for _, t := range h.has { // the broker would deliver them again
		if w.acknowledge(w.trials[t]) && (w.trials[t].state == sweep.Running || w.trials[t].state == sweep.Queued) {
			w.trials[t].state = sweep.Pending
			w.tell(Heard{[]sweep.TrialID{t}})
		}
	}
	if h.Gone = true; !silent {
		h.Running = nil
		w.tell(h.Heartbeat)
	}
}

// release has a worker give back the first trial that it runs, and acknowledge its job when it ends.
func (w *world) release(id string, late bool) {
	for _, t := range w.workers[id].has {
		if w.trials[t].state == sweep.Running {
			w.trials[t].state, w.trials[t].released = sweep.Pending, true
			w.late = append(w.late, Heard{[]sweep.TrialID{t}})
			break
		}
	}
	if !late {
		w.tellLate()
	}
}

// acknowledge ends a worker's job and reports whether the worker had not given the trial back before.
func (w *world) acknowledge(t *trial) (kept bool) {
	kept = !t.released
	t.inHand, t.released = false, false
	return kept
}

// tellLate tells the state of what it has not heard of yet.
func (w *world) tellLate() {
	facts := w.late
	w.late = nil
	w.tell(facts...)
}

// take has a worker get a job of its queue, start it and be heard of if started says so.
func (w *world) take(id string, started bool) bool {
	h := w.workers[id]
	q := w.servedBy(h)
	if len(w.queues[q]) == 0 {
		return false
	}
	t := w.trials[w.queues[q][0]]
	w.queues[q] = w.queues[q][1:]
	if t.state != sweep.Queued {
		return true
	}
	t.inHand = true
	h.has = append(h.has, t.id)
	h.holds[t.id] = q
	if started {
		t.state = sweep.Running
		w.tell(Heard{[]sweep.TrialID{t.id}})
	}
	return true
}

// servedBy returns the queue from which a worker takes the next job: one of trials that hold devices if these are free.
func (w *world) servedBy(h *hand) Queue {
	base := Queue{Pool: h.Offer.Pool, Offer: h.Offer.Key()}
	free := w.free(h)
	for _, q := range slices.SortedFunc(maps.Keys(w.queues), compareQueues) {
		if need := w.needs[q.Need]; q.base() == base && need != nil && len(w.queues[q]) > 0 && need.GPUs <= free {
			return q
		}
	}
	return base
}

// end has a worker complete the first trial that it has.
func (w *world) end(id string) bool { return w.endIn(id, sweep.Completed, "") }

// endIn has a worker end the first trial that it has in a state.
func (w *world) endIn(id string, state sweep.State, text string) bool {
	h := w.workers[id]
	if len(h.has) == 0 {
		return false
	}
	t := w.trials[h.has[0]]
	if h.has = h.has[1:]; !w.acknowledge(t) {
		return true
	}
	if t.state == sweep.Queued || t.state == sweep.Running {
		t.state = state
		if e := w.endsOf(t.id.Sweep, t.class); w.judges && w.doubt(t, h.Name, text) {
		} else if state == sweep.Failed {
			e.errors.Add(t.id.Index, text)
		} else {
			e.tried, e.errors = true, sweep.Errors{}
		}
		w.ended++
		w.spend(t.id)
	}
	w.tell(Heard{[]sweep.TrialID{t.id}})
	return true
}

// pass lets time go by: workers are heard of every 5 s, and steps are taken when they are
// due.
func (w *world) pass(d time.Duration) {
	end := w.now.Add(d)
	for w.now.Before(end) {
		next := w.state.Wake()
		if !next.After(w.now) {
			next = w.now.Add(time.Millisecond)
		}
		if w.heartbeatAt.Before(next) && w.heartbeatAt.After(w.now) {
			next = w.heartbeatAt
		}
		if end.Before(next) {
			next = end
		}
		w.now = next
		var facts []Fact
		if !w.now.Before(w.heartbeatAt) {
			for _, id := range sortedKeys(w.workers) {
				if !w.workers[id].silent {
					facts = append(facts, w.heartbeat(id))
				}
			}
			w.heartbeatAt = w.now.Add(5 * time.Second)
		}
		if len(w.lost) > 0 {
			facts = append(facts, Lost{w.lost})
			w.lost = nil
		}
		w.tell(facts...)
	}
}

// pause is what the coordinator does when a person pauses a sweep.
func (w *world) pause(id string) {
	w.sweeps[id].State = sweep.SweepPaused
	w.commands++
	w.tell(Paused{w.commands, id})
}

// cancel is what it does when a person cancels one.
func (w *world) cancel(id string, indices ...int64) {
	f := Cancelled{Pool: w.sweeps[id].Pool, Sweep: id, Indices: indices}
	for t := range maps.Values(w.trials) {
		if t.id.Sweep != id || len(indices) > 0 && !slices.Contains(indices, t.id.Index) || t.state == sweep.Completed {
			continue
		}
		if t.state == sweep.Running {
			w.spend(t.id)
		}
		if t.state != sweep.Pending {
			f.Active = append(f.Active, t.id)
		}
		t.state, t.unconfirmed = sweep.Cancelled, false
	}
	slices.SortFunc(f.Active, compareTrials)
	if len(indices) == 0 {
		delete(w.sweeps, id)
		w.next[id] = max(w.next[id], 1) // no other sweep gets its id
	}
	w.commands++
	f.Command = w.commands
	w.tell(f)
}

// show writes an action down.
func (w *world) show(a Action) string {
	switch a := a.(type) {
	case Read:
		return strings.TrimRight("read "+strings.Join(a.Sweeps, " "), " ")
	case Write:
		return "write " + a.Sweep
	case Choose:
		if a.Running {
			return "compare what runs of " + a.Sweep
		}
		return fmt.Sprintf("choose %s after %d", a.Sweep, a.Written)
	case Stop:
		return "stop trials of " + a.Sweep
	case Requeue:
		if len(a.Lost) > 0 {
			return fmt.Sprintf("requeue %d lost", len(a.Lost))
		}
		return "requeue " + showTrials(a.Trials)
	case Fail:
		return fmt.Sprintf("fail %d", len(a.Failures))
	case Aside:
		return fmt.Sprintf("set %s aside: %s", a.Worker, a.Reason)
	case Retract:
		return fmt.Sprintf("retract failures of %s in %s", a.Worker, a.Sweep)
	case Confirm:
		return fmt.Sprintf("confirm failures of %s in %s", cmp.Or(a.Worker, "all"), a.Sweep)
	case Suspend:
		return fmt.Sprintf("suspend %s: %v", a.Sweep, a.Err)
	case Exhaust:
		return fmt.Sprintf("exhaust %s: %s", a.Sweep, a.Reason)
	case Halt:
		return fmt.Sprintf("halt %s: %s", a.Sweep, a.Reason)
	case Explain:
		return strings.TrimSpace(fmt.Sprintf("explain %s waiting=%v %s", a.Sweep, a.Waiting, a.Reason))
	case Dispatch:
		var b strings.Builder
		last := ""
		for _, p := range a.Places {
			if name := w.name(p.Queue); name != last {
				fmt.Fprintf(&b, " %s", name)
				last = name
			}
			fmt.Fprintf(&b, " %s", p.Sweep)
		}
		return "dispatch" + b.String()
	case Open:
		if a.Need != nil {
			w.needs[a.Queue.Need] = a.Need
		}
		if a.Again {
			return fmt.Sprintf("open %s again", w.name(a.Queue))
		}
		return fmt.Sprintf("open %s", w.name(a.Queue))
	case Withdraw:
		return fmt.Sprintf("withdraw %s %s", w.name(a.Queue), strings.Join(a.Sweeps, " "))
	case Remove:
		return "remove " + w.name(a.Queue)
	case Purge:
		return fmt.Sprintf("purge %s %s%s", a.Pool, a.Sweep, strings.TrimSuffix(fmt.Sprint(" ", a.Indices), " []"))
	case Report:
		if a.Err == nil {
			return strings.TrimRight("works again "+a.Pool, " ")
		}
		return fmt.Sprintf("report %v", a.Err)
	case Learn:
		return fmt.Sprintf("learn %s class %d uses=%v", a.Sweep, a.Class, a.Used)
	case Gone:
		return "gone " + strings.Join(a.Workers, " ")
	}
	panic(a)
}

// showTrials lists trials of one or more sweeps, each sweep's as "a 0-4 7".
func showTrials(ids []sweep.TrialID) string {
	var b strings.Builder
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == (sweep.TrialID{Sweep: ids[j].Sweep, Index: ids[j].Index + 1}) {
			j++
		}
		if b.Len() > 0 {
			b.WriteString(" ")
		}
		if i == 0 || ids[i].Sweep != ids[i-1].Sweep {
			b.WriteString(ids[i].Sweep + " ")
		}
		if i == j {
			fmt.Fprintf(&b, "%d", ids[i].Index)
		} else {
			fmt.Fprintf(&b, "%d-%d", ids[i].Index, ids[j].Index)
		}
		i = j + 1
	}
	return b.String()
}
