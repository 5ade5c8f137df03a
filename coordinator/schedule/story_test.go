package schedule

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
)

var update = flag.Bool("update", false, "write what is decided into the stories")

// TestStories tells the stories of testdata: commands, a dashed line, and what the
// schedule decides.
//
//	start window=N page=N [exclusive]           a coordinator starts
//	                                            … [max=N]: the window of short trials
//	                                            … [judges]: failures may be unconfirmed
//	sweep ID [pool=P] [priority=N] [unwritten=N] [classes=T,U] [TRAINER=PENDING[+RUNNING]]…
//	                                            … [budget=TRIALS] [hours=N] [shared]: a budget
//	                                            … [batch=N]: results choose each N trials
//	                                            … [canary]: the first trial of a class runs alone
//	                                            … [errors=N]: so many equal errors in a row pause it
//	                                            … [most=N]: more than so many are withheld from the queues
//	choosing slow|fast, chosen                  choosing them takes until chosen
//	budget ID TRIALS HOURS                      changes it, and resumes the sweep
//	spend ID HOURS                              its trials have taken so long
//	priority ID N
//	worker ID offers=T,U [slots=N] [pool=P] [draining]
//	                                            … [gpus=N]: its machine has GPUs
//	taken ID N                                  others use so many of a worker's GPUs
//	uses ID CLASS, spares ID CLASS              a trial of a class used its GPU, or did not
//	deaf ID, ready ID                           it does not stand aside, takes jobs again
//	gone ID…, silent ID…                        workers end, or are not heard of any more
//	take ID [N]                                 a worker takes jobs, and nobody hears of it
//	run ID [N]                                  it takes jobs and starts them
//	end ID [N], fail ID [N] [ERROR]             it ends trials
//	release ID, acknowledge ID                  it gives a trial up, and later its job
//	pause ID, resume ID, retry ID, cancel ID [INDEX]…
//	wait DURATION
//	broker POOL works|refuses|hangs
//	lose                                        all queues that there should be are lost
//	database works|fails
//	uncertain                                   the lease has run out
//	jobs, figures, left                         what is known
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			told := tellStory(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(told), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if told != string(text) {
				t.Errorf("%s; -update writes it:\n%s", file, firstDifference(string(text), told))
			}
		})
	}
}

// tellStory runs the commands of a story and returns it with what is decided. A part is
// comments, commands, the line "----" and the decisions; an empty line ends it.
func tellStory(t *testing.T, text string) string {
	var told strings.Builder
	var w *world
	for part := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n\n") {
		if told.Len() > 0 {
			told.WriteString("\n")
		}
		commands, _, answered := strings.Cut(part+"\n", "----\n")
		told.WriteString(commands)
		decided := ""
		for line := range strings.SplitSeq(strings.TrimSpace(commands), "\n") {
			fields := strings.Fields(line)
			if len(fields) == 0 || strings.HasPrefix(line, "#") {
				continue
			}
			if fields[0] == "start" {
				o := options(fields[1:])
				w = newWorld(o.number(t, "window", 10), o.number(t, "max", 0), o.number(t, "page", 100), o["exclusive"] != nil)
				w.judges = o["judges"] != nil
				continue
			}
			decided += w.tellLine(t, fields)
			for i := 0; i < len(w.log); {
				j := i + 1
				for j < len(w.log) && w.log[j] == w.log[i] {
					j++
				}
				if decided += w.log[i]; j > i+1 {
					decided += fmt.Sprintf(" (%d times)", j-i)
				}
				decided += "\n"
				i = j
			}
			w.log = nil
			for _, err := range w.broken {
				t.Errorf("after %q: %v", line, err)
			}
			w.broken = nil
		}
		if answered || decided != "" {
			told.WriteString("----\n" + decided)
		}
	}
	return told.String()
}

// settings are the words of a command, "name=value" or "name".
type settings map[string][]string

func options(fields []string) settings {
	o := settings{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		o[name] = strings.Split(value, ",")
	}
	return o
}

func (o settings) text(name, other string) string {
	if o[name] == nil {
		return other
	}
	return o[name][0]
}

func (o settings) number(t *testing.T, name string, other int) int {
	if o[name] == nil {
		return other
	}
	n, err := strconv.Atoi(o[name][0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// tellLine carries one command out and returns what it shows.
func (w *world) tellLine(t *testing.T, fields []string) string {
	name, id, rest := fields[0], "", []string(nil)
	if len(fields) > 1 {
		id, rest = fields[1], fields[2:]
	}
	o := options(rest)
	times := 1
	if len(rest) > 0 {
		times, _ = strconv.Atoi(rest[0])
	}
	switch name {
	case "sweep":
		w.defineSweep(t, id, o)
	case "choosing":
		w.slow = id == "slow"
	case "observe":
		w.tell(Observed{[]string{id}})
	case "chosen":
		w.chooseAll()
	case "budget":
		b := w.sweeps[id]
		hours, err := strconv.Atoi(rest[1])
		if err != nil {
			t.Fatal(err)
		}
		b.Budget.Trials, b.State = int64(times), sweep.SweepActive
		b.Budget.Time = time.Duration(hours) * time.Hour
		w.tell(Changed{})
	case "spend":
		w.sweeps[id].Budget.SpentTime += time.Duration(times) * time.Hour
		w.tell(Changed{})
	case "priority":
		w.sweeps[id].Priority = times
		w.tell(Changed{})
	case "worker":
		w.joinWith(id, o.text("pool", "cpu"), o.number(t, "slots", 1), int64(o.number(t, "gpus", 0)), o["offers"]...)
		if o["draining"] != nil {
			w.workers[id].Ready = false
			w.tell(w.heartbeat(id))
		}
	case "taken":
		w.workers[id].taken = int64(times)
		w.tell(w.heartbeat(id))
	case "uses", "spares":
		w.tell(Used{id, sweep.DeviceUse{Class: times, Used: name == "uses"}})
	case "deaf":
		w.workers[id].deaf = true
	case "ready":
		w.ready(id)
	case "gone", "silent":
		for _, id := range fields[1:] {
			w.leave(id, name == "silent")
		}
	case "take", "run":
		for range times {
			if !w.take(id, name == "run") {
				return "nothing to take\n"
			}
		}
	case "end":
		for range times {
			w.end(id)
		}
	case "fail":
		for range times {
			w.endIn(id, sweep.Failed, "exit status 1: "+strings.Join(rest[min(len(rest), 1):], " "))
		}
	case "release":
		w.take(id, true)
		h := w.workers[id]
		released := h.has[len(h.has)-1]
		w.trials[released].state = sweep.Pending // its job is still in the stream
		w.tell(Heard{[]sweep.TrialID{released}})
	case "acknowledge":
		h := w.workers[id]
		w.trials[h.has[0]].inHand = false
		h.has = h.has[1:]
	case "pause":
		w.pause(id)
	case "resume", "retry":
		w.resume(id, name == "retry")
	case "cancel":
		var indices []int64
		for _, text := range rest {
			index, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			indices = append(indices, index)
		}
		w.cancel(id, indices...)
	case "wait":
		d, err := time.ParseDuration(id)
		if err != nil {
			t.Fatal(err)
		}
		w.pass(d)
	case "broker":
		w.setBroker(id, rest[0])
	case "lose":
		clear(w.queues)
		w.tell(QueuesLost{w.state.Served()})
	case "database":
		w.down = id == "fails"
		w.tell(Changed{})
	case "uncertain":
		w.tell(Uncertain{fmt.Errorf("the lease has run out")})
	default:
		return w.know(t, name)
	}
	return ""
}

// defineSweep adds a sweep with trials that are written already.
func (w *world) defineSweep(t *testing.T, id string, o settings) {
	w.sweeps[id] = &sweep.Backlog{
		Sweep: id, Pool: o.text("pool", "cpu"), Priority: o.number(t, "priority", 0), State: sweep.SweepActive,
		Grids: 1, Unwritten: int64(o.number(t, "unwritten", 0)), Canary: o["canary"] != nil,
		MaxErrors: int64(o.number(t, "errors", 0)),
	}
	if trials, hours := o.number(t, "budget", 0), o.number(t, "hours", 0); trials+hours > 0 {
		w.sweeps[id].Budget = &sweep.BudgetState{Number: int64(len(w.sweeps) + 1),
			Budget: sweep.Budget{Trials: int64(trials), Time: time.Duration(hours) * time.Hour}}
	}
	if o["shared"] != nil {
		w.sweeps[id].Budget = &w.shared
	}
	if batch := o.number(t, "batch", 0); batch > 0 {
		w.searches[id] = &searchWorld{batch: int64(batch)}
	}
	if most := o.number(t, "most", 0); most > 0 {
		w.most[id] = int64(most)
	}
	w.classes[id] = o["classes"]
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains([]string{"pool", "priority", "unwritten", "classes", "budget", "hours", "shared",
			"batch", "canary", "errors", "most"}, name) {
			continue
		}
		class := slices.Index(w.classes[id], name)
		if class < 0 {
			class = len(w.classes[id])
			w.classes[id] = append(w.classes[id], name)
		}
		waiting, running, _ := strings.Cut(o[name][0], "+")
		for _, of := range []struct {
			text  string
			state sweep.State
		}{{running, sweep.Running}, {waiting, sweep.Pending}} {
			n, _ := strconv.Atoi(of.text)
			for range n {
				w.add(id, class, of.state)
			}
		}
	}
	w.tell(Changed{})
}

// know shows what is known.
func (w *world) know(t *testing.T, name string) string {
	var b strings.Builder
	switch name {
	case "jobs":
		for _, q := range w.state.sortedQueues() {
			fmt.Fprintf(&b, "%s:", w.name(q))
			for _, id := range sortedKeys(w.state.queues[q].jobs) {
				fmt.Fprintf(&b, " %s=%d", id, w.state.queues[q].jobs[id])
			}
			b.WriteString("\n")
		}
	case "figures":
		f := w.state.Figures()
		fmt.Fprintf(&b, "reserve %d, unschedulable %v\n", f.Reserve, f.Unschedulable)
	case "left":
		for _, id := range sortedKeys(w.sweeps) {
			var pending, queued, running int64
			left := w.backlog(id)
			for _, c := range left.Classes {
				pending, queued, running = pending+c.Pending, queued+c.Queued, running+c.Running
			}
			fmt.Fprintf(&b, "%s: %d unwritten, %d pending, %d queued, %d running", id, left.Unwritten, pending,
				queued, running)
			if n := len(w.doubted(func(t *trial) bool { return t.id.Sweep == id })); n > 0 {
				fmt.Fprintf(&b, ", %d unconfirmed", n)
			}
			b.WriteString("\n")
		}
	default:
		t.Fatalf("no command %q", name)
	}
	return b.String()
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n\t%s\nand not\n\t%s", i+1, b[i], a[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(b), len(a))
}
