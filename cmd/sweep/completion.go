package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/progress"
)

// completionTime bounds what a press of the tab key may take.
const completionTime = 3 * time.Second

// addCompletion has the shell complete sweeps, parameters, metrics and values for
// all commands, by what their Use lines say.
func (s *settings) addCompletion(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		s.addCompletion(sub)
	}
	places := strings.Fields(cmd.Use)[1:]
	if cmd.ValidArgsFunction == nil && len(places) > 0 {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string,
			cobra.ShellCompDirective) {
			return s.completeArgument(cmd, places, args, word)
		}
	}
	parameters := func(n *names) []string { return n.parameters }
	for name, complete := range map[string]func(n *names) []string{
		"metric":  func(n *names) []string { return n.metrics },
		"columns": func(n *names) []string { return append(n.metrics, n.parameters...) },
		"sort":    func(n *names) []string { return append(append(n.metrics, n.parameters...), "index", "seconds") },
		"x":       parameters, "y": parameters, "group-by": parameters, "where": nil,
	} {
		if cmd.Flags().Lookup(name) == nil {
			continue
		}
		// the flag is there
		_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, args []string, word string) ([]string,
			cobra.ShellCompDirective) {
			n := s.namesOf(cmd, places, args)
			if n == nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			if complete == nil {
				return n.condition(word)
			}
			return listed(complete(n), word), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// place is the argument that the Use line has at a position.
func place(places []string, i int) string {
	if i < len(places) && !strings.HasPrefix(places[i], "-") {
		return strings.Trim(places[i], "[]")
	}
	for _, p := range places { // an argument that repeats; flags may follow it
		if p = strings.Trim(p, "[]"); strings.HasSuffix(p, "...") {
			return p
		}
	}
	return ""
}

func (s *settings) completeArgument(cmd *cobra.Command, places, args []string,
	word string) ([]string, cobra.ShellCompDirective) {
	switch what := place(places, len(args)); {
	case strings.HasPrefix(what, "SWEEP"):
		return s.completeSweep(cmd, word)
	case strings.Contains(what, "|"):
		return listed(strings.Split(what, "|"), word), cobra.ShellCompDirectiveNoFileComp
	case strings.HasPrefix(what, "FILE"), strings.HasPrefix(what, "COMMAND"):
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// listed are the names that begin with a word; of a list with commas the last one
// is completed.
func listed(all []string, word string) []string {
	before, rest := "", word
	if at := strings.LastIndexByte(word, ','); at >= 0 {
		before, rest = word[:at+1], word[at+1:]
	}
	var fit []string
	for _, name := range all {
		if strings.HasPrefix(name, rest) && !slices.Contains(fit, before+name) {
			fit = append(fit, before+name)
		}
	}
	return fit
}

// ask opens the results for a completion; nothing is completed where they cannot be
// opened, since there is nobody to tell.
func (s *settings) ask(cmd *cobra.Command, do func(ctx context.Context, results reader)) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	if err := s.resolve(cmd); err != nil {
		return
	}
	if results, err := s.openReader(ctx); err == nil {
		defer func() { _ = results.Close() }() // it was only read
		do(ctx, results)
	}
}

// completeSweep completes names and ids; a name stands for its newest sweep.
func (s *settings) completeSweep(cmd *cobra.Command, word string) (fit []string, _ cobra.ShellCompDirective) {
	s.ask(cmd, func(ctx context.Context, results reader) {
		records, err := results.Sweeps(ctx)
		if err != nil {
			return
		}
		if strings.HasPrefix("latest", word) && len(records) > 0 {
			fit = append(fit, "latest\tthe newest sweep")
		}
		seen := map[string]bool{}
		for _, r := range records {
			about := fmt.Sprintf("%s, %d trials, %s", r.State, r.Points(),
				r.CreatedAt.Local().Format("2006-01-02 15:04"))
			if strings.HasPrefix(r.Name, word) && !seen[r.Name] && !strings.ContainsAny(r.Name, " \t\n") {
				seen[r.Name] = true
				fit = append(fit, r.Name+"\t"+about)
			}
			// Ids only where one has begun to be typed: they are many.
			if word != "" && strings.HasPrefix(r.ID, word) {
				fit = append(fit, r.ID+"\t"+about)
			}
		}
	})
	return fit, cobra.ShellCompDirectiveNoFileComp
}

// names are what trials of a sweep have.
type names struct {
	all                 *sweep.Names
	parameters, metrics []string
	values              map[string][]string
}

// namesOf asks for the names of the sweep on the command line, the newest if there
// is none yet.
func (s *settings) namesOf(cmd *cobra.Command, places, args []string) (n *names) {
	reference := "latest"
	for i, arg := range args {
		if strings.HasPrefix(place(places, i), "SWEEP") {
			reference = arg
			break
		}
	}
	s.ask(cmd, func(ctx context.Context, results reader) {
		record, err := results.Sweep(ctx, reference)
		if err != nil {
			return
		}
		n = &names{all: sweep.NamesOf(record), parameters: progress.Varied(record, false),
			values: map[string][]string{}}
		for p := range record.AxisParameters() {
			if !slices.Contains(n.parameters, p.Name) {
				n.parameters = append(n.parameters, p.Name)
			}
			const enough = 50
			for i := range min(p.Values.Len(), enough) {
				n.values[p.Name] = append(n.values[p.Name], sweep.JSONText(p.Values.At(i)))
			}
		}
		for _, g := range record.Grids {
			for _, m := range g.Submission.Description.Metrics {
				n.metrics = append(n.metrics, m.Name)
			}
		}
		if len(n.metrics) == 0 {
			n.metrics = frame.MainMetrics(ctx, results, record)
		}
	})
	return n
}

// condition completes a condition as lr=0.01: first the name, then its values.
func (n *names) condition(word string) ([]string, cobra.ShellCompDirective) {
	var fit []string
	for name, values := range n.values {
		for _, text := range []string{name, n.all.Quote(sweep.ParameterKind.Of(name))} {
			value, named := strings.CutPrefix(word, text+"=")
			for _, v := range values {
				if named && strings.HasPrefix(v, value) && !slices.Contains(fit, text+"="+v) {
					fit = append(fit, text+"="+v)
				}
			}
		}
	}
	if len(fit) > 0 {
		return fit, cobra.ShellCompDirectiveNoFileComp
	}
	for _, name := range append(slices.Clone(n.parameters), n.metrics...) {
		if strings.HasPrefix(name, word) && !slices.Contains(fit, name+"=") {
			fit = append(fit, name+"=")
		}
	}
	return fit, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
