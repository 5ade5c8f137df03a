package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	coordinators = 2
	workers      = 3
	// grace is that of workers, drainMost how long their end may take: on a busy machine the grace and what follows.
	grace     = 3 * time.Second
	drainMost = 20 * time.Second
	// commandLimit bounds a user's command.
	commandLimit = 20 * time.Second
)

// programs are those that are run.
type programs struct{ sweep, nats, postgres string }

// findPrograms builds the programs that the options do not name.
func findPrograms(ctx context.Context, dir string, o options) (p programs, err error) {
	build := func(named, name, pkg string) (string, error) {
		if named != "" {
			return filepath.Abs(named)
		}
		path := filepath.Join(dir, name)
		out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, pkg).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
		return path, nil
	}
	if p.sweep, err = build(o.sweep, "sweep", "./cmd/sweep"); err != nil {
		return p, err
	}
	if p.nats, err = build(o.nats, "nats-server", "github.com/nats-io/nats-server/v2"); err != nil {
		return p, err
	}
	p.postgres, err = findPostgres()
	return p, err
}

// cluster is what faults strike: a database, a broker, coordinators and workers. The first coordinator and the first
// worker reach the others by links.
type cluster struct {
	programs
	dir  string
	seed uint64
	port int
	log  *log.Logger
	file io.Closer

	postgres, nats *process
	coordinators   [coordinators]*process
	workers        [workers]*process
	// The links of the first coordinator to broker and database, and of the first worker to the broker.
	coordinatorNATS, coordinatorPostgres, workerNATS *link
	// drains are when workers that drain were told to end.
	drains [workers]time.Time
	// beside are submissions and deletions beside the sweeps.
	beside sync.WaitGroup

	mu       sync.Mutex
	problems []string
}

// The ports of a cluster, from its first one on.
const (
	natsPort = iota
	postgresPort
	coordinatorNATSPort
	coordinatorPostgresPort
	workerNATSPort
	monitorPort
	firstHealthPort
)

func (c *cluster) address(port int) string { return "127.0.0.1:" + strconv.Itoa(c.port+port) }

func (c *cluster) path(names ...string) string {
	return filepath.Join(append([]string{c.dir}, names...)...)
}

// newCluster returns a cluster of which nothing runs yet.
func newCluster(dir string, programs programs, port int, seed uint64) (*cluster, error) {
	c := &cluster{programs: programs, dir: filepath.Join(dir, fmt.Sprint("seed", seed)), seed: seed, port: port}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(c.path("chaos.log"))
	if err != nil {
		return nil, err
	}
	c.file, c.log = file, log.New(file, "", log.Ltime|log.Lmicroseconds)
	if err := writeSweeps(c.path("files")); err != nil {
		return nil, err
	}
	conf := fmt.Sprintf("listen: %q\nhttp: %q\nmax_payload: 8MB\n"+
		"jetstream { store_dir: %q, max_file_store: 4GB, max_memory_store: 100MB }\n",
		c.address(natsPort), c.address(monitorPort), c.path("jetstream"))
	if err := os.WriteFile(c.path("nats.conf"), []byte(conf), 0o644); err != nil {
		return nil, err
	}
	c.nats = c.newProcess("nats", nil, c.programs.nats, "-c", c.path("nats.conf"))
	direct := "nats://" + c.address(natsPort)
	for i := range c.coordinators {
		nats, database := direct, postgresPort
		if i == 0 {
			nats, database = "nats://"+c.address(coordinatorNATSPort), coordinatorPostgresPort
		}
		name := "coordinator-" + coordinatorName(i)
		c.coordinators[i] = c.newProcess(name, []string{"SWEEP_NATS=" + nats, "SWEEP_STORE=" + c.database(database)},
			c.sweep, "coordinator", "--ack-wait", "5s", "--lease", "10s", "--listen",
			c.address(firstHealthPort+i))
	}
	for i := range c.workers {
		nats := direct
		if i == 0 {
			nats = "nats://" + c.address(workerNATSPort)
		}
		name := fmt.Sprint("worker-", i+1)
		c.workers[i] = c.newProcess(name, []string{"SWEEP_NATS=" + nats}, c.sweep, "worker", "--name", name,
			"--slots", "2", "--grace", grace.String(), "--script-dir", c.path("files"))
	}
	return c, nil
}

func coordinatorName(i int) string { return string(rune('a' + i)) }

// database is the address of the database by a port.
func (c *cluster) database(port int) string { return "postgres://sweep@" + c.address(port) + "/sweep" }

// environment is that of a program of sweep: its own state, and nothing of the caller's settings.
func environment(home string, more ...string) (env []string) {
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "SWEEP_") {
			env = append(env, pair)
		}
	}
	return append(append(env, "SWEEP_CONFIG=/dev/null", "SWEEP_HOME="+home), more...)
}

func (c *cluster) newProcess(name string, env []string, arguments ...string) *process {
	return &process{name: name, arguments: arguments, env: environment(c.path(name), env...), dir: c.path("files"),
		log: c.path(name + ".log")}
}

// start starts everything.
func (c *cluster) start(ctx context.Context) (err error) {
	if err := c.createDatabase(ctx); err != nil {
		return err
	}
	if err := c.nats.start(); err != nil {
		return err
	}
	for _, l := range []struct {
		link         **link
		port, target int
	}{
		{&c.coordinatorNATS, coordinatorNATSPort, natsPort},
		{&c.coordinatorPostgres, coordinatorPostgresPort, postgresPort},
		{&c.workerNATS, workerNATSPort, natsPort},
	} {
		if *l.link, err = newLink(c.address(l.port), c.address(l.target)); err != nil {
			return err
		}
	}
	for _, p := range c.daemons() {
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}

// daemons are the coordinators and workers.
func (c *cluster) daemons() []*process { return append(c.workers[:], c.coordinators[:]...) }

// problem notes what does not hold.
func (c *cluster) problem(format string, arguments ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprintf(format, arguments...)
	c.problems = append(c.problems, text)
	c.log.Print("problem: ", text)
}

// restart starts a process that faults have ended.
func (c *cluster) restart(p *process) {
	if crash := p.crashed(); crash != "" {
		c.problem("%s", crash)
	}
	if p.ending() {
		p.wait(endLimit)
	}
	if err := p.start(); err != nil {
		c.problem("%v", err)
	}
}

// command runs a command of a user and returns what it printed.
func (c *cluster) command(ctx context.Context, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.sweep, arguments...)
	cmd.Env = environment(c.path("user"), "SWEEP_NATS=nats://"+c.address(natsPort))
	cmd.Dir = c.path("files")
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		err = fmt.Errorf("sweep %s: %w: %s", strings.Join(arguments, " "), err, lastLine(text))
	}
	return text, err
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// suffer makes the faults of a plan, and mends all that they broke.
func (c *cluster) suffer(ctx context.Context, plan plan) error {
	began := time.Now()
	for _, m := range plan.moments(c) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(m.at - time.Since(began)):
		}
		c.log.Print(m.what)
		m.do()
	}
	for _, l := range []*link{c.coordinatorNATS, c.coordinatorPostgres, c.workerNATS} {
		l.set(uncut, 0)
	}
	c.continueAll()
	for i := range c.workers {
		c.endDrain(i)
	}
	for _, p := range append(c.daemons(), c.postgres, c.nats) {
		c.restart(p)
	}
	c.beside.Wait()
	c.log.Print("all is mended")
	return nil
}

// continueAll has everything go on that was stopped by SIGSTOP.
func (c *cluster) continueAll() {
	for _, p := range append(c.daemons(), c.postgres, c.nats) {
		if pid := p.pid(); pid != 0 {
			signalAll(descendants(pid), syscall.SIGCONT)
		}
		p.signal(syscall.SIGCONT)
	}
}

// close ends everything, and keeps the logs if they are wanted.
func (c *cluster) close(failed bool, keep string) error {
	c.continueAll()
	for _, p := range append(c.daemons(), c.nats, c.postgres) {
		p.kill()
	}
	signalAll(withEnv("SWEEP_HOME="+c.dir+"/"), syscall.SIGKILL)
	for _, l := range []*link{c.coordinatorNATS, c.coordinatorPostgres, c.workerNATS} {
		if l != nil {
			l.close()
		}
	}
	err := c.file.Close()
	if failed && keep != "" {
		err = errors.Join(err, c.keepLogs(filepath.Join(keep, fmt.Sprint("seed", c.seed))))
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// keepLogs copies the logs.
func (c *cluster) keepLogs(to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	logs, err := filepath.Glob(c.path("*.log"))
	for _, path := range logs {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(path)), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return err
}
