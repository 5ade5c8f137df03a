package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/sweep"
)

// completeOptions are the flags of "sweep complete".
type completeOptions struct {
	beam, top int
	format    string
	stdin     bool
}

// Bounds of the flags: what a search follows takes memory.
const (
	maxBeam = 10_000
	maxTop  = 10_000
)

func newComplete(s *settings) *cobra.Command {
	var options completeOptions
	cmd := &cobra.Command{
		Use:   "complete SWEEP INDEX [PREFIX...]",
		Short: "Complete prefixes of queries by the weights of a trial",
		Long: `The trial is of the task queries, in a sweep whose file has "artifacts: [weights]". For
each prefix the most probable queries are listed, with P(prefix → query): the product
of the probabilities of the characters that follow the prefix and of the query's end.
They are found by beam search, which follows the --beam most probable texts of each
length. A wider beam finds queries with an improbable beginning.

PREFIX "" lists the most probable queries of all. A prefix that begins with a hyphen
follows "--". --stdin reads prefixes from standard input, one a line, and answers each
as it comes.

The weights are loaded once, whatever the number of prefixes. Standard error says how
long that took, and the prefixes; in JSON each answer has its milliseconds. The search
uses all cores, up to eight.

Exit codes: 0 done, 1 the weights cannot be read, or the model cannot read a prefix,
2 wrong arguments, 4 no such sweep or trial, 5 the trial kept no weights.`,
		Example: "  sweep complete queries 2 mic\n  sweep complete latest 0 \"micro sd\" usb --top 3 --format json\n" +
			"  sweep complete queries 2 --stdin --format json < prefixes.txt",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := parseIndex(args[1])
			if err == nil {
				err = options.check(args[2:])
			}
			if err != nil {
				return err
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				id := sweep.TrialID{Sweep: record.ID, Index: index}
				start := time.Now()
				weights, err := weightsOf(cmd.Context(), t, id)
				if err != nil {
					return err
				}
				return options.complete(cmd, id, weights, start, args[2:])
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&options.beam, "beam", 16, "texts of each length that the search follows")
	f.IntVar(&options.top, "top", 10, "queries to list for each prefix")
	f.BoolVar(&options.stdin, "stdin", false, "read prefixes from standard input, one a line, in place of arguments")
	f.StringVar(&options.format, "format", "text", "text or json (one object per prefix and line)")
	return cmd
}

// check refuses values that make no sense.
func (o *completeOptions) check(prefixes []string) error {
	switch {
	case o.stdin && len(prefixes) > 0:
		return usageError("prefixes as arguments and --stdin: expected one of both")
	case !o.stdin && len(prefixes) == 0:
		return usageError("no prefix: expected at least one (\"\" for the most probable queries of all), or --stdin")
	case o.beam < 1 || o.beam > maxBeam:
		return usageError("--beam %d: expected a number from 1 to %d", o.beam, maxBeam)
	case o.top < 1 || o.top > maxTop:
		return usageError("--top %d: expected a number from 1 to %d", o.top, maxTop)
	case o.format != "text" && o.format != "json":
		return usageError("--format %q: expected text or json", o.format)
	}
	return nil
}

// weightsOf reads the weights of a trial of the built-in trainer.
func weightsOf(ctx context.Context, t target, id sweep.TrialID) ([]byte, error) {
	var found *sweep.ArtifactRecord
	err := t.Artifacts(ctx, sweep.ArtifactQuery{Sweep: id.Sweep, Indices: []int64{id.Index},
		Name: model.WeightsArtifact}, func(a *sweep.ArtifactRecord) error {
		found = a
		return nil
	})
	if err == nil && found == nil {
		if _, err = t.Trial(ctx, id); err == nil {
			err = &exitError{exitArtifacts, fmt.Errorf("trial %s kept no weights: write \"artifacts: [%s]\" in the "+
				"sweep file and run it again", id, model.WeightsArtifact)}
		}
	}
	if err != nil {
		return nil, err
	}
	var weights bytes.Buffer
	_, err = t.Artifact(ctx, id, model.WeightsArtifact, 0, &weights)
	return weights.Bytes(), err
}

// complete prints the completions of each prefix, and how long loading the weights took since start, and how
// long the prefixes.
func (o *completeOptions) complete(cmd *cobra.Command, id sweep.TrialID, weights []byte, start time.Time,
	prefixes []string) error {
	trainer, err := model.NewTrainer()
	if err != nil {
		return err
	}
	completer, err := trainer.LoadCompleter(weights, o.beam)
	if err != nil {
		return fmt.Errorf("trial %s: %w", id, err)
	}
	defer completer.Close()
	loaded := time.Since(start)
	a := answers{options: o, completer: completer, out: newColumns(cmd.OutOrStdout()),
		json: newEncoder(cmd.OutOrStdout()), notes: cmd.ErrOrStderr()}
	err = a.all(cmd.Context(), prefixes, cmd.InOrStdin())
	if err := errors.Join(err, a.out.Flush()); err != nil {
		return err
	}
	if o.format == "text" {
		noun := "prefixes"
		if a.count == 1 {
			noun = "prefix"
		}
		fmt.Fprintf(a.notes, "%d %s in %s; loading the weights took %s\n", a.count, noun,
			a.took.Round(100*time.Microsecond), loaded.Round(time.Millisecond))
	}
	return nil
}

// answers prints the completions of prefixes.
type answers struct {
	options   *completeOptions
	completer *model.Completer
	out       *tabwriter.Writer
	json      *json.Encoder
	notes     io.Writer
	count     int
	took      time.Duration // by all searches
}

// all answers the prefixes, or the lines of standard input.
func (a *answers) all(ctx context.Context, prefixes []string, stdin io.Reader) error {
	if a.options.format == "text" {
		fmt.Fprintln(a.out, "PREFIX\tP\tQUERY")
	}
	for _, prefix := range prefixes {
		if err := a.answer(ctx, prefix); err != nil {
			return err
		}
	}
	if !a.options.stdin {
		return nil
	}
	lines, line := bufio.NewScanner(stdin), 1
	for ; lines.Scan(); line++ {
		err := a.answer(ctx, lines.Text())
		if err == nil {
			err = a.out.Flush() // whoever wrote the line waits for its answer
		}
		if err != nil {
			return fmt.Errorf("standard input:%d: %w", line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("standard input:%d: %w", line, err)
	}
	return nil
}

// answer prints the completions of a prefix.
func (a *answers) answer(ctx context.Context, prefix string) error {
	start := time.Now()
	completions, err := a.completer.Complete(ctx, prefix, a.options.top)
	if err != nil {
		return err
	}
	took := time.Since(start)
	a.count, a.took = a.count+1, a.took+took
	if rare := a.completer.Rare(prefix); len(rare) > 0 {
		fmt.Fprintf(a.notes, "prefix %q: the model reads %q as any rare character; a larger alphabet (parameter "+
			"of the trial) would tell it apart\n", prefix, string(rare))
	}
	if a.options.format == "json" {
		return a.json.Encode(struct {
			Prefix       string             `json:"prefix"`
			Milliseconds float64            `json:"milliseconds"`
			Completions  []model.Completion `json:"completions"`
		}{prefix, float64(took.Microseconds()) / 1e3, completions})
	}
	for _, c := range completions {
		fmt.Fprintf(a.out, "%q\t%.4f\t%q\n", prefix, c.Probability, c.Query)
	}
	return nil
}
