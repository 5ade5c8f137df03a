package web_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sweep/sweep"
)

// drawnSweep stores a sweep of a random search: lr has a logarithmic distribution, dropout and
// width have even ones, and half of the trials have each optimizer. Every tenth trial failed.
func drawnSweep(t *testing.T, results sweep.Store, id string, n int64) {
	t.Helper()
	ctx := t.Context()
	drawn := func(name string, kind sweep.DistributionKind, low, high float64) sweep.Axis {
		return sweep.Axis{Parameters: []sweep.AxisParameter{{Name: name, Values: sweep.Values{
			Distribution: &sweep.Distribution{Kind: kind, Low: low, High: high}}}}}
	}
	s := submission("drawn")
	s.Spec.Axes = []sweep.Axis{
		{Parameters: []sweep.AxisParameter{{Name: "optimizer", Values: sweep.Values{List: []any{"adam", "sgd"}}}}},
		drawn("lr", sweep.LogUniformValuesDistribution, 1e-4, 1), drawn("dropout", sweep.UniformDistribution, 0, 0.5),
	}
	if _, err := results.CreateSweep(ctx, id, s, n); err != nil {
		t.Fatal(err)
	}
	var trials []sweep.Trial
	var events []sweep.Event
	for i := range n {
		part := float64(i) / float64(n-1)
		lr, dropout := math.Pow(10, -4+4*part), 0.5*math.Mod(7*part, 1)+0.001
		trial := sweep.Trial{TrialID: sweep.TrialID{Sweep: id, Index: i}, Parameters: sweep.Parameters{
			"optimizer": []string{"adam", "sgd"}[i%2], "lr": lr, "dropout": dropout,
			// a default that follows from the optimizer
			"momentum": []float64{0, 0.9}[i%2]}}
		trial.Fingerprint = sweep.NewFingerprint("noop", "1", id, fmt.Append(nil, i))
		result := &sweep.Result{State: sweep.Completed, Digest: fmt.Sprint(i), Seconds: 1,
			Summary: map[string]float64{"loss": math.Abs(part-0.5) + 0.1, "accuracy": 0.5}}
		if i%10 == 9 {
			result = &sweep.Result{State: sweep.Failed, Error: "exit code 1", Digest: fmt.Sprint(i)}
		}
		trials = append(trials, trial)
		events = append(events, sweep.Event{Kind: sweep.EventResult, TrialID: trial.TrialID, Execution: fmt.Sprint(i),
			Worker: "w", Time: time.Now(), Result: result})
	}
	classes := map[int]sweep.Requirement{0: {Trainer: "noop", ResultVersion: "1"}}
	if _, err := results.AddTrials(ctx, id, 0, 0, trials, classes); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Record(ctx, events); err != nil {
		t.Fatal(err)
	}
}

// TestBrowserCharts holds that charts of a random search have the scales of its file, a dot for
// each trial and no cell for each value; that a default which follows is no axis; and that a range
// dragged along an axis is a filter.
func TestBrowserCharts(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	const id = "20260304-120000-abcdef"
	drawnSweep(t, f.store, id, 100)
	b := openBrowser(t, f.server.URL)
	texts := func(selector string) string {
		t.Helper()
		return evaluate[string](b, fmt.Sprintf(
			`[...document.querySelectorAll(%q)].map((x) => x.textContent.trim().replace(/\s+/g, " ")).join("|")`, selector))
	}

	b.visit("#/sweep/"+id+"/slice?parameter=lr", "Dot: a trial")
	b.until(`document.querySelectorAll("svg.chart .dot").length === 90`)
	if got := texts("svg.chart text"); !strings.Contains(got, "lr (log)") || !strings.Contains(got, "0.001|0.01|0.1") {
		t.Errorf("the axis of lr has %q", got)
	}
	b.axe("slice-dots")
	b.picture("slice-dots")
	b.visit("#/sweep/"+id+"/slice?parameter=dropout", "Dot: a trial")
	if got := texts("svg.chart text"); strings.Contains(got, "(log)") || !strings.Contains(got, "0.1|0.2|0.3") {
		t.Errorf("the axis of dropout has %q", got)
	}
	b.visit("#/sweep/"+id+"/heat?x=lr&y=dropout", "Brighter is better")
	if cells := evaluate[int](b, `document.querySelectorAll("svg.chart rect title").length`); cells != 12*12 {
		t.Errorf("%d cells", cells)
	}
	b.picture("heat-ranges")
	b.visit("#/sweep/"+id+"/heat?x=optimizer&y=dropout&metric=accuracy", "All values are 0.5.")
	if got := texts("svg.chart g > text.quiet"); got != "0.5" {
		t.Errorf("the colour bar of equal values has %q", got)
	}

	b.visit("#/sweep/"+id+"/parallel", "Click a line")
	if got := texts("svg.chart text[font-weight]"); got != "loss|optimizer|lr (log)|dropout" {
		t.Errorf("the axes are %q", got)
	}
	if drawn := evaluate[[]int](b,
		`[0, 1].map((i) => [...document.querySelectorAll("polyline.line")].filter((x) => (x.getAttribute("stroke") === "var(--idle)") === (i === 0)).length)`); fmt.Sprint(drawn) != "[91 9]" {
		t.Errorf("grey and coloured lines: %v", drawn)
	}
	axis := evaluate[[]float64](b,
		`{ const r = document.querySelector(".brush[data-axis=lr]").getBoundingClientRect(); [r.left + r.width / 2, r.top, r.height] }`)
	b.run(chromedp.DragAndDropXY(axis[0], axis[1]+0.25*axis[2], axis[0], axis[1]+0.5*axis[2]))
	b.until(`location.hash.includes("where=lr%3E%3D0.01") && location.hash.includes("where=lr%3C%3D0.1")`)
	// a quarter of a hundred, of which every tenth failed
	b.until(`document.querySelectorAll("polyline.line").length <= 26 && document.querySelectorAll("polyline.line").length >= 24`)
	b.wait("Click a line")
	b.axe("brushed")
	b.picture("parallel-brushed")
	evaluate[bool](b, `document.querySelector('svg.chart a[aria-label="Only adam"]').dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true})); true`)
	b.until(`location.hash.includes("where=optimizer%3Dadam") && document.querySelectorAll("polyline.line").length <= 13`)
	evaluate[bool](b, `document.querySelector(".brush[data-axis=lr]").dispatchEvent(new MouseEvent("dblclick", {bubbles: true})); true`)
	b.until(`!location.hash.includes("lr%3E") && document.querySelectorAll("polyline.line").length === 50`)

	// A view keeps its filter under a name, until it is removed.
	b.run(chromedp.Click(".facts summary"), chromedp.SendKeys("input[name=view]", "only adam"+kb.Enter))
	b.wait("Saved views (1)")
	b.axe("views")
	b.visit("#/sweep/"+id, "Saved views (1)")
	b.run(chromedp.Click(".facts summary"))
	evaluate[bool](b, `[...document.querySelectorAll(".facts a")].find((a) => a.textContent === "only adam").click(); true`)
	b.until(`location.hash.includes("/parallel") && location.hash.includes("where=optimizer%3Dadam")`)
	evaluate[bool](b, `document.querySelector('[aria-label="Remove the view only adam"]').click(); true`)
	b.wait("Saved views (0)")
	b.clean("charts")
}
