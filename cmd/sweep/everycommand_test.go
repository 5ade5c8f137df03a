package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// Each tool answers a good call and a bad one, one after the other in one process.
func TestEveryTool(t *testing.T) {
	t.Parallel()
	a := newAgent(t, t.TempDir(), "--allow-changes", "--slots", "2")
	sent := object{"file": agentFile, "purpose": "call each tool"}
	first := call[submitAnswer](a, "submit", sent).Sweep
	a.stopped(first)
	own := func(more object) object {
		call := object{"sweep": first}
		for key, value := range more {
			call[key] = value
		}
		return call
	}
	none := object{"sweep": "nothing"}
	other := strings.Replace(agentFile, "[0, 2]", "[0, 2, 4]", 1)
	calls := []struct {
		tool      string
		good, bad object
	}{
		{"list", object{}, object{"state": "lost"}},
		{"status", own(nil), none},
		{"logs", own(object{"trial": 0}), own(object{"trial": 99})},
		{"sql", object{"statement": "SELECT 1"}, object{"statement": "SELECT nothing"}},
		{"sql", own(object{"statement": "SELECT trial_index FROM t LIMIT 2"}),
			own(object{"statement": "SELECT nothing FROM t"})},
		{"sql", object{"statement": "SELECT 1 WHERE 1 = 2"}, object{"statement": ""}},
		{"describe_trainer", object{}, object{"trainer": "nothing"}},
		{"check", object{"file": agentFile}, object{"file": "early_terminate: {type: halving, parameter: points}\n" +
			"trainer: noop\nmetric: {name: value}\nparameters: {points: {values: []}}\n"}},
		{"best", own(nil), own(object{"metric": "nothing"})},
		{"trials", own(nil), own(object{"where": []string{"x"}})},
		{"compare", own(nil), own(object{"by": []string{"nothing"}})},
		{"curves", own(object{"trials": []int{0}}), own(object{"trials": []int{}})},
		{"submit", sent, object{"file": "{", "purpose": "none"}},
		{"extend", own(object{"file": other, "purpose": "more"}),
			object{"sweep": "nothing", "file": other, "purpose": "more"}},
		{"annotate", own(object{"trial": 0, "notes": "odd", "tags": []string{}}), own(object{"tags": []string{"a,b"}})},
		{"pause", own(nil), none},
		{"priority", own(object{"priority": 3}), own(nil)},
		{"rename", own(object{"name": "peak"}), own(object{"name": "latest"})},
		{"resume", own(nil), none},
		{"cancel", own(nil), none},
		{"retry", own(nil), none},
	}
	called := map[string]bool{}
	for _, c := range calls {
		called[c.tool] = true
		// A sweep that has ended can be neither paused nor resumed, which is an answer, too.
		if text, failed := a.answer(c.tool, c.good); failed && !strings.Contains(text, "only a") {
			t.Errorf("%s %v: %s", c.tool, c.good, text)
		}
		if text, failed := a.answer(c.tool, c.bad); !failed || strings.Contains(text, "a fault of this program") {
			t.Errorf("%s %v: %s", c.tool, c.bad, text)
		}
	}
	for _, tool := range a.tools() {
		if !called[tool] {
			t.Errorf("tool %s is not called by this test", tool)
		}
	}
	uris := []string{"sweep://sweeps/" + first, "sweep://schema/noop"}
	resources, err := a.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range resources.Resources {
		uris = append(uris, page.URI)
	}
	for _, uri := range uris {
		if _, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		if _, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri + "nothing"}); err == nil {
			t.Errorf("%snothing has an answer", uri)
		}
	}
}

// A panic of a command is its error.
func TestPanicOfCommand(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), &cobra.Command{RunE: func(*cobra.Command, []string) error { panic("no such index") }}, nil)
	if err == nil || !strings.Contains(err.Error(), "no such index, in sweep.TestPanicOfCommand") {
		t.Errorf("error %v", err)
	}
}

// commandCalls has for each command a good line and a bad one, in the order in which they are run. What
// needs a cluster, a terminal or the network, or runs until it is stopped, has a good line in other tests.
func commandCalls(dir, small string) [][2]string {
	at := func(name string) string { return filepath.Join(dir, name) }
	return [][2]string{
		{"", "init none.py"},
		{"run " + small, "run none.yaml"},
		{"status", "status nothing"},
		{"preset list", "preset list nothing"},
		{"preset show bounds", "preset show nothing"},
		{"", "preset run nothing"},
		{"", "longer small --set x"},
		{"", "exec none.py"},
		{"table flops", "table nothing"},
		{"", "table bounds small"},
		{"figure curves small --metric value -o " + at("curves.svg"), "figure curves small -o " + at("curves.gif")},
		{"trials small", "trials small --where x"},
		{"curves small 0", "curves small 99"},
		{"diff small small", "diff small"},
		{"sql SELECT+1", "sql SELECT+nothing"},
		{"export small", "export nothing"},
		{"report small", "report nothing"},
		{"trial show small 0", "trial show small 99"},
		{"logs small 0", "logs small 99"},
		{"artifacts list small", "artifacts list nothing"},
		{"", "artifacts get small 0 weights"},
		{"", "complete small 0 a"},
		{"", "predict small 0 data.csv"},
		{"config", "config nothing"},
		{"ask small", "ask small --from 99"},
		{"note small text", "note nothing text"},
		{"tag small one", "tag nothing one"},
		{"priority small 1", "priority small x"},
		{"budget small none", "budget small x"},
		{"trial cancel small 0", "trial cancel small x"},
		{"trial retry small 0", "trial retry small x"},
		{"cancel small", "cancel nothing"},
		{"retry small", "retry nothing"},
		{"rename small tiny", "rename small latest"},
		{"rename tiny small", "rename nothing tiny"},
		{"", "pause small"},
		{"", "resume small"},
		{"prune --sweeps 30d", "prune"},
		{"delete small", "delete nothing"},
		{"", "submit none.yaml"},
		{"", "extend nothing none.yaml"},
		{"", "tell nothing"},
		{"", "drain nothing"},
		{"", "workers"},
		{"", "worker --slots 0"},
		{"", "coordinator --window x"},
		{"", "nats --listen x"},
		{"", "ui --listen x"},
		{"", "watch nothing"},
		{"", "mcp --budget x"},
		{"migrate", "migrate nothing"},
		{"token create alice", "token create alice"},
		{"token list", "token list nothing"},
		{"token revoke alice", "token revoke alice"},
		{"expand " + small, "expand none.yaml"},
		{"schema noop", "schema nothing"},
		{"trainer describe noop", "trainer describe nothing"},
		{"", "trainer step --n x"},
		{"data list", "data list nothing"},
		{"", "data fetch nothing"},
		{"", "data verify nothing"},
		{"version", "version nothing"},
	}
}

// Each command answers a good line and a bad one with an exit code, and panics at neither.
func TestEveryCommand(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	small := write(t, dir, "small.yaml", strings.Replace(agentFile, "valley", "small", 1))
	called := map[string]bool{}
	for _, pair := range commandCalls(dir, small) {
		for i, words := range pair {
			if words == "" {
				continue
			}
			args := strings.Fields(words)
			for k := range args {
				args[k] = strings.ReplaceAll(args[k], "+", " ")
			}
			cmd, _, err := newRoot().Find(args)
			if err != nil {
				t.Fatal(err)
			}
			called[cmd.CommandPath()] = true
			stdout, stderr, code := output(t, home, args...)
			if i == 0 && code != 0 || i == 1 && (code == 0 || stderr == "") || strings.Contains(stderr, "a fault of this") ||
				strings.Contains(stderr, "goroutine ") {
				t.Errorf("sweep %s: exit code %d: %.300s%.2000s", words, code, stdout, stderr)
			}
		}
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && !cmd.Hidden && cmd.Runnable() && !called[cmd.CommandPath()] && cmd.Name() != "help" {
			t.Errorf("%q is not called by this test", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
}
