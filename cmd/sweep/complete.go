package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/sweep"
)

// completeOptions are the flags of "sweep complete".
type completeOptions struct {
	beam, top int
	format    string
}

// Bounds of the flags: what a search follows takes memory.
const (
	mostBeam = 10_000
	mostTop  = 10_000
)

func newComplete(s *settings) *cobra.Command {
	var options completeOptions
	cmd := &cobra.Command{
		Use:   "complete SWEEP INDEX PREFIX...",
		Short: "Complete prefixes of queries by the weights of a trial",
		Long: `The trial is of the task queries, in a sweep whose file has "artifacts: [weights]". For
each prefix the most probable queries are listed, with P(prefix → query): the product
of the probabilities of the characters that follow the prefix and of the query's end.
They are found by beam search, which follows the --beam most probable texts of each
length. A wider beam finds queries with an improbable beginning.

PREFIX "" lists the most probable queries of all. A prefix that begins with a hyphen
follows "--".

Exit codes: 0 done, 1 the weights cannot be read, 2 wrong arguments, 4 no such sweep or
trial, 5 the trial kept no weights.`,
		Example: "  sweep complete queries 2 mic\n  sweep complete latest 0 \"micro sd\" usb --top 3 --format json",
		Args:    cobra.MinimumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := parseIndex(args[1])
			if err == nil {
				err = options.check()
			}
			if err != nil {
				return err
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				id := sweep.TrialID{Sweep: record.ID, Index: index}
				weights, err := weightsOf(cmd.Context(), t, id)
				if err != nil {
					return err
				}
				return options.complete(cmd, id, weights, args[2:])
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&options.beam, "beam", 16, "texts of each length that the search follows")
	f.IntVar(&options.top, "top", 10, "queries to list for each prefix")
	f.StringVar(&options.format, "format", "text", "text or json (one object per prefix and line)")
	return cmd
}

// check refuses values that make no sense.
func (o *completeOptions) check() error {
	switch {
	case o.beam < 1 || o.beam > mostBeam:
		return usageError("--beam %d: expected a number from 1 to %d", o.beam, mostBeam)
	case o.top < 1 || o.top > mostTop:
		return usageError("--top %d: expected a number from 1 to %d", o.top, mostTop)
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

// complete prints the completions of each prefix.
func (o *completeOptions) complete(cmd *cobra.Command, id sweep.TrialID, weights []byte, prefixes []string) error {
	trainer, err := model.NewTrainer()
	if err != nil {
		return err
	}
	completer, err := trainer.LoadCompleter(weights, o.beam)
	if err != nil {
		return fmt.Errorf("trial %s: %w", id, err)
	}
	defer completer.Close()
	w := newColumns(cmd.OutOrStdout())
	if o.format == "text" {
		fmt.Fprintln(w, "PREFIX\tP\tQUERY")
	}
	for _, prefix := range prefixes {
		if rare := completer.Rare(prefix); len(rare) > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "prefix %q: the model reads %q as any rare character\n", prefix,
				string(rare))
		}
		completions, err := completer.Complete(cmd.Context(), prefix, o.top)
		if err != nil {
			return errors.Join(w.Flush(), err)
		}
		if o.format == "json" {
			answer := struct {
				Prefix      string             `json:"prefix"`
				Completions []model.Completion `json:"completions"`
			}{prefix, completions}
			if err := newEncoder(cmd.OutOrStdout()).Encode(answer); err != nil {
				return err
			}
			continue
		}
		for _, c := range completions {
			fmt.Fprintf(w, "%q\t%.4f\t%q\n", prefix, c.Probability, c.Query)
		}
	}
	return w.Flush()
}
