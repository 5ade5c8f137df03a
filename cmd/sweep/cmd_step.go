package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sweep/model"
)

// stepLine is one measurement, in the form of the peers that it is compared with.
type stepLine struct {
	Config  string `json:"config"`
	Impl    string `json:"impl"`
	Act     string `json:"act,omitempty"`
	N       int    `json:"n"`
	M1      int    `json:"m1"`
	M2      int    `json:"m2"`
	Inputs  int    `json:"ni"`
	Steps   int    `json:"T"`
	Batch   int    `json:"B"`
	Classes int    `json:"classes"`
	Threads int    `json:"threads"`

	Median    float64 `json:"median_ms"`
	Best      float64 `json:"min_ms"`
	Sequences float64 `json:"seq_per_s"`
	Params    int     `json:"params"`
	Timed     int     `json:"steps"`

	Gigaflops   float64 `json:"gflop_per_s"`
	Peak        float64 `json:"peak_gflop_per_s"`
	MedianShare float64 `json:"median_of_peak"`
	BestShare   float64 `json:"best_of_peak"`
}

func newTrainerStep() *cobra.Command {
	var shape model.StepShape
	var name string
	var impls []string
	var seconds float64
	var most int
	var goals, slides bool
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Time training steps of the built-in trainer on random series",
		Long: `A step is forward and backward pass, clipping, the optimiser's update and the
projection of the reflectors. The command prints a line of JSON per model, with its
share of the multiply-adds that one core can do, measured in the same process. A suffix
sets how a matrix is applied: spectral-rnn:dense, ornn:compact-wy, urnn:factors. --goals
prints a table of fixed cases.

--slides prints the numbers of parameters of the two stacks of the Spectral-RNN slides,
then the training times of the slides, Spectral-RNN and LSTM of 512, 1024 and 2048
units, beside the published ones, and how a step's time grows with reflectors and units,
factorized-rnn's included. The slides have B = 1024 and do not
state n_i, T and classes: give them, as in the example. With those it took 6 minutes of one quiet core with
AVX-512.

Exit codes: 0 done, 1 a network cannot be built, 2 invalid flags.`,
		Example: `  sweep trainer step --n 128 --m1 16 --m2 16 --ni 1 --T 784 --B 128 --classes 10
  sweep trainer step --goals
  sweep trainer step --slides --ni 200 --T 20 --B 1024 --classes 200`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if seconds <= 0 || most < 1 {
				return usageError("--seconds and --steps must be positive")
			}
			budget := time.Duration(seconds * float64(time.Second))
			switch {
			case goals && slides:
				return usageError("give either --goals or --slides")
			case goals:
				return printGoals(cmd, budget, most)
			case slides:
				for _, other := range []string{"impl", "n", "m1", "m2", "config"} {
					if cmd.Flags().Changed(other) {
						return usageError("--slides measures networks of its own: do not give --%s", other)
					}
				}
				return printSlides(cmd, shape, budget, most)
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			for _, impl := range impls {
				s := shape
				s.Model, s.Operator, _ = strings.Cut(impl, ":")
				times, err := timeSteps(cmd, s, budget, most)
				if err != nil {
					return err
				}
				line := newStepLine(name, impl, s, times)
				if err := encoder.Encode(line); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "config", "step", "name of the case in the output")
	flags.StringSliceVar(&impls, "impl", []string{"spectral-rnn", "spectral-rnn:dense", "spectral-rnn:compact-wy",
		"ornn", "rnn", "lstm", "gru"}, "models to time")
	flags.IntVar(&shape.Hidden, "n", 32, "hidden units")
	flags.IntVar(&shape.M1, "m1", 16, "reflectors of U")
	flags.IntVar(&shape.M2, "m2", 16, "reflectors of V")
	flags.IntVar(&shape.Inputs, "ni", 1, "inputs per time step")
	flags.IntVar(&shape.Steps, "T", 251, "time steps")
	flags.IntVar(&shape.Batch, "B", 32, "series in a minibatch")
	flags.IntVar(&shape.Classes, "classes", 3, "outputs")
	flags.IntVar(&shape.Threads, "threads", 1, "threads that share a minibatch")
	flags.Float64Var(&seconds, "seconds", 2, "seconds per measurement")
	flags.IntVar(&most, "steps", 3000, "maximum number of steps per measurement")
	flags.BoolVar(&slides, "slides", false, "measure the networks of the slides, and growing ones")
	flags.BoolVar(&goals, "goals", false, "measure a fixed set of typical cases")
	return cmd
}

func timeSteps(cmd *cobra.Command, shape model.StepShape, budget time.Duration, most int) (*model.StepTimes, error) {
	timer, err := model.NewStepTimer(cmd.Context(), shape)
	if err != nil {
		return nil, err
	}
	defer timer.Close()
	return timer.Measure(cmd.Context(), budget, most)
}

// newStepLine names the models so that a table can hold other programs' beside
// them: theirs are called rnn, lstm and gru.
func newStepLine(name, impl string, s model.StepShape, t *model.StepTimes) stepLine {
	line := stepLine{
		Config: name, Impl: "sweep " + impl, N: s.Hidden, M1: s.M1, M2: s.M2, Inputs: s.Inputs, Steps: s.Steps,
		Batch: s.Batch, Classes: s.Classes, Threads: s.Threads, Params: t.Parameters, Timed: t.Count,
		Median: milliseconds(t.Median), Best: milliseconds(t.Best), Sequences: float64(s.Batch) / t.Median.Seconds(),
		Gigaflops: t.Flops / t.Best.Seconds() / 1e9, Peak: t.Peak / 1e9,
		MedianShare: t.Share(t.Median, s.Threads), BestShare: t.Share(t.Best, s.Threads),
	}
	if impl == "rnn" {
		line.Impl, line.Act = "rnn", "sweep"
	}
	return line
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// spectral is the shape of a step of the Spectral-RNN by one thread.
func spectral(hidden, reflectors, inputs, steps, batch, classes int) model.StepShape {
	return model.StepShape{Model: "spectral-rnn", Hidden: hidden, M1: reflectors, M2: reflectors, Inputs: inputs,
		Steps: steps, Batch: batch, Classes: classes, Threads: 1}
}

// typical is the shape of a step on the UCR archive.
var typical = spectral(32, 16, 1, 251, 32, 3)

// stepGoals are the cases whose share of the peak the trainer is built to reach. Each is measured with
// each number of threads up to threads, and then with each operator.
var stepGoals = []struct {
	name      string
	shape     model.StepShape
	operators []string
	threads   int
}{
	{"pixel MNIST n=128 m=16 T=784 B=128", spectral(128, 16, 1, 784, 128, 10), []string{"dense", "compact-wy"}, 2},
	{"UCR n=32 m=16 n_i=8 T=16 B=32", spectral(32, 16, 8, 16, 32, 3), []string{""}, 1},
	{"UCR n=32 m=16 n_i=1 T=251 B=32", typical, []string{""}, 1},
	{"UCR n=32 m=16 n_i=8 T=16 B=16", spectral(32, 16, 8, 16, 16, 3), []string{""}, 1},
	{"UCR n=32 m=16 n_i=1 T=251 B=16", spectral(32, 16, 1, 251, 16, 3), []string{""}, 1},
	{"LSTM n=128 T=784 B=128", model.StepShape{Model: "lstm", Hidden: 128, Inputs: 1, Steps: 784, Batch: 128,
		Classes: 10}, []string{""}, 1},
	{"n=512 m=32 n_i=200 T=20 B=256", spectral(512, 32, 200, 20, 256, 200), []string{"dense", "compact-wy"}, 1},
	{"n=1024 m=64 n_i=200 T=20 B=256", spectral(1024, 64, 200, 20, 256, 200), []string{"dense", "compact-wy"}, 1},
}

// printGoals measures the cases and prints a Markdown table.
func printGoals(cmd *cobra.Command, budget time.Duration, most int) error {
	w := cmd.OutOrStdout()
	fmt.Fprintln(w, "| case | operator | threads | best ms | median ms | steps timed | GFLOP/s best | peak | share of "+
		"peak, best | median | against the first |")
	fmt.Fprintln(w, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, goal := range stepGoals {
		var first *model.StepTimes
		shape := goal.shape
		for shape.Threads = 1; shape.Threads <= min(goal.threads, runtime.GOMAXPROCS(0)); shape.Threads++ {
			for _, shape.Operator = range goal.operators {
				t, err := timeSteps(cmd, shape, budget, most)
				if err != nil {
					return err
				}
				if first == nil {
					first = t
				}
				writeGoal(w, goal.name, shape, t, first)
			}
		}
	}
	if runtime.GOMAXPROCS(0) < 2 {
		return nil
	}
	return printSideBySide(cmd, budget, most)
}

// printSideBySide compares two trainings at once with one after the other.
func printSideBySide(cmd *cobra.Command, budget time.Duration, most int) error {
	alone, err := timeSteps(cmd, typical, budget, most)
	if err != nil {
		return err
	}
	var both [2]*model.StepTimes
	var failed [2]error
	var measured sync.WaitGroup
	for i := range both {
		measured.Go(func() { both[i], failed[i] = timeSteps(cmd, typical, budget, most) })
	}
	measured.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return err
	}
	gain := func(of func(*model.StepTimes) time.Duration) float64 {
		return of(alone).Seconds()/of(both[0]).Seconds() + of(alone).Seconds()/of(both[1]).Seconds()
	}
	fmt.Fprintf(cmd.OutOrStdout(), "\nTwo trainings on two cores do %.2f times (best; median %.2f) the steps of one, "+
		"n=32 T=251 B=32.\n",
		gain(func(t *model.StepTimes) time.Duration { return t.Best }),
		gain(func(t *model.StepTimes) time.Duration { return t.Median }))
	return nil
}

func writeGoal(w io.Writer, name string, shape model.StepShape, t, first *model.StepTimes) {
	operator, ratio := cmp.Or(shape.Operator, "auto"), ""
	if t != first {
		ratio = fmt.Sprintf("%.2f×", first.Best.Seconds()/t.Best.Seconds())
	}
	fmt.Fprintf(w, "| %s | %s | %d | %.3f | %.3f | %d | %.1f | %.1f | %.0f %% | %.0f %% | %s |\n", name, operator,
		shape.Threads, milliseconds(t.Best), milliseconds(t.Median), t.Count, t.Flops/t.Best.Seconds()/1e9, t.Peak/1e9,
		100*t.Share(t.Best, shape.Threads), 100*t.Share(t.Median, shape.Threads), ratio)
}
