package figure

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"sweep/coordinator/store/storetest"
	"sweep/sweep"
	"sweep/sweep/frame"
)

var update = flag.Bool("update", false, "write the digests of the figures anew")

// gridOf is a database with a sweep of three models, three rates and three seeds;
// m1 belongs to one model only, one trial diverged and one failed.
func gridOf(t *testing.T) (sweep.Store, []*sweep.SweepRecord) {
	t.Helper()
	axis := func(name string, values ...any) sweep.Axis {
		return sweep.Axis{Parameters: []sweep.AxisParameter{{Name: name, Values: sweep.Values{List: values}}}}
	}
	models, rates := []any{"rnn", "lstm", "spectral-rnn"}, []any{0.001, 0.01, 0.1}
	submission := &sweep.Submission{
		Spec: sweep.Spec{
			Name: "models & rates", Trainer: "test", Pool: "cpu", Limits: sweep.Limits{Attempts: 1, Points: 1000},
			Axes: []sweep.Axis{axis("model", models...), axis("lr", rates...), axis("m1", int64(4), int64(8)),
				axis("seed", int64(1), int64(2), int64(3))},
			Select: sweep.Select{Group: []string{"model"}, By: "validation_loss", Goal: sweep.Minimize},
		},
		Description: sweep.Description{Name: "test", Version: "1", ResultVersion: "1", Metrics: []sweep.MetricSchema{
			{Name: "validation_loss", Goal: sweep.Minimize, Unit: "nats", Curve: true, Summary: true},
			{Name: "test_accuracy", Goal: sweep.Maximize, Summary: true},
		}},
	}
	var trials []sweep.Trial
	var events []sweep.Event
	for m, model := range models {
		for r, rate := range rates {
			for seed := range int64(3) {
				i := int64(len(trials))
				id := sweep.TrialID{Sweep: "s1", Index: i}
				p := sweep.Parameters{"model": model, "lr": rate, "seed": seed + 1, "epochs": int64(40)}
				if model == "spectral-rnn" {
					p["m1"] = int64(4 << (r % 2))
				}
				trials = append(trials, sweep.Trial{TrialID: id, Parameters: p,
					Fingerprint: sweep.Fingerprint(fmt.Sprintf("%064d", i))})
				curve := sweep.Curve{Metric: "validation_loss"}
				var last float64
				for step := int64(1); step <= 40; step++ {
					last = (1 + 0.3*float64(m)) * (math.Exp(-float64(step)*(0.02+0.05*float64(r))) +
						0.05*float64(seed) + 0.01)
					curve.Steps, curve.Values = append(curve.Steps, step), append(curve.Values, float32(last))
				}
				result := &sweep.Result{
					State: sweep.Completed, Summary: map[string]float64{"validation_loss": last,
						"test_accuracy": 1 / (1 + last)},
					Curves: []sweep.Curve{curve}, Digest: "d", Seconds: 1,
				}
				switch i {
				case 0:
					result.Diverged = true
				case 9:
					result = &sweep.Result{State: sweep.Failed, Error: "no memory"}
				}
				events = append(events, sweep.Event{Kind: sweep.EventResult, TrialID: id, Execution: fmt.Sprint("e", i),
					Worker: "w", Result: result})
			}
		}
	}
	s := storetest.Open(t)
	example := storetest.Example{ID: "s1", Submission: submission, Trials: trials, Queued: len(trials), Events: events}
	example.Add(t, s)
	record, err := s.Sweep(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	return s, []*sweep.SweepRecord{record}
}

// fontData is what a picture has of its fonts.
var fontData = regexp.MustCompile(`base64,[A-Za-z0-9+/=]+`)

var textElement = regexp.MustCompile(`(?s)<text[^>]*>([^<]*)</text>`)

// Every figure is the same, byte for byte, each time it is drawn, and as it was
// when it was last looked at: go test ./sweep/figure -update, and look again. SVG has
// five digits of a number: what arm64 rounds otherwise, which fuses multiply and add,
// is beyond them.
func TestFigures(t *testing.T) {
	t.Parallel()
	s, records := gridOf(t)
	plain := Options{Groups: 8, Top: 20, Width: 14}
	with := func(change func(o *Options)) Options {
		o := plain
		change(&o)
		return o
	}
	var digests strings.Builder
	for _, c := range []struct {
		name string
		o    Options
		has  []string
	}{
		{"curves", with(func(o *Options) { o.Kind = "curves" }),
			[]string{"models &amp; rates", "validation loss / nats", "rnn, lr 0.1", "spectral-rnn, lr 0.1, m1 4",
				"epoch", "1 diverged, 1 failed", "mean ± standard deviation of 3 trials"}},
		{"curves, logarithmic", with(func(o *Options) { o.Kind, o.LogX, o.LogY, o.Title = "curves", true, true, "T" }),
			[]string{"T ", "geometric mean"}},
		{"curves, by lr", with(func(o *Options) { o.Kind, o.GroupBy = "curves", []string{"lr"} }),
			[]string{"lr 0.001", "lr 0.1", "of 7 to 9 trials"}},
		{"slice", with(func(o *Options) { o.Kind = "slice" }), []string{"lr", "25", "smallest to largest"}},
		{"slice of names", with(func(o *Options) {
			o.Kind, o.X, o.Metric, o.Groups = "slice", "model", "test_accuracy", 1
		}), []string{"test accuracy", "spectral-rnn"}},
		{"heatmap", with(func(o *Options) { o.Kind, o.LogY = "heatmap", true }),
			[]string{"model", "lr", "2 to 3 trials a cell", "nats"}},
		{"heatmap with gaps", with(func(o *Options) { o.Kind, o.X, o.Y = "heatmap", "lr", "m1" }),
			[]string{"A stroke: no trial there.", "without lr, m1 or validation loss"}},
		{"parallel", with(func(o *Options) { o.Kind = "parallel" }),
			[]string{"absent", "in colour (5)", "the smallest validation loss"}},
		{"table", with(func(o *Options) { o.Kind, o.Groups = "table", 4 }),
			[]string{"± sd", "The best 4 of 9 groups.", "–"}},
	} {
		draw := func() (svg, image []byte) {
			f, err := Draw(t.Context(), s, records, c.o)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			var a, b bytes.Buffer
			if err := f.Write(&a, "svg"); err != nil {
				t.Fatal(err)
			}
			if c.name == "curves" {
				if err := f.Write(&b, "png"); err != nil {
					t.Fatal(err)
				}
			}
			return a.Bytes(), b.Bytes()
		}
		svg, image := draw()
		again, imageAgain := draw()
		if !bytes.Equal(svg, again) || !bytes.Equal(image, imageAgain) {
			t.Errorf("%s: drawn twice it is not the same", c.name)
		}
		if len(image) > 0 {
			if config, err := png.DecodeConfig(bytes.NewReader(image)); err != nil || config.Width != 1654 ||
				config.Height != 1063 {
				t.Errorf("%s: an image of %d × %d, %v", c.name, config.Width, config.Height, err)
			}
		}
		if !bytes.Contains(svg, []byte("@font-face")) {
			t.Errorf("%s: no embedded font", c.name)
		}
		bare := fontData.ReplaceAll(svg, nil)
		decoder := xml.NewDecoder(bytes.NewReader(bare))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: no XML: %v", c.name, err)
			}
		}
		var texts []string
		for _, match := range textElement.FindAllStringSubmatch(string(bare), -1) {
			texts = append(texts, match[1])
		}
		text := strings.Join(texts, " ")
		for _, piece := range c.has {
			if !strings.Contains(text, piece) {
				t.Errorf("%s lacks %q:\n%s", c.name, piece, text)
			}
		}
		if strings.Contains(text, "NaN") || strings.Contains(string(bare), "NaN") ||
			strings.Contains(string(bare), "Inf") {
			t.Errorf("%s has a number that is none", c.name)
		}
		fmt.Fprintf(&digests, "%x  %s\n", sha256.Sum256(bare), c.name)
	}
	golden := filepath.Join("testdata", "digests.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(digests.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if digests.String() != string(want) {
		t.Errorf("figures have changed: look at them, then go test ./sweep/figure -update\n%s", digests.String())
	}
}

// A page has a panel for each value, one colour a group in all of them, and reference lines; panels without trials
// are empty, or left out.
func TestPage(t *testing.T) {
	t.Parallel()
	s, records := gridOf(t)
	page := &Page{Title: "Panels", Columns: 2, Notes: []string{"A note of the page."}, Label: strings.ToUpper,
		Panels: []Panel{
			{Options: Options{Kind: "curves", Title: "lr {lr}", GroupBy: []string{"model"}, XLabel: "minibatch",
				References: []Reference{{At: .5, Label: "half"}, {Metric: "test_accuracy", Label: "mean accuracy"}}},
				Each: []string{"lr"}},
			{Options: Options{Kind: "curves", Title: "none", Where: []sweep.TrialCondition{
				{Name: "lr", Operator: ">", Value: 1.0}}}},
			{Options: Options{Kind: "slice", Title: "a slice", X: "lr"}},
			{Options: Options{Kind: "curves", Title: "a line", Where: []sweep.TrialCondition{
				{Name: "lr", Operator: "=", Value: 0.01}, {Name: "m1", Operator: "=", Value: int64(8)}}}},
		}}
	words := func() string {
		f, err := DrawPage(t.Context(), s, records, page)
		if err != nil {
			t.Fatal(err)
		}
		var svg bytes.Buffer
		if err := f.Write(&svg, "svg"); err != nil {
			t.Fatal(err)
		}
		colours := map[string]string{}
		var texts []string
		for _, match := range textElement.FindAllStringSubmatch(svg.String(), -1) {
			texts = append(texts, match[1])
			fill := regexp.MustCompile(`fill:(#[0-9A-F]+)`).FindString(match[0])
			if before, known := colours[match[1]]; known && before != fill && (match[1] == "LSTM" || match[1] == "SPECTRAL-RNN") {
				t.Errorf("%s is %s and %s", match[1], before, fill)
			}
			colours[match[1]] = fill
		}
		return strings.Join(texts, "|")
	}
	text := words()
	for _, piece := range []string{"Panels", "lr 0.001", "lr 0.01", "lr 0.1", "none", "no completed trial", "a slice", "half",
		"mean accuracy", "minibatch", "LSTM", "SPECTRAL-RNN", "A note of the page."} {
		if !strings.Contains(text, piece) {
			t.Errorf("no %q in %s", piece, text)
		}
	}
	if _, after, _ := strings.Cut(text, "a line"); !strings.Contains(after, "SPECTRAL-RNN") {
		t.Errorf("the only line of a panel has no name: %s", after)
	}
	if page.Sparse = true; strings.Contains(words(), "no completed trial") {
		t.Error("a panel without trials is not left out")
	}
	page.Panels = page.Panels[1:2]
	if _, err := DrawPage(t.Context(), s, records, page); !errors.Is(err, ErrNothing) {
		t.Errorf("a page of nothing: %v", err)
	}
	page.Panels[0].Kind = "pie"
	if _, err := DrawPage(t.Context(), s, records, page); err == nil || !strings.Contains(err.Error(), `panel "none"`) {
		t.Errorf("a panel of no kind: %v", err)
	}
}

// The lines of a page are named by their groups alone; which grid points they are, and what else is said of some
// panels, stands in the notes once.
func TestPageNamesGroups(t *testing.T) {
	t.Parallel()
	s, records := gridOf(t)
	below := []sweep.TrialCondition{{Name: "lr", Operator: "<", Value: 0.05}}
	f, err := DrawPage(t.Context(), s, records, &Page{Panels: []Panel{
		{Options: Options{Kind: "curves", Title: "a", Where: below}},
		{Options: Options{Kind: "curves", Title: "b", Where: below}},
		{Options: Options{Kind: "curves", Title: "c"}},
		{Options: Options{Kind: "curves", Title: "d", LogY: true}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(f.notes, "\n")
	const want = "Line and band: mean ± standard deviation of 3 trials.\n" +
		"Line and band: geometric mean ×÷ standard deviation of 3 trials.\n" +
		"Each line is the grid point with the best mean validation loss of its group.\n" +
		"Not drawn: 1 diverged, 1 failed.\n" +
		"a, b – rnn lr 0.01; lstm lr 0.01; spectral-rnn lr 0.01, m1 8.\n" +
		"c, d – rnn lr 0.1; lstm lr 0.1; spectral-rnn lr 0.1, m1 4."
	if notes != want {
		t.Errorf("got %s\nwant %s", notes, want)
	}
}

// A label of the y axis that is longer than the axis stands above it, whole.
func TestLongLabel(t *testing.T) {
	t.Parallel()
	s, records := gridOf(t)
	const label = "mean cross entropy of the completions / nats per character"
	for _, height := range []float64{4, 12} {
		f, err := Draw(t.Context(), s, records, Options{Kind: "curves", YLabel: label, Groups: 8, Top: 20, Height: height, Width: 12})
		if err != nil {
			t.Fatal(err)
		}
		var svg bytes.Buffer
		if err := f.Write(&svg, "svg"); err != nil {
			t.Fatal(err)
		}
		if isBeside := bytes.Contains(svg.Bytes(), []byte("rotate(")); !bytes.Contains(svg.Bytes(), []byte(label)) ||
			isBeside != (height == 12) {
			t.Errorf("%g cm: beside the axis %v\n%s", height, isBeside, textElement.FindAllString(svg.String(), -1))
		}
	}
}

// A caption says of each trial that is not drawn why.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	var d data
	for state := range d.counts {
		if s := frame.State(state); s != frame.None && s != frame.Diverged && s != frame.Completed {
			d.counts[state] = 1
		}
	}
	var f Figure
	f.noteLeftOut(&d, 0, "loss")
	want := "Not drawn: 1 failed, 1 stopped early, 1 skipped, 1 cancelled, 3 not ended."
	if len(f.notes) != 1 || f.notes[0] != want {
		t.Errorf("%q, want %q", f.notes, want)
	}
}

// A caption says that nobody knows which values of a metric are better.
func TestNoGoal(t *testing.T) {
	t.Parallel()
	d := data{choice: sweep.Select{By: "loss", Goal: sweep.Minimize}, descriptions: []*sweep.Description{{
		Metrics: []sweep.MetricSchema{{Name: "accuracy", Goal: sweep.Maximize}, {Name: "norm"}},
	}}}
	for metric, unknown := range map[string]bool{"loss": false, "accuracy": false, "norm": true, "reward": true} {
		var f Figure
		if d.noteGoal(&f, metric); unknown != (len(f.notes) == 1) {
			t.Errorf("%s: %q", metric, f.notes)
		}
	}
}

func TestFiguresRefuse(t *testing.T) {
	t.Parallel()
	s, records := gridOf(t)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Kind: "pie"}, "expected one of curves"},
		{Options{Kind: "curves", X: "lr"}, `x "lr" is no metric of trainer test`},
		{Options{Kind: "curves", X: "test_accuracy"}, `no curve "validation_loss" with points of "test_accuracy"`},
		{Options{Kind: "parallel", X: "lr"}, "x means nothing to the figure parallel"},
		{Options{Kind: "table", LogY: true}, "log-y means nothing"},
		{Options{Kind: "parallel", GroupBy: []string{"lr"}}, "group-by means nothing"},
		{Options{Kind: "slice", X: "rate"}, `no parameter "rate": those in which they differ are model, lr, m1`},
		{Options{Kind: "slice", Metric: "loss"}, "there are test_accuracy, validation_loss"},
		{Options{Kind: "curves", Metric: "loss"}, `no curve "loss"`},
		{Options{Kind: "heatmap", X: "lr", Y: "lr"}, "over itself"},
		{Options{Kind: "table", Where: []sweep.TrialCondition{{Name: "lr", Operator: ">", Value: 1.0}}},
			"no trial of models & rates has completed"},
		{Options{Kind: "table", Width: 1000}, "1000 × 0 cm"},
	} {
		if c.o.Width == 0 {
			c.o.Width = 14
		}
		c.o.Groups, c.o.Top = 8, 10
		if _, err := Draw(t.Context(), s, records, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// Means are of the curves that have a place there, with straight lines between
// their points, so that curves with other steps can be averaged.
func TestAveraged(t *testing.T) {
	l := averaged([]points{
		{xs: []float64{1, 2, 3}, ys: []float64{1, 2, 3}},
		{xs: []float64{1, 3, 4}, ys: []float64{3, 7, math.NaN()}},
	}, false, false)
	want := line{x: []float64{1, 2, 3}, mean: []float64{2, 3.5, 5}}
	for i := range want.x {
		if l.x[i] != want.x[i] || math.Abs(l.mean[i]-want.mean[i]) > 1e-12 {
			t.Errorf("at %g: mean %g, want %g", l.x[i], l.mean[i], want.mean[i])
		}
	}
	if len(l.x) != 3 || l.replicates != 2 || math.Abs(l.high[0]-2-math.Sqrt2) > 1e-12 ||
		math.Abs(l.low[0]-2+math.Sqrt2) > 1e-12 {
		t.Errorf("%+v", l)
	}
	log := averaged([]points{{xs: []float64{0, 1}, ys: []float64{1, 1}},
		{xs: []float64{1}, ys: []float64{100}}, {xs: []float64{1}, ys: []float64{0}}}, true, true)
	if len(log.x) != 1 || math.Abs(log.mean[0]-10) > 1e-9 {
		t.Errorf("geometric mean %+v, want 10 at 1", log)
	}
}

// Labels keep their distance and order, and stay where they were where there is room.
func TestSpread(t *testing.T) {
	for _, c := range []struct{ places, want []vg.Length }{
		{[]vg.Length{10, 50, 90}, []vg.Length{10, 50, 90}},
		{[]vg.Length{50, 50, 50}, []vg.Length{40, 50, 60}},
		{[]vg.Length{0, 1, 2}, []vg.Length{0, 10, 20}},
		{[]vg.Length{99, 100}, []vg.Length{90, 100}},
		{[]vg.Length{20, 24, 27, 80}, []vg.Length{13.667, 23.667, 33.667, 80}},
	} {
		got := append([]vg.Length(nil), c.places...)
		spread(got, 10, 0, 100)
		for i := range got {
			if math.Abs(float64(got[i]-c.want[i])) > 0.01 {
				t.Errorf("%v: %v, want %v", c.places, got, c.want)
				break
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		log       bool
		want      string
	}{
		{0, 1, false, "0 0.2 0.4 0.6 0.8 1"},
		{-0.3, 0.3, false, "−0.3 −0.2 −0.1 0 0.1 0.2 0.3"},
		{1, 120, false, "20 40 60 80 100 120"},
		{1e-6, 1, true, "1e−6 1e−5 1e−4 0.001 0.01 0.1 1"},
		{0.5, 30, true, "0.5 1 2 5 10 20"},
		{2, 3, true, "2 2.2 2.4 2.6 2.8 3"},
		{1e7, 2e7, false, "1e7 1.2e7 1.4e7 1.6e7 1.8e7 2e7"},
	} {
		var labels []string
		for _, tick := range (scale{low: c.low, high: c.high, log: c.log}).Ticks(c.low, c.high) {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

// A line's name in its panel has as many parts as tell it apart.
func TestShortest(t *testing.T) {
	t.Parallel()
	labels := [][]string{{"mlp", "layers 30"}, {"resnet", "layers 31"}, {"spectral", "r 1", "a"}, {"spectral", "r 2", "a"},
		{"spectral"}, {"same"}, {"same"}}
	for i, want := range []string{"mlp", "resnet", "spectral, r 1", "spectral, r 2", "spectral", "same", "same"} {
		if got := strings.Join(shortest(labels, i), ", "); got != want {
			t.Errorf("%v is named %s, want %s", labels[i], got, want)
		}
	}
}

// Labels of a horizontal axis have room beside each other.
func TestFittedTicks(t *testing.T) {
	t.Parallel()
	style := letters(tickSize, ink, text.XLeft, text.YCenter)
	gap := style.Font.Size / 4
	for _, s := range []scale{{low: 0, high: 1000}, {low: 3, high: 52}, {low: -1e-7, high: 3e-7}, {low: 0, high: 99999},
		{low: 100, high: 20000}, {low: 0.3, high: 0.9},
		{low: 1e-6, high: 1e4, log: true}, {low: 0.9, high: 80, log: true}, {low: 1, high: 9, log: true}} {
		for width := vg.Length(60); width < 400; width += 20 {
			end, labels := vg.Length(-math.MaxFloat64), 0
			for _, tick := range s.fitted(width, style).Ticks(s.low, s.high) {
				at, half := vg.Length(unit(s, tick.Value))*width, style.Width(tick.Label)/2
				if tick.Label == "" {
					continue
				}
				if labels++; at-half < end+gap {
					t.Errorf("%v of %.0f points: %s touches the label before it", s, width, tick.Label)
				}
				end = at + half
			}
			if labels == 0 {
				t.Errorf("%v of %.0f points has no label", s, width)
			}
		}
	}
}
