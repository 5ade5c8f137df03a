package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"
)

// kind is a kind of fault: what breaks, and what mends it, between the shortest and the longest time later. whom says
// what a fault strikes, and how.
type kind struct {
	name              string
	shortest, longest time.Duration
	whom              func(f *fault) string
	strike            func(c *cluster, f *fault)
	mend              func(c *cluster, f *fault)
}

// kinds are all kinds of faults. What they break may be broken already, or mended by another fault in between.
var kinds = []kind{
	{"kill a coordinator", 0, 3 * time.Second, ofCoordinator, killCoordinator, startCoordinator},
	{"kill all coordinators", 0, 3 * time.Second, ofAll, killCoordinators, startCoordinators},
	{"stop a coordinator", time.Second / 2, 9 * time.Second, ofCoordinator, stopCoordinator, continueCoordinator},
	{"end a coordinator", time.Second / 2, 5 * time.Second, ofCoordinator, endCoordinator, startCoordinator},
	{"kill a worker", 0, 6 * time.Second, ofWorker, killWorker, startWorker},
	{"stop a worker", 3 * time.Second, 14 * time.Second, ofWorker, stopWorker, continueWorker},
	{"drain a worker", 4 * time.Second, 8 * time.Second, ofWorker, drainWorker, endDrain},
	{"kill a trainer", 0, time.Second, ofWorker, killTrainer, nil},
	{"kill the broker", 0, 2 * time.Second, ofAll, killBroker, startBroker},
	{"wipe the broker", 0, 2 * time.Second, ofAll, wipeBroker, startBroker},
	{"stop the broker", time.Second / 2, 6 * time.Second, ofAll, stopBroker, continueBroker},
	{"crash the database", 0, 3 * time.Second, ofAll, crashDatabase, startDatabase},
	{"stop the database", time.Second, 6 * time.Second, ofAll, stopDatabase, continueDatabase},
	{"cut worker from broker", 2 * time.Second, 14 * time.Second, ofCut, cutWorker, mendWorkerLink},
	{"cut coordinator from broker", 2 * time.Second, 14 * time.Second, ofCut, cutCoordinator, mendCoordinatorLink},
	{"cut coordinator from database", 2 * time.Second, 14 * time.Second, ofCut, cutDatabase, mendDatabaseLink},
	{"slow the database down", time.Second / 2, 9 * time.Second, ofDelay, slowDatabase, mendDatabaseLink},
	{"pause or move a sweep", time.Second / 2, 4 * time.Second, ofSweep, commandSweep, resumeSweep},
	{"delete a sweep", 0, time.Second, ofAll, deleteSweep, nil},
}

func ofAll(*fault) string           { return "" }
func ofCoordinator(f *fault) string { return coordinatorName(f.coordinator) }
func ofSweep(f *fault) string       { return f.sweep }
func ofCut(f *fault) string         { return string(f.cut) }
func ofDelay(f *fault) string       { return fmt.Sprintf("%.2f s each way", f.delay.Seconds()) }

func ofWorker(f *fault) string {
	if f.also {
		return fmt.Sprint(f.worker+1, " with what it started")
	}
	return strconv.Itoa(f.worker + 1)
}

func killCoordinator(c *cluster, f *fault)  { c.coordinators[f.coordinator].kill() }
func startCoordinator(c *cluster, f *fault) { c.restart(c.coordinators[f.coordinator]) }

func killCoordinators(c *cluster, _ *fault) {
	for _, p := range c.coordinators {
		p.kill()
	}
}

func startCoordinators(c *cluster, _ *fault) {
	for _, p := range c.coordinators {
		c.restart(p)
	}
}

func stopCoordinator(c *cluster, f *fault)     { c.coordinators[f.coordinator].signal(syscall.SIGSTOP) }
func continueCoordinator(c *cluster, f *fault) { c.coordinators[f.coordinator].signal(syscall.SIGCONT) }
func endCoordinator(c *cluster, f *fault)      { c.coordinators[f.coordinator].signal(syscall.SIGTERM) }

func killWorker(c *cluster, f *fault) {
	c.drains[f.worker] = time.Time{}
	c.workers[f.worker].kill()
}

func startWorker(c *cluster, f *fault) {
	if c.drains[f.worker].IsZero() { // else it starts when it has ended
		c.restart(c.workers[f.worker])
	}
}

func stopWorker(c *cluster, f *fault) {
	p := c.workers[f.worker]
	if f.also {
		signalAll(descendants(p.pid()), syscall.SIGSTOP)
	}
	p.signal(syscall.SIGSTOP)
}

func continueWorker(c *cluster, f *fault) {
	p := c.workers[f.worker]
	p.signal(syscall.SIGCONT)
	signalAll(descendants(p.pid()), syscall.SIGCONT)
}

func drainWorker(c *cluster, f *fault) {
	p := c.workers[f.worker]
	if !c.drains[f.worker].IsZero() || p.pid() == 0 {
		return
	}
	continueWorker(c, f)
	c.drains[f.worker] = time.Now()
	p.signal(syscall.SIGTERM)
}

func endDrain(c *cluster, f *fault) { c.endDrain(f.worker) }

// endDrain waits for the end of a worker that drains, and starts it again.
func (c *cluster) endDrain(worker int) {
	since, p := c.drains[worker], c.workers[worker]
	if since.IsZero() {
		return
	}
	c.drains[worker] = time.Time{}
	if !p.wait(time.Until(since.Add(drainMost))) {
		if !p.hungSince(since) {
			c.problem("%s has drained for %.0f s with a grace of %v", p.name, time.Since(since).Seconds(), grace)
		}
		p.kill()
	}
	c.restart(p)
}

// killTrainer kills a process that a worker has started, and not what runs in it: a program that goes on without one of
// its own processes may have another result.
func killTrainer(c *cluster, f *fault) {
	pid := c.workers[f.worker].pid()
	if pid == 0 {
		return
	}
	if all := children()[pid]; len(all) > 0 {
		signalAll(all[f.number%len(all):][:1], syscall.SIGKILL)
	}
}

func killBroker(c *cluster, _ *fault)  { c.nats.kill() }
func startBroker(c *cluster, _ *fault) { c.restart(c.nats) }

func wipeBroker(c *cluster, _ *fault) {
	c.nats.kill()
	if err := os.RemoveAll(c.path("jetstream")); err != nil {
		c.problem("%v", err)
	}
}

func stopBroker(c *cluster, _ *fault)     { c.nats.signal(syscall.SIGSTOP) }
func continueBroker(c *cluster, _ *fault) { c.nats.signal(syscall.SIGCONT) }

// crashDatabase ends the server with all its sessions, as a crash does.
func crashDatabase(c *cluster, _ *fault) {
	continueDatabase(c, nil)
	c.postgres.signal(syscall.SIGQUIT)
	if !c.postgres.wait(time.Minute) {
		c.postgres.kill()
	}
}

func startDatabase(c *cluster, _ *fault) { c.restart(c.postgres) }

func stopDatabase(c *cluster, _ *fault) {
	signalAll(descendants(c.postgres.pid()), syscall.SIGSTOP)
	c.postgres.signal(syscall.SIGSTOP)
}

func continueDatabase(c *cluster, _ *fault) {
	c.postgres.signal(syscall.SIGCONT)
	signalAll(descendants(c.postgres.pid()), syscall.SIGCONT)
}

func cutWorker(c *cluster, f *fault)           { c.workerNATS.set(f.cut, 0) }
func mendWorkerLink(c *cluster, _ *fault)      { c.workerNATS.set(uncut, 0) }
func cutCoordinator(c *cluster, f *fault)      { c.coordinatorNATS.set(f.cut, 0) }
func mendCoordinatorLink(c *cluster, _ *fault) { c.coordinatorNATS.set(uncut, 0) }
func cutDatabase(c *cluster, f *fault)         { c.coordinatorPostgres.set(f.cut, 0) }
func slowDatabase(c *cluster, f *fault)        { c.coordinatorPostgres.set(uncut, f.delay) }
func mendDatabaseLink(c *cluster, _ *fault)    { c.coordinatorPostgres.set(uncut, 0) }

// commandSweep pauses a sweep or changes its priority, as a user does who does not mind if nobody answers.
func commandSweep(c *cluster, f *fault) {
	command := []string{"pause", f.sweep}
	if f.also {
		command = []string{"priority", f.sweep, strconv.Itoa(f.number%15 - 5)}
	}
	c.background(command...)
}

func resumeSweep(c *cluster, f *fault) { c.background("resume", f.sweep) }

// background runs a command beside the faults.
func (c *cluster) background(command ...string) {
	c.beside.Go(func() {
		if _, err := c.command(context.Background(), command...); err != nil {
			c.log.Print(err)
		}
	})
}

// deleteSweep submits a further sweep, and cancels and deletes it, beside the faults: each as often as it takes.
func deleteSweep(c *cluster, f *fault) {
	name := fmt.Sprintf("extra-%d-%d", f.number, f.at.Milliseconds())
	if err := os.WriteFile(c.path("files", name+".yaml"), fmt.Appendf(nil, extra, name), 0o644); err != nil {
		c.problem("%v", err)
		return
	}
	c.beside.Go(func() {
		for _, command := range [][]string{{"submit", name + ".yaml", "--key", name}, {"pause", name}, {"cancel", name},
			{"delete", name}} {
			limit := time.Minute
			if command[0] == "pause" {
				limit = 0 // it may have ended
			}
			err := c.until(context.Background(), limit, func() error {
				_, err := c.command(context.Background(), command...)
				return err
			})
			if err != nil {
				c.log.Print(err)
			}
			time.Sleep(f.delay)
		}
	})
}

// get asks the broker's monitor.
func (c *cluster) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address(monitorPort)+path, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}
