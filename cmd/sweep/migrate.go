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
		Use:     "migrate",
		Short:   "Create the database's schema, or bring it up to date",
		GroupID: "cluster",
		Long: `Create the schema of the database in --store, or bring it up to date. Every
coordinator does so when it starts and none leads: this is for a role that may, if
the coordinator's may not. Who leads the database is said.

In Postgres the queries of users ("sweep sql") run by a login of their own, which
reads results and nothing else. It is made too, where the role may make roles;
where not, the statements for an administrator are printed, for psql to run in the
same database. They hold no password.

Exit codes: 0 done, 1 the database cannot be reached, is of a newer version, or a
coordinator leads that must end first.`,
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
				fmt.Fprintln(out, "-- nobody leads it")
			case since.IsZero():
				fmt.Fprintln(out, "-- led by", leader)
			default:
				fmt.Fprintf(out, "-- led by %s since %s\n", leader, since.UTC().Format(time.RFC3339))
			}
			statements, problem := database.CheckReader(cmd.Context())
			if problem == nil {
				return nil
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "queries of users (\"sweep sql\") are refused:", problem)
			for _, statement := range statements {
				fmt.Fprintf(out, "%s;\n", statement)
			}
			return nil
		},
	}
}
