package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sweep/coordinator/store"
	"sweep/coordinator/store/database"
)

// firstVersion is the last commit whose messages and schema are of version 1.
const firstVersion = "bfe6f64"

// olderProgram builds the program of the first version from the history of the
// repository, once for all tests, and returns the path of its binary.
func olderProgram(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git to look into the history with")
	}
	if err := exec.Command("git", "cat-file", "-e", firstVersion+"^{commit}").Run(); err != nil {
		t.Skipf("the history does not go back to commit %s: this is no clone of the repository, or a shallow one",
			firstVersion)
	}
	path, err := buildOlder()
	if err != nil {
		t.Fatalf("the program of commit %s: %v", firstVersion, err)
	}
	return path
}

// older is the folder of the first version's program; TestMain removes it.
var older string

var buildOlder = sync.OnceValues(func() (path string, err error) {
	if older, err = os.MkdirTemp("", "sweep-older-"); err != nil {
		return "", err
	}
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(older, "source")
	path = filepath.Join(older, "sweep")
	script := `mkdir "$2" && git -C "$1" archive "$4" | tar -x -C "$2" && cd "$2" && go build -o "$3" ./cmd/sweep`
	cmd := exec.Command("bash", "-o", "pipefail", "-c", script, "bash", strings.TrimSpace(string(root)), source, path,
		firstVersion)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(text))
	}
	return path, nil
})

// A cluster of the first version is brought up to date part by part, while it is
// at work, in any order. Whatever speaks with whatever meanwhile, no trial is
// lost, none fails, and each is completed once.
func TestRollingUpgrade(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	binary := olderProgram(t)
	const trials = 600 // half a minute for two workers, so that they do not outrun a slow machine's restarts
	file := write(t, t.TempDir(), "some.yaml", fmt.Sprintf("name: some\ntrainer: noop\nparameters:\n  milliseconds: "+
		"{value: 50}\n  x: {min: 1, max: %d}\n", trials))
	orders := [][]string{
		{"coordinator", "worker-1", "worker-2"},
		{"worker-1", "coordinator", "worker-2"},
		{"worker-1", "worker-2", "coordinator"},
	}
	for i, order := range orders {
		// The first order has a newer coordinator with older workers, the second an older
		// one with a newer worker too. Of the database the coordinator alone knows.
		kinds := [][]string{{"SQLite"}, {"Postgres"}, {}}[i]
		if chaos() {
			kinds = []string{"Postgres", "SQLite"}
		}
		for _, kind := range kinds {
			t.Run(strings.Join(order, ",")+"/"+kind, func(t *testing.T) {
				c := newCluster(t)
				if kind == "SQLite" {
					home := filepath.Join(c.dir, "coordinator")
					if err := os.Mkdir(home, 0o755); err != nil {
						t.Fatal(err)
					}
					c.url = "sqlite:" + filepath.Join(home, "sweep.db")
				}
				old := map[string]bool{"coordinator": true, "worker-1": true, "worker-2": true}
				c.startAs(binary, "coordinator", "coordinator")
				c.startAs(binary, "worker-1", "worker", "--slots", "1")
				c.startAs(binary, "worker-2", "worker", "--slots", "1")
				c.submitAs(binary, file)
				submitted := int64(trials)
				count := c.counter()
				completed := func() int64 { return count(`SELECT count(*) FROM trials WHERE state = 'completed'`) }
				for i, part := range order {
					if old["coordinator"] == old["worker-1"] || old["coordinator"] == old["worker-2"] { // one works
						at := completed() + 40
						await(t, fmt.Sprint(at, " results before the upgrade of the ", part), func() bool {
							return completed() >= at
						})
					}
					if completed() == submitted {
						t.Fatalf("nothing was left to do at the upgrade of the %s", part)
					}
					if kind == "SQLite" {
						c.kill(part)
					} else if code := c.terminate(part); code != 0 && (code != exitFailure || part == "coordinator" ||
						!strings.Contains(c.parts[part].log.String(), "the last messages may not have been sent")) {
						// That is what a worker of the first version says if NATS is busy for two seconds.
						t.Errorf("%s: exit code %d", part, code)
					}
					c.start(part, c.parts[part].args...)
					if old[part] = false; i == 0 { // a client of before may well come
						c.submitAs(binary, file, "--reuse=false")
						submitted += trials
					}
				}
				c.start("worker-3", "worker", "--slots", "16") // there is nothing left to see but the end
				await(t, "all results", func() bool { return completed() == submitted })
				for text, want := range map[string]int64{
					`SELECT count(*) FROM trials`:                                                            submitted,
					`SELECT count(*) FROM results WHERE state = 'completed'`:                                 submitted,
					`SELECT coalesce(sum(faults), 0) FROM counters`:                                          0,
					`SELECT count(*) FROM trials WHERE trials.state = 'completed' AND trials.executions < 1`: 0,
					`SELECT count(*) FROM sweeps WHERE state <> 'finished'`:                                  0,
				} {
					if got := count(text); got != want {
						t.Errorf("%s: %d, want %d", text, got, want)
					}
				}
				t.Logf("%d executions of %d trials", count(`SELECT sum(executions) FROM trials`), submitted)
			})
		}
	}
}

// A coordinator that stands by leaves the schema alone as long as one of the first
// version leads, and so does everybody else; who leads is said.
func TestSchemaIsNotChangedUnderALeader(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	binary := olderProgram(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Postgres", "SQLite"} {
		// The older one gives the lead up when Postgres does not answer it for two
		// seconds, on a machine that stands still: then there is nothing to see.
		for attempt, lost := 1, true; lost && !t.Failed(); attempt++ {
			if attempt > 5 {
				t.Fatal(
					"the older one lost the lead five times: this machine stands still for two seconds again and again")
			}
			t.Run(kind, func(t *testing.T) { lost = !leaderKeepsSchema(t, binary, host, kind) })
		}
	}
}

// leadersSession asks Postgres for the session of the first version's leader.
const leadersSession = `SELECT coalesce(max(pid), 0) FROM pg_locks
	WHERE locktype = 'advisory' AND granted AND classid = 1937204581 AND objid = 1879048194`

// leaderKeepsSchema has a newer coordinator stand by while one of the first version
// leads. It returns false if that one lost the lead before all was seen.
func leaderKeepsSchema(t *testing.T, binary, host, kind string) bool {
	c := newCluster(t)
	if kind == "SQLite" {
		home := filepath.Join(c.dir, "older")
		if err := os.Mkdir(home, 0o755); err != nil {
			t.Fatal(err)
		}
		c.url = "sqlite:" + filepath.Join(home, "sweep.db")
	}
	older, standby := freeAddress(t), freeAddress(t)
	c.startAs(binary, "older", "coordinator", "--listen", older)
	await(t, "the older one to lead", func() bool { return leads(older) })
	count := c.counter()
	version := func() int64 { return count(`SELECT max(number) FROM schema_migrations`) }
	before := version()
	session := func() int64 {
		if kind == "SQLite" {
			return 0
		}
		return count(leadersSession)
	}
	led := session()
	c.start("standby", "coordinator", "--listen", standby)
	await(t, "the newer one to stand by", func() bool { return get(standby, "/readyz") == "ok\n" })
	var wrong []string
	for _, command := range []string{"migrate", "status"} {
		_, stderr, code := c.output(command, "--store", c.url, "--nats", "")
		if code != exitFailure || !strings.Contains(stderr, "leads") {
			wrong = append(wrong, fmt.Sprintf("sweep %s: exit code %d: %s", command, code, stderr))
		}
	}
	if after := version(); after != before || leads(standby) {
		wrong = append(wrong, fmt.Sprintf("schema version %d, then %d", before, after))
	}
	if session() != led {
		return false
	}
	for _, what := range wrong {
		t.Error(what)
	}
	c.kill("older")
	await(t, "the newer one to lead", func() bool { return leads(standby) })
	if after := version(); after <= before {
		t.Errorf("schema version %d", after)
	}
	// On a machine that stands still a lease expires, and is renewed.
	await(t, "sweep migrate to say who leads", func() bool {
		stdout, _, code := c.output("migrate", "--store", c.url)
		return code == 0 && strings.Contains(stdout, fmt.Sprintf("led by sweep coordinator on %s, process %d", host,
			c.parts["standby"].cmd.Process.Pid))
	})
	c.again("older")
	<-c.parts["older"].exited
	if code := c.parts["older"].cmd.ProcessState.ExitCode(); code != exitFailure ||
		!strings.Contains(c.parts["older"].log.String(), "use the newer program") {
		t.Errorf("the older one went on: exit code %d", code)
	}
	return true
}

// A coordinator of the first version that stood by while a newer one changed the
// schema loses nothing if it comes to lead.
func TestOlderStandbyLosesNothing(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	binary := olderProgram(t)
	c := newCluster(t)
	older, standby, newer := freeAddress(t), freeAddress(t), freeAddress(t)
	c.startAs(binary, "older", "coordinator", "--listen", older)
	await(t, "the first to lead", func() bool { return leads(older) })
	c.startAs(binary, "standby", "coordinator", "--listen", standby)
	await(t, "the second to stand by", func() bool { return get(standby, "/readyz") == "ok\n" })
	c.start("worker", "worker", "--slots", "1")
	file := write(t, t.TempDir(), "some.yaml", "name: some\ntrainer: noop\nparameters:\n  milliseconds: {value: "+
		"30}\n  x: {min: 1, max: 300}\n")
	id := c.submitAs(binary, file)
	count := c.counter()
	leader, waiting := "older", "standby"
	addresses := map[string]string{"older": older, "standby": standby}
	signal := func(s syscall.Signal) {
		if err := c.parts[waiting].cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	// A leader that is stopped would keep the lead, and on a machine that stands still the
	// lead changes.
	for {
		await(t, "one to lead and one to stand by", func() bool {
			if leads(addresses[waiting]) {
				leader, waiting = waiting, leader
			}
			return leads(addresses[leader]) && get(addresses[waiting], "/readyz") == "ok\n"
		})
		session := count(leadersSession)
		led := leads(addresses[leader])
		signal(syscall.SIGSTOP)
		if led && session > 0 && count(leadersSession) == session && leads(addresses[leader]) {
			break
		}
		signal(syscall.SIGCONT)
	}
	c.start("newer", "coordinator", "--listen", newer)
	await(t, "the third to stand by", func() bool { return get(newer, "/readyz") == "ok\n" })
	c.kill(leader)
	completed := func() int64 {
		return count(`SELECT count(*) FROM trials JOIN sweeps USING (sweep_no) WHERE sweep_id = $1 AND trials.state = 'completed'`, id)
	}
	await(t, "results of the newer version", func() bool { return completed() >= 50 })
	signal(syscall.SIGCONT)
	c.kill("newer")
	await(t, "the second to lead or to end", func() bool {
		select {
		case <-c.parts[waiting].exited:
			return true
		default:
			return leads(addresses[waiting])
		}
	})
	c.kill(waiting)
	c.again("newer")
	await(t, "all results", func() bool { return completed() == 300 })
}

// submitAs submits a file with another version of the program, and returns the
// sweep's id.
func (c *cluster) submitAs(binary, file string, flags ...string) string {
	c.t.Helper()
	command := func(args ...string) *exec.Cmd {
		cmd := c.program(filepath.Join(c.dir, "older-client"), args...)
		cmd.Path, cmd.Args[0] = binary, binary
		return cmd
	}
	await(c.t, "a coordinator that answers", func() bool { return command("status").Run() == nil })
	cmd := command(append([]string{"submit", file}, flags...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		c.t.Fatalf("submit by another version: %v: %s", err, &stderr)
	}
	return strings.TrimSpace(stdout.String())
}

// counter returns a function that counts something in the database, of whatever
// version it is, past the coordinator; -1 while that cannot be done.
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
