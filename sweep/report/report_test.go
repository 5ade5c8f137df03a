package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"sweep/sweep"
)

// trial is a completed trial of a table.
func trial(set, model string, lr float64, seed int64, loss, accuracy float64) *sweep.TrialRecord {
	return &sweep.TrialRecord{
		Trial: sweep.Trial{Parameters: sweep.Parameters{"dataset": set, "model": model, "lr": lr, "seed": seed}},
		State: sweep.Completed,
		Result: &sweep.Result{State: sweep.Completed, ParameterCount: 1268, Summary: map[string]float64{
			"validation_loss": loss, "test_accuracy": accuracy, "train_size": 30, "test_size": 900, "length": 128, "classes": 3, "depth": 16,
		}},
	}
}

func collect(t *testing.T, trials ...*sweep.TrialRecord) *Collection {
	t.Helper()
	c := NewCollection()
	for _, r := range trials {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func diverged(r *sweep.TrialRecord) *sweep.TrialRecord {
	r.Result.Diverged = true
	return r
}

func TestSelections(t *testing.T) {
	for name, test := range map[string]struct {
		trials       []*sweep.TrialRecord
		mean, single float64
		deviation    float64
		none         bool
	}{
		"the mean over replicates decides, the single trial is another": {
			[]*sweep.TrialRecord{
				trial("CBF", "rnn", .01, 1, .1, .5), trial("CBF", "rnn", .01, 2, .9, .6),
				trial("CBF", "rnn", .03, 1, .3, .8), trial("CBF", "rnn", .03, 2, .3, .9),
			}, .85, .5, math.Sqrt(.005), false,
		},
		"a point with a diverged replicate loses": {
			[]*sweep.TrialRecord{
				trial("CBF", "rnn", .01, 1, .1, .9), diverged(trial("CBF", "rnn", .01, 2, .1, .9)),
				trial("CBF", "rnn", .03, 1, .5, .7), trial("CBF", "rnn", .03, 2, .5, .7),
			}, .7, .9, 0, false,
		},
		"an unfinished point does not compete for the mean": {
			[]*sweep.TrialRecord{
				trial("CBF", "rnn", .01, 1, .1, .9),
				trial("CBF", "rnn", .03, 1, .5, .6), trial("CBF", "rnn", .03, 2, .5, .8),
			}, .7, .9, math.Sqrt(.02), false,
		},
		"only diverged trials": {
			[]*sweep.TrialRecord{diverged(trial("CBF", "rnn", .01, 1, .1, .9))}, 0, 0, math.NaN(), true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := collect(t, test.trials...).sets["CBF"].models["rnn"]
			mean, ok := m.figure(Mean)
			if !ok || math.Abs(mean.Accuracy-test.mean) > 1e-12 ||
				math.Abs(mean.Deviation-test.deviation) > 1e-12 || math.IsNaN(mean.Deviation) != math.IsNaN(test.deviation) {
				t.Errorf("mean %+v, want %v ± %v", mean, test.mean, test.deviation)
			}
			single, ok := m.figure(Single)
			if ok == test.none || single.Accuracy != test.single {
				t.Errorf("single %+v, want %v", single, test.single)
			}
		})
	}
}

// The order in which results arrive must not show in a digit.
func TestOrderOfArrivalDoesNotShow(t *testing.T) {
	var trials []*sweep.TrialRecord
	for seed := range int64(10) {
		trials = append(trials, trial("CBF", "rnn", .01, seed, .1*float64(seed), .7+.013*float64(seed)))
	}
	forward, _ := collect(t, trials...).sets["CBF"].models["rnn"].figure(Mean)
	for i, j := 0, len(trials)-1; i < j; i, j = i+1, j-1 {
		trials[i], trials[j] = trials[j], trials[i]
	}
	backward, _ := collect(t, trials...).sets["CBF"].models["rnn"].figure(Mean)
	if forward.Accuracy != backward.Accuracy || forward.Deviation != backward.Deviation || forward.Loss != backward.Loss {
		t.Errorf("%+v and %+v", forward, backward)
	}
}

func TestUCRTable(t *testing.T) {
	var trials []*sweep.TrialRecord
	for _, set := range []string{"ECG200", "CBF", "Gun Point", "Lightning2", "DistalPhalanxTW", "Unheard"} {
		for _, model := range []string{"spectral-rnn", "rnn", "lstm"} {
			trials = append(trials, trial(set, model, .01, 1, .1, .5), trial(set, model, .01, 2, .1, .7))
		}
	}
	trials = append(trials, trial("mnist", "rnn", .01, 1, .1, .5)) // another table's
	table := collect(t, trials...).UCR(Mean)
	var text bytes.Buffer
	if err := table.Write(&text, "text", true); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	var names []string
	for _, row := range table.Rows {
		names = append(names, row[0].Text)
	}
	want := []string{"CBF", "DistalPhalanxTW*", "ECG200†", "Gun Point", "Lighting2†", "Unheard", "mean of 3 sound rows"}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("rows %q, want %q", names, want)
	}
	for _, want := range []string{"0.600±.141", "(1268)", "0.948", "\x1b[1m", "† the published figure is the test set's majority rate", "0.640†"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if !strings.Contains(lines[2], "RNN") || strings.Index(lines[2], " LSTM") > strings.Index(lines[2], "Spectral-RNN") {
		t.Errorf("head %q", lines[2])
	}
	// Means over CBF, DistalPhalanxTW and Gun Point, of our figures and the published ones.
	last := table.Rows[len(table.Rows)-1]
	if last[5].Text != "0.600" || last[7].Text != fraction((.702+.815+.947)/3) {
		t.Errorf("means %v", last)
	}
	for _, format := range Formats {
		var out bytes.Buffer
		if err := table.Write(&out, format, false); err != nil || out.Len() == 0 || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: %v, %d bytes", format, err, out.Len())
		}
	}
	if err := table.Write(&bytes.Buffer{}, "pdf", false); err == nil {
		t.Error("an unknown format was written")
	}
}

func TestMNISTTable(t *testing.T) {
	r := trial("mnist", "spectral-rnn", .01, 1, .1, .977)
	r.Parameters["hidden"], r.Parameters["m1"], r.Parameters["m2"], r.Parameters["input_size"] = int64(128), int64(16), int64(16), int64(1)
	r.Result.Summary["length"] = 784
	c := collect(t, r, trial("permuted-mnist", "gru", .01, 1, .1, .9))
	if !c.HasMNIST() || c.HasUCR() {
		t.Error("the wrong table")
	}
	table := c.MNIST(Single)
	var text bytes.Buffer
	if err := table.Write(&text, "markdown", false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| mnist | Spectral-RNN | 784 | 128 (m1 = 16, m2 = 16) | **97.70** | 1268 | 97.7 |", "| permuted-mnist | GRU |", "FC uRNN"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// Table 4's rows as printed: names, and that artefacts are the majority rates.
func TestPublishedRows(t *testing.T) {
	if len(table4) != 21 {
		t.Fatalf("%d rows", len(table4))
	}
	for _, p := range table4 {
		equal := p.accuracy["rnn"] == p.accuracy["lstm"] && p.accuracy["rnn"] == p.accuracy["ornn"] && p.accuracy["rnn"] == p.accuracy["spectral-rnn"]
		if (p.artefact != "") != (equal && p.name != "Coffee") {
			t.Errorf("%s: artefact %q, equal figures %v", p.name, p.artefact, equal)
		}
		if p.facts.depth*p.facts.inputSize != p.facts.length {
			t.Errorf("%s: depth %d of %d inputs is not length %d", p.name, p.facts.depth, p.facts.inputSize, p.facts.length)
		}
		if canonicalSet(p.name) != p.folder || canonicalSet(p.folder) != p.folder {
			t.Errorf("%s: canonical name %s", p.name, canonicalSet(p.name))
		}
	}
}
