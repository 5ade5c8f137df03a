// Package ledger holds the rules by which events change trials: it works on
// trials and executions that a store has loaded and leaves what is to be
// written for the store to save, in one transaction. So both databases follow
// one set of rules, and a batch of events costs each trial one read and one
// write.
//
// The rules, event by event (see sweep.Event):
//
//   - Any event of an execution that is not known yet makes it known and counts
//     it: an execution that reports has started. A refusal is no execution.
//   - started makes the trial running under that execution; another execution
//     that was running is lost. It is not counted before it is known that its worker
//     vanished, and never if the trial was put back in between.
//   - points replace the curves of a trial that has no result yet, or what follows
//     their offsets; the curves of its result replace them all, but a result
//     without curves keeps those of the points.
//   - result makes the trial terminal if it is not. Else it is a repeat, and a
//     fault if its digest differs at the same kernel level. A lost execution's
//     being cancelled does not cancel the trial.
//   - released ends the execution; the trial goes back to pending unless
//     another execution runs it, or fails once its charged executions reach the
//     limit. A later release of one execution replaces its charge and reason: a
//     trial that failed by its charges alone goes back to pending when one is
//     taken back.
//   - refused puts the trial back to pending if it is queued, or runs under that
//     very execution, and is counted. One that is not newer than the last refusal
//     of the same worker is a repeat.
//   - lost counts an execution whose worker vanished: the one that runs, which ends,
//     or one in whose place another started. The trial goes back to pending, or fails
//     once its losses reach the limit. A lost execution that reports its end after all
//     is counted no more. A trial that was heard of since it was looked at is not lost.
//   - Events of an ended execution, or of a terminal trial, change nothing else.
//
// Every rule is idempotent, so a batch may come again, whole or in part.
package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sweep/sweep"
)

// Trial is the part of a stored trial that events change.
type Trial struct {
	// Key is the store's own key.
	Key   int64
	ID    sweep.TrialID
	Class int64
	// Point is the store's key of its grid point, Seed its seed, 0 if it has none.
	Point, Seed int64
	// State and the fields up to Execution are columns of the trial.
	State      sweep.State
	Diverged   bool
	Executions int
	Charged    int
	Losses     int
	Worker     string
	StartedAt  time.Time
	FinishedAt time.Time
	// Execution is the one that started last.
	Execution string
	// HeardAt is when the trial was queued or last heard of, before these events.
	HeardAt time.Time
	// Refusals counts what workers refused, refused that of these events.
	Refusals int
	refused  int64
	// Digest and KernelLevel are those of the recorded result, if there is one.
	Digest      string
	KernelLevel string

	// Outcome is set when these events made the trial terminal: the store
	// writes it. Revived says that an outcome that it has is to be removed first.
	Outcome *sweep.Result
	Revived bool
	// Curves, if ReplaceCurves is set, take the place of the stored ones. Those are
	// loaded for trials whose points are to be added to them.
	Curves        []sweep.Curve
	ReplaceCurves bool

	// loaded is the state before the events.
	loaded sweep.State
}

// Execution is a stored execution.
type Execution struct {
	Trial     *Trial
	ID        string
	Worker    string
	StartedAt time.Time
	EndedAt   time.Time
	Outcome   sweep.ExecutionOutcome
	Charged   bool
	Forgotten bool
	// Replaced says that another execution started while it ran.
	Replaced   bool
	Checkpoint int64
	Reason     string
	// Stderr is the end of its log, LogStart how many bytes came before.
	Stderr   string
	LogStart int64
	Note     string
	// New says that the store does not hold it yet.
	New     bool
	changed bool
}

// keepLog keeps the end of a log.
func (e *Execution) keepLog(text string, start int64) {
	e.Stderr = cleanTail(text)
	e.LogStart = max(start, 0)
	if cut := len(text) - stderrLimit; cut > 0 {
		e.LogStart += int64(cut)
	}
}

// ended reports whether the execution has said its last word, corrections of
// its charge excepted.
func (e *Execution) ended() bool {
	return e.Outcome == sweep.ExecutionResult || e.Outcome == sweep.ExecutionReleased
}

// counted reports whether it is lost and counts against its trial.
func (e *Execution) counted() bool {
	return e.Outcome == sweep.ExecutionLost && e.Charged && !e.Forgotten
}

// Limits are how many charged and how many lost executions end a trial.
type Limits struct{ Attempts, Losses int }

// Refusal is what a worker refused of a trial: the last reason, and how often.
type Refusal struct {
	Trial   *Trial
	Worker  string
	Reason  string
	At      time.Time
	Count   int
	changed bool
}

// Fault is a repeat whose digest differs.
type Fault struct {
	Trial       *Trial
	Execution   string
	Worker      string
	KernelLevel string
	Expected    string
	Found       string
}

// executionKey names an execution of a trial, or a worker that refused it.
type executionKey struct {
	trial     sweep.TrialID
	execution string
}

// Ledger applies one batch of events.
type Ledger struct {
	now        time.Time
	order      []*Trial
	trials     map[sweep.TrialID]*Trial
	executions map[executionKey]*Execution
	refusals   map[executionKey]*Refusal
	written    []*Execution
	refused    []*Refusal
	faults     []Fault
	report     sweep.RecordReport
}

// New returns a Ledger for a transaction whose time is now.
func New(now time.Time) *Ledger {
	return &Ledger{now: now, trials: map[sweep.TrialID]*Trial{}, executions: map[executionKey]*Execution{},
		refusals: map[executionKey]*Refusal{}}
}

// TrialIDs returns the trials that the events are about, each once, in order
// of sweep and index.
func TrialIDs(events []sweep.Event) []sweep.TrialID {
	ids := make([]sweep.TrialID, len(events))
	for i := range events {
		ids[i] = events[i].TrialID
	}
	slices.SortFunc(ids, func(a, b sweep.TrialID) int {
		return cmp.Or(strings.Compare(a.Sweep, b.Sweep), cmp.Compare(a.Index, b.Index))
	})
	return slices.Compact(ids)
}

// LoadTrial hands a stored trial to the ledger.
func (l *Ledger) LoadTrial(t *Trial) {
	t.loaded = t.State
	l.trials[t.ID] = t
	l.order = append(l.order, t)
}

// Mentioned returns the executions that the store has to load: those that the
// events are about and those that started last, of trials that have any.
func (l *Ledger) Mentioned(events []sweep.Event) []Execution {
	seen := map[executionKey]bool{}
	var mentioned []Execution
	mention := func(trial *Trial, id string) {
		if key := (executionKey{trial.ID, id}); !seen[key] {
			seen[key] = true
			mentioned = append(mentioned, Execution{Trial: trial, ID: id})
		}
	}
	for i := range events {
		if trial := l.trials[events[i].TrialID]; trial != nil && trial.Executions > 0 {
			mention(trial, trial.Execution)
			mention(trial, cleanText(events[i].Execution))
		}
	}
	return mentioned
}

// LoadExecution hands a stored execution of a loaded trial to the ledger, once.
func (l *Ledger) LoadExecution(e *Execution) {
	if key := (executionKey{e.Trial.ID, e.ID}); l.executions[key] == nil {
		l.executions[key] = e
	}
}

// RefusedBy returns the refusals that the store has to load, as far as it has
// them: those of the trials and workers of the events.
func (l *Ledger) RefusedBy(events []sweep.Event) []Refusal {
	var mentioned []Refusal
	for i := range events {
		if trial := l.trials[events[i].TrialID]; events[i].Kind == sweep.EventRefused && trial != nil &&
			trial.Refusals > 0 {
			mentioned = append(mentioned, Refusal{Trial: trial, Worker: cleanText(events[i].Worker)})
		}
	}
	return mentioned
}

// Lost returns the trials whose lost executions the store has to load, because
// events may add to them.
func (l *Ledger) Lost(events []sweep.Event) []*Trial {
	var lost []*Trial
	for i := range events {
		trial := l.trials[events[i].TrialID]
		if trial != nil && trial.Losses > 0 && events[i].Kind == sweep.EventLost && !slices.Contains(lost, trial) {
			lost = append(lost, trial)
		}
	}
	return lost
}

// LoadRefusal hands a stored refusal to the ledger.
func (l *Ledger) LoadRefusal(r *Refusal) { l.refusals[executionKey{r.Trial.ID, r.Worker}] = r }

// Extended returns the trials whose stored curves the store has to load, because
// events add to them.
func (l *Ledger) Extended(events []sweep.Event) []*Trial {
	var extended []*Trial
	for i := range events {
		trial := l.trials[events[i].TrialID]
		if trial != nil && events[i].Kind == sweep.EventPoints && isIncrement(events[i].Curves) &&
			!slices.Contains(extended, trial) {
			extended = append(extended, trial)
		}
	}
	return extended
}

// Apply applies the events in order. limits returns those of a trial.
func (l *Ledger) Apply(events []sweep.Event, limits func(*Trial) Limits) sweep.RecordReport {
	for i := range events {
		event := &events[i]
		trial := l.trials[event.TrialID]
		if trial == nil {
			l.report.Unknown++
			continue
		}
		if !wellFormed(event) {
			l.report.Malformed++
			continue
		}
		l.apply(event, trial, limits)
	}
	return l.report
}

func wellFormed(e *sweep.Event) bool {
	switch e.Kind {
	case sweep.EventStarted, sweep.EventPoints, sweep.EventCheckpoint:
		return e.Execution != ""
	case sweep.EventResult:
		return e.Execution != "" && e.Result != nil && e.Result.State.Terminal()
	case sweep.EventReleased:
		return e.Execution != "" && e.Release != nil
	case sweep.EventRefused:
		return e.Refusal != nil
	case sweep.EventLost:
		return true
	}
	return false
}

func (l *Ledger) apply(event *sweep.Event, trial *Trial, limits func(*Trial) Limits) {
	at := event.Time.UTC()
	if event.Time.IsZero() {
		at = l.now
	}
	if event.Kind == sweep.EventRefused {
		l.refuse(event, trial, at)
		return
	}
	if event.Kind == sweep.EventLost {
		l.lose(event, trial, limits)
		return
	}
	execution := l.execution(event, trial, at)
	switch event.Kind {
	case sweep.EventStarted:
		l.start(trial, execution)
	case sweep.EventPoints:
		if !trial.State.Terminal() && !execution.ended() {
			trial.addPoints(cleanCurves(event.Curves))
		}
	case sweep.EventCheckpoint:
		if event.Checkpoint > execution.Checkpoint {
			execution.Checkpoint = event.Checkpoint
			l.write(execution)
		}
	case sweep.EventResult:
		l.finish(event, trial, execution, at)
	case sweep.EventReleased:
		l.release(event, trial, execution, at, limits)
	}
}

// execution finds the event's execution or makes it known.
func (l *Ledger) execution(event *sweep.Event, trial *Trial, at time.Time) *Execution {
	key := executionKey{trial.ID, cleanText(event.Execution)}
	execution := l.executions[key]
	if execution == nil {
		execution = &Execution{
			Trial: trial, ID: key.execution, Worker: cleanText(event.Worker), StartedAt: at,
			Outcome: sweep.ExecutionRunning, New: true,
		}
		if !event.Started.IsZero() {
			execution.StartedAt = event.Started.UTC()
		}
		l.executions[key] = execution
		trial.Executions++
		l.write(execution)
	}
	if event.Note != "" && execution.Note == "" {
		execution.Note = cleanTail(event.Note)
		l.write(execution)
	}
	return execution
}

// start makes the trial run under the execution, once.
func (l *Ledger) start(trial *Trial, execution *Execution) {
	if trial.State.Terminal() || execution.Outcome != sweep.ExecutionRunning {
		return
	}
	if trial.State == sweep.Running && trial.Execution == execution.ID {
		return
	}
	// A batch that comes again must not bring an earlier execution back.
	if trial.Execution != "" && trial.Execution != execution.ID && !execution.New {
		return
	}
	if other := l.executions[executionKey{trial.ID, trial.Execution}]; other != nil && other != execution &&
		other.Outcome == sweep.ExecutionRunning {
		other.Outcome, other.EndedAt = sweep.ExecutionLost, l.now
		if trial.State == sweep.Running { // else it was put back in between
			other.Replaced = true
			l.report.Replaced++
		}
		l.write(other)
	}
	trial.State = sweep.Running
	trial.Execution = execution.ID
	trial.Worker = execution.Worker
	trial.StartedAt = execution.StartedAt
}

// lose counts an execution whose worker vanished, once.
func (l *Ledger) lose(event *sweep.Event, trial *Trial, limits func(*Trial) Limits) {
	id := cmp.Or(cleanText(event.Execution), trial.Execution)
	execution := l.executions[executionKey{trial.ID, id}]
	runs := trial.State == sweep.Running && trial.Execution == id
	switch {
	case execution == nil || trial.State.Terminal() || execution.Forgotten:
		return
	case !event.Heard.IsZero() && !trial.HeardAt.Equal(event.Heard): // it was heard of since
		return
	case runs && execution.Outcome == sweep.ExecutionRunning:
		execution.Outcome, execution.EndedAt = sweep.ExecutionLost, l.now
	case execution.Outcome != sweep.ExecutionLost || !execution.Replaced || execution.Charged:
		return
	}
	execution.Charged = true
	execution.Reason = "its worker vanished"
	trial.Losses++
	l.report.Lost++
	l.write(execution)
	switch limit := limits(trial).Losses; {
	case trial.Losses >= limit:
		l.end(trial, &sweep.Result{
			State: sweep.Failed,
			Error: fmt.Sprintf("%d executions took their workers with them: %s", trial.Losses,
				strings.Join(l.victims(trial), ", ")),
		}, l.now)
	case runs:
		trial.State = sweep.Pending
		l.report.Released++
	}
}

// victims names the workers of a trial's lost executions, in the order in which they
// started.
func (l *Ledger) victims(trial *Trial) (workers []string) {
	var lost []*Execution
	for _, e := range l.executions {
		if e.Trial == trial && e.counted() {
			lost = append(lost, e)
		}
	}
	slices.SortFunc(lost, func(a, b *Execution) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, e := range lost {
		workers = append(workers, e.Worker)
	}
	return workers
}

// found takes a loss back of whose execution there is a word after all.
func (l *Ledger) found(trial *Trial, execution *Execution) {
	if execution.Outcome != sweep.ExecutionLost || !execution.Charged {
		return
	}
	execution.Charged, execution.Reason = false, ""
	if !execution.Forgotten {
		trial.Losses--
	}
	l.write(execution)
}

func (l *Ledger) finish(event *sweep.Event, trial *Trial, execution *Execution, at time.Time) {
	result := cleanResult(event.Result)
	again, lost := execution.Outcome == sweep.ExecutionResult, execution.Outcome == sweep.ExecutionLost
	l.found(trial, execution)
	if !again {
		execution.Outcome, execution.EndedAt = sweep.ExecutionResult, at
		execution.keepLog(event.Log, event.LogStart)
		l.write(execution)
	}
	if result.State == sweep.Failed && result.Stderr == "" {
		result.Stderr = execution.Stderr
	}
	if !trial.State.Terminal() {
		switch {
		case again: // the trial was retried since
			l.report.Repeated++
			return
		case lost && result.State == sweep.Cancelled: // another execution has the trial
			return
		}
	}
	if trial.State.Terminal() {
		l.report.Repeated++
		if trial.Digest != "" && result.Digest != "" && trial.Digest != result.Digest &&
			trial.KernelLevel == result.KernelLevel {
			l.report.Faults++
			l.faults = append(l.faults, Fault{
				Trial: trial, Execution: execution.ID, Worker: execution.Worker,
				KernelLevel: result.KernelLevel, Expected: trial.Digest, Found: result.Digest,
			})
		}
		return
	}
	trial.Execution = execution.ID
	trial.Worker = execution.Worker
	trial.StartedAt = execution.StartedAt
	if len(result.Curves) > 0 {
		trial.Curves, trial.ReplaceCurves = result.Curves, true
	}
	l.end(trial, result, at)
}

func (l *Ledger) release(event *sweep.Event, trial *Trial, execution *Execution, at time.Time,
	limits func(*Trial) Limits) {
	again := execution.ended()
	if again && (execution.Outcome == sweep.ExecutionResult || at.Before(execution.EndedAt)) {
		return // an execution with a result costs nothing; an older word changes nothing
	}
	l.found(trial, execution)
	charged := event.Release.Charged
	if charged != execution.Charged && !execution.Forgotten {
		if charged {
			trial.Charged++
		} else {
			trial.Charged--
		}
	}
	execution.Outcome, execution.EndedAt = sweep.ExecutionReleased, at
	execution.Charged = charged
	execution.Reason = cleanText(event.Release.Reason)
	if log := event.Release.Stderr; log != "" {
		execution.keepLog(log, event.LogStart)
	} else if !again || event.Log != "" { // a word that takes a charge back has no log
		execution.keepLog(event.Log, event.LogStart)
	}
	l.write(execution)
	switch {
	case !charged && trial.State == sweep.Failed && l.failedByCharges(trial) &&
		trial.Charged < limits(trial).Attempts && trial.Losses < limits(trial).Losses:
		l.revive(trial)
	case trial.State.Terminal() || trial.State == sweep.Running && trial.Execution != execution.ID:
	case charged && trial.Charged >= limits(trial).Attempts:
		trial.Worker = execution.Worker
		l.end(trial, &sweep.Result{
			State:  sweep.Failed,
			Error:  fmt.Sprintf("%d executions ended without a result, the last: %s", trial.Charged, execution.Reason),
			Stderr: execution.Stderr,
		}, at)
	case !again && trial.State != sweep.Pending:
		trial.State = sweep.Pending
		l.report.Released++
	}
}

// failedByCharges reports whether a failed trial failed because its executions
// ended without a result, and not because its trainer said so: then the last one
// has a result.
func (l *Ledger) failedByCharges(trial *Trial) bool {
	last := l.executions[executionKey{trial.ID, trial.Execution}]
	return last == nil || last.Outcome != sweep.ExecutionResult
}

// revive puts a failed trial back to pending.
func (l *Ledger) revive(trial *Trial) {
	trial.State, trial.FinishedAt = sweep.Pending, time.Time{}
	trial.Outcome, trial.Revived = nil, true
	trial.Digest, trial.KernelLevel = "", ""
	l.report.Released++
}

// refuse counts a refusal and puts the trial back to pending.
func (l *Ledger) refuse(event *sweep.Event, trial *Trial, at time.Time) {
	at = at.Truncate(time.Microsecond) // as databases keep it, so that a repeat is told
	key := executionKey{trial.ID, cleanText(event.Worker)}
	r := l.refusals[key]
	if r == nil {
		r = &Refusal{Trial: trial, Worker: key.execution}
		l.refusals[key] = r
	} else if !at.After(r.At) {
		return
	}
	if !r.changed {
		r.changed = true
		l.refused = append(l.refused, r)
	}
	r.At, r.Reason = at, cleanTail(event.Refusal.Reason)
	r.Count++
	trial.Refusals++
	trial.refused++
	l.report.Refused++
	execution := l.executions[executionKey{trial.ID, cleanText(event.Execution)}]
	switch {
	case trial.State == sweep.Queued:
		trial.State = sweep.Pending
	case trial.State == sweep.Running && execution != nil && trial.Execution == execution.ID:
		trial.State = sweep.Pending
		execution.Outcome, execution.EndedAt, execution.Reason = sweep.ExecutionReleased, at, r.Reason
		l.write(execution)
	}
}

// end makes the trial terminal.
func (l *Ledger) end(trial *Trial, result *sweep.Result, at time.Time) {
	trial.State = result.State
	trial.Diverged = result.Diverged
	trial.FinishedAt = at
	trial.Outcome = result
	trial.Digest, trial.KernelLevel = result.Digest, result.KernelLevel
	l.report.Terminal++
}

func (l *Ledger) write(e *Execution) {
	if !e.changed {
		e.changed = true
		l.written = append(l.written, e)
	}
}

// Trials returns the loaded trials, all of which have been heard of, in the
// order in which they were loaded.
func (l *Ledger) Trials() []*Trial { return l.order }

// Executions returns the executions to write.
func (l *Ledger) Executions() []*Execution { return l.written }

// Refusals returns the refusals to write.
func (l *Ledger) Refusals() []*Refusal { return l.refused }

// Faults returns the reproducibility faults to record; the store may hold some
// of them already.
func (l *Ledger) Faults() []Fault { return l.faults }

// Class is a class of trials, by its sweep's id and its number there.
type Class struct {
	Sweep  string
	Number int64
}

// Deltas returns by how much the counters of each class change.
func (l *Ledger) Deltas() map[Class]*sweep.Progress {
	deltas := map[Class]*sweep.Progress{}
	for _, trial := range l.order {
		if trial.loaded == trial.State && trial.refused == 0 {
			continue
		}
		class := Class{trial.ID.Sweep, trial.Class}
		delta := deltas[class]
		if delta == nil {
			delta = &sweep.Progress{}
			deltas[class] = delta
		}
		delta.Refused += trial.refused
		if trial.loaded == trial.State {
			continue
		}
		Count(delta, trial.loaded, -1)
		Count(delta, trial.State, 1)
		if trial.Diverged {
			delta.Diverged++
		}
	}
	return deltas
}

// Counters are the counters of a sweep, those of the states first, by the names
// of their columns.
var Counters = []struct {
	Name string
	Of   func(p *sweep.Progress) *int64
}{
	{string(sweep.Pending), func(p *sweep.Progress) *int64 { return &p.Pending }},
	{string(sweep.Queued), func(p *sweep.Progress) *int64 { return &p.Queued }},
	{string(sweep.Running), func(p *sweep.Progress) *int64 { return &p.Running }},
	{string(sweep.Completed), func(p *sweep.Progress) *int64 { return &p.Completed }},
	{string(sweep.Failed), func(p *sweep.Progress) *int64 { return &p.Failed }},
	{string(sweep.Cancelled), func(p *sweep.Progress) *int64 { return &p.Cancelled }},
	{"reused", func(p *sweep.Progress) *int64 { return &p.Reused }},
	{"diverged", func(p *sweep.Progress) *int64 { return &p.Diverged }},
	{"faults", func(p *sweep.Progress) *int64 { return &p.Faults }},
	{"refused", func(p *sweep.Progress) *int64 { return &p.Refused }},
	{"quarantined", func(p *sweep.Progress) *int64 { return &p.Quarantined }},
}

// Count adds n to the counter of a state.
func Count(p *sweep.Progress, state sweep.State, n int64) {
	for i := range Counters {
		if Counters[i].Name == string(state) {
			*Counters[i].Of(p) += n
		}
	}
}
