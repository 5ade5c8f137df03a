package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/paper"
	"sweep/sweep/report"
)

type tableOptions struct {
	selection string
	format    string
	all       bool
}

func newTable(s *settings) *cobra.Command {
	var options tableOptions
	cmd := &cobra.Command{
		Use:   "table ucr|tasks|PRESET [SWEEP...]",
		Short: "Print the papers' tables from the results, beside the published figures",
		Long: `Without SWEEP, the newest sweep with results for the table is used. Each data set
belongs to one table:

  ucr    data sets of the UCR archive: the rows that they have in Table 4 of Zhang, Lei
         and Dhillon (2018)
  tasks  all others, such as addition, mnist and har-2: accuracies, and losses beside
         the loss of the best answer that needs no memory

"sweep preset list" lists the papers' experiments. The table of a preset has all published
rows. It uses the preset's own sweeps, or those that are named.

--select says how the result for a data set and model is selected. Selection uses the
metric of the sweep file's select, by default the smallest validation loss:

  mean           mean ± standard deviation over the replicates of the best grid point,
                 which is selected by the metric's mean over replicates
  single         the best single trial
  ensemble       the replicates of the best grid point vote: the class with the largest
                 mean probability. Needs "artifacts: [probabilities]" in the sweep file
  ensemble:3     the same with all replicates of the three best grid points
  ensemble:auto  the same with the number of grid points that has the smallest loss on
                 the validation rows

Notes below the table name ties, and what validation has not seen.

Exit codes: 0 done, 2 an unknown table, selection or format, 4 no results.`,
		Example: `  sweep table ucr
  sweep table ucr --select single --format markdown
  sweep table ucr --select ensemble:auto
  sweep table sgornn-table2
  sweep table mnist-table2 latest --format latex`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := paper.ParseRequest(args[0], options.selection)
			switch {
			case errors.Is(err, sweep.ErrNotFound):
				if p, err := paper.FindPreset(args[0]); err == nil && p.Result.Command != nil {
					return usageError("the preset %s has no table of its own: \"sweep %s\" prints its output", p.Name,
						strings.Join(p.Command(paper.Full, "SWEEP"), " "))
				}
				names := paper.TableNames()
				for _, sub := range cmd.Commands() {
					names = append(names, sub.Name())
				}
				return usageError("no table %q: expected one of %s", args[0], strings.Join(names, ", "))
			case err != nil:
				return &exitError{exitUsage, err}
			}
			if request.Sweeps, request.All = args[1:], options.all; request.All && len(request.Sweeps) > 0 {
				return usageError("--all uses every sweep; do not name any")
			}
			if err := options.checkFormat(); err != nil {
				return err
			}
			return with(cmd, s.openTarget, func(t target) error {
				table, _, err := request.Gather(cmd.Context(), t, t)
				if incomparable := (*report.IncomparableError)(nil); errors.As(err, &incomparable) ||
					errors.Is(err, report.ErrNoClasses) {
					return &exitError{exitUsage, err}
				}
				if err != nil {
					return err
				}
				if table == nil {
					return fmt.Errorf("%w: no completed trial belongs in the table %s", sweep.ErrNotFound,
						request.Name())
				}
				return writeTable(cmd, table, options.format)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&options.selection, "select", string(report.Mean), "mean, single, ensemble, ensemble:K or "+
		"ensemble:auto")
	cmd.PersistentFlags().StringVar(&options.format, "format", "text", strings.Join(report.Formats, ", "))
	f.BoolVar(&options.all, "all", false, "combine the results of all sweeps")
	cmd.AddCommand(newTableFlops(&options), newTableBounds(s, &options))
	return cmd
}

func (o *tableOptions) checkFormat() error {
	if !slices.Contains(report.Formats, o.format) {
		return usageError("--format %s: expected one of %s", o.format, strings.Join(report.Formats, ", "))
	}
	return nil
}
