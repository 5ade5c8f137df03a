package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"sweep/sweep"
	"sweep/worker/script"
)

// noteUnrecorded says which files of a program's project have changed since the results were made that a sweep
// reuses: what a program imports and opens is no part of their identity.
func noteUnrecorded(ctx context.Context, results sweep.Reader, id string, out io.Writer) {
	const most = 2000
	var oldest time.Time
	seen := map[string]bool{}
	query := sweep.TrialQuery{Sweeps: []string{id}, States: []sweep.State{sweep.Completed}, Limit: most}
	err := results.Trials(ctx, query, func(t *sweep.TrialRecord) error {
		if t.ReusedFrom != nil {
			seen[t.ReusedFrom.Sweep] = true
		}
		return nil
	})
	record, recordErr := results.Sweep(ctx, id)
	if err != nil || recordErr != nil {
		return // the note alone is missing
	}
	for from := range seen {
		if source, err := results.Sweep(ctx, from); err == nil && (oldest.IsZero() || source.CreatedAt.Before(oldest)) {
			oldest = source.CreatedAt
		}
	}
	s := record.Grids[len(record.Grids)-1].Submission.Spec.Script
	if oldest.IsZero() || s == nil || s.Directory == "" {
		return
	}
	changed := script.Unrecorded(ctx, s, oldest)
	if len(changed) == 0 {
		return
	}
	const named = 5
	list := strings.Join(changed[:min(len(changed), named)], ", ")
	if more := len(changed) - named; more > 0 {
		list += fmt.Sprintf(" and %s", sweep.CountText(more, "other file"))
	}
	fmt.Fprintf(out, "warning: results are reused, and %s changed since they were made: if the program reads such a "+
		"file, name it under \"files:\" in the sweep file, or run again with --reuse=false\n", list)
}
