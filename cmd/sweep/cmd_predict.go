package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/model/dataset"
	"sweep/sweep"
)

// predictOptions are the flags of "sweep predict".
type predictOptions struct{ format, output string }

func newPredict(s *settings) *cobra.Command {
	var options predictOptions
	cmd := &cobra.Command{
		Use:   "predict SWEEP INDEX DATA",
		Short: "Classify series of a file by the weights of a trial",
		Long: `The trial is of the task classification, in a sweep whose file has "artifacts: [weights]".
The weights hold all that is needed: the data set that the trial was trained on need not
be there. DATA is a CSV, NumPy or Parquet file of series, as docs/own-data.md describes
them, with the trial's channels; it needs no labels.

Standard output gets a row for each series: its name or number, its label if it has one,
the predicted label, and the probability of each label. If the file has labels, standard
error gets the accuracy, precision, recall and F1 of each class, and the confusion matrix,
with a row for each label and a column for each prediction.

Exit codes: 0 done, 1 DATA or the weights cannot be read, 2 wrong arguments, 4 no such
sweep, trial or file, 5 the trial kept no weights.`,
		Example: "  sweep predict gestures 0 data/own/gestures/test.csv\n" +
			"  sweep predict latest 3 new.npz --format json --output predictions.jsonl",
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := parseIndex(args[1])
			if err != nil {
				return err
			}
			if options.format != "csv" && options.format != "json" {
				return usageError("--format %q: expected csv or json", options.format)
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				id := sweep.TrialID{Sweep: record.ID, Index: index}
				weights, err := weightsOf(cmd.Context(), t, id)
				if err != nil {
					return err
				}
				if err := options.predict(cmd, weights, args[2]); err != nil {
					return fmt.Errorf("trial %s: %w", id, err)
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&options.format, "format", "csv", "csv or json (one object per line)")
	f.StringVar(&options.output, "output", "", "file to write the predictions to (default standard output)")
	return cmd
}

// predict writes the predictions of the series of a file, and compares them with its labels.
func (o *predictOptions) predict(cmd *cobra.Command, weights []byte, path string) (err error) {
	trainer, err := model.NewTrainer()
	if err != nil {
		return err
	}
	predictor, err := trainer.LoadPredictor(weights)
	if err != nil {
		return err
	}
	series, err := dataset.ReadSeries(path)
	if err != nil {
		return err
	}
	predictions, err := predictor.Predict(cmd.Context(), series)
	if err != nil {
		return err
	}
	confusion, err := predictor.Confusion(series, predictions)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if o.output != "" {
		file, createErr := os.Create(o.output)
		if createErr != nil {
			return createErr
		}
		defer func() {
			if closed := file.Close(); err == nil {
				err = closed
			}
		}()
		out = file
	}
	write := writePredictionsCSV
	if o.format == "json" {
		write = writePredictionsJSON
	}
	if err := write(out, predictor, series, predictions); err != nil || confusion == nil {
		return err
	}
	return writeConfusion(cmd.ErrOrStderr(), confusion)
}

// seriesName is what a file calls a series, or its number from 1.
func seriesName(s *dataset.Series, i int) string {
	if s.Names != nil {
		return s.Names[i]
	}
	return strconv.Itoa(i + 1)
}

func writePredictionsCSV(out io.Writer, by *model.Predictor, s *dataset.Series, predictions []model.Prediction) error {
	w := csv.NewWriter(out)
	header := []string{"series", "label", "prediction"}
	for _, label := range by.Labels() {
		header = append(header, "p:"+label)
	}
	if err := w.Write(header); err != nil {
		return err
	}
	for i, p := range predictions {
		row := []string{seriesName(s, i), s.Labels[i], by.Label(p.Class)}
		for _, v := range p.Probabilities {
			row = append(row, strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func writePredictionsJSON(out io.Writer, by *model.Predictor, s *dataset.Series, predictions []model.Prediction) error {
	encoder := newEncoder(out)
	for i, p := range predictions {
		of := map[string]json.Number{}
		for class, v := range p.Probabilities {
			of[by.Label(class)] = json.Number(strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
		if err := encoder.Encode(struct {
			Series        string                 `json:"series"`
			Label         string                 `json:"label,omitempty"`
			Prediction    string                 `json:"prediction"`
			Probabilities map[string]json.Number `json:"probabilities"`
		}{seriesName(s, i), s.Labels[i], by.Label(p.Class), of}); err != nil {
			return err
		}
	}
	return nil
}

// writeConfusion prints how predictions compare with labels.
func writeConfusion(out io.Writer, c *model.Confusion) error {
	w := newColumns(out)
	fmt.Fprintf(w, "accuracy\t%.4f\nmacro F1\t%.4f\n\n", c.Accuracy(), c.MacroF1())
	fmt.Fprintln(w, "CLASS\tSERIES\tPRECISION\tRECALL\tF1")
	for class, label := range c.Labels {
		fmt.Fprintf(w, "%s\t%d\t%.4f\t%.4f\t%.4f\n", label, c.Support(class), c.Precision(class), c.Recall(class),
			c.F1(class))
	}
	fmt.Fprint(w, "\nLABEL")
	for _, label := range c.Labels {
		fmt.Fprintf(w, "\t%s", label)
	}
	unassigned := slices.Max(c.Unassigned) > 0
	if unassigned {
		fmt.Fprint(w, "\t(none)")
	}
	fmt.Fprintln(w)
	for class, label := range c.Labels {
		fmt.Fprint(w, label)
		for _, count := range c.Counts[class] {
			fmt.Fprintf(w, "\t%d", count)
		}
		if unassigned {
			fmt.Fprintf(w, "\t%d", c.Unassigned[class])
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
