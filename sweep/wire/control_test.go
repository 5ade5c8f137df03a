package wire_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sweep/sweep"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// backend answers as a coordinator and its store would.
type backend struct {
	mu    sync.Mutex
	calls []string
	// keys are those of submissions.
	keys []string
	// fail, if set, is the answer to everything; panics has everything panic.
	fail   error
	panics bool
	// deposed says that it does not lead.
	deposed atomic.Bool
	// rows of every list, and how many were taken.
	rows  int
	taken atomic.Int64
	// hold, if set, delays answers until it is closed.
	hold chan struct{}
	// problem is what keeps trials from advancing.
	problem atomic.Pointer[error]
}

func (b *backend) Problem() error {
	if problem := b.problem.Load(); problem != nil {
		return *problem
	}
	return nil
}

func (b *backend) call(ctx context.Context, format string, args ...any) error {
	b.mu.Lock()
	b.calls = append(b.calls, fmt.Sprintf(format, args...))
	b.mu.Unlock()
	if b.panics {
		panic("no such index")
	}
	if b.hold != nil {
		select {
		case <-b.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return b.fail
}

func (b *backend) heard() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.calls...)
}

func (b *backend) Submit(ctx context.Context, s *sweep.Submission, requireWorkers bool) (wire.Submitted, error) {
	b.mu.Lock()
	b.keys = append(b.keys, s.Key)
	b.mu.Unlock()
	return wire.Submitted{Sweep: "id-1", Points: 1_000_000_000, Waiting: "no worker"},
		b.call(ctx, "submit %s %d %v", s.Spec.Name, len(s.Source), requireWorkers)
}

func (b *backend) Extend(ctx context.Context, id string, s *sweep.Submission) (int64, error) {
	return 7, b.call(ctx, "extend %s %s", id, s.Spec.Name)
}

func (b *backend) Pause(ctx context.Context, id string) error  { return b.call(ctx, "pause %s", id) }
func (b *backend) Resume(ctx context.Context, id string) error { return b.call(ctx, "resume %s", id) }
func (b *backend) Cancel(ctx context.Context, id string) (int64, error) {
	return 3, b.call(ctx, "cancel %s", id)
}

func (b *backend) Retry(ctx context.Context, id string) (int64, error) {
	return 4, b.call(ctx, "retry %s", id)
}

func (b *backend) SetPriority(ctx context.Context, id string, p int) error {
	return b.call(ctx, "priority %s %d", id, p)
}

func (b *backend) Rename(ctx context.Context, id, name string) error {
	return b.call(ctx, "rename %s %s", id, name)
}

func (b *backend) SetBudget(ctx context.Context, id string, budget sweep.Budget) error {
	return b.call(ctx, "budget %s %v", id, budget)
}

func (b *backend) Annotate(ctx context.Context, id string, edit sweep.Edit) error {
	text, err := json.Marshal(edit)
	return cmp.Or(err, b.call(ctx, "annotate %s %s", id, text))
}

func (b *backend) Delete(ctx context.Context, id string) (sweep.Removed, error) {
	return sweep.Removed{Sweeps: 1, Trials: 9}, b.call(ctx, "delete %s", id)
}

func (b *backend) Prune(ctx context.Context, keep sweep.Retention) (sweep.Removed, error) {
	return sweep.Removed{Events: 5}, b.call(ctx, "prune %d", keep.Events.Unix())
}

func (b *backend) CancelNamed(ctx context.Context, id string, indices []int64) (int64, error) {
	return 5, b.call(ctx, "cancel %s %v", id, indices)
}

func (b *backend) RetryNamed(ctx context.Context, id string, indices []int64) (int64, error) {
	return 6, b.call(ctx, "retry %s %v", id, indices)
}

func (b *backend) Executions(ctx context.Context, id sweep.TrialID) ([]sweep.Execution, error) {
	return []sweep.Execution{{ID: "x", Outcome: sweep.ExecutionReleased, Charged: true, LogSize: 3}},
		b.call(ctx, "executions %s", id)
}

func (b *backend) ExecutionLog(ctx context.Context, id sweep.TrialID, execution string) (*sweep.Log, error) {
	return &sweep.Log{Text: "a\nb\x1b", Start: 7}, b.call(ctx, "log %s %s", id, execution)
}

func (b *backend) Inputs(ctx context.Context, q sweep.InputQuery, yield func(*sweep.InputList) error) error {
	if err := b.call(ctx, "inputs of program %q, sweep %q", q.Program, q.Sweep); err != nil {
		return err
	}
	return yield(&sweep.InputList{ListDigest: "d", Trials: 2, Inputs: sweep.Inputs{
		Rows: []sweep.Input{{Kind: sweep.FileInput, Name: "a.py", Digest: "e"}}, Unrecorded: "the program's inputs"}})
}

func (b *backend) Artifacts(context.Context, sweep.ArtifactQuery, func(*sweep.ArtifactRecord) error) error {
	return errors.New("the control service asks the controller")
}

func (b *backend) CheckArtifacts(ctx context.Context, q sweep.ArtifactQuery, check sweep.ArtifactCheck,
	yield func(*sweep.CheckedArtifact) error) error {
	for i := range int64(b.rows) {
		if err := yield(checkedArtifact(i)); err != nil {
			return err
		}
	}
	return b.call(ctx, "artifacts %+v %s", q, check)
}

func checkedArtifact(index int64) *sweep.CheckedArtifact {
	r := artifacttest.Record(sweep.TrialID{Sweep: "s", Index: index}, fmt.Append(nil, index))
	return &sweep.CheckedArtifact{ArtifactRecord: *r, State: sweep.ArtifactLost}
}

// content is that of every artifact.
var content = artifacttest.Content(1, 3<<20)

func (b *backend) Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
	out io.Writer) (*sweep.ArtifactRecord, error) {
	r := artifacttest.Record(id, content)
	r.Name = name
	sent := content
	if name == "other" {
		sent = artifacttest.Content(2, 3<<20)
	}
	if _, err := io.Copy(out, bytes.NewReader(sent[from:])); err != nil {
		return nil, err
	}
	return r, b.call(ctx, "artifact %s %s %d", id, name, from)
}

func record(id string) sweep.SweepRecord {
	return sweep.SweepRecord{
		ID: id, Name: "n", Trainer: "noop", Pool: "cpu", Priority: 2, State: sweep.SweepActive,
		CreatedAt: time.Date(2026, 11, 21, 5, 0, 0, 1000, time.UTC),
		Grids: []sweep.GridRecord{{Points: 5, Submission: sweep.Submission{
			Source: strings.Repeat("# a long file\n", 50_000), Reuse: true, // 700 kB: more than two parts
			Spec: sweep.Spec{Name: "n",
				Axes: []sweep.Axis{{Parameters: []sweep.AxisParameter{{Name: "lr",
					Values: sweep.Values{List: []any{"x", true}}}}}}},
		}}},
	}
}

func (b *backend) Sweep(ctx context.Context, reference string) (*sweep.SweepRecord, error) {
	r := record(reference)
	return &r, b.call(ctx, "sweep %s", reference)
}

func (b *backend) Sweeps(ctx context.Context, states ...sweep.SweepState) ([]sweep.SweepRecord, error) {
	return []sweep.SweepRecord{record("a"), record("b"), record("c")}, b.call(ctx, "sweeps %v", states)
}

func (b *backend) Progress(ctx context.Context, id string) (sweep.Progress, error) {
	return sweep.Progress{Pending: 1, Running: 2, Completed: 3}, b.call(ctx, "progress %s", id)
}

func trialRecord(index int64) *sweep.TrialRecord {
	return &sweep.TrialRecord{
		Trial: sweep.Trial{TrialID: sweep.TrialID{Sweep: "s", Index: index},
			Parameters: sweep.Parameters{"lr": 0.5, "n": index, "z": []any{"a", nil}}, Fingerprint: "f"},
		State: sweep.Completed, Executions: 1, Result: &sweep.Result{State: sweep.Completed,
			Summary: map[string]float64{"loss": 0.25}},
	}
}

func (b *backend) Trial(ctx context.Context, id sweep.TrialID) (*sweep.TrialRecord, error) {
	return trialRecord(id.Index), b.call(ctx, "trial %s", id)
}

func (b *backend) Trials(ctx context.Context, q sweep.TrialQuery, yield func(*sweep.TrialRecord) error) error {
	var conditions []string
	for _, w := range q.Where {
		conditions = append(conditions, fmt.Sprintf("%s%s%T", w.Name, w.Operator, w.Value))
	}
	for i := range int64(b.rows) {
		if err := yield(trialRecord(i)); err != nil {
			return err
		}
		b.taken.Add(1)
	}
	return b.call(ctx, "trials %v %v %d", q.Sweeps, conditions, q.Limit)
}

func (b *backend) Curves(ctx context.Context, id sweep.TrialID, metrics ...string) ([]sweep.Curve, error) {
	return []sweep.Curve{curve("a", 100_000), curve("b", 3)}, b.call(ctx, "curves %s %v", id, metrics)
}

// cells are values that databases return.
var cells = []any{nil, true, int64(math.MaxInt64), 1.5, 2.0, math.Inf(1), "text", []byte{0, 255},
	time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), []any{int64(1), "x"}, map[string]any{"f": "1"}}

func (b *backend) Query(ctx context.Context, sql string, yield func([]string, []any) error) error {
	columns := make([]string, len(cells))
	for i := range columns {
		columns[i] = fmt.Sprint("c", i)
	}
	for range b.rows {
		if err := yield(columns, cells); err != nil {
			return err
		}
		b.taken.Add(1)
	}
	return b.call(ctx, "query %s", sql)
}

func (b *backend) QuerySweep(ctx context.Context, id, sql string, yield func([]string, []any) error) error {
	return b.Query(ctx, "of "+id+": "+sql, yield)
}

// change is a request of an operation that changes sweeps.
type change struct {
	name string
	ask  func(c *wire.Client) error
}

// changes has one of each.
func changes(ctx context.Context) []change {
	submission := &sweep.Submission{Spec: sweep.Spec{Name: "grid"}, Key: "key"}
	return []change{
		{"submit", func(c *wire.Client) error { _, err := c.Submit(ctx, submission, true); return err }},
		{"extend", func(c *wire.Client) error { _, err := c.Extend(ctx, "s", submission); return err }},
		{"pause", func(c *wire.Client) error { return c.Pause(ctx, "s") }},
		{"resume", func(c *wire.Client) error { return c.Resume(ctx, "s") }},
		{"cancel", func(c *wire.Client) error { _, err := c.Cancel(ctx, "s"); return err }},
		{"retry", func(c *wire.Client) error { _, err := c.Retry(ctx, "s"); return err }},
		{"priority", func(c *wire.Client) error { return c.SetPriority(ctx, "s", -3) }},
		{"rename", func(c *wire.Client) error { return c.Rename(ctx, "s", "valley") }},
		{"budget", func(c *wire.Client) error {
			return c.SetBudget(ctx, "s", sweep.Budget{Trials: 4, Time: time.Hour})
		}},
		{"annotate", func(c *wire.Client) error {
			return c.Annotate(ctx, "s", sweep.Edit{Index: new(int64(7)), Tags: []string{"keep"}, By: "ada"})
		}},
		{"delete", func(c *wire.Client) error { _, err := c.Delete(ctx, "s"); return err }},
		{"prune", func(c *wire.Client) error {
			_, err := c.Prune(ctx, sweep.Retention{Events: time.Unix(5, 0).UTC()})
			return err
		}},
		{"cancel trials", func(c *wire.Client) error { _, err := c.CancelNamed(ctx, "s", []int64{1, 2}); return err }},
		{"retry trials", func(c *wire.Client) error { _, err := c.RetryNamed(ctx, "s", []int64{0}); return err }},
	}
}

func serve(t *testing.T, conn *nats.Conn, b *backend) (client *wire.Client, stop func()) {
	t.Helper()
	service, err := open(t, conn, wire.Options{}).ServeControl(b, b, func() bool { return !b.deposed.Load() })
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(service.Close)
	t.Cleanup(stop)
	return wire.NewClient(conn).WithSilence(patience), stop
}

// Of two services that hear a request the one of the coordinator that leads answers,
// and the other, which may have been stopped while another took over, carries nothing
// out.
func TestOnlyTheLeaderAnswers(t *testing.T) {
	conn := wiretest.Start(t)
	deposed, leader := &backend{}, &backend{}
	deposed.deposed.Store(true)
	serve(t, conn, deposed)
	c, _ := serve(t, conn, leader)
	for range 20 {
		if err := c.Pause(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(leader.calls); n != 20 {
		t.Errorf("the leader carried %d of 20 requests out", n)
	}
	if len(deposed.calls) > 0 {
		t.Errorf("the deposed one carried out %v", deposed.calls)
	}
}

// A coordinator answers what it receives while its lease has expired once it has renewed it.
func TestLapsedLeaseIsRenewed(t *testing.T) {
	conn := wiretest.Start(t)
	var looks atomic.Int64
	b := &backend{}
	service, err := open(t, conn, wire.Options{}).ServeControl(b, b, func() bool { return looks.Add(1) > 3 })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	if err := wire.NewClient(conn).Pause(t.Context(), "s"); err != nil || looks.Load() != 4 {
		t.Errorf("after %d looks at the lease: %v", looks.Load(), err)
	}
}

// fewer is how many lines or rows of many a test sends, a quarter under -short: the race detector slows encoding down.
func fewer(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

func TestCommandsReachTheCoordinator(t *testing.T) {
	b := &backend{}
	c, _ := serve(t, wiretest.Start(t), b)
	ctx := t.Context()
	submission := &sweep.Submission{Spec: sweep.Spec{Name: "grid"}, Source: strings.Repeat("# comment\n", fewer(1<<20))}
	if done, err := c.Submit(ctx, submission, true); done != (wire.Submitted{Sweep: "id-1", Points: 1_000_000_000,
		Waiting: "no worker"}) || err != nil {
		t.Errorf("Submit = %+v, %v", done, err)
	}
	if points, err := c.Extend(ctx, "s", submission); points != 7 || err != nil {
		t.Errorf("Extend = %d, %v", points, err)
	}
	if stopped, err := c.Cancel(ctx, "s"); stopped != 3 || err != nil {
		t.Errorf("Cancel = %d, %v", stopped, err)
	}
	if trials, err := c.Retry(ctx, "s"); trials != 4 || err != nil {
		t.Errorf("Retry = %d, %v", trials, err)
	}
	if trials, err := c.CancelNamed(ctx, "s", []int64{1, 2}); trials != 5 || err != nil {
		t.Errorf("CancelNamed = %d, %v", trials, err)
	}
	if trials, err := c.RetryNamed(ctx, "s", []int64{3}); trials != 6 || err != nil {
		t.Errorf("RetryNamed = %d, %v", trials, err)
	}
	// Nothing named is not everything.
	for _, change := range []func(context.Context, string, []int64) (int64, error){c.CancelNamed, c.RetryNamed} {
		if _, err := change(ctx, "s", nil); err == nil {
			t.Error("a change of no trials is carried out")
		}
	}
	if err := errors.Join(c.Pause(ctx, "s"), c.Resume(ctx, "s"), c.Problem()); err != nil {
		t.Error(err)
	}
	problem := errors.New("the disk\nis full")
	b.problem.Store(&problem)
	if err := c.SetBudget(ctx, "s", sweep.Budget{Trials: 4, Time: time.Hour}); err != nil {
		t.Error(err)
	}
	note := ""
	edit := sweep.Edit{Index: new(int64(0)), Notes: &note, Tags: []string{}, By: "ada"}
	if err := c.Annotate(ctx, "s", edit); err != nil {
		t.Error(err)
	}
	if err := c.SetPriority(ctx, "s", -2); err != nil {
		t.Error(err)
	}
	if removed, err := c.Delete(ctx, "s"); err != nil ||
		!reflect.DeepEqual(removed, sweep.Removed{Sweeps: 1, Trials: 9}) {
		t.Errorf("%+v, %v", removed, err)
	}
	if removed, err := c.Prune(ctx, sweep.Retention{Events: time.Unix(7, 0)}); err != nil ||
		!reflect.DeepEqual(removed, sweep.Removed{Events: 5}) {
		t.Errorf("%+v, %v", removed, err)
	}
	if err := c.Problem(); err == nil || err.Error() != "the disk is full" {
		t.Errorf("the coordinator's problem arrives as %v", err)
	}
	b.problem.Store(nil)
	if _, err := c.Sweep(ctx, "s"); err != nil || c.Problem() != nil {
		t.Errorf("%v; the problem that is over: %v", err, c.Problem())
	}
	want := []string{fmt.Sprintf("submit grid %d true", len(submission.Source)), "extend s grid", "cancel s", "retry s",
		"cancel s [1 2]", "retry s [3]", "pause s", "resume s", "budget s 4 trials, 1h",
		`annotate s {"index":0,"notes":"","tags":[],"by":"ada"}`, "priority s -2", "delete s", "prune 7", "sweep s"}
	if got := b.heard(); !reflect.DeepEqual(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

func TestReadingGivesWhatTheStoreGives(t *testing.T) {
	b := &backend{rows: fewer(3000)}
	c, _ := serve(t, wiretest.Start(t), b)
	ctx := t.Context()
	if got, err := c.Sweep(ctx, "x"); err != nil || !reflect.DeepEqual(*got, record("x")) {
		t.Errorf("Sweep: %v, %v", got, err)
	}
	sweeps, err := c.Sweeps(ctx, sweep.SweepActive, sweep.SweepPaused)
	if want := []sweep.SweepRecord{record("a"), record("b"), record("c")}; err != nil ||
		!reflect.DeepEqual(sweeps, want) {
		t.Errorf("Sweeps: %d, %v", len(sweeps), err)
	}
	if got, err := c.Progress(ctx, "x"); err != nil || got != (sweep.Progress{Pending: 1, Running: 2, Completed: 3}) {
		t.Errorf("Progress = %+v, %v", got, err)
	}
	if got, err := c.Trial(ctx, sweep.TrialID{Sweep: "s", Index: 9}); err != nil ||
		!reflect.DeepEqual(got, trialRecord(9)) {
		t.Errorf("Trial = %+v, %v", got, err)
	}
	curves, err := c.Curves(ctx, sweep.TrialID{Sweep: "s", Index: 9}, "a", "b")
	if err != nil || !reflect.DeepEqual(curves, []sweep.Curve{curve("a", 100_000), curve("b", 3)}) {
		t.Errorf("Curves: %d, %v", len(curves), err)
	}
	n := int64(0)
	query := sweep.TrialQuery{Sweeps: []string{"s"}, Limit: 5, Where: []sweep.TrialCondition{
		{Name: "n", Operator: ">=", Value: int64(2)}, {Name: "lr", Operator: "=", Value: 2.0},
		{Name: "x", Operator: "=", Value: nil},
	}}
	err = c.Trials(ctx, query, func(r *sweep.TrialRecord) error {
		if !reflect.DeepEqual(r, trialRecord(n)) {
			t.Fatalf("trial %d: %+v", n, r)
		}
		n++
		return nil
	})
	if err != nil || n != int64(b.rows) || query.Where[0].Value != int64(2) {
		t.Errorf("Trials: %d, %v, %v", n, err, query)
	}
	n = 0
	err = c.Query(ctx, "SELECT 1", func(columns []string, row []any) error {
		if len(columns) != len(cells) || columns[1] != "c1" || !reflect.DeepEqual(row, cells) {
			t.Fatalf("row %d: %v %#v", n, columns, row)
		}
		n++
		return nil
	})
	if err != nil || n != int64(b.rows) {
		t.Errorf("Query: %d, %v", n, err)
	}
	if err := c.QuerySweep(ctx, "s", "SELECT 2", func([]string, []any) error { return nil }); err != nil {
		t.Errorf("QuerySweep: %v", err)
	}
	executions, err := c.Executions(ctx, sweep.TrialID{Sweep: "s", Index: 2})
	if err != nil || len(executions) != 1 ||
		executions[0] != (sweep.Execution{ID: "x", Outcome: sweep.ExecutionReleased, Charged: true, LogSize: 3}) {
		t.Errorf("Executions = %+v, %v", executions, err)
	}
	if log, err := c.ExecutionLog(ctx, sweep.TrialID{Sweep: "s"}, "x"); err != nil ||
		*log != (sweep.Log{Text: "a\nb\x1b", Start: 7}) {
		t.Errorf("ExecutionLog = %+v, %v", log, err)
	}
	var lists []*sweep.InputList
	err = c.Inputs(ctx, sweep.InputQuery{Program: "p"}, func(l *sweep.InputList) error {
		lists = append(lists, l)
		return nil
	})
	if err != nil || len(lists) != 1 || lists[0].ListDigest != "d" || len(lists[0].Rows) != 1 ||
		lists[0].Rows[0].Name != "a.py" || lists[0].Unrecorded == "" || lists[0].Trials != 2 {
		t.Errorf("Inputs: %+v, %v", lists, err)
	}
	n = 0
	err = c.CheckArtifacts(ctx, sweep.ArtifactQuery{Sweep: "s", Indices: []int64{4}}, sweep.CheckDigest,
		func(a *sweep.CheckedArtifact) error {
			if *a != *checkedArtifact(n) {
				t.Fatalf("artifact %d: %+v", n, a)
			}
			n++
			return nil
		})
	if err != nil || n != int64(b.rows) {
		t.Errorf("CheckArtifacts: %d, %v", n, err)
	}
	if err := c.Artifacts(ctx, sweep.ArtifactQuery{Sweep: "s"}, func(*sweep.ArtifactRecord) error {
		n--
		return nil
	}); err != nil || n != 0 {
		t.Errorf("Artifacts: %d, %v", n, err)
	}
	var copied bytes.Buffer
	if r, err := c.Artifact(ctx, sweep.TrialID{Sweep: "s"}, "weights", 0, &copied); err != nil || r.Size != 3<<20 ||
		!bytes.Equal(copied.Bytes(), content) {
		t.Errorf("Artifact = %+v, %v, %d bytes", r, err, copied.Len())
	}
	copied.Reset()
	if r, err := c.Artifact(ctx, sweep.TrialID{Sweep: "s"}, "weights", 2<<20, &copied); err != nil || r.Size != 3<<20 ||
		!bytes.Equal(copied.Bytes(), content[2<<20:]) {
		t.Errorf("the rest of it: %+v, %v, %d bytes", r, err, copied.Len())
	}
	var damaged *sweep.DamagedError
	if _, err := c.Artifact(ctx, sweep.TrialID{Sweep: "s"}, "other", 0, io.Discard); !errors.As(err, &damaged) {
		t.Errorf("other bytes than the record's: %v", err)
	}
	want := []string{"sweep x", "sweeps [active paused]", "progress x", "trial s/9", "curves s/9 [a b]",
		"trials [s] [n>=int64 lr=float64 x=<nil>] 5", "query SELECT 1", "query of s: SELECT 2",
		"executions s/2", "log s/0 x", `inputs of program "p", sweep ""`, "artifacts {Sweep:s Indices:[4] From:0 Until:0 Name:} digest",
		"artifacts {Sweep:s Indices:[] From:0 Until:0 Name:} ",
		"artifact s/0 weights 0", "artifact s/0 weights 2097152", "artifact s/0 other 0"}
	if got := b.heard(); !reflect.DeepEqual(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

// A reader that has seen enough, or is gone, ends the query at the other end too.
func TestReadingEndsEarly(t *testing.T) {
	b := &backend{rows: 100_000_000}
	c, _ := serve(t, wiretest.Start(t), b)
	over := func() {
		t.Helper()
		last := int64(-1)
		eventually(t, "the query ends at the other end", func() bool {
			now := b.taken.Load()
			still := now == last
			last = now
			return still
		})
		if last > 100_000 {
			t.Errorf("%d rows were read for 10", last)
		}
		b.taken.Store(0)
	}
	enough := errors.New("enough")
	n := 0
	err := c.Query(t.Context(), "SELECT 1", func([]string, []any) error {
		if n++; n == 10 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("Query: %v", err)
	}
	over()
	ctx, cancel := context.WithCancel(t.Context())
	err = c.Query(ctx, "SELECT 1", func([]string, []any) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Query whose context ends: %v", err)
	}
	over()
}

// A panic is an error of its request alone.
func TestPanicIsAnAnswer(t *testing.T) {
	b := &backend{panics: true}
	c, _ := serve(t, wiretest.Start(t), b)
	if err := c.Pause(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "please report it: no such index") {
		t.Errorf("error %v", err)
	}
	b.panics = false
	if err := c.Pause(t.Context(), "s"); err != nil {
		t.Error(err)
	}
}

func TestErrorsKeepTextAndType(t *testing.T) {
	b := &backend{}
	c, _ := serve(t, wiretest.Start(t), b)
	ask := func() error { return c.Pause(t.Context(), "s") }

	for _, sentinel := range []error{sweep.ErrNotFound, sweep.ErrExists, sweep.ErrNewerSchema, sweep.ErrNoPoint,
		sweep.ErrTooManyPoints, sweep.ErrDatasetChanged, context.DeadlineExceeded} {
		b.fail = fmt.Errorf("pausing sweep s:\n two lines: %w", sentinel)
		if err := ask(); !errors.Is(err, sentinel) || err.Error() != b.fail.Error() {
			t.Errorf("%v arrives as %v", b.fail, err)
		}
	}
	b.fail = errors.New("something else")
	if err := ask(); errors.Is(err, sweep.ErrNotFound) || err.Error() != b.fail.Error() {
		t.Errorf("%v arrives as %v", b.fail, err)
	}
	b.fail = fmt.Errorf("get: %w", &sweep.LostError{Artifact: "s/1/weights", Problem: "too large"})
	var lost *sweep.LostError
	if err := ask(); !errors.As(err, &lost) || lost.Problem != "too large" || err.Error() != b.fail.Error() {
		t.Errorf("%v arrives as %v", b.fail, err)
	}
	b.fail = fmt.Errorf("get: %w", &sweep.DamagedError{Artifact: "s/1/weights", Store: "file:///a", Problem: "short"})
	var damaged *sweep.DamagedError
	if err := ask(); !errors.As(err, &damaged) || damaged.Store != "file:///a" || err.Error() != b.fail.Error() {
		t.Errorf("%v arrives as %v", b.fail, err)
	}
	refused := &sweep.ParameterError{Parameter: "model", Value: "gruu", Problem: "is unknown", Nearest: "gru"}
	b.fail = fmt.Errorf("point 3: %w", refused)
	var parameter *sweep.ParameterError
	if err := ask(); !errors.As(err, &parameter) || *parameter != *refused || err.Error() != b.fail.Error() {
		t.Errorf("%v arrives as %v", b.fail, err)
	}
	b.fail = &sweep.ParameterError{Parameter: "lr", Value: math.NaN(), Problem: "must be finite"}
	if err := ask(); !errors.As(err, &parameter) || parameter.Problem != "must be finite" ||
		err.Error() != b.fail.Error() {
		t.Errorf("%v arrives as %v", b.fail, err)
	}
	b.fail = &sweep.DataError{Dataset: "CBF", Err: os.ErrNotExist}
	var data *sweep.DataError
	if err := ask(); !errors.As(err, &data) || data.Dataset != "CBF" || err.Error() != b.fail.Error() {
		t.Errorf("%v arrives as %v", b.fail, err)
	}
	// After rows, too.
	b.fail, b.rows = sweep.ErrNotFound, 3000
	n := 0
	err := c.Query(t.Context(), "SELECT 1", func([]string, []any) error { n++; return nil })
	if !errors.Is(err, sweep.ErrNotFound) || n == 0 {
		t.Errorf("after %d rows %v", n, err)
	}
	b.fail = nil
	err = c.Trials(t.Context(), sweep.TrialQuery{}, func(*sweep.TrialRecord) error { return sweep.ErrNoPoint })
	if !errors.Is(err, sweep.ErrNoPoint) {
		t.Errorf("the caller's own error arrives as %v", err)
	}
}

// A client waits for a standby that takes over, and says clearly when none does.
func TestClientWaitsForACoordinator(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	var wait sync.WaitGroup
	failed := make(chan error, 1)
	wait.Go(func() { failed <- wire.NewClient(conn).WithPatience(patience).Pause(t.Context(), "s") })
	select {
	case err := <-failed:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	b := &backend{}
	service, err := w.ServeControl(b, b, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
	service.Close()
	err = wire.NewClient(conn).WithPatience(0).Pause(t.Context(), "s")
	var away *wire.UnreachableError
	if !errors.As(err, &away) || away.Delivered || !strings.Contains(err.Error(), "no coordinator answers") {
		t.Errorf("without a coordinator: %v", err)
	}
	wait.Wait()
}

// A coordinator whose lease runs out takes no further requests and finishes those that
// it answers.
func TestPausedControlFinishes(t *testing.T) {
	conn := wiretest.Start(t)
	b := &backend{hold: make(chan struct{})}
	service, err := open(t, conn, wire.Options{}).ServeControl(b, b, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	c := wire.NewClient(conn)
	begun := make(chan error, 1)
	go func() { begun <- c.Pause(t.Context(), "s") }()
	eventually(t, "the request is being served", func() bool { return len(b.heard()) == 1 })
	service.Pause()
	var away *wire.UnreachableError
	if err := c.WithPatience(0).Pause(t.Context(), "other"); !errors.As(err, &away) || away.Delivered {
		t.Errorf("a request to a service that takes none: %v", err)
	}
	close(b.hold)
	if err := <-begun; err != nil {
		t.Errorf("the request that was being answered: %v", err)
	}
	if err := service.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := c.Resume(t.Context(), "s"); err != nil {
		t.Errorf("after the pause: %v", err)
	}
	if got, want := b.heard(), []string{"pause s", "resume s"}; !reflect.DeepEqual(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

func TestCoordinatorThatStopsAnswersFirst(t *testing.T) {
	b := &backend{hold: make(chan struct{})}
	c, stop := serve(t, wiretest.Start(t), b)
	failed := make(chan error, 1)
	var wait sync.WaitGroup
	wait.Go(func() { failed <- c.Pause(t.Context(), "s") })
	eventually(t, "the request is being served", func() bool { return len(b.heard()) == 1 })
	stop()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("Pause: %v", err)
	}
	wait.Wait()
}

func TestSlowRequestsDoNotHoldUpOthers(t *testing.T) {
	b := &backend{hold: make(chan struct{})}
	c, _ := serve(t, wiretest.Start(t), b)
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			if err := c.Pause(t.Context(), "s"); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all requests are being served", func() bool { return len(b.heard()) == 10 })
	close(b.hold)
	wait.Wait()
}

// A client of the version before is served: it misunderstands nothing.
func TestOlderClient(t *testing.T) {
	b := &backend{}
	c, _ := serve(t, wiretest.Start(t), b)
	r, err := c.WithVersion(1).Sweep(t.Context(), "s") // in more than one part
	if err != nil || r.ID != "s" {
		t.Errorf("Sweep = %+v, %v", r, err)
	}
}

// A submission whose answer was lost is sent again, under the same key.
func TestLostAnswerOfASubmission(t *testing.T) {
	t.Parallel()
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	b := &backend{}
	// Somebody takes the first request and never answers.
	lost := make(chan *nats.Msg, 1)
	silent, err := conn.ChanQueueSubscribe("sweep.control.submit", "q", lost)
	if err != nil {
		t.Fatal(err)
	}
	if err := silent.AutoUnsubscribe(1); err != nil {
		t.Fatal(err)
	}
	client := wire.NewClient(conn).WithSilence(5 * time.Second).WithPatience(patience)
	submitted := make(chan error, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		_, err := client.Submit(t.Context(), &sweep.Submission{Spec: sweep.Spec{Name: "once"}}, false)
		submitted <- err
	})
	first := sweeptest.Receive(t, "the first request", lost)
	service, err := w.ServeControl(b, b, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	wait.Wait()
	if err := <-submitted; err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.calls) == 0 { // a late answer counts as lost too
		t.Error("the coordinator has heard nothing")
	}
	for _, key := range b.keys {
		if len(key) < 10 || !bytes.Contains(first.Data, []byte(`"`+key+`"`)) {
			t.Errorf("key %q of the request %s", key, first.Data)
		}
	}
}

func TestOtherVersionsAreTold(t *testing.T) {
	conn := wiretest.Start(t)
	b := &backend{}
	c, _ := serve(t, conn, b)
	for version, want := range map[int]string{0: "this program is older",
		wire.ControlVersion + 1: "the coordinator is older"} {
		err := c.WithVersion(version).Pause(t.Context(), "s")
		var told *wire.VersionError
		if !errors.As(err, &told) || told.Client != version || told.Server != wire.ControlVersion ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("client of version %d: %v", version, err)
		}
	}
	for _, m := range []struct {
		subject, data, version, encoding, want string
	}{
		{"pause", `{}`, "", "", "without a version"},
		{"fly", `{}`, "1", "", `no operation "fly"`},
		{"pause", `junk`, "1", "", "cannot be read"},
		{"pause", `junk`, "1", "gzip", "cannot be read"},
		{"pause", `{}`, "1", "zstd", "unknown encoding"},
		{"pause", `{"sweep":7}`, "1", "", "cannot be read"},
		{"submit", `{}`, "1", "", "no submission"},
		{"trials", `{"query":{"Where":[{}]}}`, "1", "", "no query"},
		{"trials", `{}`, "1", "", "no query"},
	} {
		answer, err := conn.RequestMsg(&nats.Msg{
			Subject: "sweep.control." + m.subject, Data: []byte(m.data),
			Header: nats.Header{"Sweep-Version": {m.version}, "Content-Encoding": {m.encoding}},
		}, patience)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(answer.Header.Get("Nats-Service-Error"), m.want) {
			t.Errorf("%v: %v %s", m, answer.Header, answer.Data)
		}
	}
	if got := b.heard(); len(got) != 0 {
		t.Errorf("calls %q", got)
	}

	// A coordinator of another version, as a client sees it.
	other := wiretest.Start(t)
	s, err := other.Subscribe("sweep.control.*", func(m *nats.Msg) {
		_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Sweep-Part": {"end"}, "Sweep-Version": {"7"}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Unsubscribe() })
	var told *wire.VersionError
	if err := wire.NewClient(other).Pause(t.Context(), "s"); !errors.As(err, &told) || told.Server != 7 {
		t.Errorf("Pause: %v", err)
	}
}

// host is a worker's presence.
type host struct {
	status  wire.WorkerStatus
	mu      sync.Mutex
	drained string
}

func (h *host) Status() wire.WorkerStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.status
	if s.Reason = h.drained; h.drained != "" {
		s.State = wire.WorkerDrained
	}
	return s
}

func (h *host) set(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drained = reason
}
func (h *host) Drain(reason string)                       { h.set(reason) }
func (h *host) Log(sweep.TrialID, int64) *wire.RunningLog { return nil }

func (h *host) Resume() { h.set("") }

// serveHost serves the presence of a worker, which answers late.
func serveHost(t *testing.T, w *wire.Wire, h *host, late time.Duration) {
	t.Helper()
	stop, err := w.ServePresence(&lateHost{h, late})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
}

// lateHost is a worker's presence that takes its time.
type lateHost struct {
	*host
	late time.Duration
}

func (h *lateHost) Status() wire.WorkerStatus {
	time.Sleep(h.late)
	return h.host.Status()
}

func TestPresenceOfWorkers(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	c := wire.NewClient(conn).WithAnswers(patience)
	if workers, err := c.Workers(t.Context()); err != nil || len(workers) != 0 {
		t.Errorf("Workers = %v, %v; want none", workers, err)
	}
	var all []wire.WorkerStatus
	for i, name := range []string{"host.example-2", "host.example-1"} {
		h := &host{status: wire.WorkerStatus{
			ID: fmt.Sprint("id", i), Name: name, Host: "host.example", Process: i, Pool: "cpu", State: wire.WorkerReady,
			StartedAt: time.Unix(1, 0).UTC(),
			Slots: []wire.WorkerSlot{{Trial: &sweep.TrialID{Sweep: "s", Index: int64(i)}, Since: time.Unix(2, 0).UTC()},
				{Since: time.Unix(3, 0).UTC()}},
		}}
		all = append([]wire.WorkerStatus{h.status}, all...)
		serveHost(t, w, h, 0)
	}
	if err := conn.Publish("sweep.workers.status", []byte("junk")); err != nil {
		t.Fatal(err)
	}
	// A list lacks workers that answer much later than others.
	listed := func() (workers []wire.WorkerStatus) {
		eventually(t, "the list has all workers", func() bool {
			var err error
			if workers, err = c.Workers(t.Context()); err != nil || len(workers) > len(all) {
				t.Fatalf("Workers = %+v, %v", workers, err)
			}
			return len(workers) == len(all)
		})
		return workers
	}
	if workers := listed(); !reflect.DeepEqual(workers, all) {
		t.Errorf("Workers = %+v\nwant %+v", workers, all)
	}
	if s, err := c.DrainWorker(t.Context(), "host.example-1", "repair"); err != nil || s.Name != "host.example-1" ||
		s.State != wire.WorkerDrained || s.Reason != "repair" {
		t.Errorf("DrainWorker: %+v, %v", s, err)
	}
	if workers := listed(); workers[0].Reason != "repair" || workers[1].Reason != "" {
		t.Errorf("Workers = %+v", workers)
	}
	if s, err := c.ResumeWorker(t.Context(), "host.example-1"); err != nil || s.State != wire.WorkerReady {
		t.Errorf("ResumeWorker: %+v, %v", s, err)
	}
	if _, err := c.WithAnswers(time.Second).DrainWorker(t.Context(), "nobody", ""); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("DrainWorker of nobody: %v", err)
	}
	drainSeveral(t, c, "host")
}

// drainSeveral asks to drain a worker whose name is not unique, which is refused. The last of them may
// answer too late.
func drainSeveral(t *testing.T, c *wire.Client, name string) {
	t.Helper()
	eventually(t, "two workers have such a name", func() bool {
		_, err := c.DrainWorker(t.Context(), name, "")
		return err != nil && strings.Contains(err.Error(), "2 workers")
	})
}

// A worker is found although it answers later than others.
func TestLateWorkersAreFound(t *testing.T) {
	t.Parallel()
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	for name, late := range map[string]time.Duration{"host-1": 0, "host-2": 600 * time.Millisecond,
		"other": 1200 * time.Millisecond} {
		serveHost(t, w, &host{status: wire.WorkerStatus{ID: name, Name: name, Pool: "cpu"}}, late)
	}
	c := wire.NewClient(conn).WithAnswers(patience)
	for _, name := range []string{"other", "host-2", "oth"} {
		if s, err := c.DrainWorker(t.Context(), name, "repair"); err != nil || !strings.HasPrefix(s.Name, name) {
			t.Errorf("DrainWorker of %s: %+v, %v", name, s, err)
		}
	}
	drainSeveral(t, c, "host")
}

// The log of a running trial is found although its worker is slow.
func TestLateLogIsFound(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	stop, err := w.ServePresence(lateLog{presence{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	c := wire.NewClient(conn).WithAnswers(patience)
	for _, worker := range []string{"", "id1"} {
		log, err := c.RunningLog(t.Context(), worker, sweep.TrialID{Sweep: "s", Index: 7}, 3)
		if err != nil || log == nil || log.Text != "epoch 1" {
			t.Errorf("RunningLog of worker %q = %+v, %v", worker, log, err)
		}
	}
}

// lateLog is a worker that looks for its logs for more than a second.
type lateLog struct{ presence }

func (l lateLog) Log(id sweep.TrialID, from int64) *wire.RunningLog {
	time.Sleep(1200 * time.Millisecond)
	return l.presence.Log(id, from)
}

// However many ask what takes long to answer, others are answered.
func TestLongRequestsLeaveRoom(t *testing.T) {
	b := &backend{hold: make(chan struct{})}
	conn := wiretest.Start(t)
	_, stop := serve(t, conn, b)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const clients = 100
	ends := make(chan error, 2*clients)
	for range clients {
		c := wire.NewClient(conn).WithSilence(patience)
		go func() { ends <- c.Query(ctx, "SELECT 1", func([]string, []any) error { return nil }) }()
		go func() {
			ends <- c.Trials(ctx, sweep.TrialQuery{}, func(*sweep.TrialRecord) error { return nil })
		}()
	}
	for range 2*clients - 16 { // all but those that are being answered
		if err := <-ends; err == nil || !strings.Contains(err.Error(), "try again") {
			t.Fatalf("%v", err)
		}
	}
	asked := make(chan error, 1)
	go func() { asked <- wire.NewClient(conn).WithSilence(patience).Pause(ctx, "s") }()
	eventually(t, "a pause finds room", func() bool { return b.called("pause s") })
	close(b.hold)
	for range 16 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if err := <-asked; err != nil {
		t.Error(err)
	}
	stop()
}

// called reports whether a call was made.
func (b *backend) called(call string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.calls, call)
}
