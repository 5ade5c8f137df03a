package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sweep/coordinator"
	"sweep/coordinator/web"
	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/figure"
	"sweep/sweep/paper"
	"sweep/sweep/safetensors"
)

const (
	paperID  = "20260401-120000-abcdef"
	presetID = "20260402-120000-abcdef"
)

// papers stores a sweep that has rows for a table of the papers.
func (f *fixture) papers() { f.experiment(paperID, "papers") }

// experiment stores a sweep of two models at two rates with three seeds each. Of the trials
// of a group two are wrong about one row of four, each about another, and so all three
// together about none.
func (f *fixture) experiment(id, name string) {
	f.t.Helper()
	ctx := f.t.Context()
	must := func(err error) {
		f.t.Helper()
		if err != nil {
			f.t.Fatal(err)
		}
	}
	s := submission(name)
	list := func(name string, values ...any) sweep.Axis {
		return sweep.Axis{Parameters: []sweep.AxisParameter{{Name: name, Values: sweep.Values{List: values}}}}
	}
	s.Spec.Axes = []sweep.Axis{list("model", "rnn", "spectral-rnn"), list("lr", 0.1, 0.01),
		list("seed", int64(1), int64(2), int64(3))}
	s.Spec.Select = sweep.Select{By: "validation_loss", Goal: sweep.Minimize, Group: []string{"dataset", "model"}}
	s.Description.Parameters = append(s.Description.Parameters,
		sweep.ParameterSchema{Name: "dataset", Type: sweep.StringType},
		sweep.ParameterSchema{Name: "top", Type: sweep.StringType})
	s.Description.Metrics = []sweep.MetricSchema{{Name: "validation_loss", Goal: sweep.Minimize, Curve: true,
		Summary: true}, {Name: "test_accuracy", Goal: sweep.Maximize, Summary: true}}
	_, err := f.store.CreateSweep(ctx, id, s, 12)
	must(err)
	var trials []sweep.Trial
	var events []sweep.Event
	for i := range int64(12) {
		model, lr, seed := []string{"rnn", "spectral-rnn"}[i/6], []float64{0.1, 0.01}[i/3%2], i%3+1
		trial := sweep.Trial{TrialID: sweep.TrialID{Sweep: id, Index: i},
			Parameters: sweep.Parameters{"dataset": "generated-cbf", "model": model, "lr": lr, "seed": seed,
				"top": "none"}}
		trial.Fingerprint = sweep.NewFingerprint("noop", "1", id, fmt.Append(nil, i))
		right := []float32{0.1, 0.9, 0.2, 0.8, 0.9, 0.1, 0.8, 0.2}
		if wrong := seed; wrong < 3 {
			right[2*wrong], right[2*wrong+1] = 0.55, 0.45
			if wrong == 2 {
				right[4], right[5] = 0.45, 0.55
			}
		}
		file := safetensors.File{Tensors: []safetensors.Tensor{
			{Name: "test", DType: safetensors.F16, Rows: 4, Cols: 2, Data: safetensors.AppendHalf(nil, right)},
			{Name: "test_labels", DType: safetensors.I32, Rows: 4, Cols: 1,
				Data: safetensors.AppendIntegers(nil, []int{1, 1, 0, 0})},
		}}
		data, err := file.Encode()
		must(err)
		record := artifacttest.Record(trial.TrialID, data)
		record.Name = "probabilities"
		result := &sweep.Result{
			State: sweep.Completed, Summary: map[string]float64{"validation_loss": lr + float64(seed)/100 +
				float64(i/6)/10, "test_accuracy": 0.75, "classes": 2, "test_size": 4, sweep.ParameterCountMetric: 100},
			Seconds: 1, Digest: fmt.Sprint(i), Error: "half of it was read",
			Artifacts: []sweep.Artifact{record.Artifact}, Curves: []sweep.Curve{{Metric: "validation_loss"}},
		}
		for step := range int64(20) {
			c := &result.Curves[0]
			c.Steps, c.Values = append(c.Steps, step+1),
				append(c.Values, float32(result.Summary["validation_loss"])+1/float32(step+1))
		}
		must(f.artifacts.Write(ctx, sweep.ArtifactLocation("cpu", trial.TrialID, record.Digest),
			io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))))
		trials = append(trials, trial)
		at := time.Date(2026, 4, 1, 12, 0, int(i), 0, time.UTC)
		events = append(events, sweep.Event{Kind: sweep.EventStarted, TrialID: trial.TrialID,
			Execution: fmt.Sprint("x", i), Worker: "node1", Time: at},
			sweep.Event{Kind: sweep.EventResult, TrialID: trial.TrialID, Execution: fmt.Sprint("x", i), Worker: "node1",
				Time: at.Add(time.Second), Result: result})
	}
	_, err = f.store.AddTrials(ctx, id, 0, 0, trials,
		map[int]sweep.Requirement{0: {Trainer: "noop", ResultVersion: "1"}})
	must(err)
	_, err = f.store.Record(ctx, events)
	must(err)
}

// answered is what came of a request besides its body.
type answered struct {
	Status     string
	StatusCode int
	Header     http.Header
}

// ask returns an answer as it comes.
func (f *fixture) ask(address string) (answered, []byte) {
	f.t.Helper()
	response, err := http.Get(address)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answered{response.Status, response.StatusCode, response.Header}, data
}

// A figure of the dashboard is the one that "sweep figure" writes, byte for byte.
func TestFigures(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		f.papers()
		record, err := f.store.Sweep(t.Context(), "papers")
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range figure.Kinds {
			if testing.Short() && kind != "curves" { // they are drawn one after the other
				continue
			}
			options := figure.Options{Kind: kind, Groups: 8, Top: 10, Width: 14}
			if kind == "table" {
				options.Groups = 40
			}
			drawn, err := figure.Draw(t.Context(), f.store, []*sweep.SweepRecord{record}, options)
			if err != nil {
				t.Fatal(kind, err)
			}
			for _, format := range figure.Formats {
				var want bytes.Buffer
				if err := drawn.Write(&want, format); err != nil {
					t.Fatal(err)
				}
				response, got := f.ask(f.server.URL + "/api/figures/" + kind + "?sweep=papers&format=" + format)
				if response.StatusCode != http.StatusOK || !bytes.Equal(got, want.Bytes()) {
					t.Errorf("%s as %s: %s, %d bytes of %d", kind, format, response.Status, len(got), want.Len())
				}
				if name := response.Header.Get("Content-Disposition"); name != "attachment; filename=papers-"+kind+"."+format {
					t.Errorf("its name is %s", name)
				}
				if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox") ||
					response.Header.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("its policy is %s", policy)
				}
			}
		}
		for query, status := range map[string]int{
			"curves?sweep=papers&group-by=lr&log-y=1&metric=validation_loss": 200,
			"slice?sweep=papers&x=lr&log-x=1&where=model%3Drnn":              200,
			"heatmap?sweep=papers&x=lr&y=model":                              200, "parallel?sweep=papers&top=50": 200,
			"curves?sweep=papers&sweep=papers": 200,
			"pie?sweep=papers":                 404, "curves": 400, "curves?sweep=none": 404,
			"curves?sweep=papers&x=lr":   400,
			"curves?sweep=papers&top=50": 400,
			"slice?sweep=papers&x=none":  400, "heatmap?sweep=papers&x=lr&y=lr": 400,
			"curves?sweep=papers&metric=none": 404, "curves?sweep=papers&format=pdf": 400,
			// without a token
			"curves?sweep=papers&format=png&width=100&height=100": 401, "table?sweep=papers&format=png&width=100&height=100": 401,
			"curves?sweep=papers&format=svg&width=100&height=100": 200, "curves?sweep=papers&format=png&width=15&height=15": 200,
			"curves?sweep=papers&groups=x": 400, "curves?sweep=papers&groups=0": 400,
			"curves?sweep=papers&width=1e9": 400, "curves?sweep=papers&where=x": 400,
			"curves?sweep=papers&groups=99999999999999999999": 400, "slice?sweep=papers&x=lr&where=model%3Dnone": 404,
		} {
			if response, answer := f.ask(f.server.URL + "/api/figures/" + query); response.StatusCode != status {
				t.Errorf("%s: %s, want %d: %.200s", query, response.Status, status, answer)
			}
		}
		secret, err := f.tokens.Create("screen", true, 0)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), "GET",
			f.server.URL+"/api/figures/curves?sweep=papers&format=png&width=31&height=30", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("a large picture with a token: %s", response.Status)
		}
		if _, err := f.store.CreateSweep(t.Context(), "20260501-120000-abcdef", submission("huge"),
			1_000_000); err != nil {
			t.Fatal(err)
		}
		if response, answer := f.ask(f.server.URL + "/api/figures/curves?sweep=huge"); response.StatusCode != 400 ||
			!strings.Contains(string(answer), "of up to 100000 trials") {
			t.Errorf("%s %s", response.Status, answer)
		}
	})
}

// The dashboard shows the tables and figures of the presets of which there are sweeps: those that "sweep table"
// prints in all formats, and "sweep figure" draws.
func TestPresets(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	f.papers()
	const none = `{"presets":[]}`
	if _, answer := f.ask(f.server.URL + "/api/presets"); string(answer) != none {
		t.Errorf("%s, want %s", answer, none)
	}
	f.experiment(presetID, "autocomplete-quick")
	p, err := paper.FindPreset("autocomplete")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"presets":[{"name":"autocomplete","title":%q,"table":true,"figure":true,"selects":false,`+
		`"sweeps":[%q]}]}`, p.Result.Title, presetID)
	if _, answer := f.ask(f.server.URL + "/api/presets"); string(answer) != want {
		t.Errorf("%s, want %s", answer, want)
	}

	request, err := paper.ParseRequest("autocomplete", "")
	if err != nil {
		t.Fatal(err)
	}
	table, _, err := request.Gather(t.Context(), f.store, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(fmt.Sprint(table.Notes), "generated-cbf: half of it was read."); n != 1 {
		t.Errorf("what the results note is %d times below the table: %v", n, table.Notes)
	}
	for format, name := range map[string]string{"text": "autocomplete.txt", "markdown": "autocomplete.md",
		"latex": "autocomplete.tex", "csv": "autocomplete.csv", "json": "autocomplete.json"} {
		var want bytes.Buffer
		if err := table.Write(&want, format, false); err != nil {
			t.Fatal(err)
		}
		response, got := f.ask(f.server.URL + "/api/tables/autocomplete?format=" + format)
		if response.StatusCode != http.StatusOK || !bytes.Equal(got, want.Bytes()) ||
			response.Header.Get("Content-Disposition") != "attachment; filename="+name {
			t.Errorf("%s: %s, %s, %s", format, response.Status, response.Header.Get("Content-Disposition"), got)
		}
	}
	record, err := f.store.Sweep(t.Context(), presetID)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := p.Draw(t.Context(), f.store, []*sweep.SweepRecord{record})
	if err != nil {
		t.Fatal(err)
	}
	var svg bytes.Buffer
	if err := drawn.Write(&svg, "svg"); err != nil {
		t.Fatal(err)
	}
	response, got := f.ask(f.server.URL + "/api/figures/autocomplete?sweep=" + presetID)
	if response.StatusCode != http.StatusOK || !bytes.Equal(got, svg.Bytes()) ||
		response.Header.Get("Content-Disposition") != "attachment; filename=autocomplete.svg" {
		t.Errorf("%s, %s, %d bytes of %d", response.Status, response.Header.Get("Content-Disposition"), len(got), svg.Len())
	}
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"tables/autocomplete?format=pdf":                           {400, "expected one of text"},
		"tables/autocomplete?select=single":                        {400, "no selection"},
		"tables/tasks?format=csv":                                  {404, "no completed trial"},
		"figures/autocomplete":                                     {400, "sweep=ID"},
		"figures/autocomplete?metric=x&sweep=" + presetID:          {400, "metric does not apply"},
		"figures/sgornn-table3?sweep=" + presetID:                  {404, "no figure"},
		"figures/gradients-fig4?sweep=" + presetID + "&format=png": {404, "gradients-fig4"},
	} {
		if response, answer := f.ask(f.server.URL + "/api/" + path); response.StatusCode != want.status ||
			!strings.Contains(string(answer), want.says) {
			t.Errorf("%s: %s %s", path, response.Status, answer)
		}
	}
}

// held has who reads an artifact wait until free is closed; wanted is closed when
// somebody does.
type held struct {
	web.Artifacts
	once         *sync.Once
	wanted, free chan struct{}
}

func (h held) Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
	out io.Writer) (*sweep.ArtifactRecord, error) {
	h.once.Do(func() { close(h.wanted) })
	select {
	case <-h.free:
		return h.Artifacts.Artifact(ctx, id, name, from, out)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hold serves the fixture's store by a dashboard whose artifacts wait.
func (f *fixture) hold() (held, *httptest.Server) {
	f.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	c := coordinator.New(coordinator.Options{Store: f.store, Artifacts: artifact.New(f.artifacts, quiet),
		Logger: quiet})
	h := held{c, &sync.Once{}, make(chan struct{}), make(chan struct{})}
	served := web.New(web.Options{Store: f.store, Artifacts: h, Dir: f.t.TempDir(), Logger: quiet})
	server := httptest.NewServer(served)
	f.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := served.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return h, server
}

// Replicates vote in the dashboard's tables as in those of "sweep table"; while their
// votes are counted everything else is answered.
func TestEnsembleTables(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	f.papers()
	h, server := f.hold()
	type tables struct {
		Table struct {
			Title string
			Rows  [][]struct{ Text string }
		}
	}
	var counted tables
	var counting sync.WaitGroup
	counting.Go(func() {
		response, err := http.Get(server.URL + "/api/tables/ucr?select=ensemble:2")
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&counted); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s %v", response.Status, err)
		}
	})
	<-h.wanted
	others := []string{"sweeps", "tables/ucr", "tables/ucr?select=single", "figures/curves?sweep=papers",
		"figures/slice?sweep=papers&x=lr", "compare?sweep=papers&metric=validation_loss"}
	for range 3 {
		others = append(others, "sweeps/papers/trials", "sweeps/papers/groups?metric=validation_loss",
			"sweeps/first/trials/3")
	}
	for _, path := range others {
		if response, answer := f.ask(server.URL + "/api/" + path); response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", path, response.Status, answer)
		}
	}
	close(h.free)
	counting.Wait()
	texts := func(got tables) (list []string) {
		for _, row := range got.Table.Rows {
			for _, cell := range row {
				list = append(list, cell.Text)
			}
		}
		return list
	}
	var single tables
	f.get("tables/ucr", url.Values{}, &single)
	if got := texts(counted); !strings.Contains(counted.Table.Title, "class probabilities") ||
		!slices.Contains(got, "1.000") {
		t.Errorf("%s: %q", counted.Table.Title, got)
	}
	if got := texts(single); slices.Contains(got, "1.000") {
		t.Errorf("without votes: %q", got)
	}
	for query, want := range map[string]struct {
		status int
		says   string
	}{
		"tasks?select=ensemble":            {200, `"table":null`},
		"ucr?select=ensemble:0":            {400, "expected mean, single"},
		"pie":                              {404, "no table"},
		"ucr?select=ensemble&sweep=papers": {410, "it is lost in"},
	} {
		if strings.Contains(query, "papers") { // without their bytes
			if err := f.artifacts.Remove(t.Context(), sweep.ArtifactPrefix("cpu", paperID), func(string) bool {
				return false
			}); err != nil {
				t.Fatal(err)
			}
		}
		if response, answer := f.ask(f.server.URL + "/api/tables/" + query); response.StatusCode != want.status ||
			!strings.Contains(string(answer), want.says) {
			t.Errorf("%s: %s %s", query, response.Status, answer)
		}
	}
}

// TestBrowserTables holds that tables, votes and figures are shown, that the page says
// when votes are being counted, and that axe-core finds nothing.
func TestBrowserTables(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	f.papers()
	h, server := f.hold()
	b := openBrowser(t, server.URL)
	b.visit("#/tables", "Download as SVG")
	b.until(`document.querySelector(".figure img").naturalWidth > 300`)
	evaluate[bool](b,
		`{ const s = [...document.querySelectorAll("select")].find((x) => [...x.options].some((o) => o.value === "ensemble")); s.value = "ensemble"; s.dispatchEvent(new Event("change", {bubbles: true})); true }`)
	b.wait("Counting votes")
	b.axe("counting")
	close(h.free)
	b.wait("Counted at")
	b.wait("1.000")
	if !evaluate[bool](b, `location.hash.includes("select=ensemble")`) {
		t.Error("the view is not in the address")
	}
	for _, kind := range figure.Kinds {
		b.visit("#/tables?select=ensemble&figure="+kind, "Counted at")
		b.until(`document.querySelector(".figure img") && document.querySelector(".figure img").naturalWidth > 300`)
		for _, dark := range []bool{false, true} {
			b.dark(dark)
			b.axe("figure " + kind)
			b.picture("figure-" + kind + map[bool]string{true: "-dark", false: ""}[dark])
		}
		// The link has the very file.
		_, want := f.ask(server.URL + "/api/figures/" + kind + "?sweep=" + paperID)
		if got := evaluate[string](b,
			`decodeURIComponent([...document.querySelectorAll("a[download]")].find((x) => x.innerText === "Download as SVG").href.split(",").slice(1).join(","))`); got != string(want) {
			t.Errorf("%s: another file of %d bytes, not %d", kind, len(got), len(want))
		}
		b.clean("figure " + kind)
	}
	b.visit("#/tables?figure=curves&metric=nothing", "nothing to draw")
	b.axe("no figure")
	b.said()

	f.experiment(presetID, "autocomplete-quick")
	b.visit("#/tables?kind=autocomplete", "Download as CSV")
	b.until(`document.querySelector(".figure img") && document.querySelector(".figure img").naturalWidth > 300`)
	if text := evaluate[string](b, "document.body.innerText"); !strings.Contains(text, "13.9 M") ||
		!strings.Contains(text, "Its figures are not for comparison") ||
		!strings.Contains(text, "sweep figure autocomplete "+presetID+" -o autocomplete.svg") {
		t.Errorf("the preset is shown as\n%s", text)
	}
	for _, dark := range []bool{false, true} {
		b.dark(dark)
		b.axe("preset")
		b.picture("preset" + map[bool]string{true: "-dark", false: ""}[dark])
	}
	b.clean("preset")
	b.said()
}
