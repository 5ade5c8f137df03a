package model

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/model/random"
	"sweep/sweep"
)

// ownSet writes so many series of each part to a data directory and returns it, for the set own/waves. make appends the rows
// of a series, each after the prefix "name," and before the label.
func ownSet(t *testing.T, header string, train, test int, rows func(class int, source *random.Source) []string) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "own", "waves")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	source := random.New(3, 3)
	for part, count := range map[string]int{"train": train, "test": test} {
		var b strings.Builder
		b.WriteString(header + "\n")
		for i := range count {
			for _, row := range rows(i%2, source) {
				fmt.Fprintf(&b, "%d,%s,%s\n", i, row, []string{"fallend", "steigend"}[i%2])
			}
		}
		if err := os.WriteFile(filepath.Join(dir, part+".csv"), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// ownTrial trains a small network on it.
func ownTrial(t *testing.T, root string, more sweep.Parameters) *sweep.Result {
	t.Helper()
	p := sweep.Parameters{"dataset": "own/waves", "model": "gru", "hidden": int64(12), "epochs": int64(40), "lr": 0.01,
		"input_scale": 1.0, "normalize": "channel"}
	for name, value := range more {
		p[name] = value
	}
	r := train(t, newTrainer(t), root, p)
	t.Logf("test accuracy %.3f", r.Summary["test_accuracy"])
	return r
}

// The sign of the slope is the class. Series of 3 to 30 steps are learnt, though shorter ones are filled up.
func TestUnequalLengthsAreTrained(t *testing.T) {
	t.Parallel()
	root := ownSet(t, "series,x,label", 60, 40, func(class int, source *random.Source) (rows []string) {
		for i := range 3 + source.Below(28) {
			rows = append(rows, fmt.Sprintf("%.3f", float64(2*class-1)*float64(i)/10+.2*source.Normal()))
		}
		return rows
	})
	for _, loss := range []string{"cross_entropy", "sigmoid"} {
		r := ownTrial(t, root, sweep.Parameters{"input_size": int64(1), "loss": loss})
		if r.Diverged || r.Summary["test_accuracy"] < .9 || r.Summary["depth"] != 30 || r.Summary["length"] != 30 ||
			r.Error != "series of 3 to 30 time steps" {
			t.Errorf("%s: %+v", loss, r)
		}
	}
	// A network that reads a series at once reads it filled up.
	if r := ownTrial(t, root, sweep.Parameters{"model": "mlp", "input_size": int64(-1), "layers": int64(1)}); r.Diverged ||
		r.Summary["depth"] != 1 || r.Summary["test_accuracy"] < .8 {
		t.Errorf("mlp: %+v", r)
	}
}

// The class is whether the second of three channels follows the first.
func TestChannelsAreTrained(t *testing.T) {
	t.Parallel()
	root := ownSet(t, "series,a,b,c,label", 80, 40, func(class int, source *random.Source) (rows []string) {
		for range 12 {
			v := source.Normal()
			rows = append(rows, fmt.Sprintf("%.3f,%.3f,%.3f", v, 100+v*float64(20*class-10), source.Normal()))
		}
		return rows
	})
	r := ownTrial(t, root, sweep.Parameters{"epochs": int64(80)})
	if r.Diverged || r.Summary["test_accuracy"] < .9 || r.Summary["depth"] != 12 || r.Summary["input_size"] != 3 {
		t.Errorf("%+v", r)
	}
}

// A third of the values is missing: by each rule the slope is learnt.
func TestMissingValuesAreTrained(t *testing.T) {
	t.Parallel()
	root := ownSet(t, "series,x,y,label", 80, 40, func(class int, source *random.Source) (rows []string) {
		for i := range 12 {
			row := fmt.Sprintf("%.3f,%.3f", float64(2*class-1)*float64(i)/4+.2*source.Normal(), source.Normal())
			if source.Below(3) == 0 {
				row = row[strings.Index(row, ","):]
			}
			rows = append(rows, row)
		}
		return rows
	})
	for _, missing := range []string{"previous", "mean", "indicators"} {
		r := ownTrial(t, root, sweep.Parameters{"missing": missing})
		inputs := 2.0
		if missing == "indicators" {
			inputs = 4
		}
		if r.Diverged || r.Summary["test_accuracy"] < .9 || r.Summary["input_size"] != inputs || math.IsNaN(r.Summary["test_loss"]) {
			t.Errorf("%s: %+v", missing, r)
		}
	}
}

// Where nothing is missing indicators are refused for public sets, and a size of inputs that parts a time step for series of
// unequal length.
func TestOwnParametersThatAreRefused(t *testing.T) {
	root := ownSet(t, "series,x,y,label", 4, 4, func(class int, source *random.Source) (rows []string) {
		for range 3 + class {
			rows = append(rows, "1,2")
		}
		return rows
	})
	for _, c := range []struct {
		parameters sweep.Parameters
		want       string
	}{
		{sweep.Parameters{"dataset": "generated-cbf", "missing": "indicators"}, "generated-cbf lacks no values"},
		{sweep.Parameters{"dataset": "own/waves", "input_size": int64(3)}, "must be a multiple of 2"},
		{sweep.Parameters{"dataset": "own/waves", "input_size": int64(10)}, "at most 8"},
		{sweep.Parameters{"dataset": "own/waves", "split": "listed"}, "which own/waves lacks"},
	} {
		_, err := newTrainer(t).Validate(t.Context(), sweep.ValidateRequest{Parameters: resolve(t, c.parameters), DataDir: root})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.parameters, err, c.want)
		}
	}
}
