package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The state directory is its user's alone, and so is the database, wherever it is. A directory that the user names
// and that exists keeps its mode.
func TestStateIsPrivate(t *testing.T) {
	t.Parallel()
	mode := func(path string) fs.FileMode {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	base := t.TempDir()
	for name, existing := range map[string]fs.FileMode{"new/state": 0, "shared": 0o755} {
		home := filepath.Join(base, name)
		if existing != 0 {
			if err := os.Mkdir(home, existing); err != nil {
				t.Fatal(err)
			}
			write(t, home, "notes.txt", "") // program gives an empty one a database
		}
		if _, stderr, code := output(t, home, "run", write(t, base, "valley.yaml", agentFile)); code != 0 {
			t.Fatal(stderr)
		}
		want := existing
		if existing == 0 {
			want = 0o700
		}
		if got := mode(home); got != want {
			t.Errorf("%s has mode %v, want %v", name, got, want)
		}
		if got := mode(filepath.Join(home, "sweep.db")); got != 0o600 {
			t.Errorf("the database in %s has mode %v", name, got)
		}
	}
	usual := filepath.Join(base, "data", "sweep")
	if err := os.MkdirAll(usual, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "", "token", "list")
	cmd.Env = append(cmd.Env, "XDG_DATA_HOME="+filepath.Dir(usual))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got := mode(usual); got != 0o700 {
		t.Errorf("the usual directory keeps mode %v", got)
	}
	if got := mode(filepath.Dir(usual)); got != 0o755 {
		t.Errorf("the directory above has mode %v", got)
	}
}
