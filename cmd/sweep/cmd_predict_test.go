package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// From files of one's own to predictions without the data set, which have the accuracy that the trial recorded.
func TestPredictCommand(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	run := func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }
	data := filepath.Join(dir, "data", "own", "steps")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	train, test, bare := "label,a,b,c,d\n", "label,a,b,c,d\n", "a,b,c,d\n"
	for i := range 24 {
		values := strconv.Itoa(i%2*4-2) + "," + strconv.Itoa(i%5) + ",,1"
		train += []string{"down", "up"}[i%2] + "," + values + "\n"
		test += []string{"down", "up"}[(i+i/20)%2] + "," + values + "\n" // the last four are wrong
		bare += values + "\n"
	}
	write(t, data, "train.csv", train)
	labelled := write(t, data, "test.csv", test)
	check(t, run,
		line{args: []string{"run", "--data", filepath.Join(dir, "data"), write(t, dir, "own.yaml", "name: own\nartifacts: "+
			"[weights]\nparameters:\n  dataset: {value: own/steps}\n  model: {value: gru}\n  hidden: {value: 8}\n"+
			"  lr: {value: 0.05}\n  epochs: {value: 30}\n")}},
		line{args: []string{"run", write(t, dir, "plain.yaml", "name: plain\nparameters:\n  dataset: {value: generated-cbf}\n"+
			"  epochs: {value: 1}\n")}},
		line{args: []string{"sql", "--sweep", "own", "SELECT test_accuracy FROM t"}, stdout: []string{"0.8333"}},
	)
	moved := write(t, dir, "moved.csv", test)
	if err := os.RemoveAll(filepath.Dir(labelled)); err != nil {
		t.Fatal(err)
	}
	check(t, run,
		line{args: []string{"predict", "own", "0", moved}, stdout: []string{"series,label,prediction,p:down,p:up\n1,down,down,",
			"\n2,up,up,"}, stderr: []string{"accuracy  0.8333", "macro F1  0.8333", "CLASS  SERIES  PRECISION  RECALL  F1",
			"down   12      0.8333     0.8333  0.8333", "LABEL  down  up", "down   10    2", "up     2     10"}},
		line{args: []string{"predict", "own", "0", write(t, dir, "bad.csv", "a,b\n1,x\n")}, code: exitFailure,
			stderr: []string{`bad.csv:2:2: not a number: "x" in column b`}},
		line{args: []string{"predict", "own", "0", filepath.Join(dir, "none.csv")}, code: exitNotFound,
			stderr: []string{"none.csv: no such file"}},
		line{args: []string{"predict", "plain", "0", moved}, code: exitArtifacts, stderr: []string{"kept no weights"}},
		line{args: []string{"predict", "own", "7", moved}, code: exitNotFound, stderr: []string{"trials are 0 to 0"}},
		line{args: []string{"predict", "none", "0", moved}, code: exitNotFound, stderr: []string{`no sweep has the name "none"`}},
		line{args: []string{"predict", "own", "0", moved, "--format", "xml"}, code: exitUsage, stderr: []string{"csv or json"}},
		line{args: []string{"predict", "own", "0"}, code: exitUsage},
	)
	file := filepath.Join(dir, "out.jsonl")
	stdout, stderr, code := run("predict", "own", "0", write(t, dir, "bare.csv", bare), "--format", "json", "--output", file)
	if code != 0 || stdout != "" || stderr != "" {
		t.Fatalf("exit code %d, %q, %q", code, stdout, stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stdout, _, _ = run("predict", "own", "0", moved)
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 24 || len(rows) != 25 {
		t.Fatalf("%d objects, %d rows", len(lines), len(rows))
	}
	for i, l := range lines {
		var p struct {
			Series, Prediction string
			Label              *string
			Probabilities      map[string]float64
		}
		if err := json.Unmarshal([]byte(l), &p); err != nil {
			t.Fatal(err)
		}
		row := rows[i+1]
		down, err := strconv.ParseFloat(row[3], 64)
		if err != nil || p.Series != row[0] || p.Prediction != row[2] || p.Label != nil || p.Probabilities["down"] != down ||
			len(p.Probabilities) != 2 {
			t.Errorf("%s, and in CSV %v, %v", l, row, err)
		}
	}
}
