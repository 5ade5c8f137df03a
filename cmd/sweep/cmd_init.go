package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep/file"
	"sweep/worker/script"
)

func newInit() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "init SCRIPT",
		Short: "Write a sweep file for a Python script, from its own arguments",
		Long: `The script is read, not run: its parameters are those of argparse, click, Hydra's
configuration file, jsonargparse, Fire or Typer, else those of wandb.init(config=…), and
its metrics are the names that it logs. Each parameter has its default; a comment
suggests values to try.

Exit codes: 0 done, 1 the script cannot be read, 2 the file exists already, 4 no such
script.`,
		Example: "  sweep init train.py\n  sweep init src/train.py -o sweeps/first.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			outline, err := script.ReadOutline(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			content, err := initialFile(args[0], outline)
			if err != nil {
				return err
			}
			out, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return usageError("%s exists already: --output names another file", output)
			}
			if err != nil {
				return err
			}
			_, err = out.WriteString(content)
			if err = errors.Join(err, out.Close()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: edit the values, then: sweep run %s\n", output, output)
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "sweep.yaml", "the file to write")
	return cmd
}

// seedNames are parameters that replicates fill in.
var seedNames = []string{"seed"}

// initialFile writes a sweep file with the defaults of a program.
func initialFile(path string, o *script.Outline) (string, error) {
	parameters := o.Parameters
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Written by \"sweep init %s\". Each parameter has its default: list the values to try.", filepath.Base(path))
	line("program: %s", text(filepath.ToSlash(path)))
	switch {
	case o.Hydra != nil:
		line(`command: ["${env}", "${interpreter}", "${program}", "${args_no_hyphens}"]`)
		var err error
		if parameters, err = hydraParameters(path, o); err != nil {
			return "", err
		}
	case slices.ContainsFunc(parameters, func(p script.OutlineParameter) bool { return p.Flag }):
		line(`command: ["${env}", "${interpreter}", "${program}", "${args_no_boolean_flags}"]  # true: the flag is given`)
	}
	if metric := objective(o.Metrics); metric != "" {
		line("metric: {name: %s, goal: %s}%s", text(metric), goalOf(metric), others(o.Metrics, metric))
	} else {
		line("# metric: {name: loss, goal: minimize}  # no call that logs was found")
	}
	if slices.ContainsFunc(parameters, isSeed) {
		line("replicates: 1  # 3 trains each point with seed = 1, 2 and 3")
	}
	line("parameters:")
	written := 0
	for _, p := range parameters {
		if isSeed(p) {
			continue
		}
		comment := initComment(p)
		switch {
		case p.Default == nil && p.Required:
			line("  %s: {values: []}%s", text(p.Name), comment)
		case p.Default == nil:
			line("  # %s: {values: []}%s", text(p.Name), comment)
			continue
		default:
			line("  %s: {value: %s}%s", text(p.Name), text(p.Default), comment)
		}
		written++
	}
	if written == 0 {
		return "", fmt.Errorf("%s: no parameter was found: write the file yourself, as docs/scripts.md shows", path)
	}
	return b.String(), nil
}

func isSeed(p script.OutlineParameter) bool { return slices.Contains(seedNames, p.Name) }

// plain are texts that YAML takes for texts without quotes.
var plain = regexp.MustCompile(`^(?:\.{0,2}/)?[A-Za-z][A-Za-z0-9_./-]*$`)

// text writes a value as YAML has it.
func text(value any) string {
	if s, ok := value.(string); ok && plain.MatchString(s) && !slices.Contains([]string{"true", "false", "yes", "no", "on", "off",
		"null", "y", "n"}, strings.ToLower(s)) {
		return s
	}
	encoded, _ := json.Marshal(value) // of JSON
	return string(encoded)
}

// initComment is a comment: what the parameter is, and values to try.
func initComment(p script.OutlineParameter) string {
	var parts []string
	if p.Help != "" {
		parts = append(parts, strings.Join(strings.Fields(p.Help), " "))
	}
	if p.Default == nil && !p.Required {
		parts = append(parts, "none by default")
	}
	if p.Required {
		parts = append(parts, "required")
	}
	if values := suggested(p); values != "" {
		parts = append(parts, "such as {values: ["+values+"]}")
	} else if p.Default == nil && p.Kind != "" {
		parts = append(parts, p.Kind)
	}
	if len(parts) == 0 {
		return ""
	}
	return "  # " + strings.Join(parts, "; ")
}

// suggested are values to try around a default; "" if there is no saying.
func suggested(p script.OutlineParameter) string {
	if len(p.Choices) > 0 {
		var all []string
		for _, c := range p.Choices {
			all = append(all, text(c))
		}
		return strings.Join(all, ", ")
	}
	if p.Kind == "boolean" {
		return "false, true"
	}
	number, ok := p.Default.(json.Number)
	if !ok {
		return ""
	}
	if n, err := number.Int64(); err == nil && p.Kind != "number" {
		if n < 2 {
			return ""
		}
		return fmt.Sprintf("%d, %d, %d", n/2, n, 2*n)
	}
	v, err := number.Float64()
	if err != nil || v <= 0 {
		return ""
	}
	factor := 2.0
	if v < 0.1 { // rates and decays
		factor = 10
	}
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	return short(v/factor) + ", " + number.String() + ", " + short(v*factor)
}

var (
	// noObjective are logged names that are no objective.
	noObjective = regexp.MustCompile(`(?i)^(step|epoch|iteration|time|lr|.*/(step|epoch))$`)
	// heldOut are names of what is measured on data held out.
	heldOut = regexp.MustCompile(`(?i)val|dev|eval`)
	grows   = regexp.MustCompile(`(?i)acc|auc|f1|reward|return|score|r2|bleu|iou|precision|recall|map`)
)

// objective is the metric that trials are most likely compared by: of held-out data, else a loss, else the first.
func objective(metrics []string) string {
	metrics = slices.DeleteFunc(slices.Clone(metrics), noObjective.MatchString)
	for _, fits := range []func(string) bool{heldOut.MatchString,
		func(name string) bool { return strings.Contains(strings.ToLower(name), "loss") },
		func(string) bool { return true }} {
		if i := slices.IndexFunc(metrics, fits); i >= 0 {
			return metrics[i]
		}
	}
	return ""
}

func goalOf(metric string) string {
	if grows.MatchString(metric) && !strings.Contains(strings.ToLower(metric), "loss") {
		return "maximize"
	}
	return "minimize"
}

// others is a comment with the further metrics.
func others(metrics []string, metric string) string {
	metrics = slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { return m == metric || noObjective.MatchString(m) })
	if len(metrics) == 0 {
		return ""
	}
	return "  # it also logs " + strings.Join(metrics, ", ")
}

// hydraParameters are the values of Hydra's configuration file, nested ones with dots.
func hydraParameters(path string, o *script.Outline) (all []script.OutlineParameter, err error) {
	from := filepath.Join(filepath.Dir(path), o.Hydra.Path, strings.TrimSuffix(o.Hydra.Name, ".yaml")+".yaml")
	data, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	scalars, err := file.Scalars(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	for _, v := range scalars {
		p := script.OutlineParameter{Name: v.Name}
		first, _, _ := strings.Cut(v.Name, ".")
		switch {
		case first == "defaults" || first == "hydra" || strings.Contains(v.Text, "${"): // no parameter, or made of others
			continue
		case v.Tag == "!!int" || v.Tag == "!!float":
			p.Default = json.Number(v.Text)
		case v.Tag == "!!bool":
			p.Kind, p.Default = "boolean", v.Text == "true"
		case v.Tag == "!!str" && v.Text != "???": // a value that must be given
			p.Default = v.Text
		default:
			p.Required = v.Text == "???"
		}
		all = append(all, p)
	}
	return all, nil
}
