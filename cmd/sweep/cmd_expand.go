package main

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/file"
	"sweep/sweep/policy"
)

type expandOptions struct {
	asJSON    bool
	at        int64
	noTrainer bool
	plan      planOptions
}

func newExpand(s *settings) *cobra.Command {
	options := expandOptions{at: -1}
	cmd := &cobra.Command{
		Use:   "expand FILE",
		Short: "Show what a sweep file would train, without training it",
		Long: `The output has the number of grid points, the first and last one or any one by its index,
what conditions remove, and an estimate of the cost. The time is estimated from the
speed of earlier trials in the database or, if there are none, from a second of
training with the built-in trainer.

The trainer's schema defines the types of values and fills in defaults, and the trainer
checks the points against the data. --no-trainer skips both.

For a program, the output lists the inputs of its earlier results and which of them have
changed: results with changed inputs are not reused.

Exit codes: 0 done, 1 the trainer does not start or its data cannot be read,
2 the file is invalid, 4 no such file.`,
		Example: `  sweep expand examples/memory.yaml
  sweep expand examples/memory.yaml --at 17 --json
  sweep expand wandb.yaml --no-trainer --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runExpand(cmd, s, options, args[0]) },
	}
	cmd.Flags().BoolVar(&options.asJSON, "json", false, "print JSON")
	cmd.Flags().Int64Var(&options.at, "at", -1, "print only the grid point with this index, counted from 0")
	cmd.Flags().BoolVar(&options.noTrainer, "no-trainer", false, "do not use the trainer: types as in YAML, no "+
		"defaults, no checks")
	options.plan.addFlags(cmd.Flags())
	return cmd
}

// expansion is what expand prints.
type expansion struct {
	Name   string `json:"name"`
	Points int64  `json:"points"`
	// Known is how many points do not depend on results, if that is not all; First and Last are among them.
	Known   int64            `json:"known,omitempty"`
	Product int64            `json:"product"`
	First   sweep.Parameters `json:"first"`
	Last    sweep.Parameters `json:"last"`
	Removed []sweep.Removal  `json:"removed,omitempty"`
	// Checked points, of those that do not depend on results, were validated by the trainer.
	Checked int64   `json:"checked,omitempty"`
	Flops   float64 `json:"flops,omitempty"`
	// Seconds is the time that one core takes by SpeedFrom, 0 if that is not known.
	Seconds   float64  `json:"core_seconds,omitempty"`
	SpeedFrom string   `json:"speed_from,omitempty"`
	Bytes     int64    `json:"bytes,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	// Inputs are what earlier results of the program have read; Unrecorded is what is not known of them.
	Inputs     []shownInput `json:"inputs,omitempty"`
	Unrecorded string       `json:"unrecorded,omitempty"`
}

func runExpand(cmd *cobra.Command, s *settings, options expandOptions, path string) error {
	p, err := expandPlan(cmd, s, options, path)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("at") {
		if options.at < 0 || options.at >= p.grid.Count() {
			return usageError("--at %d: the grid has points 0 to %d", options.at, p.grid.Count()-1)
		}
		if known := p.grid.Known(); options.at >= known {
			return usageError("--at %d: this point depends on results: before the sweep only points 0 to %d are known "+
				"(\"sweep trial show\" has the others, once they are chosen)", options.at, known-1)
		}
		point, err := p.grid.At(options.at)
		if err != nil {
			return err
		}
		return writePoint(cmd, options.asJSON, point)
	}
	first, err := p.grid.At(0)
	if err != nil {
		return err
	}
	last, err := p.grid.At(p.grid.Known() - 1)
	if err != nil {
		return err
	}
	e := expansion{
		Name: p.submission.Spec.Name, Points: p.grid.Count(), Product: p.grid.Product(), First: first, Last: last,
		Removed: p.grid.Removed(), Checked: min(p.checked, p.grid.Known()), Flops: p.submission.Flops,
		Bytes: p.maxBytes, Notes: p.notes,
	}
	if known := p.grid.Known(); known < e.Points {
		e.Known = known
	}
	rate, from, err := s.speedOf(cmd.Context(), p)
	if err != nil {
		return err
	}
	if rate > 0 {
		e.Seconds, e.SpeedFrom = p.submission.Flops/rate, from
	}
	e.Inputs, e.Unrecorded = s.expandInputs(cmd.Context(), p)
	if options.asJSON {
		return writeJSON(cmd, e)
	}
	return writeExpansion(cmd, p, &e)
}

func expandPlan(cmd *cobra.Command, s *settings, options expandOptions, path string) (*plan, error) {
	options.plan.own = true
	if !options.noTrainer {
		return s.readPlan(cmd.Context(), path, options.plan, slog.New(slog.DiscardHandler))
	}
	if err := options.plan.check(); err != nil {
		return nil, err
	}
	source, err := file.Read(path)
	if err != nil {
		return nil, err
	}
	decoded, err := file.Decode(path, source, file.Options{Count: options.plan.count, Method: options.plan.method})
	if err != nil {
		return nil, err
	}
	return &plan{submission: &sweep.Submission{Spec: decoded.Spec}, grid: decoded.Grid, notes: decoded.Notes}, nil
}

func writePoint(cmd *cobra.Command, asJSON bool, point sweep.Parameters) error {
	if asJSON {
		return writeJSON(cmd, point)
	}
	for _, name := range point.Names() {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, sweep.JSONText(point[name]))
	}
	return nil
}

func writeExpansion(cmd *cobra.Command, p *plan, e *expansion) error {
	out := cmd.OutOrStdout()
	for _, note := range e.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	fmt.Fprintf(out, "%s: %d trials\n\n", e.Name, e.Points)
	for _, axis := range p.submission.Spec.Axes {
		for i, parameter := range axis.Parameters {
			mark := ""
			if i > 0 {
				mark = ", advances with " + axis.Parameters[0].Name
			}
			if d := parameter.Values.Distribution; d != nil {
				fmt.Fprintf(out, "  %-16s drawn: %s\n", parameter.Name, distributionText(d))
				continue
			}
			fmt.Fprintf(out, "  %-16s %d values: %s%s\n", parameter.Name, parameter.Values.Len(),
				someValues(parameter.Values), mark)
		}
	}
	if e.Product != e.Points {
		fmt.Fprintf(out, "\nthe full product has %d points; conditions, exclusions and caps leave %d\n",
			e.Product, e.Points)
	}
	for _, r := range e.Removed {
		fmt.Fprintf(out, "  %s does not exist at %d of them\n", r.Parameter, r.Points)
	}
	first, err := sweep.CanonicalJSON(e.First)
	if err != nil {
		return err
	}
	last, err := sweep.CanonicalJSON(e.Last)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nfirst  %s\nlast   %s\n", first, last)
	if e.Known > 0 {
		fmt.Fprintf(out, "\nthese are trials 0 and %d: results choose %s\n", e.Known-1,
			policy.Chooses(&p.submission.Spec))
	}
	if e.Checked > 0 && e.Flops == 0 && e.Bytes == 0 {
		fmt.Fprintf(out, "\n%d points checked\n", e.Checked)
	} else if e.Checked > 0 {
		fmt.Fprintf(out, "\ncost   %s flop in total, up to %s per trial; %d points checked\n", engineering(e.Flops),
			bytesText(e.Bytes), e.Checked)
		if e.Seconds > 0 || e.Flops > 0 {
			fmt.Fprintf(out, "time   %s\n", estimateText(e.Seconds, e.SpeedFrom, runtime.NumCPU(), e.Points))
		}
	}
	return writeInputs(out, e.Inputs, e.Unrecorded)
}

// estimateText says how long trials take that take some seconds on one core, by a speed; 0 if that is not known.
func estimateText(seconds float64, from string, slots int, trials int64) string {
	slots = int(min(int64(slots), trials))
	switch {
	case seconds <= 0:
		return "unknown until a trial has run here"
	case slots > 1:
		return fmt.Sprintf("about %s on the %d cores here, %s on one, by %s",
			secondsText(seconds/float64(slots)), slots, secondsText(seconds), from)
	}
	return fmt.Sprintf("about %s, by %s", secondsText(seconds), from)
}

// distributionText says what a parameter is drawn from, in W&B's words.
func distributionText(d *sweep.Distribution) string {
	low, high := "min", "max"
	if d.Kind == sweep.NormalDistribution || d.Kind == sweep.LogNormalDistribution {
		low, high = "mu", "sigma"
	}
	text := fmt.Sprintf("%s, %s %s, %s %s", d.Kind, low, sweep.JSONText(d.Low), high, sweep.JSONText(d.High))
	if d.Step != 0 {
		text += ", q " + sweep.JSONText(d.Step)
	}
	return text
}

// someValues lists the values of a parameter: the first six and the last if there are many.
func someValues(v sweep.Values) string {
	const first = 6
	var list []string
	for i := range min(v.Len(), first) {
		list = append(list, sweep.JSONText(v.At(i)))
	}
	if last := v.Len() - 1; last >= first {
		text := sweep.JSONText(v.At(last))
		if last > first {
			text = "… " + text
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// engineering prints a large number with an SI prefix.
func engineering(x float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= unit.size {
			return significant(x/unit.size) + " " + unit.name
		}
	}
	return significant(x) + " "
}

func bytesText(n int64) string { return engineering(float64(n)) + "B" }
