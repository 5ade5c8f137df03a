package main

import (
	"bytes"
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
			stdout: []string{"PREFIX", `"mickey m"  0.`, `"mickey mouse"`, `"usb"`},
			stderr: []string{"2 prefixes in ", "loading the weights took "}},
		line{args: []string{"complete", "kept", "0", "日"}, stderr: []string{`"日" as any rare character`, "alphabet",
			"1 prefix in "}},
		line{args: []string{"complete", "kept", "0", "mic\xff"}, code: exitFailure,
			stderr: []string{`prefix "mic\xff" is not UTF-8: convert it`}},
		line{args: []string{"complete", "kept", "0", strings.Repeat("a", 61)}, code: exitFailure,
			stderr: []string{"at most 60 (length): shorten it"}},
		line{args: []string{"complete", "plain", "0", "mic"}, code: exitArtifacts,
			stderr: []string{`kept no weights: write "artifacts: [weights]"`}},
		line{args: []string{"complete", "cbf", "0", "mic"}, code: exitFailure,
			stderr: []string{"weights are of the task classification", "task queries"}},
		line{args: []string{"complete", "kept", "7", "mic"}, code: exitNotFound, stderr: []string{"trials are 0 to 0"}},
		line{args: []string{"complete", "none", "0", "mic"}, code: exitNotFound, stderr: []string{`no sweep has the name "none"`}},
		line{args: []string{"complete", "kept", "first", "mic"}, code: exitUsage, stderr: []string{`"first"`}},
		line{args: []string{"complete", "kept", "0"}, code: exitUsage, stderr: []string{"no prefix", "--stdin"}},
		line{args: []string{"complete", "kept", "0", "mic", "--stdin"}, code: exitUsage, stderr: []string{"one of both"}},
		line{args: []string{"complete", "kept", "0", "mic", "--beam", "0"}, code: exitUsage, stderr: []string{"--beam 0"}},
		line{args: []string{"complete", "kept", "0", "mic", "--top", "0"}, code: exitUsage, stderr: []string{"--top 0"}},
		line{args: []string{"complete", "kept", "0", "mic", "--format", "xml"}, code: exitUsage,
			stderr: []string{"text or json"}},
	)
	cmd := program(t, home, "complete", "kept", "0", "--stdin", "--top", "3", "--format", "json")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("mic\n\nmi\xff\nusb\n"), &stdout, &stderr
	_ = cmd.Run() // its exit code is looked at
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if code := cmd.ProcessState.ExitCode(); code != exitFailure || len(lines) != 2 ||
		!strings.Contains(stderr.String(), `standard input:3: prefix "mi\xff" is not UTF-8`) {
		t.Fatalf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
	var answer struct {
		Prefix       string
		Milliseconds float64
		Completions  []struct {
			Query       string
			Probability float64
		}
	}
	if err := json.Unmarshal([]byte(lines[0]), &answer); err != nil || answer.Prefix != "mic" ||
		answer.Milliseconds <= 0 || len(answer.Completions) != 3 ||
		!strings.HasPrefix(answer.Completions[0].Query, "mic") ||
		answer.Completions[0].Probability <= answer.Completions[1].Probability {
		t.Errorf("%s, %v", lines[0], err)
	}
	if err := json.Unmarshal([]byte(lines[1]), &answer); err != nil || answer.Prefix != "" {
		t.Errorf("%s, %v", lines[1], err)
	}
}
