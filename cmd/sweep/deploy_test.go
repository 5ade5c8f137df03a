package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"sweep/coordinator/store/postgres/postgrestest"
)

// localCluster is a running deploy/local-cluster.sh.
type localCluster struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	port int
}

// localPorts is how many ports the script takes: NATS, Postgres, and the health of
// the coordinators and workers.
const localPorts = 6

// builtAnew has the script build the program, as it does by default; the linker is spared the tables for debuggers.
func builtAnew() []string {
	return []string{"SWEEP=", "GOFLAGS=" + os.Getenv("GOFLAGS") + " -ldflags=-s"}
}

// startLocalCluster starts the script and waits until its cluster is up. The test binary is its program, unless
// settings say otherwise.
func startLocalCluster(t *testing.T, dir string, port int, settings ...string) *localCluster {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../deploy/local-cluster.sh")
	if err != nil {
		t.Fatal(err)
	}
	// As root the database runs as another user, who must reach its files.
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	l := &localCluster{t: t, cmd: exec.Command(script, dir), dir: dir, port: port}
	l.cmd.Env = append(append(l.cmd.Environ(), "PORT="+strconv.Itoa(port), "SWEEP_DATA="+dir, "SWEEP="+self,
		asProgram+"=1"), settings...)
	log, err := os.CreateTemp(t.TempDir(), "script")
	if err != nil {
		t.Fatal(err)
	}
	l.cmd.Stdout, l.cmd.Stderr = log, log
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
		_ = l.cmd.Wait()
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(dir, "*.log")) // none if there are none
			for _, name := range append(logs, log.Name()) {
				text, _ := os.ReadFile(name) // only to be shown
				t.Logf("%s: %s", filepath.Base(name), text[max(0, len(text)-4096):])
			}
		}
		_ = log.Close()
	})
	await(t, "the program", func() bool { _, err := os.Stat(filepath.Join(dir, "sweep")); return err == nil })
	await(t, "the cluster", func() bool {
		return get(l.address(5), "/readyz") == "ok\n" && (leads(l.address(2)) || leads(l.address(3)))
	})
	return l
}

// address is that of one of the ports.
func (l *localCluster) address(i int) string { return fmt.Sprint("127.0.0.1:", l.port+i) }

// run runs the program as a client of the cluster.
func (l *localCluster) run(args ...string) (text string, err error) {
	out, err := program(l.t, l.t.TempDir(), append(args, "--nats", "nats://"+l.address(0))...).CombinedOutput()
	return string(out), err
}

// process is that of a part.
func (l *localCluster) process(part string) int {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, part+".pid"))
	if err != nil {
		l.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		l.t.Fatal(err)
	}
	return pid
}

// The script brings a cluster up and takes all of it down again, starts a part
// again that ended, and finds what it had when it is started once more. It builds the
// program or takes one that is there.
func TestLocalClusterScript(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	dir, port := t.TempDir(), freePorts(t, localPorts)
	file := write(t, t.TempDir(), "small.yaml", "name: small\nreplicates: 3\nparameters:\n  dataset: {value: "+
		"generated-cbf}\n  epochs: {value: 4}\n")
	for round, want := range []string{"3 completed (0 reused", "3 completed (3 reused"} {
		var settings []string
		if round == 0 {
			settings = builtAnew()
		}
		l := startLocalCluster(t, dir, port, settings...)
		if text, err := l.run("submit", file, "--watch"); err != nil || !strings.Contains(text, want) {
			t.Errorf("round %d: %v: %s", round, err, text)
		}
		// The daemons' login is no administrator, and users' queries have one of their own.
		text,
			err := l.run("sql",
			`SELECT (SELECT count(*) FROM pg_roles WHERE rolname = 'sweep' AND NOT rolsuper) AS plain, current_user::text AS me`, "--format", "csv")
		if err != nil || text != "plain,me\n1,sweep_reader_sweep\n" {
			t.Errorf("round %d: %v: %s", round, err, text)
		}
		for i, part := range []string{"nats", "postgres", "coordinator-1", "coordinator-2", "worker-1", "worker-2"} {
			if round > 0 {
				break
			}
			before := l.process(part)
			if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			await(t, part+" to be started again", func() bool { return l.process(part) != before })
			await(t, part+" to be ready again", func() bool {
				conn, err := net.Dial("tcp", l.address(i))
				if err != nil {
					return false
				}
				_ = conn.Close()
				return i < 2 || get(l.address(i), "/readyz") == "ok\n"
			})
		}
		if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = l.cmd.Wait() // its exit code is looked at below
		if code := l.cmd.ProcessState.ExitCode(); code != 143 {
			t.Errorf("exit code %d", code)
		}
		for i := range localPorts {
			if conn, err := net.Dial("tcp", l.address(i)); err == nil {
				_ = conn.Close()
				t.Errorf("something still listens on port %d of %d", i+1, localPorts)
			}
		}
	}
}

// One coordinator after another is killed while trials end by the hundred every
// second: another process records soon, and no result is lost or recorded twice.
// SWEEP_TEST_KILLS is how often, at a thousand results between two, and makes it a
// measurement on a machine that does nothing else: then each must be replaced within
// five seconds.
func TestKilledLeaderIsReplaced(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	kills, results, limit, milliseconds := 1, 300, time.Duration(0), 20
	if text := os.Getenv("SWEEP_TEST_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		results, limit, milliseconds = 1000, 5*time.Second, 3
	}
	l := startLocalCluster(t, t.TempDir(), freePorts(t, localPorts), "SLOTS=4")
	file := write(t, t.TempDir(), "many.yaml", fmt.Sprintf("name: many\ntrainer: noop\nparameters:\n  "+
		"milliseconds: {value: %d}\n  x: {min: 1, max: 1000000}\n", milliseconds))
	if text, err := l.run("submit", file); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	recorded := func(coordinator int) int {
		_, rest, found := strings.Cut(get(l.address(1+coordinator), "/metrics"), `sweep_events_total{kind="result"} `)
		if !found {
			return 0
		}
		number, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	leader := 1
	if !leads(l.address(2)) {
		leader = 2
	}
	var took []time.Duration
	for range kills {
		standby := 3 - leader
		before, since := recorded(leader), time.Now()
		await(t, "the load, and the other one to stand by", func() bool {
			if leads(l.address(1+standby)) && !leads(l.address(1+leader)) { // this machine stood still
				leader, standby = standby, leader
				before, since = recorded(leader), time.Now()
			}
			return recorded(leader) >= before+results && get(l.address(1+standby), "/readyz") == "ok\n"
		})
		rate := float64(recorded(leader)-before) / time.Since(since).Seconds()
		victim := l.process(fmt.Sprint("coordinator-", leader))
		former, idle, killed := leader, recorded(standby), time.Now()
		if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		// The one that stood by, or the killed one's next process.
		await(t, "another process to lead", func() bool {
			for _, i := range []int{standby, leader} {
				if leads(l.address(1+i)) && l.process(fmt.Sprint("coordinator-", i)) != victim {
					leader = i
					return true
				}
			}
			return false
		})
		led := time.Since(killed)
		await(t, "results of another process", func() bool {
			return recorded(standby) > idle ||
				l.process(fmt.Sprint("coordinator-", former)) != victim && recorded(former) > 0
		})
		took = append(took, time.Since(killed))
		t.Logf("at %.0f results a second: coordinator %d led after %v, recorded after %v",
			rate, leader, led.Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	}
	if slowest := slices.Max(took); limit > 0 && slowest > limit {
		t.Errorf("nothing was recorded for %v", slowest)
	}
	text,
		err := l.run("sql",
		`SELECT count(*) FILTER (WHERE executions > 1) AS again, count(*) FILTER (WHERE state = 'failed') AS failed,
		(SELECT sum(faults) FROM counters) AS faults FROM trials`, "--format", "csv")
	if err != nil || !strings.HasSuffix(text, ",0,0\n") {
		t.Errorf("%v: %s", err, text)
	}
	t.Logf("executed again, failed, with other bits: %q", text)
	if text, err := l.run("cancel", "many"); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

// The servers take the settings that deploy gives them.
func TestServersTakeTheSettings(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	options, err := server.ProcessConfigFile("../../deploy/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	if options.MaxPayload != maxPayload || !options.JetStream || options.StoreDir != "/data" {
		t.Errorf("nats.conf: %+v", options)
	}
	text, err := os.ReadFile("../../deploy/postgresql.conf")
	if err != nil {
		t.Fatal(err)
	}
	var settings []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || strings.HasPrefix(line, "shared_buffers") { // more than a test may take
			continue
		}
		settings = append(settings, strings.ReplaceAll(line, " = ", "="))
	}
	if len(settings) < 10 {
		t.Errorf("postgresql.conf has %d settings", len(settings))
	}
	postgrestest.Start(t, settings...) // which ends at a setting that it does not know
}

// In the containers the daemons are not the database's administrator, and its
// password is not theirs.
func TestComposeGivesDaemonsNoAdministrator(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SWEEP_STORE: postgres://sweep@postgres/sweep\n", "PGPASSWORD: ${SWEEP_PASSWORD}\n",
		"./postgres/roles.sh:/docker-entrypoint-initdb.d/"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("compose.yaml lacks %q", want)
		}
	}
	if strings.Contains(string(text), "POSTGRES_USER") { // whom the image makes the administrator
		t.Error("compose.yaml names the administrator")
	}
}

// The daemons take the arguments that the files of deploy give them.
func TestDeployedArguments(t *testing.T) {
	t.Parallel()
	list := regexp.MustCompile(`(?:args: \[|\[")((?:coordinator|worker)\b[^\]]*)\]`)
	line := regexp.MustCompile(`(?m)(?:ENTRYPOINT|/sweep|exec sweep) ((?:coordinator|worker)\b[^'\n]*)`)
	for name, want := range map[string]int{
		"compose.yaml": 2, "kubernetes/sweep.yaml": 2, "slurm/workers.sh": 1,
		"systemd/sweep-coordinator.service": 1, "systemd/sweep-worker.service": 1,
	} {
		text, err := os.ReadFile("../../deploy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var calls [][]string
		for _, m := range list.FindAllStringSubmatch(string(text), -1) {
			calls = append(calls, strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(` ,"`, r) }))
		}
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			calls = append(calls, strings.Fields(m[1]))
		}
		if len(calls) != want {
			t.Errorf("%s calls the program %d times, want %d", name, len(calls), want)
		}
		for _, args := range calls {
			cmd, rest, err := newRoot().Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil || cmd.Name() != args[0] || cmd.Flags().NArg() > 0 {
				t.Errorf("%s: sweep %s: %v, arguments left %v", name, strings.Join(args, " "), err, cmd.Flags().Args())
			}
		}
	}
}

// nextPort is where freePorts looks next, so that no two tests get the same port.
var nextPort atomic.Int64

func init() { nextPort.Store(rand.Int64N(20000)) }

// freePorts returns the first of n ports in a row that are free. They lie below those
// that the kernel gives to clients, which would take one before it is listened on.
func freePorts(t testing.TB, n int) int {
	t.Helper()
	for range 100 {
		first, free := 10000+int(nextPort.Add(int64(n))-int64(n))%20000, true
		for i := 0; i < n && free; i++ {
			l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+i))
			if free = err == nil; free {
				_ = l.Close()
			}
		}
		if free {
			return first
		}
	}
	t.Fatal("no ports in a row are free")
	return 0
}

// What deploy says of metrics is what coordinators and workers serve.
func TestDeployedMetrics(t *testing.T) {
	t.Parallel()
	served := map[string]bool{}
	definition := regexp.MustCompile(`(?:Name: |NewDesc\(|\b(?:counter|gauge|histogram)\()"(sweep_[a-z_]+)"`)
	for _, path := range []string{"../../coordinator/metrics.go", "../../worker/metrics.go", "../../worker/http.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range definition.FindAllStringSubmatch(string(text), -1) {
			served[m[1]] = true
		}
	}
	for path, pattern := range map[string]string{
		"README.md": "`(sweep_[a-z_]+)[{`]", "kubernetes/autoscaling.yaml": `\b(sweep_[a-z_]+)\{`,
	} {
		text, err := os.ReadFile("../../deploy/" + path)
		if err != nil {
			t.Fatal(err)
		}
		named := 0
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			if named++; !served[m[1]] && !strings.HasPrefix(m[1], "sweep_reader") { // the login
				t.Errorf("%s names the metric %s, which nobody serves", path, m[1])
			}
		}
		if named == 0 {
			t.Errorf("%s names no metric", path)
		}
	}
}

// What scales the workers of the manifest has their name, and a threshold of
// their slots.
func TestAutoscaling(t *testing.T) {
	t.Parallel()
	read := func(name, pattern string) string {
		text, err := os.ReadFile("../../deploy/kubernetes/" + name)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("%s lacks %s", name, pattern)
		}
		return m[1]
	}
	target := read("autoscaling.yaml", `scaleTargetRef: \{kind: StatefulSet, name: ([a-z-]+)\}`)
	if name := read("sweep.yaml", `kind: StatefulSet\nmetadata:\n  name: ([a-z-]+)\n`); name != target {
		t.Errorf("it scales %s, and the workers are %s", target, name)
	}
	if slots, threshold := read("sweep.yaml", `SWEEP_SLOTS: "(\d+)"`),
		read("autoscaling.yaml", `threshold: "(\d+)"`); slots != threshold {
		t.Errorf("a worker has %s slots, and one is started for %s trials", slots, threshold)
	}
}
