package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sweep/sweep"
)

// Checkpoints that nobody came for go with time; whatever else is in the
// directory is left alone.
func TestOldCheckpointsGo(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{
		"old.checkpoint": checkpointAge + time.Minute, "young.checkpoint": checkpointAge - time.Minute,
		"checkpoint-1.tmp": unfinishedAge + time.Minute, "checkpoint-2.tmp": unfinishedAge - time.Minute,
		"notes.txt": 10 * checkpointAge,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.checkpoint"), 0o700); err != nil {
		t.Fatal(err)
	}
	long := now.Add(-10 * checkpointAge)
	if err := os.Chtimes(filepath.Join(dir, "folder.checkpoint"), long, long); err != nil {
		t.Fatal(err)
	}
	New(Options{CheckpointDir: dir}).removeOldCheckpoints(now.Add(time.Second))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if want := []string{"checkpoint-2.tmp", "folder.checkpoint", "notes.txt",
		"young.checkpoint"}; !slices.Equal(left, want) {
		t.Errorf("%v are left, want %v", left, want)
	}
	New(Options{CheckpointDir: filepath.Join(dir, "none")}).removeOldCheckpoints(now)
}

// A heartbeat opens the checkpoints that have changed, not all of a directory that
// many workers share.
func TestIdleCheckpointsAreReadOnce(t *testing.T) {
	dir := t.TempDir()
	w := New(Options{CheckpointDir: dir})
	written := time.Now().Add(-time.Hour)
	write := func(name, content string, at time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	header := func(index int) string {
		return fmt.Sprintf(`{"sweep":"s","index":%d,"trainer":"t"}`+"\nstate", index)
	}
	wantIdle := func(when string, want ...int64) {
		t.Helper()
		var got []int64
		for _, id := range w.idleCheckpoints() {
			got = append(got, id.Index)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: checkpoints of trials %v, want %v", when, got, want)
		}
	}
	write("a.checkpoint", header(1), written)
	write("b.checkpoint", header(2), written)
	write("c.checkpoint", "no header", written)
	wantIdle("at the first look", 1, 2)
	write("a.checkpoint", header(8), written) // which only who opens it could notice
	wantIdle("at the second look", 1, 2)
	write("a.checkpoint", header(8), written.Add(time.Minute))
	write("c.checkpoint", header(3), written.Add(time.Minute))
	wantIdle("after two were written anew", 8, 2, 3)
	if err := os.Remove(filepath.Join(dir, "b.checkpoint")); err != nil {
		t.Fatal(err)
	}
	wantIdle("after one was removed", 8, 3)
	w.removeCheckpoints([]sweep.TrialID{{Sweep: "s", Index: 8}})
	wantIdle("after trial 8 ended", 3)
}
