package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/figure"
	"sweep/sweep/paper"
)

func newPreset(s *settings) *cobra.Command {
	return family("preset", "List, show and run the experiments of the papers",
		`A preset is an experiment of a paper: a sweep file, and the table or figure that is made
of its results beside what the paper published. "show" prints the sweep file, so that
nothing is hidden: change a copy and run it with "sweep run". A preset has up to three
forms: the whole published grid; --standard, what a night of two cores does of it; and
--quick, a minute or less, which uses generated data where it can and shows that
everything works, no figures to compare.`,
		`  sweep preset list
  sweep preset show sgornn-table2
  sweep preset run addition-fig1 --quick
  sweep preset run sgornn-table2 --data ~/data`,
		newPresetList(), newPresetShow(), newPresetRun(s))
}

func newPresetList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the papers' experiments",
		Long: `The output has the name of each preset, whether it makes a table or a figure, the folder
of data that it needs in --data, and its title.

Exit codes: 0 done.`,
		Example: `  sweep preset list
  sweep preset list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type preset struct {
				Name  string `json:"name"`
				Makes string `json:"makes"`
				Data  string `json:"data"`
				Title string `json:"title"`
			}
			var list []preset
			for _, p := range paper.Presets() {
				list = append(list, preset{p.Name, p.What(), p.Result.Data, p.Result.Title})
			}
			if asJSON {
				return writeJSON(cmd, list)
			}
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(out, "NAME\tMAKES\tDATA\tTITLE")
			for _, p := range list {
				fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", p.Name, p.Makes, p.Data, p.Title)
			}
			return out.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newPresetShow() *cobra.Command {
	var form formOptions
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Print the sweep file of a preset",
		Long: `The output is a sweep file with its comments, which "sweep expand", "sweep run" and
"sweep submit" take, or the command of a preset that trains nothing.

Exit codes: 0 done, 4 no such preset.`,
		Example: `  sweep preset show copy-fig2
  sweep preset show copy-fig2 --quick > copy.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completePreset,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := paper.FindPreset(args[0])
			if err != nil {
				return err
			}
			text, err := form.file(p)
			if err != nil {
				return err
			}
			if !p.Trains() {
				fmt.Fprintln(cmd.OutOrStdout(), "sweep", strings.Join(p.Command(form.form(), ""), " "))
				return nil
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	form.addFlags(cmd)
	return cmd
}

// formOptions say how much of a preset is meant.
type formOptions struct{ quick, standard bool }

func (o *formOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.quick, "quick", false, "the quick form: a minute or less on two cores")
	cmd.Flags().BoolVar(&o.standard, "standard", false, "the standard form: a night or less on two cores")
}

func (o *formOptions) form() paper.Form {
	switch {
	case o.quick:
		return paper.Quick
	case o.standard:
		return paper.Standard
	}
	return paper.Full
}

// file is the sweep file of a preset.
func (o *formOptions) file(p *paper.Preset) ([]byte, error) {
	if o.quick && o.standard {
		return nil, usageError("--quick and --standard exclude each other")
	}
	return p.File(o.form())
}

func newPresetRun(s *settings) *cobra.Command {
	var options runOptions
	var form formOptions
	var output string
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Train a preset's trials on this machine and print its table or draw its figure",
		Long: `Before it starts, the command prints how many trials there are and about how long they
take. To resume an interrupted run, run the same command again. "sweep table NAME" and
"sweep figure NAME -o FILE" make the table or figure, if the preset has one, again from
the stored results.

` + progressHelp + `

Exit codes: as those of "sweep run".`,
		Example: `  sweep preset run addition-fig1 --quick
  sweep preset run ptb-table3 --data ~/data
  sweep preset run copy-fig2 -o copy.png --slots 4`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completePreset,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := paper.FindPreset(args[0])
			if err != nil {
				return err
			}
			return runPreset(cmd, s, options, p, form, output)
		},
	}
	options.addFlags(cmd)
	form.addFlags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "file of the figure, .svg or .png (default: NAME.svg)")
	return cmd
}

// completePreset completes the names of presets.
func completePreset(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		for _, p := range paper.Presets() {
			names = append(names, p.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func runPreset(cmd *cobra.Command, s *settings, options runOptions, p *paper.Preset, form formOptions,
	output string) error {
	switch {
	case output == "":
		output = p.Name + ".svg"
	case !p.HasFigure():
		return usageError("--output %s: %s", output, withoutFigure(p))
	case !slices.Contains(figure.Formats, strings.TrimPrefix(filepath.Ext(output), ".")):
		return usageError("--output %s: expected a file that ends in .%s", output,
			strings.Join(figure.Formats, " or ."))
	}
	if info, err := os.Stat(filepath.Dir(output)); p.HasFigure() && (err != nil || !info.IsDir()) {
		return usageError("--output %s: there is no directory %s", output, filepath.Dir(output))
	}
	text, err := form.file(p)
	if err != nil {
		return err
	}
	if form.standard && !p.Has(paper.Standard) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: the standard form is the full one\n", p.Name)
	}
	if !p.Trains() {
		if flag := otherFlag(cmd, "quick", "standard"); flag != "" {
			return usageError("--%s does not apply to the preset %s, which trains nothing", flag, p.Name)
		}
		return runCommand(cmd, p.Command(form.form(), ""))
	}
	options.plan.source = text
	options.checked = func(planned *plan) error {
		rate, from, err := s.speedOf(cmd.Context(), planned)
		if err != nil {
			return err
		}
		seconds := 0.0
		if rate > 0 {
			seconds = planned.submission.Flops / rate
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s, %s\n", p.Result.Title, sweep.CountText(planned.grid.Count(), "trial"),
			estimateText(seconds, from, options.slots, planned.grid.Count()))
		return nil
	}
	options.conclude = func(results sweep.Reader, record *sweep.SweepRecord) error {
		if p.HasFigure() {
			full, err := results.Sweep(cmd.Context(), record.ID)
			if err != nil {
				return err
			}
			if err := drawPreset(cmd, results, p, []*sweep.SweepRecord{full}, output); err != nil {
				return err
			}
		}
		if command := p.Command(form.form(), record.ID); command != nil {
			return runCommand(cmd, command)
		}
		if !p.HasTable() {
			return nil
		}
		request, err := paper.ParseRequest(p.Name, "")
		if err != nil {
			return err
		}
		request.Sweeps = []string{record.ID}
		table, _, err := request.Gather(cmd.Context(), results, nil)
		if err != nil || table == nil {
			return err
		}
		return writeTable(cmd, table, "text")
	}
	return runSweep(cmd, s, options, "preset "+p.Name)
}

// withoutFigure says that a preset has no figure, and what it has.
func withoutFigure(p *paper.Preset) string {
	if p.HasTable() {
		return fmt.Sprintf("the preset %s has no figure; \"sweep table %[1]s\" prints its table in other formats", p.Name)
	}
	return fmt.Sprintf("the preset %s has no figure; \"sweep %s\" prints its output", p.Name,
		strings.Join(p.Command(paper.Full, "SWEEP"), " "))
}

// runCommand runs another command with the settings of this one.
func runCommand(cmd *cobra.Command, args []string) error {
	cmd.Root().SetArgs(args) // the global flags keep their values
	return cmd.Root().ExecuteContext(cmd.Context())
}

// presetSweeps are the named sweeps, or the newest of a preset.
func presetSweeps(cmd *cobra.Command, results sweep.Reader, p *paper.Preset,
	references []string) (records []*sweep.SweepRecord, err error) {
	if len(references) == 0 {
		all, err := results.Sweeps(cmd.Context())
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(r sweep.SweepRecord) bool { return slices.Contains(p.Names(), r.Name) })
		if at < 0 {
			return nil, fmt.Errorf("%w: no sweep of the preset %[2]s: \"sweep preset run %[2]s\" makes one",
				sweep.ErrNotFound, p.Name)
		}
		references = []string{all[at].ID}
	}
	for _, reference := range references {
		record, err := results.Sweep(cmd.Context(), reference)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// drawPreset draws a preset's figure of some sweeps into a file.
func drawPreset(cmd *cobra.Command, results sweep.Reader, p *paper.Preset, records []*sweep.SweepRecord,
	path string) error {
	drawn, err := p.Draw(cmd.Context(), results, records)
	return writeFigure(cmd, drawn, err, path)
}
