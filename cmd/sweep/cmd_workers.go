package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/wire"
)

func newWorkers(s *settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List a cluster's workers and what each runs",
		Long: `For each worker the command prints its pool, slots and running trials, why it takes no
jobs if it does not, what it offers, and which trials it refused.

Exit codes: 0 done, 1 NATS cannot be reached.`,
		Example: "  sweep workers\n  sweep workers --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(cmd, s.dial, func(r *remote) error {
				workers, err := r.Workers(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(cmd, append([]wire.WorkerStatus{}, workers...))
				}
				return writeWorkers(cmd, workers)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func writeWorkers(cmd *cobra.Command, workers []wire.WorkerStatus) error {
	if len(workers) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), `no worker answers: "sweep worker" starts one`)
		return nil
	}
	out := cmd.OutOrStdout()
	table := &columns{more: "--json has everything"}
	table.add(always, "worker")
	table.add(4, "pool")
	table.add(1, "state", "slots", "running")
	table.add(2, "for", "devices")
	table.add(3, "up", "version")
	for _, worker := range workers {
		busy := 0
		for _, slot := range worker.Slots {
			if slot.Trial != nil {
				busy++
			}
		}
		table.row(worker.Name, worker.Pool, string(worker.State), fmt.Sprint(len(worker.Slots)), fmt.Sprint(busy), "",
			devicesOf(&worker), roughly(time.Since(worker.StartedAt)), worker.Version)
		for _, slot := range worker.Slots {
			if slot.Trial != nil {
				table.row("", "", "", "", slot.Trial.String(), roughly(time.Since(slot.Since)), slot.Devices, "", "")
			}
		}
	}
	if err := table.write(out, cmd.ErrOrStderr()); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, worker := range workers {
		if worker.Reason != "" {
			fmt.Fprintf(out, "%s is %s: %s\n", worker.Name, worker.State, worker.Reason)
		}
	}
	for _, worker := range workers {
		for _, problem := range problemsOf(&worker) {
			fmt.Fprintf(out, "%s: %s\n", worker.Name, problem)
		}
	}
	for _, line := range offerLines(workers) {
		fmt.Fprintln(out, line)
	}
	for _, worker := range workers {
		for _, r := range worker.Refusals {
			fmt.Fprintf(out, "%s refused %s %s ago: %s\n", worker.Name, r.TrialID,
				roughly(time.Since(r.At)), r.Reason)
		}
	}
	return nil
}

// devicesOf says how many of a worker's devices trials hold.
func devicesOf(w *wire.WorkerStatus) string {
	if len(w.Devices) == 0 {
		return ""
	}
	held := 0
	for _, d := range w.Devices {
		if d.Held > 0 {
			held++
		}
	}
	return fmt.Sprintf("%d of %d held", held, len(w.Devices))
}

// problemsOf says what keeps a worker from reporting results, and from giving its devices to trials.
func problemsOf(w *wire.WorkerStatus) (problems []string) {
	for _, d := range w.Devices {
		if d.Busy != "" {
			problems = append(problems, fmt.Sprintf("no further trial gets %s: %s", d.Device, d.Busy))
		}
	}
	if w.Problem != "" {
		problems = append(problems, "cannot report the results of its trials: "+w.Problem)
	}
	if w.Spool != nil && w.Spool.Problem != "" {
		problems = append(problems, w.Spool.Problem)
	}
	return problems
}

// namedWorkers is how many workers of equal offers are named.
const namedWorkers = 3

// offerLines has a line for each offer, with the workers that make it, in the order of their first.
func offerLines(workers []wire.WorkerStatus) (lines []string) {
	names, order := map[string][]string{}, []string{}
	for i := range workers {
		text := offerText(&workers[i].Offer)
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], workers[i].Name)
	}
	for _, text := range order {
		list, verb := names[text], "offer"
		if len(list) == 1 {
			verb = "offers"
		}
		who := strings.Join(list[:min(len(list), namedWorkers)], ", ")
		if more := len(list) - namedWorkers; more > 0 {
			who += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, who+" "+verb+" "+text)
	}
	return lines
}

// offerText says what a worker offers, and what it has and does not offer.
func offerText(o *sweep.Offer) string {
	var parts, broken []string
	byName := func(a, b sweep.TrainerOffer) int { return strings.Compare(a.Name, b.Name) }
	for _, t := range slices.SortedFunc(slices.Values(o.Trainers), byName) {
		if t.Problem != "" {
			broken = append(broken, fmt.Sprintf("not %s: %s", t.Name, t.Problem))
			continue
		}
		text := t.Name + " (results of version " + t.ResultVersion
		if t.KernelLevel != "" {
			text += ", " + t.KernelLevel
		}
		parts = append(parts, text+")")
	}
	if o.Memory > 0 {
		parts = append(parts, sweep.SizeText(o.Memory)+" a slot")
	}
	if len(o.Devices) > 0 {
		parts = append(parts, o.DevicesText())
	}
	for _, name := range slices.Sorted(maps.Keys(o.Labels)) {
		parts = append(parts, name+"="+o.Labels[name])
	}
	if o.NoArtifacts != "" {
		broken = append(broken, "no trials that leave artifacts: it has "+o.NoArtifacts)
	}
	return strings.Join(append(parts, broken...), ", ")
}

func newDrain(s *settings) *cobra.Command {
	var resume bool
	var reason string
	cmd := &cobra.Command{
		Use:   "drain WORKER",
		Short: "Drain a worker: it takes no further jobs",
		Long: `Its running trials finish, or return to the queue after its grace period. It stays
drained until --resume or a restart; "sweep workers" shows the reason. WORKER is a name
that "sweep workers" lists, or the beginning of one.

Exit codes: 0 done, 1 the worker does not answer, 4 no such worker.`,
		Example: "  sweep drain node7 --reason \"new disk\"\n  sweep drain node7 --resume",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd, s.dial, func(r *remote) error {
				var status *wire.WorkerStatus
				var err error
				if resume {
					status, err = r.ResumeWorker(cmd.Context(), args[0])
				} else {
					status, err = r.DrainWorker(cmd.Context(), args[0], reason)
				}
				if err != nil {
					return err
				}
				note := ""
				if status.State == wire.WorkerDraining && resume {
					note = ": " + status.Reason
				}
				fmt.Fprintf(cmd.OutOrStdout(), "worker %s is %s%s\n", status.Name, status.State, note)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&resume, "resume", false, "take jobs again")
	cmd.Flags().StringVar(&reason, "reason", "by command", "why, shown by \"sweep workers\"")
	return cmd
}
