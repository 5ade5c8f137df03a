package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sweep/coordinator/store"
	"sweep/coordinator/store/database"
	"sweep/coordinator/web"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// patience is how long a page may take on a machine that does much else.
const patience = sweeptest.Patience

// browser is a page of a real browser, without a window.
type browser struct {
	t   testing.TB
	ctx context.Context
	url string

	mu       sync.Mutex
	problems []string
	// looked holds the views at which axe-core has looked.
	looked map[string]bool
}

// openBrowser starts Debian's chromium, whose absence is said aloud.
func openBrowser(t testing.TB, url string) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("LEFT OUT: no chromium: .ci/install gets it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.WindowSize(wide, high), chromedp.Env(fonts(t)), chromedp.Flag("disable-lcd-text", true),
		chromedp.Flag("font-render-hinting", "none"),
		// One process draws all pages, and another one shows them: each visit would start a new one.
		chromedp.Flag("renderer-process-limit", "1"), chromedp.Flag("disable-site-isolation-trials", true),
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,IsolateOrigins,site-per-process,"+
			"ProactivelySwapBrowsingInstance,SpareRendererForSitePerProcess"),
		chromedp.Flag("in-process-gpu", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("no-zygote", true))
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, cancelBrowser := chromedp.NewContext(allocator)
	b := &browser{t: t, ctx: ctx, url: url, looked: map[string]bool{}}
	// the browser lives as long as this context
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion",
		Value: "reduce"}, {Name: "prefers-color-scheme", Value: "light"}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	b.freeze()
	messages := chromedp.Console(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			// What breaks the page's own policy is told here; that a request was refused the pages show.
			if m.Type != chromedp.ConsoleError && m.Type != chromedp.ConsoleException ||
				strings.Contains(m.Text, "status of 4") {
				continue
			}
			b.mu.Lock()
			b.problems = append(b.problems, m.String()+" "+m.URL)
			b.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // which removes the folder of its files, however late its processes end
		cancelBrowser()
		cancel()
		reading.Wait()
	})
	return b
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%v; the page said %q", err, b.said())
	}
}

// evaluate runs a script in the page; the value of a promise is waited for.
func evaluate[T any](b *browser, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v; the page said %q", err, b.said())
	}
	return value
}

// until waits until a condition holds in the page.
func (b *browser) until(condition string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !evaluate[bool](b, "!!("+condition+")"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("it never was that %s; the page said %q and shows:\n%.3000s", condition, b.said(),
				evaluate[string](b, "document.body.innerText"))
		}
	}
}

// filter types a filter by the keyboard alone.
func (b *browser) filter(text string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent("/"))
	b.until(`document.activeElement.name === "where"`)
	sweeptest.Until(b.t, "the filter to be typed", func() bool {
		// The key was sent in two parts, of which the page stops one. The other may come now.
		evaluate[bool](b, `document.activeElement.value = ""; true`)
		b.run(chromedp.KeyEvent(text))
		return evaluate[string](b, "document.activeElement.value") == text
	})
	b.run(chromedp.KeyEvent(kb.Enter))
}

func (b *browser) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.problems
	b.problems = nil
	return list
}

// visit opens a view and waits for a text of it.
func (b *browser) visit(view, text string) {
	b.t.Helper()
	b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(b.url+"/"+view))
	b.wait(text)
}

// wait waits until the page shows a text, and nothing is under way.
func (b *browser) wait(text string) {
	b.t.Helper()
	wanted, _ := json.Marshal(text)
	b.until(`document.body && document.body.innerText.includes(` + string(wanted) +
		`) && !document.querySelector("[aria-busy=true]")`)
}

// clean holds that the page has said nothing wrong.
func (b *browser) clean(view string) {
	b.t.Helper()
	if said := b.said(); len(said) > 0 {
		b.t.Errorf("%s: the page says %q", view, said)
	}
}

// axe has axe-core look at the page as it stands. A view that it has seen before is
// there in the other scheme, which has other colours and nothing else of its own.
func (b *browser) axe(view string) {
	b.t.Helper()
	options := `{resultTypes: ["violations"]}`
	if b.looked[view] {
		options = `{resultTypes: ["violations"], runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}}`
	}
	b.looked[view] = true
	type violation struct {
		ID    string `json:"id"`
		Help  string `json:"help"`
		Nodes []struct {
			HTML           string `json:"html"`
			FailureSummary string `json:"failureSummary"`
		} `json:"nodes"`
	}
	if !evaluate[bool](b, "!!window.axe") {
		script, err := os.ReadFile("testdata/axe.min.js")
		if err != nil {
			b.t.Fatal(err)
		}
		evaluate[int](b, string(script)+";0")
	}
	found := evaluate[[]violation](b, `axe.run(document, `+options+`).then((r) => r.violations)`)
	for _, v := range found {
		for _, node := range v.Nodes {
			b.t.Errorf("%s: %s: %s: %s\n%s", view, v.ID, v.Help, node.HTML, node.FailureSummary)
		}
	}
}

func (b *browser) dark(on bool) {
	b.t.Helper()
	want := map[bool]string{true: "dark", false: "light"}[on]
	evaluate[bool](b,
		fmt.Sprintf(`if (document.documentElement.dataset.scheme !== %q) [...document.querySelectorAll("header button")].find((x) => /Dark|Light/.test(x.textContent)).click(); true`, want))
	b.until(fmt.Sprintf(`document.documentElement.dataset.scheme === %q`, want))
}

// fullOnly leaves a test of the pages out under -short, with which the race detector
// looks at the server: what they ask, other tests ask beside each other.
func fullOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: the race detector would see nothing here that it does not see elsewhere")
	}
}

// views are all views, with a text that each shows once it is drawn.
var views = []struct{ name, address, text string }{
	{"sweeps", "#/", "first"},
	{"overview", "#/sweep/" + sweepID, "First in trial 4"},
	{"trials", "#/sweep/" + sweepID + "/trials", "1 to 30 of 30 trials"},
	{"trials-filtered", "#/sweep/" + sweepID +
		"/trials?where=lr%3C0.05&where=model%3Drnn&sort=loss&state=completed&state=diverged", "1 to 10 of 10 trials"},
	{"groups", "#/sweep/" + sweepID + "/groups", "6 groups, 30 trials"},
	{"curves", "#/sweep/" + sweepID + "/curves", "Summary of the groups"},
	{"curves-single", "#/sweep/" + sweepID + "/curves?single=1&log=1", "Summary of the groups"},
	{"parallel", "#/sweep/" + sweepID + "/parallel", "Click a line to open its trial"},
	{"slice", "#/sweep/" + sweepID + "/slice", "Box: ± standard deviation"},
	{"heat", "#/sweep/" + sweepID + "/heat", "Brighter is better"},
	{"importance", "#/sweep/" + sweepID + "/importance", "The figures are deterministic"},
	{"file", "#/sweep/" + sweepID + "/file", "Sweep file: 30 trials"},
	{"trial", "#/trial/" + sweepID + "/3", "Executions"},
	{"trial-failed", "#/trial/" + sweepID + "/4", "Traceback: it broke"},
	{"compare", "#/compare?sweep=" + sweepID + "&sweep=20260302-120000-abcdef&metric=loss", "The sweeps differ in"},
	{"tables", "#/tables", "No completed trial belongs in this table"},
	{"workers", "#/workers", "is not connected to a cluster"},
	{"unknown", "#/nothing", "Page not found"},
}

// TestBrowser walks through every view in a real browser, light and dark: nothing
// breaks the page's own policy, and axe-core finds nothing.
func TestBrowser(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	fill(t, f.store, "20260302-120000-abcdef", "second", 15)
	b := openBrowser(t, f.server.URL)
	for _, view := range views {
		b.visit(view.address, view.text)
		for _, dark := range []bool{false, true} {
			b.dark(dark)
			b.wait(view.text)
			b.axe(view.name)
			b.picture(view.name + map[bool]string{true: "-dark", false: ""}[dark])
			b.clean(view.name)
		}
		b.dark(false)
		b.looks("p", view.name, view.text)
	}

	// What is no number is never shown as one.
	b.visit("#/sweep/"+sweepID+"/trials?where=index%3D14", "NaN or none")
	b.visit("#/sweep/"+sweepID+"/trials?state=diverged&state=failed", "diverged")
	b.visit("#/sweep/"+sweepID+"/groups", "diverged 1")
	// A question that makes no sense is answered in words.
	b.visit("#/sweep/"+sweepID+"/trials?where=nonsense%3D1", "no parameter, metric or figure")
	b.said()

	// A figure comes down as a file of its name.
	b.visit("#/tables", "Download as PNG")
	evaluate[bool](b, `HTMLAnchorElement.prototype.click = function () { window.keptName = this.download; };
		const make = URL.createObjectURL;
		URL.createObjectURL = (blob) => { blob.slice(1, 4).text().then((text) => { window.keptText = text; }); return make.call(URL, blob); }; true`)
	evaluate[bool](b,
		`[...document.querySelectorAll("a")].find((a) => a.textContent === "Download as PNG").dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}))`)
	b.until("window.keptName && window.keptText")
	if kept := evaluate[[]string](b, "[window.keptName, window.keptText]"); kept[0] != "second-curves.png" ||
		kept[1] != "PNG" {
		t.Errorf("the picture is kept as %q", kept)
	}
	b.clean("figures")

	// By the keyboard alone: filter, sort, open.
	b.visit("#/sweep/"+sweepID+"/trials", "1 to 30 of 30 trials")
	b.filter("model=lstm and lr=0.1")
	b.wait("5 trials match")
	if address := evaluate[string](b, "location.href"); !strings.Contains(address,
		"where=model%3Dlstm&where=lr%3D0.1") {
		t.Errorf("the address is %s: the view is not in it", address)
	}
	evaluate[bool](b, `document.activeElement.blur(); true`)
	b.run(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter))
	b.wait("Trial 16")
	b.clean("keyboard")
}

// multiply has a sweep of 300 trials in SQLite go on with copies of them, each with a
// seed and a loss of its own.
func multiply(t testing.TB, results sweep.Store, n int64) {
	t.Helper()
	err := results.(*store.Store).Database().Update(t.Context(), func(tx database.Tx) error {
		for have := int64(300); have < n; have *= 2 {
			for _, statement := range []string{
				`INSERT INTO trials (trial_no, sweep_no, trial_index, state, diverged, executions, execution, worker, heard_at, started_at, finished_at, fingerprint, dataset_digest, parameters, point_key)
				 SELECT trial_no + $1, sweep_no, trial_index + $1, state, diverged, executions, execution, worker, heard_at, started_at, finished_at, fingerprint || $1, dataset_digest,
				        json_set(parameters, '$.seed', json_extract(parameters, '$.seed') + $1), point_key FROM trials WHERE trial_index < $1 AND trial_index + $1 < $2`,
				`INSERT INTO outcomes (trial_no, summary, weights_digest, kernel_level, seconds, error, stderr, digest, run_name, run_group, notes, tags)
				 SELECT trial_no + $1, CASE WHEN json_extract(summary, '$.loss') IS NULL THEN summary ELSE json_set(summary, '$.loss', json_extract(summary, '$.loss') + $1 * 1e-6) END,
				        weights_digest, kernel_level, seconds, error, stderr, digest, run_name, run_group, notes, tags FROM outcomes WHERE trial_no <= $1 AND trial_no + $1 <= $2`,
				`INSERT INTO curve_arrays (trial_no, metric, ordinal, step_array, value_array)
				 SELECT trial_no + $1, metric, ordinal, step_array, value_array FROM curve_arrays WHERE trial_no <= $1 AND trial_no + $1 <= $2`,
			} {
				if _, err := tx.Exec(t.Context(), statement, have, n); err != nil {
					return err
				}
			}
		}
		return tx.Script(t.Context(), `
			UPDATE grids SET written = points;
			UPDATE counters SET pending = 0, completed = 0, failed = 0, diverged = 0;
			UPDATE counters SET pending = (SELECT count(*) FROM trials WHERE state = 'pending'), completed = (SELECT count(*) FROM trials WHERE state = 'completed'),
				failed = (SELECT count(*) FROM trials WHERE state = 'failed'), diverged = (SELECT count(*) FROM trials WHERE diverged);`)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBrowserMany holds that the pages work over 100,000 trials: they show all of them,
// or say how many they do, and never have more than a page of them in the browser.
func TestBrowserMany(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	const n = 100_000
	begin(t, f.store, sweepID, "first", n, 300)
	multiply(t, f.store, n)
	b := openBrowser(t, f.server.URL)
	type row struct {
		Index int64
		Cells []string
	}
	rows := func() []row {
		t.Helper()
		return evaluate[[]row](b,
			`[...document.querySelectorAll("main tbody tr")].map((r) => ({Index: Number(r.cells[0].innerText), Cells: [...r.cells].map((c) => c.innerText)}))`)
	}
	column := func(name string) int {
		t.Helper()
		return evaluate[int](b,
			fmt.Sprintf(`[...document.querySelectorAll("main th button")].findIndex((x) => x.title === "Sort by %s")`,
				name))
	}
	ordered := func(what, name string, descending bool) {
		t.Helper()
		list, at := rows(), column(name)
		if len(list) != 50 {
			t.Errorf("%s: %d rows are in the page", what, len(list))
		}
		for i := 1; i < len(list); i++ {
			last, err := strconv.ParseFloat(list[i-1].Cells[at], 64)
			next, err2 := strconv.ParseFloat(list[i].Cells[at], 64)
			if err != nil || err2 != nil || last != next && last > next != descending {
				t.Fatalf("%s: trial %d with %q comes before trial %d with %q", what, list[i-1].Index,
					list[i-1].Cells[at], list[i].Index, list[i].Cells[at])
			}
		}
	}
	press := func(selector, text string) {
		t.Helper()
		find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((x) => x.title === %[2]q || x.innerText === %[2]q)`, selector, text)
		b.until(find)
		evaluate[bool](b, find+".click(); true")
	}
	b.visit("#/sweep/"+sweepID+"/trials", "100,000 trials match")
	b.until(`!document.body.innerText.includes("Reading trials")`)
	b.wait("1 to 50 of 100,000 trials")
	b.until(`document.querySelector("[aria-sort=ascending]").innerText.startsWith("loss")`)
	ordered("the best first", "loss", false)
	press("th button", "Sort by loss")
	b.until(`document.querySelector("[aria-sort=descending]")`)
	b.wait("1 to 50 of 100,000")
	ordered("turned round", "loss", true)
	press("main button", "Next")
	b.wait("51 to 100 of 100,000")
	ordered("the next page", "loss", true)
	// Of each thirty trials of the first three hundred, five have this model and rate.
	b.filter("model=lstm and lr=0.01")
	b.wait("16,665 trials match") // 100,000 are 3333 times thirty, and ten
	ordered("filtered", "loss", true)
	evaluate[bool](b, `document.activeElement.blur(); true`)
	press(".tabs a", "Groups")
	b.wait("1 group, 16,665 trials")
	press("main button", "Clear")
	b.wait("6 groups, 100,000 trials")
	for _, view := range []struct{ tab, text string }{
		{"Curves", "of 100,000 trials. To see the others"}, {"Parallel coordinates", "of 100,000 trials, evenly spaced"},
		{"Slice", "Box: ± standard deviation"},
		{"Heat map", "Brighter is better"}, {"Importance", "are the top group"},
	} {
		press(".tabs a", view.tab)
		b.wait(view.text)
		if drawn := evaluate[int](b, `document.querySelectorAll("main *").length`); drawn > 20_000 {
			t.Errorf("%s: %d elements", view.tab, drawn)
		}
	}
	b.visit("#/trial/"+sweepID+"/99999", "Executions")
	// Nothing that the pages asked for is as large as the sweep.
	if most := evaluate[int](b,
		`Math.max(...performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/")).map((e) => e.transferSize))`); most > 1<<20 {
		t.Errorf("an answer has %d bytes", most)
	}
	b.clean("many")
}

// TestBrowserZoom holds that a zoom, what is being typed and where one is stay while a
// sweep goes on.
func TestBrowserZoom(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	finish := func(index int64) {
		t.Helper()
		_, done := trialOf(sweepID, 27)
		event := sweep.Event{Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: sweepID, Index: index},
			Execution: "x", Worker: "w", Time: time.Now(), Result: done}
		if _, err := f.store.Record(t.Context(), []sweep.Event{event}); err != nil {
			t.Fatal(err)
		}
	}
	b := openBrowser(t, f.server.URL)
	b.visit("#/sweep/"+sweepID+"/curves?where=model%3Dlstm&where=lr%3D0.001", "(3 of 5 trials)")
	b.until(`document.querySelector(".plot canvas")`)
	plot := evaluate[[]float64](b,
		`{ const over = document.querySelector(".u-over"); over.scrollIntoView({block: "center"}); const r = over.getBoundingClientRect(); [r.left, r.top, r.width, r.height] }`)
	b.run(chromedp.DragAndDropXY(plot[0]+0.25*plot[2], plot[1]+0.5*plot[3], plot[0]+0.75*plot[2], plot[1]+0.5*plot[3]))
	b.until(`location.hash.includes("x=")`)
	b.wait("Reset zoom")
	zoom := evaluate[string](b, `document.querySelector(".plot canvas").kept = true, location.hash`)
	finish(28)
	b.wait("(4 of 5 trials)")
	if now := evaluate[string](b, "location.hash"); now != zoom {
		t.Errorf("the zoom was %s and is %s", zoom, now)
	}
	if !evaluate[bool](b, `document.querySelector(".plot canvas").kept === true`) {
		t.Error("the plot was made anew")
	}
	asked := evaluate[string](b,
		`performance.getEntriesByType("resource").filter((e) => e.name.includes("/curves?")).at(-1).name`)
	if !strings.Contains(asked, "from=") || !strings.Contains(asked, "until=") {
		t.Errorf("the last question was %s", asked)
	}

	b.visit("#/sweep/"+sweepID+"/trials?where=index%3E%3D28", "2 trials match")
	evaluate[bool](b,
		`{ const i = document.querySelector("input[name=where]"); i.focus(); i.value = "index>=28 and l"; i.dispatchEvent(new Event("input", {bubbles: true})); true }`)
	finish(29)
	b.until(`[...document.querySelectorAll("tbody tr")].some((row) => row.innerText.startsWith("29") && row.innerText.includes("completed"))`)
	if typed := evaluate[string](b, `document.activeElement.name + " " + document.activeElement.value`); typed != "where index>=28 and l" {
		t.Errorf("what is being typed is %q", typed)
	}
	b.clean("zoom")
}

// TestBrowserLost holds that a page says when its server is gone, and shows what has
// changed once there is one again; and that it says when its sweep was deleted.
func TestBrowserLost(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	b := openBrowser(t, f.server.URL)
	b.visit("#/sweep/first/trials?where=index%3E%3D28", "2 trials match")
	b.until(`[...document.querySelectorAll("header button")].some((x) => x.textContent === "Live")`)
	address := f.server.Listener.Addr().String()
	f.server.CloseClientConnections()
	f.server.Close()
	b.wait("The server does not respond. This page shows the state at")
	b.axe("lost")
	b.looks("lpd", "lost", "The server does not respond")
	_, done := trialOf(sweepID, 27)
	event := sweep.Event{Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: sweepID, Index: 28}, Execution: "x",
		Worker: "w", Time: time.Now(), Result: done}
	if _, err := f.store.Record(t.Context(), []sweep.Event{event}); err != nil {
		t.Fatal(err)
	}
	var listener net.Listener
	sweeptest.Until(t, "the address "+address+" to be free", func() bool {
		var err error
		listener, err = net.Listen("tcp", address)
		return err == nil
	})
	locked := &atomic.Bool{}
	served := web.New(web.Options{Store: unreadable{f.store, locked}, Dir: t.TempDir(),
		Logger: slog.New(slog.DiscardHandler)})
	again := httptest.NewUnstartedServer(served)
	again.Listener.Close()
	again.Listener = listener
	again.Start()
	defer func() {
		again.CloseClientConnections()
		again.Close()
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	}()
	b.until(`[...document.querySelectorAll("tbody tr")].some((row) => row.innerText.startsWith("28") && row.innerText.includes("completed"))`)
	b.until(`!document.body.innerText.includes("The server does not respond")`)
	b.said() // the requests that failed

	// What the page has asked for anew may show the first reason, only an event the second.
	for _, reason := range []string{"for a test", "for another test"} {
		if err := f.store.SetSweepState(t.Context(), sweepID, sweep.SweepPaused, reason); err != nil {
			t.Fatal(err)
		}
		b.wait(reason)
	}
	locked.Store(true) // nobody sees the sweep cancelled and not deleted
	if err := f.store.SetSweepState(t.Context(), sweepID, sweep.SweepCancelled, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.DeleteSweep(t.Context(), sweepID); err != nil {
		t.Fatal(err)
	}
	locked.Store(false)
	b.wait("no sweep has the name")
	b.picture("deleted")
}

// unreadable is a store whose sweeps and trials cannot be read while it is told so.
type unreadable struct {
	sweep.Store
	is *atomic.Bool
}

func (s unreadable) Sweeps(ctx context.Context, states ...sweep.SweepState) ([]sweep.SweepRecord, error) {
	if s.is.Load() {
		return nil, errors.New("the database is locked")
	}
	return s.Store.Sweeps(ctx, states...)
}

func (s unreadable) Rows(ctx context.Context, id string, from, until int64, yield func(*sweep.TrialRow) error) error {
	if s.is.Load() {
		return errors.New("no space left on device")
	}
	return s.Store.Rows(ctx, id, from, until, yield)
}

// TestBrowserProblem holds that pages say what keeps trials from advancing, whichever
// comes first, page or problem, and no longer when it is over; and that what could not
// be read is shown by itself when it can be.
func TestBrowserProblem(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	var problem atomic.Pointer[error]
	full := errors.New("/home/x is full: make room and the run goes on")
	problem.Store(&full)
	locked := &atomic.Bool{}
	served := web.New(web.Options{Store: unreadable{f.store, locked}, Dir: t.TempDir(),
		Logger: slog.New(slog.DiscardHandler), Problem: func() error {
			if p := problem.Load(); p != nil {
				return *p
			}
			return nil
		}})
	server := httptest.NewServer(served)
	defer func() {
		server.CloseClientConnections()
		server.Close()
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := openBrowser(t, server.URL)
	locked.Store(true)
	b.visit("#/sweep/"+sweepID+"/trials", "no space left on device")
	locked.Store(false)
	b.wait("1 to 30 of 30 trials")
	b.wait("Trials are stalled: /home/x is full")
	for _, dark := range []bool{false, true} {
		b.dark(dark)
		b.axe("problem")
		b.picture("problem" + map[bool]string{true: "-dark", false: ""}[dark])
	}
	problem.Store(nil)
	b.until(`!document.body.innerText.includes("Trials are stalled")`)
	locked.Store(true)
	b.wait("the results cannot be read: the database is locked")
	locked.Store(false)
	b.until(`!document.body.innerText.includes("Trials are stalled")`)
	problem.Store(&full)
	b.wait("Trials are stalled: /home/x is full")
	b.visit("#/workers", "Trials are stalled: /home/x is full")
	for _, said := range b.said() {
		if !strings.Contains(said, "status of 500") { // as long as nothing can be read
			t.Errorf("the page says %q", said)
		}
	}
}

// TestBrowserLive holds that a page follows a sweep that runs, and that an action
// needs a token and reaches the store.
func TestBrowserLive(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	secret, err := f.tokens.Create("me", false, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t, f.server.URL)
	b.visit("#/sweep/"+sweepID+"/trials?where=index%3E%3D28", "2 trials match")
	b.until(`[...document.querySelectorAll("header button")].some((x) => x.textContent === "Live")`)
	_, done := trialOf(sweepID, 27)
	event := sweep.Event{Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: sweepID, Index: 28}, Execution: "x",
		Worker: "w", Time: time.Now(), Result: done}
	if _, err := f.store.Record(t.Context(), []sweep.Event{event}); err != nil {
		t.Fatal(err)
	}
	b.until(`[...document.querySelectorAll("tbody tr")].some((row) => row.innerText.startsWith("28") && row.innerText.includes("completed"))`)

	b.visit("#/sweep/"+sweepID+"/trials?state=failed", "1 trial matches")
	press := func(text string) {
		t.Helper()
		find := fmt.Sprintf(`[...document.querySelectorAll("button")].filter((x) => !x.disabled && x.textContent.trim().startsWith(%q)).at(-1)`, text)
		b.until(find)
		evaluate[bool](b, find+".click(); true")
	}
	press("Retry")
	b.wait("Sign in first")
	b.axe("retry")
	press("Close")
	press("Sign in")
	b.wait("A token lets you")
	b.run(chromedp.SendKeys(`input[name=token]`, secret+kb.Enter))
	b.wait("Sign out")
	press("Retry")
	b.wait("1 trial is failed")
	b.picture("retry")
	press("Retry 1 trial")
	b.wait("1 of 1 trial retried")
	press("Close")
	b.visit("#/trial/"+sweepID+"/3", "Executions")
	press("Edit notes")
	b.wait("Tags, with commas")
	b.run(chromedp.SendKeys(`textarea[name=notes]`, "look <b>at</b> it"), chromedp.SendKeys(`input[name=tags]`, "slow, odd"))
	b.axe("notes")
	b.picture("notes-edited")
	press("Save")
	b.until(`[...document.querySelectorAll(".notes")].some((x) => x.innerText.includes("look <b>at</b> it") && x.innerText.includes("by me ") && ` +
		`[...x.querySelectorAll(".chip")].map((tag) => tag.textContent).join() === "odd,slow")`)
	b.looks("lpd", "notes", "Executions")
	// The list has the new tags, and each is a filter.
	b.visit("#/sweep/"+sweepID+"/trials", "30 trials match")
	b.until(`[...document.querySelectorAll("td .chip")].map((tag) => tag.textContent).join() === "odd,slow"`)
	b.axe("tags")
	b.looks("lpd", "tags", "30 trials match")
	evaluate[bool](b, `document.querySelector("td .chip").click(); true`)
	b.wait("1 trial matches")
	b.clean("live")
	states, err := f.store.States(t.Context(), []sweep.TrialID{{Sweep: sweepID, Index: 4}})
	if err != nil || states[sweep.TrialID{Sweep: sweepID, Index: 4}] != sweep.Pending {
		t.Errorf("%v %v", states, err)
	}
}
