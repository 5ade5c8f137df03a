package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

func newArtifacts(s *settings) *cobra.Command {
	return family("artifacts", "List and download the artifacts of trials",
		`Trials leave the artifacts that their sweep file requests, as in "artifacts: [weights]".
"sweep trainer describe" lists the artifacts that a trainer can produce.`,
		"  sweep artifacts list ucr\n  sweep artifacts get ucr 17 weights",
		newArtifactsList(s), newArtifactsGet(s))
}

func newArtifactsList(s *settings) *cobra.Command {
	var name string
	var verify, asJSON bool
	cmd := &cobra.Command{
		Use:   "list [SWEEP [INDEX...]]",
		Short: "List the artifacts of a sweep's trials and their state",
		Long: `Without SWEEP, the newest sweep is listed; without INDEX, all its trials. INDEX is a
number or a range such as 3-7. States:

  stored   the file exists with the right size; with --verify, with the right digest
  dropped  it was removed, because the trial is not among the best ones that keep it
           (keep in the sweep file)
  missing  it was never stored, with the reason: the trainer did not produce it, it was
           too large, or it could not be stored
  lost     it was stored and no longer exists
  damaged  its bytes differ from those that were stored
  unknown  the artifact store does not answer, or the worker used another store than
           --artifacts names

Exit codes: 0 all are stored or dropped, 2 an invalid index, 4 no such sweep or trial,
5 some are missing, lost, damaged or unknown.`,
		Example: "  sweep artifacts list\n  sweep artifacts list ucr 17 --verify\n  sweep artifacts list ucr --name " +
			"weights --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			query := sweep.ArtifactQuery{Name: name}
			var err error
			if len(args) > 1 {
				if query.Indices, err = parseIndices(args[1:]); err != nil {
					return err
				}
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				query.Sweep = record.ID
				check := sweep.CheckSize
				if verify {
					check = sweep.CheckDigest
				}
				return listArtifacts(cmd, t, query, check, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "list only artifacts with this name")
	cmd.Flags().BoolVar(&verify, "verify", false, "read every artifact and verify its digest")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// maxProblems is how many different problems of artifacts are listed.
const maxProblems = 20

// artifactProblems says what is wrong with artifacts, once for all with the same problem.
type artifactProblems struct {
	order []string
	first map[string]*sweep.CheckedArtifact
	of    map[string][]int64 // indices of trials
	more  int
}

func (p *artifactProblems) add(a *sweep.CheckedArtifact) {
	if a.Problem == "" {
		return
	}
	if p.first == nil {
		p.first, p.of = map[string]*sweep.CheckedArtifact{}, map[string][]int64{}
	}
	key := a.Name + " " + sweep.FailureCause(a.Problem)
	if p.first[key] == nil {
		if len(p.order) == maxProblems {
			p.more++
			return
		}
		own := *a
		p.order, p.first[key] = append(p.order, key), &own
	}
	p.of[key] = append(p.of[key], a.Index)
}

func (p *artifactProblems) print(out io.Writer) {
	for _, key := range p.order {
		who, a := fmt.Sprintf("trial %d", p.of[key][0]), p.first[key]
		if n := len(p.of[key]); n > 1 {
			who = fmt.Sprintf("%d trials (%s)", n, rangesText(p.of[key]))
		}
		fmt.Fprintf(out, "%s of %s: %s\n", a.Name, who, a.Problem)
	}
	if p.more > 0 {
		fmt.Fprintf(out, "and %s: --json has them\n", sweep.CountText(p.more, "other problem"))
	}
}

// listArtifacts prints artifacts as they come: there may be many. What is wrong with them follows.
func listArtifacts(cmd *cobra.Command, t target, query sweep.ArtifactQuery, check sweep.ArtifactCheck,
	asJSON bool) error {
	const page = 200
	w := newColumns(cmd.OutOrStdout())
	n, wrong := 0, 0
	var problems artifactProblems
	err := t.CheckArtifacts(cmd.Context(), query, check, func(a *sweep.CheckedArtifact) error {
		if a.State != sweep.ArtifactStored && a.State != sweep.ArtifactDropped {
			wrong++
		}
		if n++; asJSON {
			return newEncoder(cmd.OutOrStdout()).Encode(a)
		}
		if n == 1 {
			fmt.Fprintln(w, "INDEX\tNAME\tSTATE\tSIZE\tDIGEST")
		}
		problems.add(a)
		size, digest := "-", "-"
		if a.Digest != "" && a.State != sweep.ArtifactDropped {
			size, digest = sweep.SizeText(a.Size), a.Digest[:12]
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", a.Index, a.Name, a.State, size, digest)
		if n%page == 0 {
			return w.Flush()
		}
		return nil
	})
	err = errors.Join(err, w.Flush())
	problems.print(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	switch {
	case n == 0 && !asJSON:
		fmt.Fprintln(cmd.OutOrStdout(), "no artifacts: a sweep file requests them with \"artifacts: [weights]\"")
	case wrong > 0:
		return &exitError{exitArtifacts, fmt.Errorf("%d of %d artifacts are missing, lost, damaged or unknown",
			wrong, n)}
	}
	return nil
}

func newArtifactsGet(s *settings) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "get SWEEP INDEX NAME",
		Short: "Download an artifact of a trial",
		Long: `Its digest is verified, and the file appears only when it is complete. By default it is
SWEEP-INDEX-NAME in the current directory; --output - writes to standard output.

An interrupted download leaves FILE.DIGEST.part; run the same command again to resume
it. If the partial file belongs to other contents, it is discarded and the download
starts over.

Exit codes: 0 done, 1 the download fails, 2 an invalid index, 4 no such sweep, trial or
artifact, or it was dropped, 5 it is missing, lost or damaged.`,
		Example: "  sweep artifacts get ucr 17 weights\n  sweep artifacts get latest 0 weights --output " +
			"cbf.safetensors",
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := parseIndex(args[1])
			if err != nil {
				return err
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				id := sweep.TrialID{Sweep: record.ID, Index: index}
				if output == "-" {
					_, err := t.Artifact(cmd.Context(), id, args[2], 0, dataOut(cmd))
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
