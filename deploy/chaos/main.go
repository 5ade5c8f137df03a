// Command chaos runs a whole cluster of real processes on this machine, breaks parts of it at moments
// that are drawn from a seed, and checks what must hold in the end: every point has its one result,
// equal to that of an undisturbed run; no execution runs for ever; no worker drains beyond its grace;
// nothing is stuck or left over.
//
//	go run ./deploy/chaos --seed 17
//	go run ./deploy/chaos --seeds 1-200 --keep /tmp/chaos
//
// It prints a line for each seed and exits with 1 if any of them fails. A seed fixes the plan of faults,
// which --plan prints, not how the processes are scheduled.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// options are those of the command line.
type options struct {
	first, last uint64
	port        int
	parallel    int
	limit       time.Duration
	keep        string
	sweep, nats string
	plan        bool
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	failed, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(arguments []string) (o options, err error) {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "the seed that faults are drawn from")
	seeds := flags.String("seeds", "", "seeds from one to another, such as 1-200, in place of --seed")
	flags.IntVar(&o.port, "port", 22500, "first of the loopback ports to use, 10 for each seed that runs at a time")
	flags.IntVar(&o.parallel, "parallel", 1, "seeds that run at a time")
	flags.DurationVar(&o.limit, "limit", 150*time.Second, "how long sweeps may take after the last fault")
	flags.StringVar(&o.keep, "keep", "", "directory for the logs of seeds that fail; none are kept if empty")
	flags.StringVar(&o.sweep, "sweep", "", "the program sweep (default: built from this checkout)")
	flags.StringVar(&o.nats, "nats-server", "", "the program nats-server (default: built from go.mod's module)")
	flags.BoolVar(&o.plan, "plan", false, "print the faults of the seeds, and run nothing")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	o.first, o.last = *seed, *seed
	if *seeds != "" {
		from, to, several := strings.Cut(*seeds, "-")
		o.first, err = strconv.ParseUint(from, 10, 64)
		if o.last = o.first; several && err == nil {
			o.last, err = strconv.ParseUint(to, 10, 64)
		}
		if err != nil || o.last < o.first {
			return o, fmt.Errorf("--seeds %q: expected two numbers, as in 1-200", *seeds)
		}
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.parallel < 1 || o.port < 1024 || o.port+10*o.parallel > 65535 {
		return o, fmt.Errorf("--port %d, --parallel %d: expected ports from 1024 to 65535, 10 for each", o.port,
			o.parallel)
	}
	return o, nil
}

// run runs the seeds and reports whether any failed.
func run(ctx context.Context, o options) (failed bool, err error) {
	if o.plan {
		for seed := o.first; seed <= o.last; seed++ {
			fmt.Printf("seed %d\n%s", seed, newPlan(seed))
		}
		return false, nil
	}
	dir, err := os.MkdirTemp("", "sweep-chaos-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // Postgres runs as another user
		return false, err
	}
	programs, err := findPrograms(ctx, dir, o)
	if err != nil {
		return false, err
	}
	calm, err := undisturbed(ctx, dir, programs)
	if err != nil {
		return false, err
	}
	var mu sync.Mutex
	next := o.first
	draw := func() (seed uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		seed = next
		next++
		return seed, seed <= o.last && ctx.Err() == nil
	}
	var running sync.WaitGroup
	for i := range o.parallel {
		running.Go(func() {
			for seed, ok := draw(); ok; seed, ok = draw() {
				outcome := runSeed(ctx, dir, programs, o, o.port+10*i, seed, calm)
				mu.Lock()
				fmt.Println(outcome)
				failed = failed || len(outcome.problems) > 0
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return failed, ctx.Err()
}

// outcome is what came of a seed.
type outcome struct {
	seed uint64
	// faults are how many were made, again how many trials ran more than once.
	faults, again int
	// rest is how long the sweeps took after the last fault, total how long all took.
	rest, total time.Duration
	problems    []string
}

// String is the outcome in a line.
func (o outcome) String() string {
	text := "holds"
	if len(o.problems) > 0 {
		text = "FAILS"
	}
	text = fmt.Sprintf("seed %d: %s: %d faults, all ended %.0f s after the last, %d trials ran again, %.0f s", o.seed,
		text, o.faults, o.rest.Seconds(), o.again, o.total.Seconds())
	if len(o.problems) > 0 {
		text += ": " + strings.Join(o.problems, "; ")
	}
	return text
}

// runSeed runs a cluster and breaks it.
func runSeed(ctx context.Context, dir string, programs programs, o options, port int, seed uint64,
	calm results) (done outcome) {
	began := time.Now()
	done.seed = seed
	defer func() { done.total = time.Since(began) }()
	c, err := newCluster(dir, programs, port, seed)
	if err != nil {
		done.problems = append(done.problems, err.Error())
		return done
	}
	defer func() {
		if err := c.close(len(done.problems) > 0, o.keep); err != nil {
			done.problems = append(done.problems, err.Error())
		}
	}()
	plan := newPlan(seed)
	done.faults = len(plan)
	err = c.start(ctx)
	if err == nil {
		err = c.submitAll(ctx)
	}
	if err == nil {
		err = c.suffer(ctx, plan)
	}
	if err == nil {
		err = c.check(ctx, o.limit, calm, &done)
	}
	if err != nil {
		c.problem("%v", err)
	}
	done.problems = append(done.problems, c.problems...)
	return done
}
