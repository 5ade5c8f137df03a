package main

import (
	"github.com/spf13/cobra"

	"sweep/model/analysis"
	"sweep/sweep/paper"
)

func newTableFlops(options *tableOptions) *cobra.Command {
	var n, m1, m2 int
	cmd := &cobra.Command{
		Use:   "flops",
		Short: "Count the floating point operations of the reflectors' algorithms",
		Long: `The table is Table 1 of Zhang, Lei and Dhillon (2018): the operations of Algorithms 1 to
3 in one time step for one series. It has the published formulas, the sums over the
table's own first rows, which differ from them, and counts taken while the algorithms
run. It needs no results.

Exit codes: 0 done, 2 sizes that do not fit each other, or an unknown format.`,
		Example: `  sweep table flops --n 128 --m1 16 --m2 16
  sweep table flops --n 512 --m1 32 --m2 32 --format latex`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.checkFormat(); err != nil {
				return err
			}
			if m2 < 1 {
				return usageError("--m2 %d: expected 1 to n reflectors of V", m2)
			}
			table, err := paper.Flops(n, m1, m2, func(m1, m2 int, norms, products bool) (int, int, error) {
				return analysis.Flops(n, m1, m2, norms, products)
			})
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return writeTable(cmd, table, options.format)
		},
	}
	f := cmd.Flags()
	f.IntVar(&n, "n", 128, "hidden units")
	f.IntVar(&m1, "m1", 16, "reflectors of U, and those of oRNN")
	f.IntVar(&m2, "m2", 16, "reflectors of V")
	return cmd
}
