package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/sweep/progress"
)

// agent is a client of a "sweep mcp", with the SDK's own client.
type agent struct {
	t *testing.T
	*mcp.ClientSession
	cmd *exec.Cmd
}

// newAgent starts "sweep mcp" and a session with it.
func newAgent(t *testing.T, home string, args ...string) *agent {
	t.Helper()
	cmd := program(t, home, append([]string{"mcp"}, args...)...)
	cmd.Stderr = t.Output()
	return connectAgent(t, cmd, &mcp.CommandTransport{Command: cmd, TerminateDuration: patience})
}

// connectAgent begins a session over a transport.
func connectAgent(t *testing.T, cmd *exec.Cmd, transport mcp.Transport) *agent {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "7"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // a test that ends it looks at the error
	return &agent{t, session, cmd}
}

// answer calls a tool and returns its text and whether it is an error.
func (a *agent) answer(tool string, arguments any) (text string, failed bool) {
	a.t.Helper()
	result, err := a.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

// object is what a tool is called with.
type object map[string]any

// call calls a tool and decodes its structured answer.
func call[Answer any](a *agent, tool string, arguments object) (out Answer) {
	a.t.Helper()
	text, failed := a.answer(tool, arguments)
	if failed {
		a.t.Fatalf("%s %v: %s", tool, arguments, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		a.t.Fatalf("%s: %v in %s", tool, err, text)
	}
	return out
}

// What the tools answer, as far as tests look at it.
type (
	toolTrial struct {
		Index      int64
		Parameters map[string]any
		Metrics    map[string]*float64
	}
	listAnswer struct {
		Sweeps []struct{ Name, State string }
		Next   string
	}
	statusAnswer struct {
		progress.Status
		Parameters []string
	}
	trainerAnswer struct{ Parameters []struct{ Doc string } }
	checkAnswer   struct {
		Trials int64
		Notes  []string
	}
	submitAnswer struct {
		Sweep  string
		Trials int64
	}
	bestAnswer struct {
		Goal   string
		Trials []toolTrial
	}
	trialsAnswer struct {
		Trials []toolTrial
		Next   *int64
	}
	compareAnswer struct {
		Groups []struct {
			Parameters map[string]any
			Trials     int64
			Metrics    map[string]struct {
				BestTrial int64 `json:"best_trial"`
			}
		}
	}
	curvesAnswer struct {
		Curves []struct {
			Of    int
			Steps []int64
		}
	}
	logsAnswer struct {
		Omitted int
		Note    string
	}
	sqlAnswer struct {
		Rows [][]any
		More bool
	}
	changeAnswer struct {
		State  string
		Trials int64
	}
)

// stopped returns the status of a sweep that neither runs nor waits any more. On a busy
// machine it may wait for a moment, at which the tool answers.
func (a *agent) stopped(id string) (status statusAnswer) {
	a.t.Helper()
	await(a.t, "the sweep "+id+" to stop", func() bool {
		status = call[statusAnswer](a, "status", object{"sweep": id, "wait_seconds": 300})
		return status.State != "active" && status.State != "waiting"
	})
	return status
}

// refused calls a tool, whose error must contain a text.
func (a *agent) refused(tool string, arguments object, want string) {
	a.t.Helper()
	if text, failed := a.answer(tool, arguments); !failed || !strings.Contains(text, want) {
		a.t.Errorf("%s %v: %q, expected an error with %q", tool, arguments, text, want)
	}
}

// agentFile is a sweep of 12 trials with curves.
const agentFile = `
name: valley
trainer: noop
replicates: 2
parameters:
  x: {values: [0, 2]}
  y: {values: [0, 1, 3]}
  points: {value: 500}
`

// tools lists the names of a client's tools.
func (a *agent) tools() (names []string) {
	a.t.Helper()
	list, err := a.ListTools(context.Background(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// documentedTools are the tools of the table in docs/agents.md, those that read and those that change.
func documentedTools(t *testing.T) (readers, changers []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z_`, ]+) \\| (yes)? *\\|").FindAllStringSubmatch(string(page), -1) {
		names := strings.Split(strings.Trim(row[1], "`"), "`, `")
		if row[2] == "" {
			readers = append(readers, names...)
		} else {
			changers = append(changers, names...)
		}
	}
	return readers, changers
}

// What an agent does with a sweep, from the file to its last trial.
func TestAgentOnOneMachine(t *testing.T) {
	t.Parallel()
	a := newAgent(t, t.TempDir(), "--allow-changes", "--slots", "2")
	readers, changers := documentedTools(t)
	if want := slices.Sorted(slices.Values(slices.Concat(readers, changers))); !slices.Equal(a.tools(), want) {
		t.Errorf("tools %v, documented %v", a.tools(), want)
	}
	a.refused("status", object{}, "no sweeps yet")
	a.refused("describe_trainer", object{"trainer": "noop", "names": []string{"nothing"}}, "no parameter or metric nothing")
	described := call[trainerAnswer](a, "describe_trainer", object{"trainer": "noop", "names": []string{"points"}})
	if len(described.Parameters) != 1 || !strings.Contains(described.Parameters[0].Doc, "falls towards") {
		t.Errorf("described as %+v", described)
	}
	if checked := call[checkAnswer](a, "check", object{"file": agentFile}); checked.Trials != 12 {
		t.Errorf("checked as %+v", checked)
	}
	a.refused("check", object{"file": strings.Replace(agentFile, "points", "pints", 1)},
		`sweep file:8:3: parameters.pints: trainer noop has no such parameter (did you mean "points"?)`)
	a.refused("submit", object{"file": agentFile, "purpose": " "}, "say why")
	a.refused("submit", object{"file": agentFile}, `missing properties: ["purpose"]`)
	a.refused("submit", object{"file": "program: train.py\nparameters: {lr: {value: 1}}\n", "purpose": "mischief"},
		"--script-dir")

	submission := object{"file": agentFile, "purpose": "find the lowest point", "key": "once"}
	done := call[submitAnswer](a, "submit", submission)
	if done.Trials != 12 || call[submitAnswer](a, "submit", submission).Sweep != done.Sweep {
		t.Errorf("submitted as %+v, and again", done)
	}
	status := a.stopped("latest")
	if status.State != "finished" || status.Progress.Completed != 12 || status.Metric != "value" ||
		status.Purpose != "find the lowest point" || !strings.HasPrefix(status.AskedBy, `mcp "tester 7" for `) ||
		!slices.Equal(status.Parameters, []string{"x", "y", "seed"}) {
		t.Errorf("status %+v", status)
	}
	best := call[bestAnswer](a, "best", object{"limit": 3})
	if len(best.Trials) != 3 || best.Goal != "minimize" || *best.Trials[0].Metrics["value"] > *best.Trials[1].Metrics["value"] ||
		best.Trials[0].Parameters["x"] != 0.0 || best.Trials[0].Parameters["points"] != nil {
		t.Errorf("best %+v", best)
	}
	groups := call[compareAnswer](a, "compare", object{"by": []string{"x"}})
	if len(groups.Groups) != 2 || groups.Groups[0].Trials != 6 || groups.Groups[0].Parameters["x"] != 0.0 ||
		groups.Groups[0].Metrics["value"].BestTrial != best.Trials[0].Index {
		t.Errorf("groups %+v", groups)
	}
	first := call[trialsAnswer](a, "trials", object{"limit": 7})
	second := call[trialsAnswer](a, "trials", object{"limit": 7, "after": *first.Next})
	if len(first.Trials) != 7 || *first.Next != 6 || len(second.Trials) != 5 || second.Next != nil {
		t.Errorf("pages %+v and %+v", first, second)
	}
	curves := call[curvesAnswer](a, "curves", object{"trials": []int{0, 11}, "samples": 5})
	if len(curves.Curves) != 2 || curves.Curves[1].Of != 500 ||
		!slices.Equal(curves.Curves[0].Steps, []int64{1, 125, 250, 375, 500}) {
		t.Errorf("curves %+v", curves)
	}
	a.refused("curves", object{"trials": []int{0}, "metrics": []string{"loss"}}, "no curve of loss")
	if logs := call[logsAnswer](a, "logs", object{"trial": 3}); logs.Omitted != 0 ||
		!strings.Contains(logs.Note, "wrote nothing") {
		t.Errorf("logs %+v", logs)
	}
	rows := call[sqlAnswer](a, "sql", object{"statement": "SELECT trial_index, value FROM t ORDER BY value", "sweep": "latest",
		"limit": 4})
	if len(rows.Rows) != 4 || !rows.More || rows.Rows[0][0] != float64(best.Trials[0].Index) {
		t.Errorf("rows %+v", rows)
	}
	rows = call[sqlAnswer](a, "sql", object{"statement": "SELECT count(*) FROM results"})
	if len(rows.Rows) != 1 || rows.More || rows.Rows[0][0] != 12.0 {
		t.Errorf("all rows %+v", rows)
	}
	a.refused("sql", object{"statement": "SELECT x FROM results"}, "columns in t")
	a.refused("sql", object{"statement": "DELETE FROM sweeps"}, "read")
	a.refused("cancel", object{"sweep": ""}, "name the sweep")
	a.refused("cancel", object{"sweep": "nonsense"}, "no sweep has the name")

	long := strings.NewReplacer("valley", "long", "{value: 500}", "{value: 0}\n  milliseconds: {value: 86400000}").Replace(agentFile)
	call[submitAnswer](a, "submit", object{"file": long, "purpose": "to be cancelled"})
	await(t, "two running trials", func() bool {
		return call[statusAnswer](a, "status", object{"sweep": "long"}).Progress.Running == 2
	})
	if state := call[changeAnswer](a, "pause", object{"sweep": "long"}); state.State != "paused" {
		t.Errorf("paused: %+v", state)
	}
	if state := call[changeAnswer](a, "resume", object{"sweep": "long"}); state.State != "active" {
		t.Errorf("resumed: %+v", state)
	}
	one := call[changeAnswer](a, "cancel", object{"sweep": "long", "trials": []int{5}})
	if one.Trials != 1 {
		t.Errorf("cancelled one: %+v", one)
	}
	call[changeAnswer](a, "cancel", object{"sweep": "long"})
	status = call[statusAnswer](a, "status", object{"sweep": "long"})
	if status.State != "cancelled" || status.Progress.Cancelled != 12 {
		t.Errorf("cancelled: %+v", status)
	}
	more := strings.Replace(agentFile, "[0, 2]", "[-1]", 1)
	added := call[changeAnswer](a, "extend", object{"sweep": "valley", "file": more, "purpose": "look to the left"})
	if status = a.stopped("valley"); added.Trials != 6 || status.Progress.Completed != 18 {
		t.Errorf("extended by %+v to %+v", added, status)
	}
	if list := call[listAnswer](a, "list", object{"limit": 1}); list.Sweeps[0].Name != "long" || list.Next == "" ||
		call[listAnswer](a, "list", object{"after": list.Next}).Sweeps[0].Name != "valley" {
		t.Errorf("list %+v", list)
	}
	if err := a.Close(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// An agent runs the programs of --script-dir and nothing else, and learns nothing of other files.
func TestAgentKeepsToScriptDir(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"train.sh": "echo '{\"loss\": 1}' > $SWEEP_EVENTS; touch $(dirname $0)/ran",
		"data.csv": "1"})
	outside := folder(t, map[string]string{"secret": "", "train.sh": "touch $(dirname $0)/ran"})
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, t.TempDir(), "--allow-changes", "--slots", "2", "--script-dir", dir)
	file := func(lines string) string {
		return lines + "\nmetric: {name: loss}\nparameters: {lr: {values: [1, 2]}}\n"
	}
	mark := filepath.Join(outside, "ran")
	for name, lines := range map[string]string{
		"a shell's text":         "command: [sh, -c, 'touch " + mark + "']",
		"text beside a program":  "program: train.sh\ncommand: [sh, -c, 'touch " + mark + "', '${program}']",
		"a program elsewhere":    "program: " + filepath.Join(outside, "train.sh") + "\ncommand: [sh, '${program}']",
		"a program by a link":    "program: link/train.sh\ncommand: [sh, '${program}']",
		"a command by a link":    "command: [./link/train.sh]",
		"a command of this host": "command: [touch, " + mark + "]",
	} {
		a.refused("check", object{"file": file(lines)}, dir)
		a.refused("submit", object{"file": file(lines), "purpose": "mischief"}, dir)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	told := func(pattern string) string {
		text, failed := a.answer("check", object{"file": file("program: train.sh\ncommand: [sh, '${program}']\nfiles: ['" +
			pattern + "']")})
		if !failed {
			t.Errorf("files: %s was accepted: %s", pattern, text)
		}
		return strings.ReplaceAll(text, pattern, "PATTERN")
	}
	for _, folder := range []string{outside, "link"} {
		if there, missing := told(folder+"/sec*"), told(folder+"/none*"); there != missing {
			t.Errorf("%q tells from %q that a file is there", there, missing)
		}
	}
	call[submitAnswer](a, "submit", object{"file": file("program: train.sh\ncommand: [sh, '${program}', '${args}']\n" +
		"files: [data.csv]"), "purpose": "honest work"})
	if status := a.stopped("latest"); status.State != "finished" || status.Progress.Completed != 2 {
		t.Errorf("status %+v", status)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err != nil {
		t.Error("the program did not run:", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("something else ran")
	}
}

// Without a cluster, sweeps that no worker will ever run are refused, and not left waiting.
func TestAgentRefusesOtherPools(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	elsewhere := "pool: gpu\n" + agentFile
	if _, stderr, code := output(t, home, "run", write(t, home, "valley.yaml", elsewhere)); code != 0 {
		t.Fatal(stderr)
	}
	a := newAgent(t, home, "--allow-changes", "--slots", "2")
	a.refused("submit", object{"file": elsewhere, "purpose": "wait for ever"}, "pool gpu: this command runs trials of the pool cpu only")
	a.refused("submit", object{"file": "requires: {gpu: a100}\n" + agentFile, "purpose": "wait for ever"}, "a worker with the label gpu")
	a.refused("extend", object{"sweep": "latest", "file": agentFile, "purpose": "wait for ever"}, "pool gpu")
	a.refused("retry", object{"sweep": "latest"}, "pool gpu")
	a.refused("resume", object{"sweep": "latest"}, "pool gpu")
	if notes := call[checkAnswer](a, "check", object{"file": elsewhere}).Notes; !slices.ContainsFunc(notes, func(note string) bool {
		return strings.Contains(note, "cannot be submitted here: pool gpu")
	}) {
		t.Errorf("notes %q", notes)
	}
	if list := call[listAnswer](a, "list", object{}); len(list.Sweeps) != 1 || list.Sweeps[0].State != "finished" {
		t.Errorf("sweeps %+v", list)
	}
}

// Without --allow-changes there are no tools that change anything.
func TestAgentReadsByDefault(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if _, stderr, code := output(t, home, "run", write(t, home, "valley.yaml", agentFile)); code != 0 {
		t.Fatal(stderr)
	}
	a := newAgent(t, home)
	readers, _ := documentedTools(t)
	if slices.Sort(readers); !slices.Equal(a.tools(), readers) {
		t.Errorf("tools %v, documented %v", a.tools(), readers)
	}
	a.refused("cancel", object{"sweep": "latest"}, "unknown tool")
	if status := call[statusAnswer](a, "status", object{}); status.Progress.Completed != 12 {
		t.Errorf("status %+v", status)
	}
	for uri, want := range map[string]string{
		"sweep://docs/sweep-files.md": "# ", "sweep://docs/views.md": "| `reused_from_sweep` |",
		"sweep://sweeps/latest": "name: valley", "sweep://schema/noop": `"milliseconds"`,
	} {
		read, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(read.Contents[0].Text, want) {
			t.Errorf("%s: %v, %v", uri, read, err)
		}
	}
	if _, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "sweep://sweeps/none"}); err == nil {
		t.Error("a sweep that does not exist has a file")
	}
}

// A server that is killed again and again ends with the table of one that is not.
func TestKilledAgentServerGoesOn(t *testing.T) {
	t.Parallel()
	file := strings.NewReplacer("replicates: 2", "replicates: 8", "{value: 500}", "{value: 3}\n  milliseconds: {value: 20}").
		Replace(agentFile)
	undisturbed := t.TempDir()
	if _, stderr, code := output(t, undisturbed, "run", write(t, undisturbed, "file.yaml", file)); code != 0 {
		t.Fatal(stderr)
	}
	home := t.TempDir()
	submission := object{"file": file, "purpose": "survive", "key": "the only one"}
	for kills := 1; ; kills++ {
		a := newAgent(t, home, "--allow-changes", "--slots", "2")
		call[submitAnswer](a, "submit", submission)
		status := call[statusAnswer](a, "status", object{})
		for (status.State == "active" || status.State == "waiting") && status.Progress.Completed < int64(12*kills) {
			status = call[statusAnswer](a, "status", object{})
		}
		if status.State == "finished" {
			break
		}
		if err := a.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = a.Close() // it was killed
	}
	if got, want := digests(t, home), digests(t, undisturbed); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// With --nats the same tools change a cluster, whose coordinator holds it to the budget.
func TestAgentOnCluster(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	c.start("worker", "worker", "--slots", "2")
	c.answered()
	cmd := c.program(t.TempDir(), "mcp", "--allow-changes", "--budget", "8 trials")
	cmd.Stderr = t.Output()
	a := connectAgent(t, cmd, &mcp.CommandTransport{Command: cmd, TerminateDuration: patience})
	submitted := call[submitAnswer](a, "submit", object{"file": agentFile, "purpose": "on a cluster"})
	status := a.stopped(submitted.Sweep)
	if status.State != "paused" || status.Progress.Completed != 8 || !strings.Contains(status.Reason, "4 trials are left") {
		t.Errorf("status %+v", status)
	}
	if cancelled := call[changeAnswer](a, "cancel", object{"sweep": submitted.Sweep}); cancelled.Trials != 0 {
		t.Errorf("cancelled %+v", cancelled)
	}
	if stdout, stderr, code := c.output("budget", submitted.Sweep, "9 trials"); code != 0 ||
		!strings.Contains(stdout, "has a budget of 9 trials") {
		t.Errorf("budget: %d, %s%s", code, stdout, stderr)
	}
}

// What a budget allows runs, and nothing more; a person raises it.
func TestAgentBudget(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := newAgent(t, home, "--allow-changes", "--slots", "2", "--budget", "8 trials")
	first := call[submitAnswer](a, "submit", object{"file": agentFile, "purpose": "more than there is"})
	status := a.stopped("latest")
	if status.State != "paused" || status.Progress.Completed != 8 || status.Budget.SpentTrials != 8 ||
		!strings.HasPrefix(status.Reason, "the budget of 8 trials is used up: 4 trials are left") {
		t.Errorf("status %+v", status)
	}
	own := strings.Replace(agentFile, "valley", "other", 1)
	a.refused("submit", object{"file": own + "budget: {trials: 3}\n", "purpose": "escape"}, "share one of 8 trials")
	call[submitAnswer](a, "submit", object{"file": own, "purpose": "escape", "fresh": true})
	status = a.stopped("latest")
	if status.State != "paused" || status.Progress.Completed != 0 {
		t.Errorf("another sweep %+v", status)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	b := newAgent(t, home, "--allow-changes", "--slots", "2", "--budget", "100 trials")
	b.refused("resume", object{"sweep": first.Sweep}, "not within the budget of this session")
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"budget", first.Sweep, "many"}, code: exitUsage, stderr: []string{`as in "200 trials"`}},
		{args: []string{"budget", first.Sweep, "13 trials"}, stdout: []string{"has a budget of 13 trials"}},
		{args: []string{"status", first.Sweep}, stdout: []string{"8 trials of the budget of 13 trials used",
			"more than there is, for mcp"}},
	}...)
	c := newAgent(t, home, "--allow-changes", "--slots", "2") // resumes both
	status = c.stopped(first.Sweep)
	rest := c.stopped("other")
	if status.Progress.Completed+rest.Progress.Completed != 13 {
		t.Errorf("with a larger budget: %+v and %+v", status, rest)
	}
}

// A run ends when the budget of its file is used up, and the same command goes on when it is raised.
func TestRunWithBudget(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := write(t, home, "valley.yaml", agentFile+"budget: {trials: 5, time: 1h}\n")
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"run", file, "--slots", "2"}, stderr: []string{"5 completed",
			`is paused: the budget of 5 trials, 1h is used up: 7 trials are left ("sweep budget `}},
		{args: []string{"run", file, "--slots", "2"}, stderr: []string{"5 completed", "is used up"}},
		{args: []string{"budget", "latest", "none"}, stdout: []string{"has a budget of none"}},
		{args: []string{"run", file, "--slots", "2"}, stderr: []string{"12 completed"}},
	}...)
}

// bearer sends a token with each request.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Over HTTP everyone on this machine reads, and a token changes.
func TestAgentOverHTTP(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	secret := func(flags ...string) string {
		out, stderr, code := output(t, home, append([]string{"token", "create"}, flags...)...)
		if code != 0 {
			t.Fatal(stderr)
		}
		return strings.TrimSpace(out)
	}
	reader, actor := secret("screen", "--read-only"), secret("alice")
	cmd := program(t, home, "mcp", "--http", "127.0.0.1:0", "--slots", "2")
	cmd.Stderr = t.Output()
	address := serving(t, cmd, "mcp: ")
	connect := func(token string) *agent {
		return connectAgent(t, cmd, &mcp.StreamableClientTransport{Endpoint: address, DisableStandaloneSSE: true,
			HTTPClient: &http.Client{Transport: bearer(token)}})
	}
	readers, _ := documentedTools(t)
	slices.Sort(readers)
	for _, token := range []string{"", reader} {
		a := connect(token)
		if !slices.Equal(a.tools(), readers) {
			t.Errorf("tools with token %.6q: %v", token, a.tools())
		}
		a.refused("submit", object{"file": agentFile, "purpose": "mischief"}, "unknown tool")
	}
	a := connect(actor)
	submitted := call[submitAnswer](a, "submit", object{"file": agentFile, "purpose": "over HTTP"})
	status := connect("").stopped(submitted.Sweep)
	if status.State != "finished" || !strings.HasSuffix(status.AskedBy, "with token alice") {
		t.Errorf("status %+v", status)
	}
	if _, stderr, code := output(t, home, "token", "revoke", "alice"); code != 0 {
		t.Fatal(stderr)
	}
	if text, failed := a.answer("cancel", object{"sweep": submitted.Sweep}); !failed {
		t.Errorf("with a revoked token: %s", text)
	}
	for name, change := range map[string]func(r *http.Request){
		"another host":   func(r *http.Request) { r.Host = "example.com" },
		"a proxy":        func(r *http.Request) { r.Header.Set("X-Forwarded-For", "10.0.0.1") },
		"an old token":   func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+actor) },
		"another site":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another origin": func(r *http.Request) { r.Header.Set("Origin", "https://example.com") },
	} {
		r, err := http.NewRequest("POST", address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		change(r)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", name, response.StatusCode)
		}
	}
}
