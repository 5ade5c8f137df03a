package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// From a sweep file to completions, on one machine.
func TestCompleteCommand(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	run := func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }
	const head = "parameters:\n  dataset: {value: generated-queries}\n  model: {value: rnn}\n  alphabet: {value: 32}\n" +
		"  lr: {value: 0.01}\n  epochs: {value: 2}\n"
	check(t, run,
		line{args: []string{"run", write(t, dir, "kept.yaml", "name: kept\nartifacts: [weights]\n"+head)}},
		line{args: []string{"run", write(t, dir, "plain.yaml", "name: plain\n"+head+"  seed: {value: 2}\n")}},
		line{args: []string{"run", write(t, dir, "cbf.yaml", "name: cbf\nartifacts: [weights]\nparameters:\n"+
			"  dataset: {value: generated-cbf}\n  epochs: {value: 2}\n")}},
		line{args: []string{"complete", "kept", "0", "mickey m", "usb", "--top", "2"},
			stdout: []string{"PREFIX", `"mickey m"  0.`, `"mickey mouse"`, `"usb"`}},
		line{args: []string{"complete", "kept", "0", "日"}, stderr: []string{`"日" as any rare character`}},
		line{args: []string{"complete", "kept", "0", strings.Repeat("a", 61)}, code: exitFailure,
			stderr: []string{"at most 60 (length)"}},
		line{args: []string{"complete", "plain", "0", "mic"}, code: exitArtifacts,
			stderr: []string{`kept no weights: write "artifacts: [weights]"`}},
		line{args: []string{"complete", "cbf", "0", "mic"}, code: exitFailure,
			stderr: []string{"weights are of the task classification", "task queries"}},
		line{args: []string{"complete", "kept", "7", "mic"}, code: exitNotFound},
		line{args: []string{"complete", "kept", "0"}, code: exitUsage},
		line{args: []string{"complete", "kept", "0", "mic", "--beam", "0"}, code: exitUsage, stderr: []string{"--beam 0"}},
		line{args: []string{"complete", "kept", "0", "mic", "--top", "0"}, code: exitUsage, stderr: []string{"--top 0"}},
		line{args: []string{"complete", "kept", "0", "mic", "--format", "xml"}, code: exitUsage,
			stderr: []string{"text or json"}},
	)
	stdout, stderr, code := run("complete", "kept", "0", "mic", "", "--top", "3", "--format", "json")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != 0 || len(lines) != 2 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	var answer struct {
		Prefix      string
		Completions []struct {
			Query       string
			Probability float64
		}
	}
	if err := json.Unmarshal([]byte(lines[0]), &answer); err != nil || answer.Prefix != "mic" ||
		len(answer.Completions) != 3 || !strings.HasPrefix(answer.Completions[0].Query, "mic") ||
		answer.Completions[0].Probability <= answer.Completions[1].Probability {
		t.Errorf("%s, %v", lines[0], err)
	}
}
