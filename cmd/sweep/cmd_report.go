package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"sweep/coordinator/web"
	"sweep/sweep"
)

func newReport(s *settings) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "report [SWEEP]",
		Short: "Write what a sweep came to as one HTML file, to send to somebody",
		Long: `The file has the best trial, the best settings with mean and deviation over the seeds,
curves, a slice and a heat map, the importance of the parameters, why trials failed,
and the sweep file. It needs no other file, no server and no network. Without SWEEP,
it is about the newest sweep. It reads the local database, or that of --store.

Exit codes: 0 done, 1 the output cannot be written, 2 invalid flags, 4 no such sweep.`,
		Example: "  sweep report latest -o report.html",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.nats.Addresses != "" {
				return usageError("report reads a database and not a cluster: use --store without --nats, or " +
					"download the report from the coordinator's dashboard")
			}
			return withSweep(cmd, s.openLocal, args, func(results *localStore, record *sweep.SweepRecord) error {
				served := web.New(web.Options{Store: results.Store, Logger: slog.New(slog.DiscardHandler)})
				defer func() { _ = served.Close() }() // its files have no names
				var file bytes.Buffer
				if err := served.Report(cmd.Context(), &file, record.ID); err != nil {
					return err
				}
				if output == "" {
					_, err := dataOut(cmd).Write(file.Bytes())
					return err
				}
				if err := os.WriteFile(output, file.Bytes(), 0o644); err != nil {
					return fmt.Errorf("report: %w", err)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write (default: standard output)")
	return cmd
}
