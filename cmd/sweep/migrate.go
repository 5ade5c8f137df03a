package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sweep/sweep/wire"
)

func newMigrate(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "migrate",
		Short:   "Create the database's schema, or bring it up to date",
		GroupID: "cluster",
		Long: `Create the schema of the database in --store, or bring it up to date. Every
coordinator does so when it starts: this is for a role that may, if the
coordinator's may not.

Exit codes: 0 done, 1 the database cannot be reached or is of a newer version.`,
		Example: "  sweep migrate --store postgres://admin@db/sweep",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			results, err := s.openStore(cmd.Context()) // which migrates
			if err != nil {
				return err
			}
			address, err := s.storeURL()
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "up to date:", wire.Redacted(address))
			return results.Close()
		},
	}
}
