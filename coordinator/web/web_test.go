package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sweep/coordinator"
	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/coordinator/store/storetest"
	"sweep/coordinator/web"
	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/sweeptest"
)

// fixture is a store with a sweep in it, and the dashboard over it.
type fixture struct {
	t      testing.TB
	store  sweep.Store
	server *httptest.Server
	served *web.Server
	tokens *web.Tokens
	// artifacts are where the trials' artifacts are, a folder.
	artifacts *artifact.Folder
	// close ends both, and may be called before the test's end.
	close func()
}

const sweepID = "20260301-120000-abcdef"

func submission(name string) *sweep.Submission {
	list := func(name string, values ...any) sweep.Axis {
		return sweep.Axis{Parameters: []sweep.AxisParameter{{Name: name, Values: sweep.Values{List: values}}}}
	}
	return &sweep.Submission{
		Spec: sweep.Spec{
			Name: name, Trainer: "noop", Pool: "cpu",
			Axes: []sweep.Axis{list("model", "rnn", "lstm"), list("lr", 0.1, 0.01, 0.001),
				list("seed", int64(1), int64(2), int64(3), int64(4), int64(5))},
			Select: sweep.Select{By: "loss", Goal: sweep.Minimize, Group: []string{"model"}},
			Limits: sweep.Limits{Attempts: 3, Points: 1000},
		},
		Source: "name: " + name + "\n",
		Description: sweep.Description{
			Name: "noop", Version: "1", ResultVersion: "1",
			Parameters: []sweep.ParameterSchema{{Name: "lr", Type: sweep.NumberType},
				{Name: "model", Type: sweep.StringType}},
			Metrics: []sweep.MetricSchema{{Name: "loss", Goal: sweep.Minimize, Curve: true, Summary: true},
				{Name: "accuracy", Goal: sweep.Maximize, Summary: true}},
		},
	}
}

// trialOf is trial i of a sweep, and what it comes to: nil for one without a result.
func trialOf(id string, i int64) (sweep.Trial, *sweep.Result) {
	model, lr, seed := []string{"rnn", "lstm"}[i/15%2], []float64{0.1, 0.01, 0.001}[i/5%3], i%5+1
	trial := sweep.Trial{TrialID: sweep.TrialID{Sweep: id, Index: i}, Parameters: sweep.Parameters{"model": model,
		"lr": lr, "seed": seed, "epochs": int64(10)}}
	trial.Fingerprint = sweep.NewFingerprint("noop", "1", id, fmt.Append(nil, i))
	result := &sweep.Result{State: sweep.Completed,
		Summary: map[string]float64{"loss": lr*float64(seed) + float64(i/15%2), "accuracy": 1 - lr*float64(seed)},
		Seconds: 1.5, Digest: fmt.Sprint(i)}
	for step := range int64(20) {
		if step == 0 {
			result.Curves = []sweep.Curve{{Metric: "loss"}}
		}
		c := &result.Curves[0]
		c.Steps, c.Values = append(c.Steps, step+1), append(c.Values, float32(result.Summary["loss"])+1/float32(step+1))
	}
	switch i {
	case 3:
		for _, name := range []string{"weights", "spoilt", "spoilt-long", "lost"} {
			result.Artifacts = append(result.Artifacts, artifacttest.Record(trial.TrialID, contentOf(name)).Artifact)
			result.Artifacts[len(result.Artifacts)-1].Name = name
		}
		result.Artifacts = append(result.Artifacts,
			sweep.Artifact{Name: "never", Problem: "it has 3 GB, and the sweep allows 1 GB"})
	case 4:
		result = &sweep.Result{State: sweep.Failed, Error: "exit code 1", Stderr: "Traceback: it broke\n", Digest: "f"}
	case 9:
		result.Diverged, result.Summary = true, nil
	case 14:
		delete(result.Summary, "accuracy") // it was NaN
	case 28, 29:
		return trial, nil
	}
	return trial, result
}

// fill stores a sweep of n trials of which all but two have ended.
func fill(t testing.TB, results sweep.Store, id, name string, n int64) {
	t.Helper()
	begin(t, results, id, name, n, n)
}

// begin stores a sweep of some points, writes the first n trials, and records the results
// that change leaves.
func begin(t testing.TB, results sweep.Store, id, name string, points, n int64,
	change ...func(index int64, result *sweep.Result),
) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := results.CreateSweep(ctx, id, submission(name), points)
	must(err)
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const page = 1000
	for from := int64(0); from < n; from += page {
		var trials []sweep.Trial
		var events []sweep.Event
		for i := from; i < min(from+page, n); i++ {
			trial, result := trialOf(id, i)
			trials = append(trials, trial)
			if result == nil {
				continue
			}
			for _, f := range change {
				f(i, result)
			}
			clock = clock.Add(time.Millisecond)
			execution := fmt.Sprintf("host-%x", i)
			events = append(events, sweep.Event{Kind: sweep.EventStarted, TrialID: trial.TrialID, Execution: execution,
				Worker: "node1", Time: clock},
				sweep.Event{Kind: sweep.EventResult, TrialID: trial.TrialID, Execution: execution, Worker: "node1",
					Time: clock.Add(time.Second), Result: result, Log: result.Stderr})
		}
		classes := map[int]sweep.Requirement{}
		if from == 0 {
			classes[0] = sweep.Requirement{Trainer: "noop", ResultVersion: "1"}
		}
		_, err := results.AddTrials(ctx, id, 0, from, trials, classes)
		must(err)
		_, err = results.Record(ctx, events)
		must(err)
	}
}

func newFixture(t testing.TB, address string, closed bool) *fixture {
	t.Helper()
	if !strings.HasPrefix(address, "postgres") {
		storetest.WithSchema(t, address)
	}
	results, err := store.Open(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := artifact.NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, store: results, artifacts: folder,
		tokens: web.OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))}
	quiet := slog.New(slog.DiscardHandler)
	c := coordinator.New(coordinator.Options{Store: results, Artifacts: artifact.New(folder, quiet), Logger: quiet})
	served := web.New(web.Options{
		Store: results, Tokens: f.tokens, Closed: closed, Dir: t.TempDir(), Logger: quiet,
		Control: c, Artifacts: c,
	})
	f.served, f.server = served, httptest.NewServer(served)
	f.close = sync.OnceFunc(func() {
		f.server.CloseClientConnections() // who listens for changes does so for ever
		f.server.Close()
		if err := served.Close(); err != nil {
			t.Error(err)
		}
		if err := results.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(f.close)
	return f
}

// onBoth runs a test on both kinds of database; under -short, with which the race detector looks at the dashboard, on
// one: what is this package's own is the same.
func onBoth(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Run("SQLite", func(t *testing.T) {
		f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
		fill(t, f.store, sweepID, "first", 30)
		test(t, f)
	})
	t.Run("Postgres", func(t *testing.T) {
		fullOnly(t)
		f := newFixture(t, postgrestest.Start(t).Database(t), false)
		fill(t, f.store, sweepID, "first", 30)
		test(t, f)
	})
}

// get asks for an address; the answer of a question over all trials is unwrapped
// once everything has been read.
func (f *fixture) get(path string, values url.Values, into any) {
	f.t.Helper()
	sweeptest.Until(f.t, path+" over all trials", func() bool { return f.try(path, values, into) })
}

// try asks once, and reports whether all trials had been read.
func (f *fixture) try(path string, values url.Values, into any) bool {
	f.t.Helper()
	response, err := http.Get(f.server.URL + "/api/" + path + "?" + values.Encode())
	if err != nil {
		f.t.Fatal(err)
	}
	data, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK {
		f.t.Fatalf("%s: %s: %s %v", path, response.Status, data, err)
	}
	var wrapped struct {
		Read   *struct{ Complete bool }
		Answer json.RawMessage
	}
	if err := json.Unmarshal(data, &wrapped); err == nil && wrapped.Read != nil && wrapped.Answer != nil {
		if !wrapped.Read.Complete {
			return false
		}
		data = wrapped.Answer
	}
	if err := json.Unmarshal(data, into); err != nil {
		f.t.Fatalf("%s: %v: %s", path, err, data)
	}
	return true
}

type trialsPage struct {
	Total int64
	Rows  []struct {
		Index int64
		State string
		Cells []any
	}
}

func (f *fixture) indices(values url.Values) []int64 {
	f.t.Helper()
	var page trialsPage
	f.get("sweeps/first/trials", values, &page)
	list := []int64{}
	for _, row := range page.Rows {
		list = append(list, row.Index)
	}
	return list
}

func TestTrials(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, test := range []struct {
			values url.Values
			want   []int64
		}{
			{url.Values{"limit": {"3"}}, []int64{0, 1, 2}},
			{url.Values{"limit": {"2"}, "offset": {"28"}}, []int64{28, 29}},
			{url.Values{"limit": {"2"}, "descending": {"1"}}, []int64{29, 28}},
			{url.Values{"limit": {"3"}, "sort": {"loss"}}, []int64{10, 11, 12}},
			{url.Values{"limit": {"2"}, "sort": {"loss"}, "descending": {"1"}}, []int64{19, 18}},
			{url.Values{"state": {"failed"}}, []int64{4}},
			{url.Values{"state": {"diverged"}}, []int64{9}},
			{url.Values{"state": {"pending", "failed"}}, []int64{4, 28, 29}},
			{url.Values{"where": {"lr=0.1", "seed>=4", "model=rnn"}}, []int64{3, 4}},
			{url.Values{"where": {"accuracy=null"}}, []int64{4, 9, 14, 28, 29}},
			{url.Values{"sort": {"accuracy"}, "where": {"model=rnn", "lr<0.005"}}, []int64{13, 12, 11, 10, 14}},
		} {
			if got := f.indices(test.values); !slices.Equal(got, test.want) {
				t.Errorf("%v: %v, want %v", test.values, got, test.want)
			}
		}
		var page trialsPage
		f.get("sweeps/first/trials", url.Values{"column": {"model", "accuracy", "lr"}, "where": {"index=14"}}, &page)
		if got := fmt.Sprint(page.Rows[0].Cells); got != "[rnn <nil> 0.001]" || page.Total != 1 {
			t.Errorf("cells %s of %d: what is NaN is no number", got, page.Total)
		}
	})
}

func TestGroupsAndPictures(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		var groups struct {
			By     []string
			Total  int64
			Groups []struct {
				Values  []any
				Count   int64
				States  map[string]int64
				Metrics []struct {
					N    int64
					Mean *float64
					Best int64
				}
			}
		}
		f.get("sweeps/first/groups", url.Values{"metric": {"loss", "accuracy"}, "sort": {"mean"}}, &groups)
		if fmt.Sprint(groups.By) != "[model lr]" || groups.Total != 6 {
			t.Fatalf("%+v", groups)
		}
		first := groups.Groups[0]
		if fmt.Sprint(first.Values) != "[rnn 0.001]" || first.Count != 5 || first.Metrics[0].N != 5 ||
			first.Metrics[0].Best != 10 || first.Metrics[1].N != 4 || first.Metrics[1].Best != 10 {
			t.Errorf("%+v", first)
		}
		if second := groups.Groups[1]; second.States["diverged"] != 1 || second.Metrics[0].N != 4 {
			t.Errorf("%+v", second)
		}
		var slice struct{ Cells []struct{ Mean *float64 } }
		f.get("sweeps/first/slice", url.Values{"by": {"lr", "model"}, "metric": {"loss"}}, &slice)
		if len(slice.Cells) != 6 {
			t.Errorf("%+v", slice)
		}
		var importance struct{ Parameters []struct{ Parameter string } }
		f.get("sweeps/first/importance", url.Values{"metric": {"loss"}}, &importance)
		if len(importance.Parameters) != 2 || importance.Parameters[0].Parameter != "model" {
			t.Errorf("%+v", importance)
		}
		var lines struct {
			Total, Chosen int64
			Rows          []struct{ Index int64 }
		}
		f.get("sweeps/first/lines", url.Values{"metric": {"loss"}, "top": {"0.1"}, "column": {"lr", "model", "loss"}},
			&lines)
		if lines.Total != 30 || lines.Chosen != 3 || len(lines.Rows) != 3 {
			t.Errorf("%+v", lines)
		}
		var curves struct {
			Bands []struct {
				Trials, Without int
				Steps           []float64
				Mean, Low, High []*float64
			}
			Drawn int
		}
		f.get("sweeps/first/curves", url.Values{"metric": {"loss"}, "where": {"model=rnn"}}, &curves)
		if len(curves.Bands) != 3 || curves.Bands[0].Trials != 5 || curves.Bands[0].Without != 1 ||
			len(curves.Bands[0].Steps) != 20 {
			t.Fatalf("%+v", curves)
		}
		if b := curves.Bands[0]; *b.Low[0] >= *b.Mean[0] || *b.High[0] <= *b.Mean[0] {
			t.Errorf("%+v", b)
		}
		f.get("sweeps/first/curves", url.Values{"metric": {"loss"}, "where": {"model=rnn"}, "from": {"4.5"},
			"until": {"9"}}, &curves)
		if steps := fmt.Sprint(curves.Bands[0].Steps); steps != "[4 5 6 7 8 9 10]" {
			t.Errorf("from 4.5 to 9 there are the steps %s", steps)
		}
	})
}

// TestComparison holds that sweeps are compared in the parameters that differ.
func TestComparison(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		type comparison struct {
			Differing []string
			Sweeps    []struct {
				Read   struct{ Complete bool }
				Values map[string]any
			}
		}
		var compared comparison
		fill(t, f.store, "20260302-120000-abcdef", "second", 15)
		sweeptest.Until(t, "a comparison over all trials", func() bool {
			compared = comparison{}
			f.get("compare", url.Values{"sweep": {"first", "second"}, "metric": {"loss"}}, &compared)
			for _, s := range compared.Sweeps {
				if !s.Read.Complete {
					return false
				}
			}
			return len(compared.Sweeps) == 2
		})
		if fmt.Sprint(compared.Differing) != "[model]" {
			t.Errorf("%+v", compared)
		}
	})
}

// TestSQL holds that the statement behind a list has its trials.
func TestSQL(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		for index, tags := range map[int64][]string{2: {"odd"}, 3: {"odd", "slow"}, 4: {"Slow"}} {
			if err := f.store.SetAnnotation(t.Context(), sweepID, sweep.Edit{Index: &index, Tags: tags}); err != nil {
				t.Fatal(err)
			}
		}
		_, named := trialOf(sweepID, 27)
		named.Labels = &sweep.RunLabels{Name: "fox"}
		_, err := f.store.Record(t.Context(), []sweep.Event{{Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: sweepID,
			Index: 28}, Execution: "x", Worker: "w", Time: time.Now(), Result: named}})
		if err != nil {
			t.Fatal(err)
		}
		for _, values := range []url.Values{
			{"sort": {"loss"}, "limit": {"7"}, "column": {"lr", "loss"}},
			{"sort": {"accuracy"}, "descending": {"1"}, "where": {"model=rnn"}},
			{"sort": {"lr"}, "where": {"lr<=0.01", "seed!=2", "accuracy!=null"}, "column": {"model", "seconds"}},
			{"state": {"failed", "diverged", "pending"}},
			{"state": {"completed"}, "where": {"model!=rnn", "seconds=1.5"}, "limit": {"5"}, "offset": {"5"}},
			{"offset": {"25"}},
			{"where": {"tag=odd"}, "sort": {"tag"}, "column": {"tag", "run_name"}},
			{"where": {"tag!=slow", "index<7"}, "sort": {"run_name"}, "limit": {"4"}},
			{"where": {"run_name=fox"}}, {"where": {"tag!=null"}, "sort": {"tag"}, "descending": {"1"}},
		} {
			var answer struct{ SQL string }
			f.get("sweeps/first/sql", values, &answer)
			got := []int64{}
			err := f.store.Query(t.Context(), answer.SQL, func(_ []string, row []any) error {
				got = append(got, row[0].(int64))
				return nil
			})
			if err != nil {
				t.Fatalf("%v\n%s", err, answer.SQL)
			}
			if values.Get("limit") == "" {
				values.Set("limit", "100")
			}
			if want := f.indices(values); !slices.Equal(got, want) {
				t.Errorf("%v\n%s\n: %v, want %v", values, answer.SQL, got, want)
			}
		}
	})
}

// Names may have quotes, as parameters of programs have.
func TestSQLOfOddNames(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		const id = "20260301-130000-odd000"
		if _, err := f.store.CreateSweep(t.Context(), id, submission("odd"), 3); err != nil {
			t.Fatal(err)
		}
		names := []string{`say "lr"`, `it's`, `back\slash`, `"; --`, "a.b", "$.lr", "ü[0]"}
		trials := make([]sweep.Trial, 3)
		for i := range trials {
			trials[i] = sweep.Trial{TrialID: sweep.TrialID{Sweep: id, Index: int64(i)}, Parameters: sweep.Parameters{},
				Fingerprint: sweep.Fingerprint(fmt.Sprint("odd", i))}
			for _, name := range names {
				trials[i].Parameters[name] = int64(i)
			}
		}
		if _, err := f.store.AddTrials(t.Context(), id, 0, 0, trials, map[int]sweep.Requirement{0: {}}); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			var answer struct{ SQL string }
			f.get("sweeps/"+id+"/sql", url.Values{"column": {name}, "sort": {name}, "descending": {"1"},
				"where": {name + ">0"}}, &answer)
			var got []string
			err := f.store.Query(t.Context(), answer.SQL, func(columns []string, row []any) error {
				got = append(got, fmt.Sprintf("%d %v %s", row[0], row[3], columns[3]))
				return nil
			})
			if want := []string{"2 2 " + name, "1 1 " + name}; err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, want %q, %v\n%s", got, want, err, answer.SQL)
			}
		}
	})
}

// The SQL behind a list has the trials of the list, in its order, also of a parameter with values of several types and of
// metrics that have the names of parameters and fields. Every operator and value is tested by storetest.
func TestSQLOfMixedValues(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		const id = "20260301-140000-mixed0"
		mixed := []any{nil, "null", int64(1), "1", true, "true", int64(1<<53 + 1), 0.5, "a", "B", false, int64(0), []any{int64(1)},
			-2.5, int64(1 << 53), "10", int64(9)}
		of := submission("mixed")
		of.Spec.Axes = append(of.Spec.Axes, sweep.Axis{Parameters: []sweep.AxisParameter{{Name: "mixed",
			Values: sweep.Values{List: mixed}}}})
		if _, err := f.store.CreateSweep(t.Context(), id, of, int64(len(mixed))); err != nil {
			t.Fatal(err)
		}
		var trials []sweep.Trial
		var events []sweep.Event
		for i, value := range mixed {
			trial, result := trialOf(id, int64(i))
			trial.Parameters["mixed"] = value
			trials = append(trials, trial)
			if result == nil {
				continue
			}
			if result.Summary != nil {
				result.Summary["mixed"], result.Summary["state"] = float64(i%5), float64(i%3)
				result.Summary["p<0.05, \"q\""] = float64(i % 4)
			}
			events = append(events, sweep.Event{Kind: sweep.EventResult, TrialID: trial.TrialID, Execution: "x", Worker: "w",
				Time: time.Now(), Result: result})
		}
		_, err := f.store.AddTrials(t.Context(), id, 0, 0, trials, map[int]sweep.Requirement{0: {}})
		if err == nil {
			_, err = f.store.Record(t.Context(), events)
		}
		if err != nil {
			t.Fatal(err)
		}
		var conditions []string
		for _, name := range []string{"mixed", "parameter.mixed", "metric.mixed"} {
			for _, rest := range []string{"=null", "!=null", "=", "!=", "=1", "<=9007199254740992"} {
				conditions = append(conditions, name+rest)
			}
			for _, rest := range []string{`="1"`, "!=true", ">=a", "=[1]"} { // which no metric is
				if name != "metric.mixed" {
					conditions = append(conditions, name+rest)
				}
			}
		}
		conditions = append(conditions, `p<0.05, "q">=2`, `"p<0.05, \"q\""<1`, "state=completed", "state>=1", "trial.state=completed")
		var lists []url.Values
		for _, condition := range conditions {
			lists = append(lists, url.Values{"where": {condition}})
		}
		for _, by := range []string{"mixed", "parameter.mixed", "metric.mixed", "state", "trial.state", `p<0.05, "q"`} {
			lists = append(lists, url.Values{"sort": {by}, "column": {by}},
				url.Values{"sort": {by}, "descending": {"1"}, "column": {by}})
		}
		for _, values := range lists {
			var answer struct{ SQL string }
			f.get("sweeps/"+id+"/sql", values, &answer)
			var got, want []int64
			err := f.store.Query(t.Context(), answer.SQL, func(_ []string, row []any) error {
				got = append(got, row[0].(int64))
				return nil
			})
			if err != nil {
				t.Fatalf("%v\n%s", err, answer.SQL)
			}
			var page trialsPage
			values.Set("limit", "100")
			f.get("sweeps/"+id+"/trials", values, &page)
			for _, row := range page.Rows {
				want = append(want, row.Index)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v: %v, the list has %v\n%s", values, got, want, answer.SQL)
			}
		}
	})
}

func TestOneTrial(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		var shown struct {
			Trial      sweep.TrialRecord
			Executions []sweep.Execution
			Curves     []struct {
				Metric string
				Points int
			}
		}
		f.get("sweeps/first/trials/4", nil, &shown)
		if shown.Trial.Result.Error != "exit code 1" || len(shown.Executions) != 1 {
			t.Errorf("%+v", shown)
		}
		f.get("sweeps/first/trials/3", nil, &shown)
		if len(shown.Curves) != 1 || shown.Curves[0].Points != 20 {
			t.Errorf("%+v", shown)
		}
		var log sweep.Log
		f.get("sweeps/first/trials/4/log", nil, &log)
		if log.Text != "Traceback: it broke\n" {
			t.Errorf("%+v", log)
		}
		for _, path := range []string{"sweeps/first/trials/30", "sweeps/none", "sweeps/none/trials", "nowhere"} {
			response, err := http.Get(f.server.URL + "/api/" + path)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", path, response.Status)
			}
		}
	})
}

// TestEvents holds that a change reaches whoever listens.
func TestEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, "GET", f.server.URL+"/api/events", nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var seen bytes.Buffer
	wait := func(text string) {
		t.Helper()
		buffer := make([]byte, 4096)
		for !strings.Contains(seen.String(), text) {
			n, err := response.Body.Read(buffer)
			if err != nil {
				t.Fatalf("%v: %s has not come: %s", err, text, seen.String())
			}
			seen.Write(buffer[:n])
		}
	}
	wait(`"completed":27`)
	trial, _ := trialOf(sweepID, 28)
	_, done := trialOf(sweepID, 27)
	_, err = f.store.Record(t.Context(),
		[]sweep.Event{{Kind: sweep.EventResult, TrialID: trial.TrialID, Execution: "x", Worker: "w", Time: time.Now(),
			Result: done}})
	if err != nil {
		t.Fatal(err)
	}
	wait(`"completed":28`)
	var got []int64
	sweeptest.Until(t, "the columns, which may be a second old", func() bool {
		got = f.indices(url.Values{"where": {"index>=28"}, "state": {"completed"}})
		return len(got) > 0
	})
	if !slices.Equal(got, []int64{28}) {
		t.Errorf("%v", got)
	}
}

// request sends a request as a browser or a program would.
func (f *fixture) request(method, path, body string, header map[string]string) (int, map[string]any) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), method, f.server.URL+"/api/"+path,
		strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	var answer map[string]any
	_ = json.NewDecoder(response.Body).Decode(&answer)
	if cookies := response.Cookies(); len(cookies) > 0 && answer != nil {
		answer["cookie"] = cookies[0].Name + "=" + cookies[0].Value
		if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
			f.t.Errorf("the cookie is open to others: %v", c)
		}
	}
	return response.StatusCode, answer
}

func TestAccess(t *testing.T) {
	t.Parallel()
	open := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, open.store, sweepID, "first", 30)
	closed := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), true)
	fill(t, closed.store, sweepID, "first", 30)
	make := func(f *fixture, name string, readOnly bool, lasting time.Duration) string {
		secret, err := f.tokens.Create(name, readOnly, lasting)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	want := func(f *fixture, status int, method, path, body string, header map[string]string) map[string]any {
		t.Helper()
		got, answer := f.request(method, path, body, header)
		if got != status {
			t.Errorf("%s %s %v: %d %v, want %d", method, path, header, got, answer, status)
		}
		return answer
	}
	bearer := func(secret string) map[string]string { return map[string]string{"Authorization": "Bearer " + secret} }
	retry := `{"states":["failed"],"expect":1}`

	want(open, 200, "GET", "sweeps", "", nil)
	want(open, 401, "GET", "sweeps", "", map[string]string{"Host": "evil.example:80"}) // a name that points here
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "Via"} {             // a proxy lets anybody in
		want(open, 401, "GET", "sweeps", "", map[string]string{name: "10.0.0.1"})
	}
	want(open, 401, "POST", "sweeps/first/retry", retry, nil)
	want(closed, 401, "GET", "sweeps", "", nil)
	want(closed, 401, "GET", "events", "", bearer("sweep_wrong"))

	reader, actor, late := make(closed, "reader", true, 0), make(closed, "actor", false, 0),
		make(closed, "late", false, time.Nanosecond)
	want(closed, 200, "GET", "sweeps", "", bearer(reader))
	want(closed, 401, "GET", "sweeps", "", bearer(late))
	want(closed, 403, "POST", "sweeps/first/retry", retry, bearer(reader))
	want(closed, 401, "POST", "session", `{"token":"wrong"}`, nil)

	session := want(closed, 200, "POST", "session", fmt.Sprintf(`{"token":%q}`, actor), nil)
	cookie := map[string]string{"Cookie": session["cookie"].(string)}
	want(closed, 200, "GET", "sweeps", "", cookie)
	want(closed, 403, "POST", "sweeps/first/retry", retry, cookie) // without the session's word
	cookie["X-Sweep-CSRF"] = session["csrf"].(string)
	cookie["Sec-Fetch-Site"] = "cross-site"
	want(closed, 403, "POST", "sweeps/first/retry", retry, cookie)
	delete(cookie, "Sec-Fetch-Site")
	want(closed, 409, "POST", "sweeps/first/retry", `{"states":["failed"],"expect":7}`, cookie)
	done := want(closed, 200, "POST", "sweeps/first/retry", retry, cookie)
	if done["changed"] != 1.0 {
		t.Errorf("%v", done)
	}
	states, err := closed.store.States(t.Context(),
		[]sweep.TrialID{{Sweep: sweepID, Index: 4}, {Sweep: sweepID, Index: 3}})
	if err != nil || states[sweep.TrialID{Sweep: sweepID, Index: 4}] != sweep.Pending ||
		states[sweep.TrialID{Sweep: sweepID, Index: 3}] != sweep.Completed {
		t.Errorf("%v %v", states, err)
	}
	want(closed, 409, "POST", "sweeps/first/cancel", `{"states":["pending"],"where":["index=28"],"expect":2}`,
		bearer(actor))
	want(closed, 200, "POST", "sweeps/first/cancel", `{"states":["pending"],"where":["index=28"],"expect":1}`,
		bearer(actor))

	note := `{"index":3,"notes":"look","tags":["b","a"],"by":"somebody else"}`
	want(open, 401, "POST", "sweeps/first/annotate", note, nil)
	want(closed, 403, "POST", "sweeps/first/annotate", note, bearer(reader))
	want(closed, 400, "POST", "sweeps/first/annotate", `{"tags":["a,b"]}`, bearer(actor))
	want(closed, 400, "POST", "sweeps/first/annotate", `{"indx":3,"notes":"look"}`, bearer(actor))
	want(closed, 404, "POST", "sweeps/first/annotate", `{"index":1000000,"notes":"look"}`, bearer(actor))
	want(closed, 200, "POST", "sweeps/first/annotate", note, bearer(actor))
	trial := want(closed, 200, "GET", "sweeps/first/trials/3", "", bearer(reader))["trial"].(map[string]any)
	if trial["notes"] != "look" || fmt.Sprint(trial["tags"]) != "[a b]" || trial["edited_by"] != "actor" {
		t.Errorf("%v %v by %v", trial["notes"], trial["tags"], trial["edited_by"])
	}
	want(closed, 200, "POST", "sweeps/first/annotate", `{"notes":"all diverge"}`, cookie)
	if one := want(closed, 200, "GET", "sweeps/first", "", bearer(reader)); one["notes"] != "all diverge" {
		t.Errorf("%v", one["notes"])
	}
	want(closed, 200, "POST", "sweeps/first/annotate", `{"tags":["paper"]}`, cookie)
	for tag, total := range map[string]any{"paper": 1.0, "pape": 0.0} {
		if list := want(closed, 200, "GET", "sweeps?tag="+tag, "", bearer(reader)); list["total"] != total {
			t.Errorf("%v sweeps have the tag %q, want %v", list["total"], tag, total)
		}
	}
	if err := closed.tokens.Revoke("actor"); err != nil {
		t.Fatal(err)
	}
	want(closed, 401, "GET", "sweeps", "", cookie) // its sessions end with it
	if err := closed.tokens.Revoke("actor"); err == nil {
		t.Error("revoked twice")
	}
	if _, err := closed.tokens.Create("actor", false, 0); err != nil {
		t.Fatal(err)
	}
	want(closed, 401, "GET", "sweeps", "", cookie) // another token of its name is not its own
}

// TestOddQuestions holds that no address does harm: what makes no sense is said to, and
// the next question is answered.
func TestOddQuestions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	f.indices(nil) // all are read
	paths := []string{
		"sweeps", "sweeps/first", "sweeps/first/columns", "sweeps/first/overview", "sweeps/first/trials", "sweeps/first/groups",
		"sweeps/first/slice", "sweeps/first/lines",
		"sweeps/first/importance", "sweeps/first/curves", "sweeps/first/sql", "sweeps/first/trials/3",
		"sweeps/first/trials/3/log", "compare", "tables/ucr", "tables/tasks",
		"sweeps/first/trials/-1", "sweeps/first/trials/99999999999999999999", "sweeps/first/trials/9223372036854775807",
		"sweeps/%00/trials", "sweeps/" + strings.Repeat("x", 3000),
		"tables/%2e%2e", "workers", "session",
	}
	numbers := []string{"-1", "0", "9223372036854775807", "-9223372036854775808", "99999999999999999999", "1e9",
		"NaN", "x", ""}
	values := []string{"", "NaN", "Infinity", "-Infinity", "1e309", "-1e309", "x\x00y", "lr", "loss", "nothing",
		strings.Repeat("n", 3000), "'; DROP TABLE trials; --"}
	conditions := []string{"", "=", "lr", "lr=", "lr<NaN", "lr<null", "lr<[1]", "model={}", "lr!1", "<=>", "x\x00=1",
		"lr<1e999", "state=5", "index<-1"}
	questions := []url.Values{{"state": {"nonsense"}}, {"state": {""}}, {"where": slices.Repeat([]string{"lr<1"}, 60)},
		{"column": slices.Repeat([]string{"lr"}, 500)}}
	for _, v := range numbers {
		for _, name := range []string{"offset", "limit", "points", "trials", "trial", "groups", "top", "from", "until"} {
			for _, with := range []url.Values{{"sort": {"loss"}}, {"sort": {"mean"}, "by": {"lr"}}} {
				q := url.Values{name: {v}, "metric": {"loss"}, "by": with["by"], "sort": with["sort"],
					"sweep": {"first"}, "descending": {"1"}}
				questions = append(questions, q)
			}
		}
	}
	for _, v := range values {
		for _, name := range []string{"sort", "metric", "by", "column", "rank", "sweep", "select", "top", "execution"} {
			q := url.Values{"metric": {"loss"}, "by": {"lr"}, "sweep": {"first"}}
			q.Set(name, v)
			questions = append(questions, q)
		}
	}
	for _, c := range conditions {
		questions = append(questions, url.Values{"where": {c}, "metric": {"loss"}, "by": {"lr"}, "sweep": {"first"}})
	}
	for _, path := range paths {
		for _, q := range questions {
			request := httptest.NewRequest("GET", "/api/"+path+"?"+q.Encode(), nil)
			request.Host = "127.0.0.1"
			answer := httptest.NewRecorder()
			f.served.ServeHTTP(answer, request) // which would fail if it panicked
			if answer.Code != http.StatusOK && (answer.Code < 400 || answer.Code > 499 ||
				!strings.Contains(answer.Body.String(), "error")) {
				t.Errorf("%s?%.300s: %d %.300s", path, q.Encode(), answer.Code, answer.Body)
			}
			if answer.Body.Len() > 1<<20 {
				t.Errorf("%s?%.300s: %d bytes", path, q.Encode(), answer.Body.Len())
			}
		}
	}
	for _, header := range []map[string]string{{"Authorization": "Bearer "},
		{"Authorization": "Bearer sweep_" + strings.Repeat("x", 10_000)}, {"Cookie": "sweep_session="},
		{"Cookie": "sweep_session=nobody"}} {
		for _, body := range []string{"", "{", "[]", `{"expect": 1e99}`, `{"states": ["none"]}`, `{"where": [1]}`,
			strings.Repeat("x", 1<<17)} {
			if status, answer := f.request("POST", "sweeps/first/retry", body,
				header); status != http.StatusUnauthorized && status != http.StatusForbidden {
				t.Errorf("%v %.20s: %d %v", header, body, status, answer)
			}
			if status, answer := f.request("POST", "session", body, header); status < 400 || status > 499 {
				t.Errorf("%v %.20s: %d %v", header, body, status, answer)
			}
		}
	}
}

// TestManyListeners holds that two hundred open pages are told, and go.
func TestManyListeners(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	var listening sync.WaitGroup
	told := make(chan error, 200)
	for range cap(told) {
		listening.Go(func() {
			request, err := http.NewRequestWithContext(ctx, "GET", f.server.URL+"/api/events", nil)
			if err != nil {
				told <- err
				return
			}
			response, err := client.Do(request)
			if err != nil {
				told <- err
				return
			}
			defer response.Body.Close()
			lines := bufio.NewScanner(response.Body)
			for lines.Scan() && !strings.Contains(lines.Text(), `"completed":27`) {
			}
			told <- lines.Err()
		})
		listening.Go(func() {
			request, err := http.NewRequestWithContext(ctx, "GET", f.server.URL+"/api/sweeps/first/groups?metric=loss",
				nil)
			if err != nil {
				return
			}
			response, err := client.Do(request)
			if err != nil || response.StatusCode != http.StatusOK {
				body, _ := io.ReadAll(response.Body)
				t.Errorf("%v %v %s", response.Status, err, body)
				return
			}
			response.Body.Close()
		})
	}
	listening.Wait()
	for range cap(told) {
		if err := <-told; err != nil {
			t.Error(err)
		}
	}
}

// TestVendorVersions holds that the types that the linter reads are those of the modules that are served.
func TestVendorVersions(t *testing.T) {
	source, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var pack struct {
		DevDependencies map[string]string `json:"devDependencies"`
	}
	if err := json.Unmarshal(source, &pack); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("vendor.list")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile("vendor.lock")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(list)) {
		name, rest, _ := strings.Cut(line, " ")
		version, _, _ := strings.Cut(rest, " ")
		if !strings.Contains(string(lock), name+"@"+version+" ") {
			t.Errorf("vendor.lock has no digest of %s@%s, which vendor.list names", name, version)
		}
		if typed, ok := pack.DevDependencies[name]; ok {
			compared++
			if typed != version {
				t.Errorf("package.json has %s %s, and vendor.list %s", name, typed, version)
			}
		}
	}
	if compared == 0 {
		t.Error("package.json and vendor.list have no package in common")
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	response, err := http.Get(f.server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	policy := response.Header.Get("Content-Security-Policy")
	if response.StatusCode != 200 || policy == "" || strings.Contains(policy, "unsafe") ||
		!strings.Contains(policy, "default-src 'none'") {
		t.Errorf("%s %q", response.Status, policy)
	}
	// Every module is asked for with the page, not one behind the other.
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Glob("assets/*/*.mjs")
	others, err2 := filepath.Glob("assets/vendor/*.mjs")
	if err != nil || err2 != nil || len(modules) < 10 || len(others) < 5 {
		t.Fatal(modules, others)
	}
	for _, path := range append(modules, "assets/app.mjs") {
		name := filepath.ToSlash(strings.TrimPrefix(path, "assets"+string(filepath.Separator)))
		if !bytes.Contains(page, []byte(`<link rel="modulepreload" href="`+name+`" />`)) && name != "app.mjs" {
			t.Errorf("index.html does not load %s ahead", name)
		}
		module, err := http.Get(f.server.URL + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		module.Body.Close()
		if module.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", name, module.Status)
		}
	}
}
