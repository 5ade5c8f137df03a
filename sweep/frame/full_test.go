package frame

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sweep/sweep"
)

// What a full disk does not take counts as not read: when there is room all of it is
// read, and counted once.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	f, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	row := func(index int64, state sweep.State) *sweep.TrialRow {
		summary := "{}"
		if state == sweep.Completed {
			summary = fmt.Sprintf(`{"loss":%d}`, index+1)
		}
		return &sweep.TrialRow{Index: index, State: state, Parameters: fmt.Appendf(nil, `{"lr":%d}`, index%3),
			Summary: []byte(summary)}
	}
	const rows = 10
	load := func(state sweep.State) error {
		return f.Load(Span{0, rows}, func(yield func(*sweep.TrialRow) error) error {
			for i := range int64(rows) {
				if err := yield(row(i, state)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	losses := func() (n int64) {
		t.Helper()
		groups, err := f.Groups(t.Context(), GroupQuery{By: []string{}, Metrics: []string{"loss"}, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return groups.Groups[0].Metrics[0].N
	}
	unwritable := filepath.Join(t.TempDir(), "unwritable")
	if err := os.WriteFile(unwritable, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	full, err := os.Open(unwritable)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if err := load(sweep.Pending); err != nil {
		t.Fatal(err)
	}
	for _, place := range []struct {
		name string
		file **os.File
	}{{"states", &f.states}, {"a column", &f.byName["parameter.lr"].file}} {
		room := *place.file
		*place.file = full
		if place.file == &f.states { // what was read before can be read
			data := make([]byte, rows)
			if _, err := room.ReadAt(data, 0); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(unwritable, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := load(sweep.Completed); err == nil {
			t.Fatalf("%s: it took what it cannot", place.name)
		}
		*place.file = room
		if counts := f.Loaded().Counts; counts[Pending] != rows || counts[Completed] != 0 {
			t.Errorf("%s: counted are %v", place.name, counts)
		}
	}
	if err := load(sweep.Completed); err != nil {
		t.Fatal(err)
	}
	if counts := f.Loaded().Counts; counts[Completed] != rows || counts[Pending] != 0 || losses() != rows {
		t.Errorf("with room there are %v, %d losses", counts, losses())
	}
}
