package paper

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/paper/archive"
	"sweep/sweep/report"
	"sweep/sweep/safetensors"
)

// trial is a completed trial of a table.
func trial(set, model string, lr float64, seed int64, loss, accuracy float64) *sweep.TrialRecord {
	return &sweep.TrialRecord{
		Trial: sweep.Trial{Parameters: sweep.Parameters{"dataset": set, "model": model, "lr": lr, "seed": seed}},
		State: sweep.Completed,
		Result: &sweep.Result{State: sweep.Completed, Summary: map[string]float64{
			"validation_loss": loss, "test_accuracy": accuracy, "train_size": 30, "test_size": 900, "length": 128,
			"classes": 3, "depth": 16, sweep.ParameterCountMetric: 1268,
		}},
	}
}

// trainer describes what a diverged trial counts as.
var trainer = &sweep.Description{Metrics: []sweep.MetricSchema{
	{Name: "validation_loss", Diverged: new(20.0)}, {Name: "test_loss", Diverged: new(20.0)},
	{Name: "test_accuracy", Goal: sweep.Maximize, Diverged: new(0.0)},
}}

func collect(t *testing.T, trials ...*sweep.TrialRecord) *report.Collection {
	t.Helper()
	return collectBy(t, sweep.Select{}, trials...)
}

// collectBy collects trials that are compared by choice.
func collectBy(t *testing.T, choice sweep.Select, trials ...*sweep.TrialRecord) *report.Collection {
	t.Helper()
	f, err := frame.Read(t.Context(), listed{trials: trials}, []*sweep.SweepRecord{{ID: "s"}}, sweep.TrialQuery{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // its files have no names
	c, err := report.NewCollection(t.Context(), f, choice, trainer, Names)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// listed are the trials of a sweep.
type listed struct {
	sweep.Reader
	trials []*sweep.TrialRecord
}

// Trials implements sweep.Reader.
func (l listed) Trials(_ context.Context, _ sweep.TrialQuery, yield func(*sweep.TrialRecord) error) error {
	for i, record := range l.trials {
		one := *record
		one.TrialID = sweep.TrialID{Sweep: "s", Index: int64(i)}
		if err := yield(&one); err != nil {
			return err
		}
	}
	return nil
}

// group is the one group of a collection.
type group struct {
	t *testing.T
	c *report.Collection
}

func only(t *testing.T, c *report.Collection) group { return group{t, c} }

// figure returns what stands for the group, and of which grid point; nil if there is none.
func (g group) figure(by report.Selection) (figure report.Figure, best sweep.Parameters) {
	g.t.Helper()
	rows := g.c.Rows(by, func(string) bool { return true })
	if len(rows) != 1 || len(rows[0].Models) != 1 {
		g.t.Fatalf("%d groups", len(rows))
	}
	for _, figure := range rows[0].Figures {
		return figure, figure.Parameters
	}
	return report.Figure{}, nil
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
			m := only(t, collect(t, test.trials...))
			mean, best := m.figure(report.Mean)
			if best == nil || math.Abs(mean.Accuracy-test.mean) > 1e-12 ||
				math.Abs(mean.Deviation-test.deviation) > 1e-12 ||
				math.IsNaN(mean.Deviation) != math.IsNaN(test.deviation) {
				t.Errorf("mean %+v, want %v ± %v", mean, test.mean, test.deviation)
			}
			single, best := m.figure(report.Single)
			if (best == nil) != test.none || single.Accuracy != test.single {
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
	forward, _ := only(t, collect(t, trials...)).figure(report.Mean)
	for i, j := 0, len(trials)-1; i < j; i, j = i+1, j-1 {
		trials[i], trials[j] = trials[j], trials[i]
	}
	backward, _ := only(t, collect(t, trials...)).figure(report.Mean)
	if forward.Accuracy != backward.Accuracy || forward.Deviation != backward.Deviation ||
		forward.Loss != backward.Loss {
		t.Errorf("%+v and %+v", forward, backward)
	}
}

func TestUCRTable(t *testing.T) {
	var trials []*sweep.TrialRecord
	for _, set := range []string{"ECG200", "CBF", "Gun Point", "Lightning2", "DistalPhalanxTW", "Yoga"} {
		for _, model := range []string{"spectral-rnn", "rnn", "lstm"} {
			trials = append(trials, trial(set, model, .01, 1, .1, .5), trial(set, model, .01, 2, .1, .7))
		}
	}
	for _, r := range trials {
		set := r.Parameters["dataset"].(string)
		if p := published(canonicalSet(set)); p != nil && p.name != "DistalPhalanxTW" {
			with(r, nil, map[string]float64{"train_size": float64(p.facts.Train), "test_size": float64(p.facts.Test),
				"length": float64(p.facts.Length), "classes": float64(p.facts.Classes), "depth": float64(p.facts.Depth)})
		}
	}
	trials = append(trials, trial("mnist", "rnn", .01, 1, .1, .5)) // another table's
	table := UCR(collect(t, trials...), report.Mean)
	var text bytes.Buffer
	if err := table.Write(&text, "text", true); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	var names []string
	for _, row := range table.Rows {
		names = append(names, row[0].Text)
	}
	want := []string{"CBF", "DistalPhalanxTW*†", "ECG200‡", "Gun Point", "Lighting2‡", "Yoga", "mean of 3 sound rows",
		"mean |ours − published|"}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("rows %q, want %q", names, want)
	}
	for _, want := range []string{"0.600±.141", "(1268)", "0.948", "\x1b[1m", "‡ the published figure is the test " +
		"set's majority rate", "0.640‡", "† the paper has 154/399 series, length 80, 6 classes and depth 10"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if !strings.Contains(lines[2], "RNN") ||
		strings.Index(lines[2], " LSTM") > strings.Index(lines[2], "Spectral-RNN") {
		t.Errorf("head %q", lines[2])
	}
	// Means over CBF, DistalPhalanxTW and Gun Point, of our figures and the published ones.
	last, distance := table.Rows[len(table.Rows)-2], table.Rows[len(table.Rows)-1]
	if last[5].Text != "0.600" || last[7].Text != fraction((.702+.815+.947)/3) ||
		distance[5].Text != fraction((.102+.215+.347)/3) || distance[7].Text != "" {
		t.Errorf("means %v, distances %v", last, distance)
	}
	for _, format := range report.Formats {
		var out bytes.Buffer
		if err := table.Write(&out, format, false); err != nil || out.Len() == 0 ||
			strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: %v, %d bytes", format, err, out.Len())
		}
	}
	if err := table.Write(&bytes.Buffer{}, "pdf", false); err == nil {
		t.Error("an unknown format was written")
	}
}

// Groups with further parameters are blocks of rows, each with means of its own, and the note on the refit names those
// that have one.
func TestUCRBlocks(t *testing.T) {
	var trials []*sweep.TrialRecord
	for rule, accuracy := range map[string]float64{"final": .9, "first-smallest-error": .7} {
		for _, set := range []string{"CBF", "Coffee"} {
			r := with(trial(set, "rnn", .01, 1, .1, accuracy), sweep.Parameters{"epoch_rule": rule}, nil)
			if rule == "final" {
				r.Parameters["refit"] = .5
			}
			trials = append(trials, r)
		}
	}
	trials = append(trials, trial("CBF", "lstm", .01, 1, .1, .6), trial("Coffee", "lstm", .01, 1, .1, .6)) // no rule
	choice := sweep.Select{By: "validation_loss", Group: []string{"epoch_rule", "dataset", "model"}}
	table := UCR(collectBy(t, choice, trials...), report.Mean)
	var got []string
	for i, row := range table.Rows {
		got = append(got, fmt.Sprint(strings.TrimRight(row[0].Text, "*"), " ", row[5].Text, " ", row[8].Text, " ", table.Rules[i]))
	}
	want := []string{
		"CBF, epoch_rule=final 0.900 0.600 false", "Coffee, epoch_rule=final 0.900 0.600 false",
		"mean of 2 sound rows, epoch_rule=final 0.900 0.600 true",
		"mean |ours − published|, epoch_rule=final 0.149 0.384 false",
		"CBF, epoch_rule=first-smallest-error 0.700 0.600 true",
		"Coffee, epoch_rule=first-smallest-error 0.700 0.600 false",
		"mean of 2 sound rows, epoch_rule=first-smallest-error 0.700 0.600 true",
		"mean |ours − published|, epoch_rule=first-smallest-error 0.151 0.384 false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if last := table.Notes[len(table.Notes)-1].Text; !strings.HasPrefix(last, "epoch_rule=final: selected by") {
		t.Errorf("the note on the refit is %q", last)
	}
}

// Table 4 has all published cells, with our own beside them where there are any.
func TestTable4(t *testing.T) {
	c := collect(t, trial("CBF", "rnn", .01, 1, .1, .5), trial("Yoga", "gru", .01, 1, .1, .9))
	table := Table4(c, report.Mean)
	if len(table.Rows) != 22 || len(table.Records) != 4*21+1 {
		t.Errorf("%d rows, %d records", len(table.Rows), len(table.Records))
	}
	for i, want := range map[int]string{
		5:  "CBF 30/900 128 3 16 0.500 (1268) 0.702 (1476) 0.967 (5444) 0.881 (844) 0.948 (1268)",
		17: "InsectWingbeatSound§ 220/1980 256 11 16 0.534 (1996) 0.515 (6732) 0.598 (1364) 0.586 (1788)",
		21: "Yoga 30/900 128 3 16 0.900 (1268)",
	} {
		var cells []string
		for _, cell := range table.Rows[i] {
			if cell.Text != "" {
				cells = append(cells, cell.Text)
			}
		}
		if got := strings.Join(cells, " "); got != want {
			t.Errorf("row %d is %s, want %s", i, got, want)
		}
	}
	if r := table.Records[2]; r.Accuracy != nil || r.Loss != nil || *r.Published != .642 || *r.PublishedCount != 2426 {
		t.Errorf("50words of oRNN without results is %+v", r)
	}
}

// The published numbers of parameters are those of 32 units, a trained h(0) and c(0), and 16
// reflectors a matrix, for the paper's inputs a step and classes.
func TestPublishedCounts(t *testing.T) {
	shapes := [][2]int64{ // inputs, classes
		{10, 50}, {11, 38}, {1, 3}, {10, 6}, {16, 3}, {8, 4}, {13, 2}, {15, 13}, {8, 2}, {8, 9}, {8, 2}, {10, 6},
		{8, 3}, {1, 15}, {14, 5}, {1, 15}, {10, 3}, {16, 12}, {4, 3}, {13, 2}, {8, 2},
	}
	const n, reflectors = 32, 16*32 - 16*15/2
	for i, p := range table4 {
		inputs, classes := shapes[i][0], shapes[i][1]
		head := classes*n + classes
		for j, want := range []int64{
			n*n + n*inputs + 2*n + head, 4*(n*n+n*inputs+n) + 2*n + head,
			reflectors + n*inputs + 2*n + head, 2*reflectors + n + n*inputs + 2*n + head,
		} {
			if got := p.cells[j].count; got != want {
				t.Errorf("%s, %s: %d, want %d", p.name, table4Models[j], got, want)
			}
		}
		if got := inputs * int64(p.facts.Depth); got != int64(p.facts.Length) || int64(p.facts.Classes) > classes {
			t.Errorf("%s: %d steps of %d are not %d, or %d classes have %d columns", p.name, p.facts.Depth, inputs,
				p.facts.Length, p.facts.Classes, classes)
		}
	}
}

func TestTasksTable(t *testing.T) {
	task := func(model string, lr float64, seed int64, validation, test, parameters float64) *sweep.TrialRecord {
		r := trial("addition", model, lr, seed, validation, 0)
		delete(r.Result.Summary, "test_accuracy")
		r.Result.Summary["test_loss"], r.Result.Summary["baseline_loss"] = test, 1./6
		r.Result.Summary[sweep.ParameterCountMetric] = parameters
		return r
	}
	lost := task("irnn", .1, 1, 20, 20, 100)
	lost.Result.Diverged = true
	c := collect(t, task("lstm", .1, 1, .16, .17, 17345), task("spectral-rnn", .1, 1, .5, .001, 2193),
		task("spectral-rnn", .01, 1, .01, .02, 2193), task("spectral-rnn", .01, 2, .03, .04, 2193),
		task("spectral-rnn", .1, 2, .5, .001, 2193), lost)
	if !c.Has(isTask) || c.Has(archive.Has) {
		t.Error("the wrong table")
	}
	var text bytes.Buffer
	if err := Tasks(c, report.Mean).Write(&text, "csv", false); err != nil {
		t.Fatal(err)
	}
	if want := "addition,lstm,mean,,,1,0.16,17345,,false,0,0,128,0,0,0.17,0,\n"; !strings.Contains(text.String(), want) {
		t.Errorf("%s lacks %s", &text, want)
	}
	table := Tasks(c, report.Mean)
	var got []string
	for _, row := range table.Rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, cell.Text)
		}
		got = append(got, strings.Join(cells, "|"))
	}
	want := []string{
		"addition|Spectral-RNN|0.03±0.014|0.1667|2193|2|lr=0.01", // by validation, not by test
		"addition|LSTM|0.17|0.1667|17345|1|lr=0.1",
		"addition|IRNN|20|0.1667|100|1|lr=0.1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if single := Tasks(c, report.Single).Rows; single[0][2].Text != "0.02" || single[2][2].Text != "diverged" {
		t.Errorf("single %v", single)
	}
}

// Table 4's rows as printed: names, and that artefacts are the majority rates.
func TestPublishedRows(t *testing.T) {
	if len(table4) != 21 {
		t.Fatalf("%d rows", len(table4))
	}
	for _, p := range table4 {
		accuracy := func(i int) float64 { return p.cells[i].accuracy }
		equal := accuracy(0) == accuracy(1) && accuracy(0) == accuracy(2) && accuracy(0) == accuracy(3)
		if (p.artefact != "") != (equal && p.name != "Coffee") {
			t.Errorf("%s: artefact %q, equal figures %v", p.name, p.artefact, equal)
		}
		if canonicalSet(p.name) != p.folder || canonicalSet(p.folder) != p.folder {
			t.Errorf("%s: canonical name %s", p.name, canonicalSet(p.name))
		}
	}
}

// TestSelect: the sweep file's select decides who wins, and what competes.
func TestSelect(t *testing.T) {
	trials := func() []*sweep.TrialRecord {
		return []*sweep.TrialRecord{
			trial("CBF", "rnn", .01, 1, .1, .5), trial("CBF", "rnn", .03, 1, .3, .9),
			trial("CBF", "lstm", .01, 1, .2, .7), diverged(trial("CBF", "lstm", .03, 1, .05, .99)),
		}
	}
	for name, test := range map[string]struct {
		choice sweep.Select
		want   string // the rows: name, then the models' figures
		title  string
	}{
		"left open": {sweep.Select{}, "CBF lstm=0.7 rnn=0.5", "smallest validation loss"},
		"maximize": {sweep.Select{By: "test_accuracy", Goal: "maximize"}, "CBF lstm=0.7 rnn=0.9",
			"largest test accuracy"},
		"minimize": {sweep.Select{By: "test_accuracy", Goal: "minimize"}, "CBF lstm=0.7 rnn=0.5",
			"smallest test accuracy"},
		"all compete": {sweep.Select{Group: []string{"dataset"}, By: "test_accuracy", Goal: "maximize"}, "CBF rnn=0.9",
			"largest test accuracy"},
		"rates apart": {sweep.Select{Group: []string{"dataset", "model", "lr"}}, "CBF, lr=0.01 lstm=0.7 rnn=0.5; " +
			"CBF, lr=0.03 lstm=0 rnn=0.9", ""},
		"no such one":  {sweep.Select{By: "reward"}, "CBF lstm=0", ""}, // the diverged one alone counts
		"seeds apart":  {sweep.Select{Group: []string{"dataset", "model", "seed"}}, "CBF, seed=1 lstm=0.7 rnn=0.5", ""},
		"models alone": {sweep.Select{Group: []string{"model"}}, "CBF lstm=0.7 rnn=0.5", ""},
	} {
		t.Run(name, func(t *testing.T) {
			table := UCR(collectBy(t, test.choice, trials()...), report.Mean)
			if !strings.Contains(table.Title, test.title) {
				t.Errorf("title %q", table.Title)
			}
			figures := map[string][]string{}
			for _, r := range table.Records {
				figures[r.Dataset] = append(figures[r.Dataset], fmt.Sprintf("%s=%v", r.Model, *r.Accuracy))
			}
			var rows []string
			for _, r := range table.Rows {
				list := figures[r[0].Text]
				slices.Sort(list)
				rows = append(rows, strings.Join(append([]string{r[0].Text}, list...), " "))
			}
			if got := strings.Join(rows, "; "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// votes are the files of probabilities, by trial.
type votes map[sweep.TrialID][]byte

func (v votes) load(id sweep.TrialID) ([]byte, error) {
	if data, ok := v[id]; ok {
		return data, nil
	}
	return nil, sweep.ErrNotFound
}

// file is a trial's file: a row of probabilities for each label.
func file(t *testing.T, labels []int, rows ...[]float32) []byte {
	t.Helper()
	f := safetensors.File{Tensors: []safetensors.Tensor{
		{Name: "test", DType: safetensors.F16, Rows: len(rows), Cols: len(rows[0]),
			Data: safetensors.AppendHalf(nil, slices.Concat(rows...))},
		{Name: "test_labels", DType: safetensors.I32, Rows: len(labels), Cols: 1,
			Data: safetensors.AppendIntegers(nil, labels)},
	}}
	data, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Replicates vote with their probabilities: a sure one outvotes two that hesitate.
// The points are chosen by their mean, and who diverged has no vote.
func TestEnsembles(t *testing.T) {
	labels := []int{0, 1, 1}
	hesitant := file(t, labels, []float32{.4, .6}, []float32{.4, .6}, []float32{.6, .4}) // 1 of 3
	sure := file(t, labels, []float32{1, 0}, []float32{.3, .7}, []float32{.6, .4})       // 2 of 3
	other := file(t, labels, []float32{1, 0}, []float32{0, 1}, []float32{0, 1})          // all
	var all []*sweep.TrialRecord
	cast := votes{}
	for i, c := range []struct {
		lr       float64
		seed     int64
		loss     float64
		vote     []byte
		diverged bool
	}{
		{.01, 1, .3, hesitant, false}, {.01, 2, .3, hesitant, false}, {.01, 3, .3, sure, false},
		{.02, 1, .2, other, false}, {.02, 2, .9, other, false}, {.02, 3, .9, other, false},
		{.03, 1, .1, other, true}, {.03, 2, .1, nil, true}, {.03, 3, .1, nil, true},
		{.04, 1, .1, other, false}, // not finished
	} {
		r := trial("CBF", "rnn", c.lr, c.seed, c.loss, .5)
		r.TrialID = sweep.TrialID{Sweep: "s", Index: int64(i)}
		if r.Result.Diverged = c.diverged; c.vote != nil {
			cast[r.TrialID] = c.vote
		}
		all = append(all, r)
	}
	for text, want := range map[string]struct {
		accuracy float64
		members  int
	}{"ensemble": {2. / 3, 3}, "ensemble:2": {1, 6}, "ensemble:9": {1, 6}} {
		by, err := report.ParseSelection(text)
		if err != nil {
			t.Fatal(err)
		}
		c := collect(t, all...)
		if _, best := only(t, c).figure(by); best != nil {
			t.Errorf("%s: a figure before the vote", text)
		}
		if err := c.Vote(by, archive.Has, cast.load); err != nil {
			t.Fatal(err)
		}
		got, best := only(t, c).figure(by)
		if best == nil || best["lr"] != .01 || math.Abs(got.Accuracy-want.accuracy) > 1e-9 ||
			got.Replicates != want.members ||
			got.Count != int64(want.members)*1268 || !math.IsNaN(got.Deviation) {
			t.Errorf("%s: %+v of %v, want %v", text, got, best, want)
		}
	}
	for name, lose := range map[string]func(id sweep.TrialID) ([]byte, error){
		"artifacts: [probabilities]": func(sweep.TrialID) ([]byte, error) { return nil, sweep.ErrNotFound },
		"cut short":                  func(sweep.TrialID) ([]byte, error) { return []byte("1234"), nil },
		"other test rows": func(id sweep.TrialID) ([]byte, error) {
			if id.Index == 1 {
				return file(t, []int{0, 1, 0}, []float32{.4, .6}, []float32{.4, .6}, []float32{.6, .4}), nil
			}
			return cast.load(id)
		},
		"no tensor test_labels": func(sweep.TrialID) ([]byte, error) {
			return (&safetensors.File{Tensors: []safetensors.Tensor{{Name: "test", DType: safetensors.F16}}}).Encode()
		},
	} {
		if err := collect(t, all...).Vote("ensemble", archive.Has, lose); err == nil ||
			!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "trial s/") {
			t.Errorf("%v, want %s", err, name)
		}
	}
	for _, text := range []string{"ensemble:0", "ensemble:", "ensemble:-1", "ensembles", "ensemble:1.5", "best"} {
		if _, err := report.ParseSelection(text); err == nil {
			t.Errorf("selection %s is taken", text)
		}
	}
}
