package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sweep/coordinator/store"
	"sweep/coordinator/store/database"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// cluster is a whole cluster on this machine, each part a process: Postgres, a
// NATS server, coordinators and workers.
type cluster struct {
	t        testing.TB
	dir      string
	database *postgrestest.Server
	url      string
	nats     string // address
	natsDir  string
	// environment is what every process gets besides.
	environment []string
	// results looks into the database past the coordinator.
	results sweep.Store

	parts map[string]*part
}

// part is one process of a cluster, by a name that its successors keep.
type part struct {
	args   []string
	cmd    *exec.Cmd
	log    syncBuffer
	exited chan struct{}
}

// newCluster starts Postgres and NATS.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), database: postgrestest.Start(t), parts: map[string]*part{}}
	c.url = c.database.Database(t)
	c.nats = freeAddress(t)
	c.natsDir = filepath.Join(c.dir, "jetstream")
	t.Cleanup(func() {
		for name := range c.parts {
			c.kill(name)
			if t.Failed() {
				t.Logf("%s:\n%s", name, &c.parts[name].log)
			}
		}
	})
	c.start("nats", "nats", "--listen", c.nats, "--dir", c.natsDir)
	await(t, "NATS to listen", func() bool {
		conn, err := net.Dial("tcp", c.nats)
		if err != nil {
			return false
		}
		_ = conn.Close() // nothing was sent
		return true
	})
	return c
}

// freeAddress returns an address of the loopback interface that is free.
func freeAddress(t testing.TB) string {
	t.Helper()
	return fmt.Sprint("127.0.0.1:", freePorts(t, 1))
}

// program returns a command line of the program as a client of the cluster.
func (c *cluster) program(home string, args ...string) *exec.Cmd {
	cmd := program(c.t, home, args...)
	// A short AckWait and lease: what is lost comes back sooner than in earnest.
	cmd.Env = append(cmd.Env, "SWEEP_NATS=nats://"+c.nats, "SWEEP_ACK_WAIT=2s", "SWEEP_LEASE=3s")
	cmd.Env = append(cmd.Env, c.environment...)
	return cmd
}

// start starts a part of the cluster.
func (c *cluster) start(name string, args ...string) {
	c.t.Helper()
	cmd := c.program(filepath.Join(c.dir, name), args...)
	if args[0] == "coordinator" {
		cmd.Env = append(cmd.Env, "SWEEP_STORE="+c.url)
	}
	p := c.parts[name]
	if p == nil {
		p = &part{}
		c.parts[name] = p
	}
	p.args, p.cmd, p.exited = args, cmd, make(chan struct{})
	cmd.Stderr = &p.log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	exited := p.exited
	go func() {
		_ = cmd.Wait() // how it ended is seen in its state
		close(exited)
	}()
}

// kill ends a part's process at once.
func (c *cluster) kill(name string) {
	p := c.parts[name]
	_ = p.cmd.Process.Kill() // unless it has ended
	<-p.exited
}

// again starts a part that was killed, as it was started first.
func (c *cluster) again(name string) {
	c.t.Helper()
	c.start(name, c.parts[name].args...)
}

// terminate asks a part to end and returns its exit code.
func (c *cluster) terminate(name string) int {
	c.t.Helper()
	p := c.parts[name]
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	sweeptest.Receive(c.t, "the end of "+name, p.exited)
	return p.cmd.ProcessState.ExitCode()
}

// output runs a command against the cluster and returns what it wrote.
func (c *cluster) output(args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	cmd := c.program(filepath.Join(c.dir, "client"), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			c.t.Fatal(err)
		}
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// answered waits until a coordinator answers commands, which are not patient enough to
// wait for its start on a busy machine.
func (c *cluster) answered() {
	c.t.Helper()
	await(c.t, "a coordinator that answers", func() bool {
		_, _, code := c.output("status")
		return code == 0
	})
}

// submit submits a file and returns the sweep's id.
func (c *cluster) submit(file string, flags ...string) string {
	c.t.Helper()
	if c.results == nil {
		c.answered()
	}
	stdout, stderr, code := c.output(append([]string{"submit", file}, flags...)...)
	if code != 0 {
		c.t.Fatalf("submit: exit code %d: %s", code, stderr)
	}
	results, err := store.Open(c.t.Context(), c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = results.Close() })
	c.results = results
	return strings.TrimSpace(stdout)
}

// progress counts trials past the coordinator; nothing while the database is away.
func (c *cluster) progress(id string) sweep.Progress {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	p, err := c.results.Progress(ctx, id)
	if err != nil {
		return sweep.Progress{}
	}
	return p
}

// counter returns a function that counts something in the database past the
// coordinator; -1 while that cannot be done.
func (c *cluster) counter() func(text string, args ...any) int64 {
	c.t.Helper()
	s, err := store.Connect(c.t.Context(), c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = s.Close() })
	return func(text string, args ...any) int64 {
		ctx, cancel := context.WithTimeout(c.t.Context(), patience)
		defer cancel()
		n := int64(-1)
		err := s.(*store.Store).Database().View(ctx, func(tx database.Tx) error {
			return tx.Query(ctx, func(row database.Row) error { return row.Scan(&n) }, text, args...)
		})
		if err != nil {
			return -1
		}
		return n
	}
}

// patience bounds every wait.
const patience = sweeptest.Patience

// await polls until ok holds.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	sweeptest.Until(t, what, ok)
}

// blows are what happens to a cluster in the middle of a sweep.
var blows = map[string]func(c *cluster){
	"a worker": func(c *cluster) {
		c.kill("worker-1")
		c.again("worker-1")
	},
	"a trainer": func(c *cluster) {
		await(c.t, "a trainer", func() bool { return len(trainersOf(c.parts["worker-2"].cmd.Process.Pid)) > 0 })
		for _, pid := range trainersOf(c.parts["worker-2"].cmd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // unless it has ended
		}
	},
	"the coordinator": func(c *cluster) {
		c.kill("coordinator")
		c.again("coordinator")
	},
	"nats-server": func(c *cluster) {
		c.kill("nats")
		c.again("nats")
	},
	"Postgres": func(c *cluster) {
		if err := c.database.Kill(); err != nil {
			c.t.Fatal(err)
		}
		if err := c.database.Start(); err != nil {
			c.t.Fatal(err)
		}
	},
}

// chaos reports whether tests that break things do so in every way and often, as "make
// chaos" has it; else each promise is tried once.
func chaos() bool { return os.Getenv("SWEEP_TEST_SEED") != "" }

// seeds are those of SWEEP_TEST_SEED, one number or two, as in 1-50; 1 if it is
// not set.
func seeds(t *testing.T) (first, last uint64) {
	t.Helper()
	text := os.Getenv("SWEEP_TEST_SEED")
	if text == "" {
		return 1, 1
	}
	from, to, several := strings.Cut(text, "-")
	if !several {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if last, err = strconv.ParseUint(to, 10, 64); err != nil {
		t.Fatal(err)
	}
	return first, last
}

// Whatever is killed, every trial ends in one result, with the bits that it has
// on one machine in peace. SWEEP_TEST_SEED chooses what happens when.
func TestKilledClusterGoesOn(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	file := write(t, t.TempDir(), "short.yaml", shortTrials)
	want := undisturbed(t, file)
	wiped := func(c *cluster) {
		c.kill("nats")
		if err := os.RemoveAll(c.natsDir); err != nil {
			c.t.Fatal(err)
		}
		c.again("nats")
	}
	first, last := seeds(t)
	for seed := first; seed <= last; seed++ {
		for name, nats := range map[string]func(*cluster){"killed": blows["nats-server"], "wiped": wiped} {
			if !chaos() && name == "killed" { // TestBrokerRestarts of the coordinator has it
				continue
			}
			t.Run(fmt.Sprint(seed, "/", name), func(t *testing.T) { strike(t, seed, file, want, nats) })
		}
	}
}

// strike runs the short sweep on a cluster and kills each kind of part once.
func strike(t *testing.T, seed uint64, file, want string, nats func(*cluster)) {
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	for i := range 3 {
		c.start(fmt.Sprint("worker-", i), "worker", "--slots", "1")
	}
	id := c.submit(file)
	random := rand.New(rand.NewPCG(seed, 0))
	order := []string{"a trainer", "a worker", "nats-server", "Postgres", "the coordinator"}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	at := make([]int64, len(order))
	for i := range at {
		at[i] = random.Int64N(shortCount * 3 / 4)
	}
	slices.Sort(at)
	start := time.Now()
	for i, blow := range order {
		await(t, fmt.Sprint(at[i], " results"), func() bool { return c.progress(id).Done() >= at[i] })
		t.Logf("%v, %d results: %s", time.Since(start).Round(time.Millisecond), c.progress(id).Done(), blow)
		if blow == "nats-server" {
			nats(c)
		} else {
			blows[blow](c)
		}
	}
	await(t, "all results", func() bool { return c.progress(id).Done() == shortCount })
	t.Logf("%v: done", time.Since(start).Round(time.Millisecond))
	stdout, stderr, code := c.output("sql", "SELECT trial_index, state, digest, weights_digest FROM results ORDER BY "+
		"trial_index", "--format", "csv")
	if code != 0 || stdout != want {
		t.Errorf("the results differ from those of one machine in peace: %s\n%s\nwant\n%s", stderr, stdout, want)
	}
	if faults := c.progress(id).Faults; faults != 0 {
		t.Errorf("%d repeated trials gave other bits", faults)
	}
}

// A line of the table is a command against a cluster and what it must answer.
func TestClusterCommands(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	coordinator := freeAddress(t)
	c.start("coordinator", "coordinator", "--listen", coordinator)
	c.start("worker", "worker", "--slots", "2", "--name", "host-1")
	c.answered()
	await(t, "the worker to be ready", func() bool {
		stdout, _, code := c.output("workers")
		return code == 0 && strings.Contains(stdout, "host-1") && strings.Contains(stdout, "ready")
	})
	dir := t.TempDir()
	small := write(t, dir, "small.yaml", "name: small\nreplicates: 3\nparameters:\n  dataset: {value: "+
		"generated-cbf}\n  lr: {values: [0.003, 1e-2]}\n  epochs: {value: 4}\n")
	more := write(t, dir, "more.yaml", "name: small\nreplicates: 3\nparameters:\n  dataset: {value: generated-cbf}\n "+
		" lr: {values: [0.01, 0.02]}\n  epochs: {value: 4}\n")
	refused := write(t, dir, "refused.yaml",
		"parameters:\n  dataset: {value: generated-cbf}\n  m1: {values: [16, 64]}\n")
	failing := write(t, dir, "failing.yaml", "name: failing\nparameters:\n  dataset: {value: generated-cbf}\n  "+
		"epochs: {value: 100000}\nlimits: {timeout: 300ms}\n")
	endless := write(t, dir, "endless.yaml", "name: endless\ntrainer: noop\nreplicates: 1000\nparameters:\n  "+
		"milliseconds: {value: 3600000}\n")
	check(t, c.output, []line{
		{args: []string{"status"}, stdout: []string{"no sweeps yet"}},
		{args: []string{"submit", refused}, code: exitUsage, stderr: []string{refused + ":3:"}},
		{args: []string{"submit", small, "--watch"}, stdout: []string{"generated-cbf"},
			stderr: []string{"small: 6 trials", "6 completed (0 reused"}},
		{args: []string{"extend", "small", more}, stdout: []string{"added 3 trials"}},
		{args: []string{"watch"}, stderr: []string{"9 completed (0 reused"}},
		{args: []string{"trials", "small", "--where", "lr=0.02"}, stdout: []string{"completed"}},
		{args: []string{"trials", "small", "--limit", "1", "--json"}, stdout: []string{`"parameters":{`}},
		{args: []string{"curves", "latest", "0"}, stdout: []string{"train_loss"}},
		{args: []string{"curves", "latest", "99"}, code: exitNotFound, stderr: []string{"99"}},
		{args: []string{"table", "ucr"}, stdout: []string{"generated-cbf"}},
		{args: []string{"export"}, stdout: []string{"parameter.lr"}},
		{args: []string{"sql", "SELECT count(*) AS n FROM results WHERE state = 'completed'"}, stdout: []string{"9"}},
		{args: []string{"sql", "DELETE FROM trials"}, code: exitFailure, stderr: []string{"that reads"}},
		{args: []string{"sql", "SELECT model FROM results"}, code: exitFailure, stderr: []string{`"model"`, "--sweep NAME"}},
		{args: []string{"sql", "SELECT * FROM t"}, code: exitFailure, stderr: []string{`"t"`, "--sweep NAME"}},
		{args: []string{"pause", "nothing"}, code: exitNotFound, stderr: []string{"nothing"}},
		{args: []string{"resume", "latest"}, code: exitFailure, stderr: []string{"only a paused sweep"}},
		{args: []string{"submit", failing, "--watch"}, code: exitTrials, stderr: []string{"1 failed"}},
		{args: []string{"retry", "failing"}, stdout: []string{"retrying 1 trial"}},
		{args: []string{"watch", "failing"}, code: exitTrials},
		{args: []string{"submit", endless}},
		{args: []string{"priority", "endless", "-7"}, stdout: []string{"priority -7"}},
		{args: []string{"priority", "endless", "7"}, stdout: []string{"priority 7"}},
		{args: []string{"pause", "endless"}, stdout: []string{"is paused"}},
		{args: []string{"status", "endless"}, stdout: []string{"paused"}},
		{args: []string{"resume", "endless"}, stdout: []string{"is active"}},
		{args: []string{"drain", "host", "--reason", "repair"}, stdout: []string{"host-1 is drain"}},
		{args: []string{"workers"}, stdout: []string{"host-1 is drain", ": repair"}},
		{args: []string{"drain", "host-2"}, code: exitNotFound, stderr: []string{"host-2"}},
		{args: []string{"cancel", "endless"}, stdout: []string{"is cancelled"}},
	}...)
	// It is drained once the trials that ran have ended.
	await(t, "the worker to be drained", func() bool {
		stdout, _, _ := c.output("workers")
		return strings.Contains(stdout, "drained")
	})
	check(t, c.output, []line{
		{args: []string{"drain", "host-1", "--resume"}, stdout: []string{"host-1 is ready"}},
		{args: []string{"delete", "endless"}, stdout: []string{"is deleted"}},
		{args: []string{"delete", "endless"}, code: exitNotFound},
		{args: []string{"prune", "--older", "0s"}, stdout: []string{"records of executions"}},
		{args: []string{"migrate"}, stdout: []string{"up to date", "no coordinator leads it"}},
		{args: []string{"migrate", "--store", c.url}, stdout: []string{"led by sweep coordinator on "}},
		{args: []string{"config"}, stdout: []string{"environment SWEEP_NATS", "nats://" + c.nats}},
		{args: []string{"worker", "--slots", "0"}, code: exitUsage, stderr: []string{"--slots"}},
	}...)
	var metrics string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last metrics:\n%s", metrics)
		}
	})
	// What NATS or the database does not answer in time is left out.
	await(t, "all metrics", func() bool {
		metrics = get(coordinator, "/metrics")
		return !slices.ContainsFunc([]string{"sweep_coordinator_leading 1",
			`sweep_trials{pool="cpu",state="running"} 0`, `sweep_queue_jobs{pool="cpu"} 0`,
			"sweep_reproducibility_faults_total 0", `sweep_events_total{kind="result"}`, "sweep_commit_seconds_count",
			"sweep_dispatch_seconds_count", "process_resident_memory_bytes"}, func(want string) bool {
			return !strings.Contains(metrics, want)
		})
	})
	for _, name := range []string{"worker", "coordinator", "nats"} {
		if code := c.terminate(name); code != 0 {
			t.Errorf("%s: exit code %d after SIGTERM:\n%s", name, code, &c.parts[name].log)
		}
	}
	if _, stderr, code := c.output("status"); code != exitFailure ||
		!strings.Contains(stderr, "NATS cannot be reached at nats://"+c.nats) {
		t.Errorf("without NATS: exit code %d: %s", code, stderr)
	}
}

// A coordinator waits for a database that is away at its start, says so in one
// line, and is ready when it comes.
func TestCoordinatorWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if err := c.database.Stop(); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	c.start("coordinator", "coordinator", "--listen", address)
	log := &c.parts["coordinator"].log
	const missing = "the database is unavailable; retrying"
	await(t, "the coordinator to miss the database", func() bool {
		answer := get(address, "/readyz")
		return answer != "" && answer != "ok\n" && answer != "starting\n" && strings.Contains(log.String(), missing)
	})
	// Later, a busy machine may add lines on NATS and the lease.
	if text := log.String(); strings.Count(text, "level=WARN") != 1+strings.Count(text, "cannot connect to NATS") {
		t.Errorf("without a database it says\n%s", text)
	}
	if err := c.database.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the coordinator to lead", func() bool { return leads(address) && get(address, "/readyz") == "ok\n" })
	c.kill("coordinator")
	if text := log.String(); strings.Count(text, missing) != 1 || strings.Contains(text, "goroutine") {
		t.Errorf("its log is long:\n%s", text)
	}
}

// With ten thousand trials waiting, a pause and a cancellation act at once, and
// nothing is lost by either, by a retry or by an extension.
func TestManyTrialsWaiting(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	dir := t.TempDir()
	slow := write(t, dir, "slow.yaml", "name: slow\ntrainer: noop\nparameters:\n  milliseconds: {value: 20}\n  x: "+
		"{min: 1, max: 10000}\n")
	more := write(t, dir, "more.yaml", "name: slow\ntrainer: noop\nparameters:\n  milliseconds: {value: 20}\n  x: "+
		"{min: 9991, max: 10010}\n")
	for _, kind := range []string{"Postgres", "SQLite"} {
		t.Run(kind, func(t *testing.T) {
			c := newCluster(t)
			if kind == "SQLite" {
				c.url = "sqlite:" + filepath.Join(c.dir, "sweep.db")
			}
			c.start("coordinator", "coordinator")
			c.start("worker", "worker", "--slots", "2", "--name", "busy-1")
			id := c.submit(slow)
			ok := func(args ...string) string {
				t.Helper()
				stdout, stderr, code := c.output(args...)
				if code != 0 {
					t.Fatalf("sweep %v: exit code %d: %s", args, code, stderr)
				}
				return stdout
			}
			still := func() bool { p := c.progress(id); return p.Queued == 0 && p.Running == 0 }
			await(t, "some results", func() bool { return c.progress(id).Completed >= 50 })
			ok("extend", id, more)
			if p := c.progress(id); p.Total() != 10_010 {
				t.Errorf("after the extension %d trials", p.Total())
			}
			ok("pause", id)
			await(t, "what runs to end", still)
			before := c.progress(id)
			if before.Pending == 0 || before.Pending != 10_010-before.Completed {
				t.Errorf("paused with %+v", before)
			}
			ok("resume", id)
			await(t, "further results", func() bool { return c.progress(id).Completed > before.Completed+50 })
			ok("cancel", id)
			await(t, "workers to be idle", func() bool {
				text := ok("workers")
				return strings.Contains(text, "busy-1") && !strings.Contains(text, id)
			})
			after := c.progress(id)
			if after.Cancelled == 0 || after.Done() != 10_010 || after.Cancelled != 10_010-after.Completed {
				t.Errorf("cancelled with %+v", after)
			}
			if said := ok("retry", id); !strings.Contains(said, fmt.Sprint(after.Cancelled)) {
				t.Errorf("%d trials were cancelled; retry says %s", after.Cancelled, said)
			}
			await(t, "results after the retry", func() bool { return c.progress(id).Completed > after.Completed+50 })
			if p := c.progress(id); p.Total() != 10_010 || p.Failed != 0 || p.Faults != 0 {
				t.Errorf("after the retry %+v", p)
			}
		})
	}
}

// A broker whose disk is full stores nothing more, in silence. The coordinator
// says so, and when there is room and the broker was restarted all goes on.
func TestBrokersFullDisk(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	disk := smallDisk(t) // unmounted after the cluster's end
	c := newCluster(t)
	c.kill("nats")
	c.natsDir = filepath.Join(disk, "jetstream")
	c.start("nats", "nats", "--listen", c.nats, "--dir", c.natsDir)
	address := freeAddress(t)
	c.start("coordinator", "coordinator", "--listen", address)
	c.start("worker", "worker", "--slots", "2")
	file := func(name string, trials int) string {
		return write(t, t.TempDir(), name+".yaml", fmt.Sprintf("name: %s\ntrainer: noop\nparameters:\n  milliseconds: "+
			"{value: 20}\n  x: {min: 1, max: %d}\n", name, trials))
	}
	first := c.submit(file("first", 20))
	await(t, "some results", func() bool { return c.progress(first).Completed == 20 })
	c.kill("worker") // so that none of the next trials is done before the disk is full
	id := c.submit(file("slow", 400), "--reuse=false")
	await(t, "jobs", func() bool { return c.progress(id).Queued > 0 })
	makeRoom := fill(t, disk)
	c.again("worker")
	await(t, "the coordinator to say so", func() bool {
		return strings.Contains(get(address, "/readyz"), "NATS stores no messages")
	})
	if _, stderr, code := c.output("status"); code != 0 || !strings.Contains(stderr, "NATS stores no messages") {
		t.Errorf("status: exit code %d: %s", code, stderr)
	}
	if done := c.progress(id).Completed; done >= 400 {
		t.Fatalf("%d trials were done before the disk was full", done)
	}
	makeRoom()
	c.terminate("nats")
	c.again("nats")
	await(t, "all results", func() bool { return c.progress(id).Completed == 400 })
	await(t, "the coordinator to be ready", func() bool { return get(address, "/readyz") == "ok\n" })
}

// A worker whose data are not those that the sweep was submitted with refuses
// its trials by their digest; a worker that has the data trains them.
func TestWorkerWithOtherDataRefuses(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	right, wrong := tinyData(t, "0.125"), tinyData(t, "0.126")
	file := write(t, t.TempDir(), "tiny.yaml", "name: tiny\nreplicates: 6\nparameters:\n  dataset: {value: Tiny}\n  "+
		"epochs: {value: 2}\n")
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	c.start("other", "worker", "--slots", "1", "--name", "other", "--data", wrong)
	id := c.submit(file, "--data", right)
	await(t, "the sweep to wait for a worker with its data", func() bool {
		status, _, _ := c.output("status", id)
		return strings.Contains(status, "waiting") && strings.Contains(status, "no worker has data set dataset=Tiny") &&
			strings.Contains(status, "1 worker has it with digest")
	})
	await(t, "the worker to be ready for other sweeps", func() bool {
		workers, _, _ := c.output("workers")
		return strings.Contains(workers, "ready")
	})
	if trials, _, _ := c.output("trials", "--json", "--limit", "6"); strings.Contains(trials, "completed") ||
		strings.Contains(trials, `"failed"`) {
		t.Errorf("trials of other data were trained, or failed:\n%s", trials)
	}
	c.start("same", "worker", "--slots", "1", "--name", "same", "--data", right)
	if _, stderr, code := c.output("watch", id); code != 0 ||
		!strings.Contains(stderr, "6 completed") {
		t.Errorf("watch: exit code %d: %s", code, stderr)
	}
}

// leads reports whether the coordinator at an address is the active one.
func leads(address string) bool {
	return strings.Contains(get(address, "/metrics"), "sweep_coordinator_leading 1\n")
}

// get returns what a daemon answers over HTTP, "" if it does not.
func get(address, path string) string {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	return string(text)
}
