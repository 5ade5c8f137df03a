//go:build linux

package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sweep/coordinator/store"
	"sweep/sweep"
)

// Results that were copied to a read-only file system can be read.
func TestReadOnlySystem(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("a file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "sweep.db")
	open := func() sweep.Store {
		s, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	fill(t, s, "s1", 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Fatal("the log of a closed database is left")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer func() { _ = s.Close() }()
	n := 0
	query := sweep.TrialQuery{Sweeps: []string{"s1"}, OrderBy: "lr"}
	if err := s.Trials(t.Context(), query, func(*sweep.TrialRecord) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("%d trials, %v", n, err)
	}
	asked := ""
	if err := s.Query(t.Context(), `SELECT sweep_id FROM sweeps`, func(_ []string, row []any) error {
		asked = row[0].(string)
		return nil
	}); err != nil || asked != "s1" {
		t.Errorf("%q, %v", asked, err)
	}
	err := s.SetSweepState(context.Background(), "s1", sweep.SweepPaused, "")
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a change: %v", err)
	}
}
