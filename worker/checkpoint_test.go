package worker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
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
	if want := []string{"checkpoint-2.tmp", "folder.checkpoint", "notes.txt", "young.checkpoint"}; !slices.Equal(left, want) {
		t.Errorf("%v are left, want %v", left, want)
	}
	New(Options{CheckpointDir: filepath.Join(dir, "none")}).removeOldCheckpoints(now)
}
