package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

// BenchmarkDashboard measures what a person waits for, over the real store: in a
// browser the first view of a sweep that nobody has looked at, then sorts, filters
// and groups from the click until they are painted; then the answers alone; and the
// server's memory all the while.
//
//	go test ./coordinator/web -run '^$' -bench Dashboard -benchtime 1x
//
// SWEEP_TRIALS is the number of trials, 100,000 and then 1,000,000 if it is not set.
// With SWEEP_BENCH_KEEP=FOLDER the databases are kept, and used again.
func BenchmarkDashboard(b *testing.B) {
	sizes := []int64{100_000, 1_000_000}
	if text := os.Getenv("SWEEP_TRIALS"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sizes = []int64{n}
	}
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			folder := os.Getenv("SWEEP_BENCH_KEEP")
			if folder == "" {
				folder = b.TempDir()
			}
			address := filepath.Join(folder, fmt.Sprintf("trials-%d.db", n))
			if _, err := os.Stat(address); err != nil {
				results, err := store.Open(context.Background(), address)
				if err != nil {
					b.Fatal(err)
				}
				fill(b, results, sweepID, "first", n)
				if err := results.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.Run("Browser", func(b *testing.B) { benchBrowser(b, address, n) })
			b.Run("Answers", func(b *testing.B) { benchAnswers(b, address, n) })
		})
	}
}

// rounds is how often each thing is done in the browser; the median is reported.
const rounds = 5

func benchBrowser(b *testing.B, address string, n int64) {
	page := openBrowser(b, "")
	page.stopwatch()
	const table = `document.querySelectorAll("main tbody tr").length >= 50`
	debug.FreeOSMemory()
	before, _ := memory(b)
	var f *fixture
	for _, view := range []struct{ name, address, condition string }{
		{"first-groups", "/groups", `document.querySelectorAll("main tbody tr").length >= 6`},
		{"first-curves", "/curves", `document.querySelector(".plot canvas")`},
		{"first-overview", "", `document.querySelector(".plot canvas")`},
		{"first-trials", "/trials", table},
	} {
		var times []float64
		for range rounds { // each with a server, and so an origin, that knows nothing yet
			if f != nil {
				page.run(chromedp.Navigate("about:blank"))
				f.close()
			}
			f = newFixture(b, address, false)
			page.url = f.server.URL
			page.run(chromedp.Navigate(page.url + "/#/sweep/" + sweepID + view.address))
			times = append(times, evaluate[float64](page, "painted("+strconv.Quote(view.condition)+")"))
		}
		b.ReportMetric(median(times), view.name+"-ms")
	}
	begin := time.Now()
	f.patient(url.Values{"limit": {"1"}}, new(trialsPage))
	page.until(fmt.Sprintf(`document.body.innerText.includes("%s trials match") && !document.body.innerText.includes("Reading trials")`, thousands(n)))
	b.ReportMetric(time.Since(begin).Seconds(), "then-all-read-s")
	sorted := func(column string) (do, done string) {
		button := fmt.Sprintf(`[...document.querySelectorAll("th button")].find((x) => x.title === "Sort by %s")`,
			column)
		return button + `.click()`, button + `.parentElement.ariaSort !== before`
	}
	filter := func(text string) string {
		return fmt.Sprintf(`{ const i = document.querySelector("input[name=where]"); i.value = %q; i.dispatchEvent(new Event("input", {bubbles: true})); i.dispatchEvent(new Event("change", {bubbles: true})); }`, text)
	}
	for _, column := range []string{"loss", "lr"} {
		var times []float64
		for range rounds { // one way, and the other way
			do, done := sorted(column)
			times = append(times, evaluate[float64](page,
				fmt.Sprintf(`{ const before = %s; timed(() => { %s }, () => %s); }`,
					strings.Split(done, " !==")[0], do, done)))
		}
		b.ReportMetric(median(times), "sort-"+column+"-ms")
	}
	for _, step := range []struct{ name, suffix string }{{"filter-and-sort", ""}, {"filter", ""}} {
		if step.name == "filter" {
			page.visit("#/sweep/"+sweepID+"/trials", "trials match")
		}
		var times []float64
		for i := range rounds {
			limit := fmt.Sprintf("lr<0.0%d and model=rnn", 9-i)
			times = append(times, evaluate[float64](page,
				fmt.Sprintf(`timed(() => { %s }, () => location.hash.includes(encodeURIComponent("lr<0.0%d")))`,
					filter(limit), 9-i)))
		}
		b.ReportMetric(median(times), step.name+"-ms")
	}
	for _, view := range []struct{ name, tab, condition string }{
		{"groups", "Groups",
			`document.querySelectorAll("main tbody tr").length >= 2 && document.body.innerText.includes("groups, ")`},
		{"curves", "Curves", `document.querySelector(".plot canvas")`},
		{"importance", "Importance", `document.body.innerText.includes("PED-ANOVA")`},
		{"trials", "Trials", table},
	} {
		do := fmt.Sprintf(`[...document.querySelectorAll(".tabs a")].find((x) => x.textContent === %q).click()`,
			view.tab)
		b.ReportMetric(evaluate[float64](page, fmt.Sprintf(`timed(() => { %s }, () => %s)`, do, view.condition)),
			view.name+"-ms")
	}
	debug.FreeOSMemory()
	after, most := memory(b)
	b.ReportMetric(before, "MB-before")
	b.ReportMetric(after, "MB-after")
	b.ReportMetric(most, "MB-most")
	b.ReportMetric(0, "ns/op")
}

// stopwatch gives every page painted(CONDITION), the milliseconds from the start of
// the navigation until a condition held, nothing was under way and that was on the
// screen, and timed(DO, CONDITION), those from an act on.
func (b *browser) stopwatch() {
	b.t.Helper()
	script := `{
		const frame = () => new Promise((done) => requestAnimationFrame(done));
		const shown = async (condition) => {
			for (;;) {
				try { if (condition() && !document.querySelector("[aria-busy=true]")) break; } catch { /* not there yet */ }
				await frame();
			}
			await frame();
			await frame();
			return performance.now();
		};
		window.timed = async (act, condition) => { const begin = performance.now(); act(); return await shown(condition) - begin; };
		window.painted = (condition) => shown(new Function("return " + condition));
	}`
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		b.t.Fatal(err)
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// memory returns this process's resident memory, and the most that it ever was, in
// megabytes.
func memory(b *testing.B) (now, most float64) {
	b.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("the memory of a process is not known here")
	}
	for line := range strings.Lines(string(data)) {
		var kilobytes float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kilobytes); n == 1 {
			now = kilobytes / 1000
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kilobytes); n == 1 {
			most = kilobytes / 1000
		}
	}
	return now, most
}

// benchAnswers measures what the server answers, without a browser.
func benchAnswers(b *testing.B, address string, n int64) {
	f := newFixture(b, address, false)
	get := func(values url.Values, path string) {
		b.Helper()
		response, err := http.Get(f.server.URL + "/api/sweeps/first/" + path + "?" + values.Encode())
		if err != nil {
			b.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
			b.Fatal(response.Status, err)
		}
	}
	begin := time.Now()
	get(url.Values{"column": {"model", "lr", "loss", "accuracy"}}, "trials")
	b.ReportMetric(float64(time.Since(begin).Milliseconds()), "first-page-ms")
	var all trialsPage
	f.patient(url.Values{"limit": {"1"}}, &all)
	if all.Total != n {
		b.Fatalf("%d trials", all.Total)
	}
	b.ReportMetric(time.Since(begin).Seconds(), "all-read-s")
	b.ReportMetric(0, "ns/op")
	for _, step := range []struct {
		name, path string
		values     url.Values
	}{
		{"SortByMetric", "trials", url.Values{"sort": {"loss"}, "column": {"model", "lr", "loss"}}},
		{"SortByParameter", "trials", url.Values{"sort": {"lr"}, "descending": {"1"},
			"column": {"model", "lr", "loss"}}},
		{"Filter", "trials", url.Values{"where": {"lr<0.05", "model=rnn"}, "sort": {"accuracy"}, "column": {"loss"}}},
		{"Groups", "groups", url.Values{"metric": {"loss", "accuracy"}, "sort": {"mean"}}},
		{"Heat", "slice", url.Values{"by": {"lr", "model"}, "metric": {"loss"}}},
		{"Lines", "lines", url.Values{"metric": {"loss"}, "top": {"0.1"}, "column": {"lr", "model", "loss"}}},
		{"Importance", "importance", url.Values{"metric": {"loss"}}},
		{"Curves", "curves", url.Values{"metric": {"loss"}}},
	} {
		b.Run(step.name, func(b *testing.B) {
			for b.Loop() {
				get(step.values, step.path)
			}
		})
	}
}

// patient asks until all trials have been read, which takes a while for many.
func (f *fixture) patient(values url.Values, page *trialsPage) {
	f.t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if f.try("sweeps/first/trials", values, page) {
			return
		}
	}
	f.t.Fatal("not all trials were read")
}

// BenchmarkFortyMetrics sorts a hundred thousand trials by one of forty metrics that no
// description names: the first time by a server that has read nothing, and then each sort.
//
//	go test ./coordinator/web -run '^$' -bench FortyMetrics -benchtime 20x
func BenchmarkFortyMetrics(b *testing.B) {
	const trials = 100_000
	for _, kind := range []struct{ name, address string }{
		{"SQLite", filepath.Join(b.TempDir(), "sweep.db")}, {"Postgres", postgrestest.Start(b).Database(b)},
	} {
		results, err := store.Open(context.Background(), kind.address)
		if err != nil {
			b.Fatal(err)
		}
		begin(b, results, sweepID, "first", trials, trials, func(i int64, result *sweep.Result) {
			if result.Curves = nil; result.Summary == nil {
				return
			}
			for m := range int64(40) {
				result.Summary[fmt.Sprintf("metric_%02d", m)] = float64((i+1)*(2*m+7919)%1_000_003) / 1_000_003
			}
		})
		if err := results.Close(); err != nil {
			b.Fatal(err)
		}
		sort := func(b *testing.B, f *fixture, metric int, descending string) {
			name := fmt.Sprintf("metric_%02d", metric)
			var page trialsPage
			f.patient(url.Values{"sort": {name}, "descending": {descending}, "limit": {"50"}, "column": {name}}, &page)
			if page.Total != trials || len(page.Rows) != 50 {
				b.Fatalf("%d of %d trials", len(page.Rows), page.Total)
			}
		}
		b.Run(kind.name+"/First", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f := newFixture(b, kind.address, false)
				b.StartTimer()
				sort(b, f, 37, "")
				b.StopTimer()
				f.close()
				b.StartTimer()
			}
		})
		b.Run(kind.name+"/Sort", func(b *testing.B) {
			f := newFixture(b, kind.address, false)
			sort(b, f, 37, "") // reads all trials
			for i := 0; b.Loop(); i++ {
				sort(b, f, i%40, fmt.Sprint(i/40%2))
			}
		})
	}
}
