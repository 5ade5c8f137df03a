package web_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sweep/coordinator/web"
	"sweep/sweep"
)

// many is a store whose sweep has as many trials as it says: copies of the three hundred that are
// really there, each with a loss of its own.
type many struct {
	sweep.Store
	trials int64
	rows   [copied]sweep.TrialRow
	losses [copied]float64
	// free is closed when more than the first trials may be read.
	free chan struct{}
}

const copied = 300

func (m *many) expanded(record *sweep.SweepRecord) {
	record.State = sweep.SweepFinished
	for i := range record.Grids {
		record.Grids[i].Cursor = record.Grids[i].Points
	}
}

func (m *many) Sweep(ctx context.Context, reference string) (*sweep.SweepRecord, error) {
	record, err := m.Store.Sweep(ctx, reference)
	if err == nil {
		m.expanded(record)
	}
	return record, err
}

func (m *many) Sweeps(ctx context.Context, states ...sweep.SweepState) ([]sweep.SweepRecord, error) {
	records, err := m.Store.Sweeps(ctx, states...)
	for i := range records {
		m.expanded(&records[i])
	}
	return records, err
}

func (m *many) Progress(ctx context.Context, id string) (sweep.Progress, error) {
	p, err := m.Store.Progress(ctx, id)
	copies := (m.trials + copied - 1) / copied
	p.Failed, p.Diverged, p.Pending = copies, copies, 0 // of trials 4 and 9
	p.Completed = m.trials - p.Failed
	return p, err
}

func (m *many) Rows(ctx context.Context, _ string, from, until int64, yield func(*sweep.TrialRow) error) error {
	if from > 0 {
		select {
		case <-m.free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for i := from; i < until; i++ {
		row := m.rows[i%copied]
		if row.Index = i; row.Summary != nil { // in which loss is the last one
			loss := m.losses[i%copied] + float64(i)*1e-6
			row.Summary = append(strconv.AppendFloat(row.Summary[:len(row.Summary):len(row.Summary)], loss, 'g', -1, 64), '}')
		}
		if err := yield(&row); err != nil {
			return err
		}
	}
	return nil
}

// newMany returns a store in which the sweep of the three hundred trials of another goes on.
func newMany(of sweep.Store, trials int64) *many {
	m := &many{Store: of, trials: trials, free: make(chan struct{})}
	for i := range m.rows {
		trial, result := trialOf(sweepID, int64(i))
		row := &m.rows[i]
		*row = sweep.TrialRow{Parameters: fmt.Appendf(nil, `{"epochs":10,"lr":%v,"model":%q,"seed":%d}`,
			trial.Parameters["lr"], trial.Parameters["model"], trial.Parameters["seed"])}
		if result == nil {
			result = &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"loss": 1.005, "accuracy": 0.995}}
		}
		row.State, row.Diverged, row.Executions = result.State, result.Diverged, 1
		row.Seconds = result.Seconds
		if loss, ok := result.Summary["loss"]; ok {
			m.losses[i] = loss
			row.Summary = fmt.Appendf(nil, `{"accuracy":%g,"loss":`, result.Summary["accuracy"])
		}
	}
	return m
}

func (m *many) Trial(ctx context.Context, id sweep.TrialID) (*sweep.TrialRecord, error) {
	record, err := m.Store.Trial(ctx, sweep.TrialID{Sweep: id.Sweep, Index: id.Index % copied})
	if err == nil {
		record.TrialID = id
	}
	return record, err
}

func (m *many) Curves(ctx context.Context, id sweep.TrialID, metrics ...string) ([]sweep.Curve, error) {
	id.Index %= copied
	return m.Store.Curves(ctx, id, metrics...)
}

func (m *many) Executions(ctx context.Context, id sweep.TrialID) ([]sweep.Execution, error) {
	id.Index %= copied
	return m.Store.Executions(ctx, id)
}

func (m *many) Artifacts(ctx context.Context, query sweep.ArtifactQuery, yield func(*sweep.ArtifactRecord) error) error {
	for i := range query.Indices {
		query.Indices[i] %= copied
	}
	return m.Store.Artifacts(ctx, query, yield)
}

func (m *many) ExecutionLog(ctx context.Context, id sweep.TrialID, execution string) (*sweep.Log, error) {
	id.Index %= copied
	return m.Store.ExecutionLog(ctx, id, execution)
}

// Query answers why trials failed.
func (m *many) Query(ctx context.Context, sql string, yield func(columns []string, row []any) error) error {
	list := regexp.MustCompile(`trial_index IN \(([0-9, ]+)\)`).FindStringSubmatch(sql)
	if list == nil {
		return m.Store.Query(ctx, sql, yield)
	}
	for index := range strings.SplitSeq(list[1], ", ") {
		i, _ := strconv.ParseInt(index, 10, 64)
		if err := yield([]string{"trial_index", "error"}, []any{i, "exit code 1"}); err != nil {
			return err
		}
	}
	return nil
}

// serve serves a dashboard until the test's end.
func serve(t *testing.T, options web.Options, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	options.Dir, options.Logger = t.TempDir(), slog.New(slog.DiscardHandler)
	served := web.New(options)
	server := httptest.NewServer(wrap(served))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

func plainly(h http.Handler) http.Handler { return h }

// silent answers no question about results.
func silent(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/api/session" && r.URL.Path != "/api/events" {
			<-r.Context().Done()
			return
		}
		h.ServeHTTP(w, r)
	})
}

// state is a page in a state, with a text that it shows then.
type state struct{ name, address, text string }

// show takes pictures of pages: light, dark and on a phone, or some of these.
func (b *browser) show(url, looks string, states ...state) {
	b.t.Helper()
	b.url = url
	for _, s := range states {
		b.visit(s.address, s.text)
		b.looks(looks, s.name, s.text)
	}
}

// looks takes pictures of the page as it is: light ("l"), on a phone ("p"), dark ("d").
func (b *browser) looks(which, name, text string) {
	b.t.Helper()
	if strings.Contains(which, "l") {
		b.picture(name)
	}
	if strings.Contains(which, "p") {
		b.resize(phoneWide, phoneHigh)
		b.wait(text)
		b.picture(name + "-phone")
		b.resize(wide, high)
	}
	if strings.Contains(which, "d") {
		b.dark(true)
		b.wait(text)
		b.picture(name + "-dark")
		b.dark(false)
	}
}

// TestBrowserStates holds how pages look without sweeps, while they load, with one trial, 400 and
// a million, when all failed, and without a session: what other tests of pages do not come to.
func TestBrowserStates(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	b := openBrowser(t, "")
	for _, states := range []func(*testing.T, *browser){emptyPages, loadingPages, drawnPages, failedPages, millionPages,
		clusterPages} {
		states(t, b)
		b.clean("states")
	}
}

// in is the address of a view of the sweep.
func in(view string) string { return "#/sweep/" + sweepID + "/" + view }

func openFixture(t *testing.T, closed bool) *fixture {
	t.Helper()
	return newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), closed)
}

func emptyPages(t *testing.T, b *browser) {
	f := openFixture(t, false)
	b.show(f.server.URL, "lpd", state{"empty-sweeps", "#/", "No sweeps yet"})
	b.show(f.server.URL, "l", state{"empty-compare", "#/compare", "No sweeps yet"},
		state{"empty-tables", "#/tables", "Tables and figures"})
	begin(t, f.store, sweepID, "first", 30, 0)
	b.show(f.server.URL, "ld", state{"new-overview", in(""), "No trial has completed yet"})
	b.show(f.server.URL, "l", state{"new-trials", in("trials"), "No trial has completed yet"},
		state{"new-curves", in("curves"), "No trial has completed yet"})
	b.show(openFixture(t, true).server.URL, "lpd", state{"closed", "#/", "A token lets you"})
}

// loadingPages are those of a sweep of one trial, before and after the server has answered.
func loadingPages(t *testing.T, b *browser) {
	f := openFixture(t, false)
	begin(t, f.store, sweepID, "first", 1, 1)
	loading := serve(t, web.Options{Store: f.store}, silent)
	b.show(loading, "l", state{"loading-sweeps", "#/", "Loading"},
		state{"loading-trial", "#/trial/" + sweepID + "/0", "Loading"})
	b.show(loading, "lpd", state{"loading-sweep", in(""), "Loading"})
	for _, view := range []struct{ name, text string }{
		{"overview", "Best trial"}, {"trials", "1 trial matches"}, {"groups", "1 group, 1 trial"},
		{"curves", "Summary of the groups"}, {"parallel", "These trials have none"}, {"slice", "These trials have none"},
		{"heat", "needs two parameters"}, {"importance", "No parameter has several values"},
	} {
		b.show(f.server.URL, "l", state{"one-" + view.name, in(view.name), view.text})
	}
}

// drawnPages are those of a random search of 400 trials, with dialogs over them, and its report.
func drawnPages(t *testing.T, b *browser) {
	f := openFixture(t, false)
	const drawn = "20260304-120000-abcdef"
	drawnSweep(t, f.store, drawn, 400)
	for _, view := range []struct{ name, query, text string }{
		{"overview", "", "Best trial"}, {"trials", "", "400 trials match"}, {"groups", "", "groups, 400 trials"},
		{"parallel", "", "Click a line"}, {"slice", "?parameter=lr", "Dot: a trial"},
		{"heat", "?x=lr&y=dropout", "Brighter is better"}, {"importance", "", "The figures are deterministic"},
	} {
		b.show(f.server.URL, "l", state{"400-" + view.name, "#/sweep/" + drawn + "/" + view.name + view.query, view.text})
	}
	for _, dialog := range []struct{ name, button, text string }{
		{"sql", "Copy as SQL", "This list as SQL"}, {"shortcuts", "Shortcuts", "focus the filter"},
		{"columns", "Columns", "Varying parameters"},
	} {
		b.visit("#/sweep/"+drawn+"/trials?where=lr%3C0.1&sort=loss", "300 trials match")
		evaluate[bool](b, fmt.Sprintf(
			`[...document.querySelectorAll("button, summary")].find((x) => x.innerText.startsWith(%q)).click(); true`,
			dialog.button))
		b.wait(dialog.text)
		b.looks("ld", "dialog-"+dialog.name, dialog.text)
	}
	report := filepath.Join(t.TempDir(), "report.html")
	response, content := f.ask(f.server.URL + "/api/sweeps/" + drawn + "/report")
	if err := os.WriteFile(report, content, 0o600); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.Status, err)
	}
	b.show("file://"+filepath.Dir(report), "lp", state{"report", "report.html", "40 failed"})
}

func failedPages(t *testing.T, b *browser) {
	f := openFixture(t, false)
	begin(t, f.store, sweepID, "first", 30, 30, func(index int64, result *sweep.Result) {
		text := fmt.Sprintf("exit status 1: out of memory at step %d", index)
		if index%3 == 0 {
			text = "ValueError: the learning rate is too large"
		}
		*result = sweep.Result{State: sweep.Failed, Error: text, Digest: fmt.Sprint(index),
			Stderr: "Traceback (most recent call last):\n  train.py, line 7\n" + text + "\n"}
	})
	b.show(f.server.URL, "lpd", state{"failing-overview", in(""), "28 failed trials"})
	b.show(f.server.URL, "l", state{"failing-sweeps", "#/", "first"},
		state{"failing-trials", in("trials"), "30 trials match"}, state{"failing-heat", in("heat"), "28 trials failed"})
}

// millionPages are those of a million trials, while they are read and afterwards.
func millionPages(t *testing.T, b *browser) {
	f := openFixture(t, false)
	const million = 1_000_000
	begin(t, f.store, sweepID, "first", million, copied)
	m := newMany(f.store, million)
	server := serve(t, web.Options{Store: m}, plainly)
	b.show(server, "l", state{"reading-overview", in(""), "512 of 1,000,000 so far"},
		state{"reading-trials", in("trials"), "512 of 1,000,000 so far"})
	close(m.free)
	(&fixture{t: t, server: &httptest.Server{URL: server}}).patient(url.Values{"limit": {"1"}}, new(trialsPage))
	for _, view := range []struct{ name, text string }{
		{"overview", "Show its error output"}, {"trials", "1,000,000 trials match"}, {"groups", "6 groups, 1,000,000 trials"},
		{"curves", "To see the others"}, {"parallel", "evenly spaced"}, {"slice", "Box: ± standard deviation"},
		{"heat", "Brighter is better"}, {"importance", "are the top group"},
	} {
		b.show(server, "l", state{"million-" + view.name, in(view.name), view.text})
	}
	b.show(server, "l", state{"million-sweeps", "#/", "first"},
		state{"million-trial", "#/trial/" + sweepID + "/999999", "Executions"})
}

func clusterPages(t *testing.T, b *browser) {
	f := openFixture(t, false)
	started := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	running := &sweep.TrialID{Sweep: sweepID, Index: 28}
	refused := web.WorkerRefusal{TrialID: sweep.TrialID{Sweep: sweepID, Index: 7}, At: started,
		Reason: "the data set mnist is not there"}
	workers := []web.Worker{
		{ID: "a", Name: "node1", Pool: "cpu", Version: "v1.0.0", State: "running", StartedAt: started,
			Slots: []web.Slot{{Trial: running, Since: started.Add(time.Hour)}, {}},
			Offer: "builtin 5; memory of a slot: 4 GiB", Refusals: []web.WorkerRefusal{refused}},
		{ID: "b", Name: "node2", Pool: "gpu", Version: "v1.0.0", State: "paused", Reason: "the disk is full",
			StartedAt: started, Slots: []web.Slot{{}}, Offer: "noop 1"},
	}
	cluster := func(workers ...web.Worker) string {
		list := func(context.Context) ([]web.Worker, error) { return workers, nil }
		return serve(t, web.Options{Store: f.store, Workers: list}, plainly)
	}
	b.show(cluster(workers...), "lpd", state{"cluster", "#/workers", "Recent refusals"})
	b.show(cluster(), "l", state{"cluster-empty", "#/workers", "No workers are running"})
}
