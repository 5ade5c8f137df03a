package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/model/kernel"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the program's version and the kernel level of this machine",
		Example: "  sweep version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := kernel.CheckEnvironment(); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s, %s %s/%s, kernels %s\n",
				model.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, kernel.Float32().Level())
			return nil
		},
	}
}
