package wire_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

var update = flag.Bool("update", false, "write testdata and the table of deploy/README.md")

// TestControlVectors compares what clients ask and coordinators answer with what the
// programs did that are in use: both must go on to understand each other.
func TestControlVectors(t *testing.T) {
	const file = "testdata/control.txt"
	conn := wiretest.Start(t)
	b := &backend{rows: 2}
	client, _ := serve(t, conn, b)
	heard, err := conn.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	id := sweep.TrialID{Sweep: "s", Index: 7}
	none := func(error) {}
	var asks []func()
	for _, c := range changes(ctx) {
		asks = append(asks, func() { none(c.ask(client)) })
	}
	asks = append(asks,
		func() { _, err := client.Sweep(ctx, "s"); none(err) },
		func() { _, err := client.Sweeps(ctx, sweep.SweepActive, sweep.SweepPaused); none(err) },
		func() { _, err := client.Progress(ctx, "s"); none(err) },
		func() { _, err := client.Trial(ctx, id); none(err) },
		func() {
			none(client.Trials(ctx, sweep.TrialQuery{Sweeps: []string{"s"},
				Where: []sweep.TrialCondition{{Name: "lr", Operator: "<", Value: 0.5}}, Limit: 3},
				func(*sweep.TrialRecord) error { return nil }))
		},
		func() { _, err := client.Curves(ctx, id, "a"); none(err) },
		func() { _, err := client.Executions(ctx, id); none(err) },
		func() { _, err := client.ExecutionLog(ctx, id, "x"); none(err) },
		func() {
			none(client.Inputs(ctx, sweep.InputQuery{Sweep: "s"}, func(*sweep.InputList) error { return nil }))
		},
		func() {
			none(client.CheckArtifacts(ctx, sweep.ArtifactQuery{Sweep: "s"}, sweep.CheckSize,
				func(*sweep.CheckedArtifact) error { return nil }))
		},
		func() { _, err := client.Artifact(ctx, id, "weights", 5, io.Discard); none(err) },
		func() { none(client.Query(ctx, "SELECT 1", func([]string, []any) error { return nil })) },
		func() { none(client.QuerySweep(ctx, "s", "SELECT 1", func([]string, []any) error { return nil })) },
	)
	var got strings.Builder
	for _, ask := range asks {
		ask()
		asked, answer := conversation(t, heard)
		fmt.Fprintf(&got, "%s\n%s\n%s\n\n", asked.Subject, asked.Data, answer)
	}
	want, err := os.ReadFile(file)
	if *update {
		want, err = []byte(got.String()), os.WriteFile(file, []byte(got.String()), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		a, b := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("%s:%d\n\t%s\nwhere the programs in use say\n\t%s", file, i+1, b[i], a[i])
			}
		}
		t.Fatalf("%d lines, want %d", len(b), len(a))
	}
	var names []string
	for _, line := range strings.Split(string(want), "\n") {
		if name, found := strings.CutPrefix(line, "sweep.control."); found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if all := wire.Operations(); len(names) != len(all) {
		t.Errorf("there are vectors of %d operations of %d", len(names), len(all))
	}
}

// conversation returns a request and its answer, of a long one the digest.
func conversation(t *testing.T, heard *nats.Subscription) (asked *nats.Msg, answer string) {
	t.Helper()
	var data []byte
	for {
		m, err := heard.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		switch m.Header.Get("Sweep-Part") {
		case "":
			if strings.HasPrefix(m.Subject, "sweep.control.") {
				asked = m
			}
			continue
		case "more":
			data = append(data, m.Data...)
			continue
		case "working":
			continue
		}
		data = append(data, m.Data...)
		answer = strings.TrimSpace(string(data)) + m.Header.Get("Nats-Service-Error")
		if len(answer) > 500 {
			answer = fmt.Sprintf("%d bytes, SHA-256 %x", len(answer), sha256.Sum256([]byte(answer)))
		}
		return asked, answer
	}
}

// TestRolesAndDocumentation holds the observer's role and the table of deploy/README.md to
// the operations that there are.
func TestRolesAndDocumentation(t *testing.T) {
	const conf, page = "../../deploy/nats/permissions.conf", "../../deploy/README.md"
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	_, role, _ := strings.Cut(string(text), "role_observer")
	role, _, _ = strings.Cut(role, "subscribe")
	table := "\n| operation | | role |\n| --- | --- | --- |\n"
	for _, o := range wire.Operations() {
		if may := strings.Contains(role, `"sweep.control.`+o.Name+`"`); may != o.Reads {
			t.Errorf("%s: observers may ask for %s: %v, and it changes nothing: %v", conf, o.Name, may, o.Reads)
		}
		who := "submitter"
		if o.Reads {
			who = "observer"
		}
		table += fmt.Sprintf("| `%s` | %s | %s |\n", o.Name, o.Purpose, who)
	}
	for _, subject := range regexp.MustCompile(`sweep\.control\.[^"]*`).FindAllString(role, -1) {
		if !slices.ContainsFunc(wire.Operations(), func(o wire.Operation) bool {
			return "sweep.control."+o.Name == subject
		}) {
			t.Errorf("%s lets observers ask for %s, which there is not", conf, subject)
		}
	}
	text, err = os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "<!-- operations -->\n")
	now, after, found := strings.Cut(rest, "<!-- end of operations -->")
	if !found {
		t.Fatalf("%s has no place for the operations", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+"<!-- operations -->\n"+table+"\n<!-- end of operations -->"+after),
			0o644); err != nil {
			t.Fatal(err)
		}
	} else if now != table+"\n" {
		t.Errorf("%s has other operations than there are; -update writes them", page)
	}
}
