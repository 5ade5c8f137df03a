package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/model/analysis"
	"sweep/sweep"
	"sweep/sweep/paper"
)

type boundsOptions struct {
	margins []float64
	delta   float64
	all     bool
}

func newTableBounds(s *settings, table *tableOptions) *cobra.Command {
	var options boundsOptions
	cmd := &cobra.Command{
		Use:   "bounds [SWEEP]",
		Short: "Print the papers' generalization bounds beside the gap between training and test",
		Long: `The bounds are computed from the weights of trained networks and from their data, so the
sweep file needs "artifacts: [weights]". Without SWEEP, the newest sweep is used; of each
group the trial is taken that the sweep file's select prefers. Networks:

  rnn, irnn, ornn, spectral-rnn, vprnn, …  one layer: theorem 5 of Zhang, Lei and Dhillon
               (2018), and corollary 1 where the singular values are kept near 1
  sgornn       one layer, one output or two classes: theorem 1 of the SGORNN paper. Of
               fastrnn, for which it is not proved, a note has its own condition
  mlp, spectral-mlp                        the bound of Neyshabur et al. (2017)

Other trials are counted below the table.

Exit codes: 0 done, 1 data or an artifact cannot be read, 2 an invalid margin,
probability or format, 4 no sweep, or no trial with weights and a bound.`,
		Example: `  sweep table bounds ucr --margins 0.5,1,2
  sweep table bounds latest --all --format csv`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := table.checkFormat(); err != nil {
				return err
			}
			if !(options.delta > 0 && options.delta < 1) {
				return usageError("--delta %v: expected a probability above 0 and below 1", options.delta)
			}
			for _, margin := range options.margins {
				if !(margin > 0) || math.IsInf(margin, 0) {
					return usageError("--margins %v: expected numbers above 0", margin)
				}
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				return printBounds(cmd, s, t, record, &options, table)
			})
		},
	}
	f := cmd.Flags()
	f.Float64SliceVar(&options.margins, "margins", []float64{1}, "margins γ between outputs")
	f.Float64Var(&options.delta, "delta", .05, "probability δ that a bound does not hold")
	f.BoolVar(&options.all, "all", false, "all trials, not only the best of each group")
	return cmd
}

func printBounds(cmd *cobra.Command, s *settings, t target, record *sweep.SweepRecord, options *boundsOptions,
	table *tableOptions) error {
	data, err := s.dataDir()
	if err != nil {
		return err
	}
	trainer, err := model.NewTrainer()
	if err != nil {
		return err
	}
	var trials []*sweep.TrialRecord
	query := sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}, Best: !options.all}
	if err := t.Trials(cmd.Context(), query, func(r *sweep.TrialRecord) error {
		if r.Result != nil && !r.Result.Diverged {
			trials = append(trials, r)
		}
		return nil
	}); err != nil {
		return err
	}
	var bounds []paper.Bound
	var notes []string
	without, other := 0, 0
	for _, r := range trials {
		theory, err := theoryOf(cmd.Context(), t, trainer, r.TrialID, data)
		switch {
		case errors.Is(err, sweep.ErrNotFound):
			without++
			continue
		case errors.Is(err, model.ErrNoBound):
			other++
			continue
		case err != nil:
			return fmt.Errorf("trial %s: %w", r.TrialID, err)
		}
		own, note := boundsOf(r, theory, options)
		bounds = append(bounds, own...)
		if note != "" {
			notes = append(notes, note)
		}
		notes = append(notes, gradientsOf(r, theory)...)
	}
	if len(bounds) == 0 && len(notes) == 0 {
		return fmt.Errorf("%w: of %d trials %d have no weights, which \"artifacts: [weights]\" keeps, and %d no bound",
			sweep.ErrNotFound, len(trials), without, other)
	}
	if without+other > 0 {
		notes = append(notes, fmt.Sprintf("Not shown: %d trials without weights, %d without a bound.", without, other))
	}
	return writeTable(cmd, paper.Bounds(bounds, options.delta, notes), table.format)
}

// theoryOf reads the weights of a trial and measures its network; it is sweep.ErrNotFound if there are none.
func theoryOf(ctx context.Context, t target, trainer *model.Trainer, id sweep.TrialID, data string) (*model.Theory,
	error) {
	var weights bytes.Buffer
	if _, err := t.Artifact(ctx, id, model.WeightsArtifact, 0, &weights); err != nil {
		return nil, err
	}
	return trainer.Theory(ctx, weights.Bytes(), data)
}

// gradientsOf are notes about the gradients of a trial's network and what the theorems allow.
func gradientsOf(r *sweep.TrialRecord, y *model.Theory) (notes []string) {
	name, _ := r.Parameters["model"].(string)
	if y.Recurrent != nil {
		note := fmt.Sprintf("Trial %d, %s: ‖∂h(T)/∂h(0)‖ = %.3g along one training sequence of %d steps", r.Index,
			paper.ModelName(name), y.Jacobian, y.Recurrent.Steps)
		if !math.IsNaN(y.Radius) {
			note += fmt.Sprintf(", where (1 + r)^T allows %.3g", math.Pow(1+y.Radius, float64(y.Recurrent.Steps)))
		}
		notes = append(notes, note+".")
	}
	units, _ := sweep.Number(r.Parameters["hidden"])
	dropped, _ := sweep.Number(r.Parameters["dropout"])
	if y.Gated != nil && y.ThetaGradient > 0 && r.Parameters["activation"] == "relu" && dropped == 0 {
		theta, weights := y.Gated.Gradients(int(units))
		notes = append(notes, fmt.Sprintf("Trial %d, %s: the largest entry of ∂L/∂Θ is %.3g, of which theorem 2 of the "+
			"SGORNN paper allows %.3g, and that of ∂L/∂W %.3g of %.3g; ‖∂h(T)/∂h(0)‖ = %.3g.", r.Index,
			paper.ModelName(name), y.ThetaGradient, theta, y.InputGradient, weights, y.Jacobian))
	}
	return notes
}

// boundsOf is what the theorems say of a trial, and a note about FastRNN's condition.
func boundsOf(r *sweep.TrialRecord, y *model.Theory, options *boundsOptions) (bounds []paper.Bound, note string) {
	dataset, _ := r.Parameters["dataset"].(string)
	name, _ := r.Parameters["model"].(string)
	base := paper.Bound{Trial: fmt.Sprint(r.Index), Dataset: dataset, Model: name, Rows: len(y.Train),
		Margin: math.NaN(), Bound: math.NaN(), Start: y.Start > 0}
	if g := y.Gated; g != nil {
		if g.Beta > 1-2*g.Alpha || math.Abs(g.U.Spectral-1) > 1e-4 {
			kept := "is met"
			if !(g.Alpha <= g.MaxAlpha()) {
				kept = "is not met"
			}
			return nil, fmt.Sprintf("Trial %d, %s: α = %.3g, β = %.3g, αT = %.3g, ‖U‖ = %.4g. Equation 4 of the "+
				"SGORNN paper, FastRNN's condition, allows α up to %.3g: it %s.", r.Index, paper.ModelName(name),
				g.Alpha, g.Beta, g.Alpha*float64(g.Steps), g.U.Spectral, g.MaxAlpha(), kept)
		}
		base.Theorem, base.Train, base.Test = "1 (SGORNN)", y.TrainLoss, y.TestLoss
		base.Complexity = g.Constant() * g.Alpha * float64(g.Steps)
		base.Term, base.Bound = g.Term(base.Rows), g.Gap(y.MaxLoss, options.delta, base.Rows)
		return []paper.Bound{base}, ""
	}
	base.Test = analysis.MarginLoss(y.Test, 0)
	for _, margin := range options.margins {
		b := base
		b.Margin, b.Train = margin, analysis.MarginLoss(y.Train, margin)
		// add adds a theorem for so many layers.
		add := func(theorem string, complexity, bound float64, layers int) {
			b.Theorem, b.Complexity, b.Bound = theorem, complexity, bound
			b.Term = analysis.Term(complexity, options.delta, b.Rows, layers)
			bounds = append(bounds, b)
		}
		if f := y.FeedForward; f != nil {
			add("Neyshabur et al.", f.Complexity(margin), math.NaN(), len(f.Layers))
			continue
		}
		add("5", y.Recurrent.Complexity(margin), y.Recurrent.Gap(margin, options.delta, b.Rows), 1)
		if !math.IsNaN(y.Radius) {
			add("corollary 1", y.Recurrent.Capped(y.Radius, margin), math.NaN(), 1)
		}
	}
	return bounds, ""
}
