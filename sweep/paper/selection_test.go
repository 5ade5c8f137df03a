package paper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/sweep/paper/archive"
	"sweep/sweep/report"
	"sweep/sweep/safetensors"
)

// text is a table as text, without the blanks at the ends of lines.
func text(t *testing.T, table *report.Table) string {
	t.Helper()
	var b bytes.Buffer
	if err := table.Write(&b, "text", false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if got != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
}

// with sets parameters and metrics of a trial; those that are NaN it has not.
func with(r *sweep.TrialRecord, parameters sweep.Parameters, summary map[string]float64) *sweep.TrialRecord {
	for name, value := range parameters {
		r.Parameters[name] = value
	}
	for name, value := range summary {
		if r.Result.Summary[name] = value; math.IsNaN(value) {
			delete(r.Result.Summary, name)
		}
	}
	return r
}

// Each data set is in one table: those of the archive, and all others.
func TestTablesHoldTheirOwn(t *testing.T) {
	copying := func(model string, lag int64, loss float64) *sweep.TrialRecord {
		return with(trial("copy", model, .01, 1, loss, .9), sweep.Parameters{"length": lag}, map[string]float64{
			"test_loss": loss, "baseline_loss": 10 * math.Log(8) / float64(lag+20), "classes": math.NaN()})
	}
	trials := []*sweep.TrialRecord{
		trial("CBF", "rnn", .01, 1, .1, .5), trial("Cricket_Z", "rnn", .01, 1, .1, .6),
		trial("generated-cbf", "rnn", .01, 1, .1, .7),
		trial("mnist", "lstm", .01, 1, .1, .9), trial("Permuted-MNIST", "lstm", .01, 1, .1, .8),
		copying("lstm", 100, .02), copying("ornn", 100, .01), copying("lstm", 300, .05),
		with(trial("har-2", "lstm", .01, 1, .3, .91), nil, map[string]float64{"test_loss": .35}),
		with(trial("har-2", "sgornn", .01, 1, .2, .93), nil, map[string]float64{"test_loss": .25}),
		with(trial("har-2", "sgornn", .01, 2, .2, .95), nil, map[string]float64{"test_loss": .29}),
		trial("digits", "forest", .01, 1, .2, .97), trial("Fashion-MNIST", "forest", .01, 1, .2, .87),
		with(trial("addition", "rnn", .01, 1, .16, 0), nil, map[string]float64{"test_accuracy": math.NaN(),
			"test_loss": .17, "baseline_loss": 1. / 6}),
	}
	c := collectBy(t, sweep.Select{Group: []string{"dataset", "length", "model"}}, trials...)
	rows := func(table *report.Table) (names []string) {
		for _, row := range table.Rows {
			if name := row[0].Text; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
	if got := fmt.Sprint(rows(UCR(c, report.Mean))); got != "[CBF Cricket_Z generated-cbf*]" {
		t.Errorf("UCR holds %s", got)
	}
	wantText(t, text(t, Tasks(c, report.Mean)), `
Tasks: test loss and accuracy, mean ± standard deviation over replicates at the grid point with the smallest validation loss

task              model    test loss  without memory  test accuracy  params  replicates  with
─────────────────────────────────────────────────────────────────────────────────────────────
Fashion-MNIST     forest                                      0.870    1268           1
─────────────────────────────────────────────────────────────────────────────────────────────
Permuted-MNIST    LSTM                                        0.800    1268           1
─────────────────────────────────────────────────────────────────────────────────────────────
addition          RNN           0.17          0.1667                   1268           1
─────────────────────────────────────────────────────────────────────────────────────────────
copy, length=100  oRNN          0.01          0.1733          0.900    1268           1
copy, length=100  LSTM          0.02          0.1733          0.900    1268           1
─────────────────────────────────────────────────────────────────────────────────────────────
copy, length=300  LSTM          0.05         0.06498          0.900    1268           1
─────────────────────────────────────────────────────────────────────────────────────────────
digits            forest                                      0.970    1268           1
─────────────────────────────────────────────────────────────────────────────────────────────
har-2             SGORNN  0.27±0.028                     0.940±.014    1268           2
har-2             LSTM          0.35                          0.910    1268           1
─────────────────────────────────────────────────────────────────────────────────────────────
mnist             LSTM                                        0.900    1268           1
`)
	if only := collect(t, trials[5:11]...); only.Has(archive.Has) || !only.Has(isTask) {
		t.Error("copy and har-2 are in the wrong table")
	}
	for _, p := range table4 {
		if !archive.Has(p.name) || !archive.Has(p.folder) {
			t.Errorf("%s is not of the archive", p.name)
		}
	}
}

// Of points that tie the same is selected whatever the order of the file, and the table
// names them.
func TestTies(t *testing.T) {
	var trials []*sweep.TrialRecord
	for i, average := range []float64{0, .1, .5, .9} {
		for seed := range int64(3) {
			loss := []float64{.1, .2, .4}[(seed+int64(i))%3] // the same mean, but for its rounding
			if average == .9 {
				loss = .5
			}
			trials = append(trials, with(trial("CBF", "rnn", .01, seed+1, loss, .5+average/4),
				sweep.Parameters{"average": average, "refit": .5}, nil))
		}
	}
	backward := slices.Clone(trials)
	slices.Reverse(backward)
	var chosen []any
	for _, by := range []report.Selection{report.Mean, report.Single} {
		var first string
		for _, list := range [][]*sweep.TrialRecord{trials, backward} {
			c := collect(t, list...)
			figure, best := only(t, c).figure(by)
			if best == nil || figure.Ties != 2 {
				t.Errorf("%s: %d ties of %v, want 2", by, figure.Ties, best)
			}
			chosen = append(chosen, best["average"])
			now := text(t, UCR(c, by))
			if first == "" {
				first = now
			}
			if now != first || !strings.Contains(now, "CBF RNN (2). The one that is shown does not depend on the "+
				"order of the sweep file.") {
				t.Errorf("%s:\n%s\nand backward\n%s", by, first, now)
			}
		}
	}
	if chosen[0] != chosen[1] || chosen[2] != chosen[3] || chosen[0] != chosen[2] {
		t.Errorf("averages %v were selected", chosen)
	}
	if table := UCR(collect(t, trials[0], trials[9]), report.Mean); strings.Contains(text(t, table), "as good") {
		t.Errorf("nothing ties in\n%s", text(t, table))
	}
}

// What validation has not seen of the weights that were tested stands below the table.
func TestRefitIsNoted(t *testing.T) {
	const selected = "Selected by the smallest validation loss before the refit; tested with "
	for name, test := range map[string]struct {
		parameters sweep.Parameters
		by, want   string
	}{
		"averaged": {sweep.Parameters{"refit": .5, "average": .1}, "validation_loss",
			selected + "the mean of the last weights, which"},
		"refitted": {sweep.Parameters{"refit": .5, "average": int64(0)}, "validation_loss",
			selected + "the final weights, which"},
		"neither":  {sweep.Parameters{"refit": int64(0)}, "validation_loss", ""},
		"by train": {sweep.Parameters{"refit": .5}, "train_loss", ""},
	} {
		c := collectBy(t, sweep.Select{By: test.by}, with(trial("CBF", "rnn", .01, 1, .1, .5), test.parameters,
			map[string]float64{"train_loss": 1}))
		if got := text(t, UCR(c, report.Mean)); !strings.Contains(got, test.want) || test.want == "" &&
			strings.Contains(got, "refit") {
			t.Errorf("%s: %q is not below\n%s", name, test.want, got)
		}
	}
}

// parted is a trial's file with validation rows, one probability each for class 1.
func parted(t *testing.T, testRows, validationRows []float32, testLabels, validationLabels []int) []byte {
	t.Helper()
	var f safetensors.File
	for _, part := range []struct {
		name   string
		rows   []float32
		labels []int
	}{{"test", testRows, testLabels}, {"validation", validationRows, validationLabels}} {
		var values []float32
		for _, p := range part.rows {
			values = append(values, 1-p, p)
		}
		f.Tensors = append(f.Tensors,
			safetensors.Tensor{Name: part.name, DType: safetensors.F16, Rows: len(part.rows), Cols: 2,
				Data: safetensors.AppendHalf(nil, values)},
			safetensors.Tensor{Name: part.name + "_labels", DType: safetensors.I32, Rows: len(part.labels), Cols: 1,
				Data: safetensors.AppendIntegers(nil, part.labels)})
	}
	data, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// An ensemble has its own losses, and validation, not test, chooses how many points vote.
func TestEnsembleLosses(t *testing.T) {
	// Two seeds with validation rows of their own. The second point corrects the first on
	// them, the third spoils both; on the test row it is the other way round.
	labels := map[int64][]int{1: {1, 0}, 2: {0, 1, 1}}
	rows := map[float64]map[int64][]float32{
		.01: {1: {.25, .25}, 2: {.25, .75, .25}},
		.02: {1: {.75, .25}, 2: {.25, .75, .75}},
		.03: {1: {0, 1}, 2: {1, 0, 0}},
	}
	tests := map[float64]float32{.01: .5, .02: .25, .03: 1}
	var all []*sweep.TrialRecord
	cast := votes{}
	for i, lr := range []float64{.01, .02, .03} {
		for _, seed := range []int64{1, 2} {
			r := trial("CBF", "rnn", lr, seed, .1*float64(i+1), .5)
			r.TrialID = sweep.TrialID{Sweep: "s", Index: int64(len(all))}
			r.Result.Summary["test_loss"] = 9
			cast[r.TrialID] = parted(t, []float32{tests[lr]}, rows[lr][seed], []int{1}, labels[seed])
			all = append(all, r)
		}
	}
	l := math.Log
	for by, want := range map[report.Selection]struct {
		points               int
		validation, testLoss float64
	}{
		"ensemble":   {1, (-(l(.25)+l(.75))/2 - (l(.75)+l(.75)+l(.25))/3) / 2, -l(.5)},
		"ensemble:2": {2, (-(l(.5)+l(.75))/2 - (l(.75)+l(.75)+l(.5))/3) / 2, -l(.375)},
		"ensemble:3": {3, (-(l(1./3)+l(.5))/2 - (l(.5)+l(.5)+l(1./3))/3) / 2, -l(1.75 / 3)},
		report.Auto:  {2, (-(l(.5)+l(.75))/2 - (l(.75)+l(.75)+l(.5))/3) / 2, -l(.375)},
	} {
		c := collect(t, all...)
		if err := c.Vote(by, archive.Has, cast.load); err != nil {
			t.Fatal(err)
		}
		got, best := only(t, c).figure(by)
		if best == nil || got.Points != want.points || got.Replicates != 2*want.points ||
			math.Abs(got.Loss-want.validation) > 1e-9 || math.Abs(got.TestLoss-want.testLoss) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", by, got, want)
		}
		if table := text(t, UCR(c, by)); strings.Contains(table,
			"Grid points that vote: CBF RNN 2.") != (by == report.Auto) {
			t.Errorf("%s:\n%s", by, table)
		}
	}
	// Without validation rows the loss is not known.
	cast[all[1].TrialID] = file(t, []int{1}, []float32{.5, .5})
	c := collect(t, all...)
	if err := c.Vote(report.Auto, archive.Has, cast.load); err == nil ||
		!strings.Contains(err.Error(), "trial s/1 of CBF, rnn: its class probabilities have no validation rows") {
		t.Errorf("%v", err)
	}
	if err := c.Vote("ensemble", archive.Has, cast.load); err != nil {
		t.Fatal(err)
	}
	table := UCR(c, "ensemble")
	var encoded bytes.Buffer
	if err := table.Write(&encoded, "json", false); err != nil ||
		!strings.Contains(encoded.String(), `"validation_loss": null`) || !json.Valid(encoded.Bytes()) {
		t.Errorf("%v: %s", err, &encoded)
	}
	// Tasks without classes have no vote.
	c = collect(t, with(trial("copy", "rnn", .01, 1, .1, .5), nil, map[string]float64{"baseline_loss": 1}))
	//nolint:errorlint // it is not wrapped
	if err := c.Vote("ensemble", isTask, cast.load); err != report.ErrNoClasses {
		t.Errorf("%v", err)
	}
}
