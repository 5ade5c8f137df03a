package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

func newArtifacts(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "artifacts",
		Short:   "List and fetch what trials left besides their results",
		GroupID: "ask",
		Long: `List and fetch what trials left besides their results: what their sweep file asks
for by "artifacts: [weights]". "sweep trainer describe" lists what a trainer can
hand over.

Exit codes: those of the command below it.`,
		Example: "  sweep artifacts list ucr\n  sweep artifacts get ucr 17 weights",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newArtifactsList(s), newArtifactsGet(s))
	return cmd
}

func newArtifactsList(s *settings) *cobra.Command {
	var name string
	var verify, asJSON bool
	cmd := &cobra.Command{
		Use:   "list [SWEEP [INDEX...]]",
		Short: "List the artifacts of a sweep's trials, and what is wrong with them",
		Long: `List the artifacts of a sweep (the newest if none is named), of all its trials or
of some: INDEX is a number or a range as 3-7. Each is looked at:

  stored   it is there, with its size; with --verify, byte for byte
  missing  there never was one, and why: the trainer did not hand it over, it was
           too large, it could not be stored
  lost     it was stored, and is not there any more
  damaged  its bytes are not those that were stored
  unknown  the artifact store does not answer, or its worker put it into another one
           than --artifacts names

Exit codes: 0 done and all are stored, 2 a bad index, 4 no such sweep or trial,
5 some are not stored.`,
		Example: "  sweep artifacts list\n  sweep artifacts list ucr 17 --verify\n  sweep artifacts list ucr --name " +
			"weights --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			reference := "latest"
			if len(args) > 0 {
				reference = args[0]
			}
			query := sweep.ArtifactQuery{Name: name}
			var err error
			if len(args) > 1 {
				if query.Indices, err = parseIndices(args[1:]); err != nil {
					return err
				}
			}
			return s.onTarget(cmd, func(t target) error {
				record, err := t.Sweep(cmd.Context(), reference)
				if err != nil {
					return err
				}
				query.Sweep = record.ID
				check := sweep.CheckSize
				if verify {
					check = sweep.CheckDigest
				}
				return listArtifacts(cmd, t, query, check, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "only artifacts of this name")
	cmd.Flags().BoolVar(&verify, "verify", false, "read every artifact and compare its digest")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// listArtifacts prints artifacts as they come: there may be many.
func listArtifacts(cmd *cobra.Command, t target, query sweep.ArtifactQuery, check sweep.ArtifactCheck,
	asJSON bool) error {
	const page = 200
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	n, wrong := 0, 0
	err := t.CheckArtifacts(cmd.Context(), query, check, func(a *sweep.CheckedArtifact) error {
		if a.State != sweep.ArtifactStored {
			wrong++
		}
		if n++; asJSON {
			return writeLine(cmd, a)
		}
		if n == 1 {
			fmt.Fprintln(w, "INDEX\tNAME\tSTATE\tSIZE\tDIGEST\tPROBLEM")
		}
		size, digest := "-", "-"
		if a.Digest != "" {
			size, digest = sweep.SizeText(a.Size), a.Digest[:12]
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", a.Index, a.Name, a.State, size, digest, a.Problem)
		if n%page == 0 {
			return w.Flush()
		}
		return nil
	})
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	switch {
	case n == 0 && !asJSON:
		fmt.Fprintln(cmd.OutOrStdout(), "no artifacts: a sweep file asks for them by \"artifacts: [weights]\"")
	case wrong > 0:
		return &exitError{exitArtifacts, fmt.Errorf("%d of %d artifacts are not stored as they should be", wrong, n)}
	}
	return nil
}

func newArtifactsGet(s *settings) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "get SWEEP INDEX NAME",
		Short: "Fetch an artifact of a trial",
		Long: `Fetch an artifact of a trial. Its digest is checked; a file with the name appears
when all of it is there. The name is SWEEP-INDEX-NAME in the current directory
unless --output says otherwise; - is standard output.

What came before an interruption stays beside it, in FILE.DIGEST.part: the same
command goes on from there. A partial file that turns out to be of something else
is thrown away, and all is fetched again.

Exit codes: 0 done, 1 it cannot be written or fetched, 2 a bad index, 4 no such
sweep, trial or artifact, 5 it is missing, lost or damaged.`,
		Example: "  sweep artifacts get ucr 17 weights\n  sweep artifacts get latest 0 weights --output " +
			"cbf.safetensors",
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			indices, err := parseIndices(args[1:2])
			if err != nil || len(indices) != 1 {
				return usageError("%q is no trial index", args[1])
			}
			return s.onTarget(cmd, func(t target) error {
				record, err := t.Sweep(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				id := sweep.TrialID{Sweep: record.ID, Index: indices[0]}
				if output == "-" {
					_, err := t.Artifact(cmd.Context(), id, args[2], 0, cmd.OutOrStdout())
					return err
				}
				path := output
				if path == "" {
					path = filepath.Base(fmt.Sprintf("%s-%d-%s", id.Sweep, id.Index, args[2]))
				}
				a, err := download(cmd.Context(), t, id, args[2], path)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s, SHA-256 %s\n", path, sweep.SizeText(a.Size), a.Digest)
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write, - for standard output")
	return cmd
}
