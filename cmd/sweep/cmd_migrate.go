package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sweep/coordinator/store"
	"sweep/sweep/wire"
)

func newMigrate(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Create or update the schema of the database in --store",
		Long: `Every coordinator does this when it starts, if no other one leads. Use this command
with a role that may change the schema if the coordinator's role may not. The command
also prints which coordinator leads.

In Postgres, the queries of users ("sweep sql") run under a login of their own that can
only read results. The command creates it if the role may create roles. Otherwise it
prints statements for an administrator to run with psql in the same database; they
contain no password.

Exit codes: 0 done, 1 the database cannot be reached, is of a newer version, or a
coordinator that leads must be stopped first.`,
		Example: `  sweep migrate --store postgres://sweep@db/sweep
  sweep migrate --store postgres://sweep@db/sweep | psql postgres://admin@db/sweep`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			results, err := s.openStore(cmd.Context()) // which migrates
			if err != nil {
				return err
			}
			defer func() { _ = results.Close() }() // everything is committed by then
			address, err := s.storeURL()
			if err != nil {
				return err
			}
			database, out := results.(*store.Store), cmd.OutOrStdout()
			fmt.Fprintln(out, "-- up to date:", wire.Redacted(address))
			leader, since, err := database.Leader(cmd.Context())
			switch {
			case err != nil:
				return err
			case leader == "":
				fmt.Fprintln(out, "-- no coordinator leads it")
			case since.IsZero():
				fmt.Fprintln(out, "-- led by", leader)
			default:
				fmt.Fprintf(out, "-- led by %s since %s\n", leader, since.UTC().Format(time.RFC3339))
			}
			statements, problem := database.CheckReader(cmd.Context())
			if problem == nil {
				return nil
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "queries of users (\"sweep sql\") are rejected:", problem)
			for _, statement := range statements {
				fmt.Fprintf(out, "%s;\n", statement)
			}
			return nil
		},
	}
}
