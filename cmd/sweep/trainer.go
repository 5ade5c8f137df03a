package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/sweep"
	"sweep/worker/trainer"
	"sweep/worker/trainer/noop"
)

// builtinTrainers are the trainers that this program serves itself.
var builtinTrainers = map[string]func() sweep.Trainer{
	model.Name: func() sweep.Trainer { return model.NewTrainer() },
	noop.Name:  func() sweep.Trainer { return noop.New() },
}

func newTrainer(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "trainer",
		Short:   "Describe trainers: their parameters and metrics",
		GroupID: "write",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newTrainerDescribe(s), newTrainerStep(), newTrainerServe())
	return cmd
}

func newTrainerServe() *cobra.Command {
	return &cobra.Command{
		Use:    "serve NAME",
		Short:  "Serve a built-in trainer to the worker that started this process",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			open, ok := builtinTrainers[args[0]]
			if !ok {
				return usageError("no built-in trainer %q", args[0])
			}
			trainer.Serve(open())
			return nil
		},
	}
}

func newTrainerDescribe(s *settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "describe [NAME]",
		Short: "List a trainer's parameters with types, defaults and ranges, and its metrics",
		Long: `List a trainer's parameters with types, defaults and ranges, and its metrics.
NAME is a built-in trainer (builtin, noop) or an executable in --trainer-path.

Exit codes: 0 done, 1 the trainer does not start, 4 no such trainer.`,
		Example: "  sweep trainer describe\n  sweep trainer describe noop --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := sweep.DefaultTrainer
			if len(args) > 0 {
				name = args[0]
			}
			description, err := s.describe(cmd.Context(), name)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd, description)
			}
			return writeDescription(cmd, description)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole description as JSON")
	return cmd
}

// describe starts a trainer and asks it for its description.
func (s *settings) describe(ctx context.Context, name string) (*sweep.Description, error) {
	launcher, err := s.newLauncher(slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	process, err := launcher.Launch(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = process.Close() }() // it has answered
	return process.Describe(ctx)
}

func writeDescription(cmd *cobra.Command, d *sweep.Description) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "trainer %s, version %s, results of version %s\n\n", d.Name, d.Version, d.ResultVersion)
	fmt.Fprintln(w, "PARAMETER\tTYPE\tDEFAULT\tACCEPTS\tMEANING")
	for _, p := range d.Parameters {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Name, p.Type, defaultOf(p), acceptsOf(p), p.Doc)
	}
	fmt.Fprintln(w, "\nMETRIC\tGOAL\tWHERE\tMEANING")
	for _, m := range d.Metrics {
		var where []string
		if m.Curve {
			where = append(where, "curve")
		}
		if m.Summary {
			where = append(where, "summary")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, m.Goal, strings.Join(where, ", "), m.Doc)
	}
	return w.Flush()
}

func defaultOf(p sweep.ParameterSchema) string {
	if p.Required {
		return "(required)"
	}
	text := shortJSON(p.Default)
	for _, d := range p.Defaults {
		var conditions []string
		for name, accepted := range d.When {
			words := make([]string, len(accepted))
			for i, v := range accepted {
				words[i] = fmt.Sprint(v)
			}
			conditions = append(conditions, name+" "+strings.Join(words, "|"))
		}
		slices.Sort(conditions)
		text += fmt.Sprintf("; %s for %s", shortJSON(d.Value), strings.Join(conditions, ", "))
	}
	return text
}

func acceptsOf(p sweep.ParameterSchema) string {
	if len(p.Enum) > 0 {
		words := make([]string, len(p.Enum))
		for i, v := range p.Enum {
			words[i] = fmt.Sprint(v)
		}
		return strings.Join(words, ", ")
	}
	var bounds []string
	if p.Minimum != nil {
		sign := "≥"
		if p.ExclusiveMinimum {
			sign = ">"
		}
		bounds = append(bounds, fmt.Sprintf("%s %v", sign, *p.Minimum))
	}
	if p.Maximum != nil {
		bounds = append(bounds, fmt.Sprintf("≤ %v", *p.Maximum))
	}
	return strings.Join(bounds, ", ")
}

// shortJSON prints a value on one line; strings without quotes.
func shortJSON(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// writeJSON prints value as indented JSON.
func writeJSON(cmd *cobra.Command, value any) error {
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
