package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sweep/sweep/file"
)

func newSchema(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [TRAINER]",
		Short: "Print the JSON Schema of sweep files, for editors to complete and check them",
		Long: `The schema includes the parameters of TRAINER (default: builtin).

Exit codes: 0 done, 1 the trainer does not start, 4 no such trainer.`,
		Example: `  sweep schema > sweep.schema.json
  sweep schema noop
  sweep schema script > script.schema.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			description, err := s.describe(cmd.Context(), args)
			if err != nil {
				return err
			}
			schema, err := file.Schema(description)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", schema)
			return err
		},
	}
}
