package main

import (
	"fmt"
	"io"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

// annotateCommand is a command that changes the annotation of a sweep or trial. what names the text, which edit turns
// into a change.
func annotateCommand(s *settings, name, what, short, long, example string,
	edit func(text string) (sweep.Edit, error)) *cobra.Command {
	return &cobra.Command{
		Use:   name + " SWEEP [INDEX] " + what,
		Short: short,
		Long: long + `

SWEEP is an id, the beginning of one, a name, or "latest"; INDEX is that of a trial. The
last change wins, and "sweep status SWEEP" and "sweep trial show" say whose it is.

Exit codes: 0 done, 1 not possible, 2 invalid ` + strings.ToLower(what) + ` or index, 4 no such sweep or trial.`,
		Example: example,
		Args:    cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := edit(args[len(args)-1])
			if err == nil {
				change.By = userName()
				err = change.Check()
			}
			if err != nil {
				return &exitError{exitUsage, err}
			}
			if len(args) == 3 {
				index, err := parseIndex(args[1])
				if err != nil {
					return err
				}
				change.Index = &index
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				if err := t.Annotate(cmd.Context(), record.ID, change); err != nil {
					return err
				}
				of := "sweep " + record.ID
				if change.Index != nil {
					of = fmt.Sprintf("trial %d of %s", *change.Index, of)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s changed\n", of, map[bool]string{true: "notes",
					false: "tags"}[change.Notes != nil])
				return err
			})
		},
	}
}

func newNote(s *settings) *cobra.Command {
	return annotateCommand(s, "note", "TEXT", "Describe a sweep or one of its trials",
		`TEXT replaces the notes: those of a sweep are at first the description of its file, those
of a trial what its program said. An empty text removes them.`,
		"  sweep note latest \"all of them diverge above 0.1\"\n  sweep note ucr 17 \"look at its curve\"",
		func(text string) (sweep.Edit, error) { return sweep.Edit{Notes: &text}, nil })
}

func newTag(s *settings) *cobra.Command {
	return annotateCommand(s, "tag", "TAGS", "Tag a sweep or one of its trials",
		`TAGS, with commas between them, replace the tags; an empty text removes all. A trial has
at first those of its program. "sweep trials --where tag=NAME" lists the trials that
have a tag.`,
		"  sweep tag latest baseline,paper\n  sweep tag ucr 17 outlier\n  sweep tag ucr 17 \"\"",
		func(text string) (sweep.Edit, error) {
			tags, err := sweep.ParseTags(text)
			return sweep.Edit{Tags: tags}, err
		})
}

// userName is the name of the user who runs this process.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown user"
}

// writeAnnotation prints notes and tags, and who changed them, each line after a prefix.
func writeAnnotation(out io.Writer, prefix string, a sweep.Annotation) {
	if a.Notes != "" {
		fmt.Fprintf(out, "%snotes: %s\n", prefix, strings.ReplaceAll(strings.TrimSpace(a.Notes), "\n", "\n  "))
	}
	if len(a.Tags) > 0 {
		fmt.Fprintf(out, "%stags: %s\n", prefix, strings.Join(a.Tags, ", "))
	}
	if !a.EditedAt.IsZero() {
		fmt.Fprintf(out, "%sedited by %s at %s\n", prefix, a.EditedBy, a.EditedAt.Local().Format(time.DateTime))
	}
}
