package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sweep/sweep"
	"sweep/sweep/figure"
	"sweep/sweep/frame"
	"sweep/sweep/paper"
)

type figureOptions struct {
	figure.Options
	output  string
	groupBy namesFlag
	where   []string
}

func newFigure(s *settings) *cobra.Command {
	var options figureOptions
	cmd := &cobra.Command{
		Use:   "figure " + strings.Join(figure.Kinds, "|") + "|PRESET [SWEEP...] -o FILE.svg|FILE.png",
		Short: "Draw the results of sweeps for a paper, as SVG or PNG",
		Long: `  curves    a metric over the epochs: for each group of the sweep file's select the
            best grid point, mean ± standard deviation over its replicates; with
            --group-by all trials of each group
  slice     a metric over one parameter (--x): a dot per trial, mean and range
  heatmap   the mean of a metric over two parameters (--x, --y)
  parallel  a line per trial across the parameters that vary; the best in colour
  table     groups of trials: number, mean, standard deviation, best
  PRESET    the figure of a paper's experiment ("sweep preset list"), of its newest
            sweep if none is named; it takes no other flags than -o

Defaults come from the sweep file: the metric and groups of its select, and the
parameters with the most values. Fonts are embedded, and equal results give the same
file, byte for byte. The caption lists what is not shown: failed or diverged trials,
and groups beyond --groups. With several sweeps, "sweep" is a parameter like the
others; a figure that does not tell them apart counts a trial that several have once.

Exit codes: 0 done, 2 an impossible figure, 4 no such sweep, or nothing to draw.`,
		Example: `  sweep figure curves latest -o curves.svg --metric validation_loss --log-y
  sweep figure slice ucr --x lr --where dataset=CBF -o lr.png
  sweep figure heatmap ucr --x lr --y hidden -o heat.svg
  sweep figure curves before after --group-by sweep,model -o compared.svg`,
		Args: figureArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runFigure(cmd, s, &options, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&options.output, "output", "o", "", "file to write; its extension sets the format: .svg or .png")
	f.StringVar(&options.Metric, "metric", "", "metric to draw (default: the one by which the sweep selects trials)")
	f.StringVar(&options.X, "x", "", "parameter on the x axis, for slice and heatmap; metric, such as seconds, "+
		"for curves")
	f.StringVar(&options.Y, "y", "", "parameter on the y axis, for heatmap")
	f.Var(&options.groupBy, "group-by", "parameters that define the groups, for curves, slice "+
		"and table")
	f.IntVar(&options.Groups, "groups", 8,
		"maximum number of groups, best first (for table the default is 40)")
	f.BoolVar(&options.LogX, "log-x", false, "logarithmic x axis, for curves and slice")
	f.BoolVar(&options.LogY, "log-y", false,
		"logarithmic y axis, for curves and slice; logarithmic colours, for heatmap")
	f.Float64Var(&options.Top, "top", 10, "percentage of trials in colour, for parallel")
	f.StringArrayVar(&options.where, "where", nil, "condition on a parameter, metric or column, such as lr=0.01")
	f.StringVar(&options.Title, "title", "", "title (default: the names of the sweeps)")
	f.Float64Var(&options.Width, "width", 14, "width in centimetres")
	f.Float64Var(&options.Height, "height", 0, "height in centimetres (default 9; for table, as its rows need)")
	return cmd
}

// figureArgs are a kind and sweeps, or a preset.
func figureArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cobra.MinimumNArgs(2)(cmd, args)
	}
	if p, err := paper.FindPreset(args[0]); err == nil {
		if !p.HasFigure() {
			return usageError("%s", withoutFigure(p))
		}
		return nil
	}
	return cobra.MinimumNArgs(2)(cmd, args)
}

func runFigure(cmd *cobra.Command, s *settings, options *figureOptions, args []string) error {
	format := strings.TrimPrefix(filepath.Ext(options.output), ".")
	if !slices.Contains(figure.Formats, format) {
		return usageError("--output %q: expected a file that ends in .%s", options.output,
			strings.Join(figure.Formats, " or ."))
	}
	if p, err := paper.FindPreset(args[0]); err == nil && p.HasFigure() {
		if flag := otherFlag(cmd, "output"); flag != "" {
			return usageError("--%s does not apply to the figure %s: \"sweep preset show %s\" shows what it draws",
				flag, args[0], args[0])
		}
		return with(cmd, s.openReader, func(results reader) error {
			records, err := presetSweeps(cmd, results, p, args[1:])
			if err != nil {
				return err
			}
			return drawPreset(cmd, results, p, records, options.output)
		})
	}
	options.Kind = args[0]
	if options.Kind == "table" && !cmd.Flags().Changed("groups") {
		options.Groups = 40
	}
	if cmd.Flags().Changed("top") && options.Kind != "parallel" {
		return usageError("--top does not apply to the figure %s, only to parallel", options.Kind)
	}
	options.GroupBy = options.groupBy
	if err := options.Check(); err != nil {
		return &exitError{exitUsage, err}
	}
	return with(cmd, s.openReader, func(results reader) error {
		var records []*sweep.SweepRecord
		for _, reference := range args[1:] {
			record, err := results.Sweep(cmd.Context(), reference)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(records, func(r *sweep.SweepRecord) bool { return r.ID == record.ID }) {
				records = append(records, record)
			}
		}
		if err := options.name(cmd, results, records); err != nil {
			return err
		}
		drawn, err := figure.Draw(cmd.Context(), results, records, options.Options)
		return writeFigure(cmd, drawn, err, options.output)
	})
}

// name reads the names of the options.
func (o *figureOptions) name(cmd *cobra.Command, results reader, records []*sweep.SweepRecord) error {
	names := frame.NamesIn(cmd.Context(), results, records...)
	o.GroupBy = o.groupBy.in(names)
	o.Options = o.Named(names.Names, len(records))
	query, err := names.Query(o.where, nil, "")
	if err != nil {
		return err
	}
	o.Where = append(o.Where, query.Where...)
	remark(cmd.ErrOrStderr(), names)
	return nil
}

// writeFigure writes a figure to a file, unless it could not be drawn.
func writeFigure(cmd *cobra.Command, drawn *figure.Figure, err error, path string) error {
	if errors.Is(err, figure.ErrNothing) {
		return &exitError{exitNotFound, err}
	}
	if err != nil {
		return err
	}
	var file bytes.Buffer
	if err := drawn.Write(&file, strings.TrimPrefix(filepath.Ext(path), ".")); err != nil {
		return err
	}
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "wrote", path)
	return nil
}

// otherFlag is a flag of its own, other than some, that the command was given; "" without any.
func otherFlag(cmd *cobra.Command, than ...string) (name string) {
	own := cmd.LocalNonPersistentFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(than, f.Name) && own.Lookup(f.Name) != nil {
			name = f.Name
		}
	})
	return name
}
