package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	server := postgrestest.Start(t)
	ctx := context.Background()
	for _, test := range []struct{ address, file string }{
		{"sqlite:a.db", "a.db"},
		{"sqlite:" + filepath.Join(dir, "b.db"), "b.db"},
		{"sqlite://" + filepath.Join(dir, "c.db"), "c.db"},
		{"d.db", "d.db"},
		{filepath.Join(dir, "e:f.db"), "e:f.db"},
		{server.Database(t), ""},
		{strings.Replace(server.Database(t), "postgres:", "postgresql:", 1), ""},
	} {
		s, err := store.Open(ctx, test.address)
		if err != nil {
			t.Errorf("%s: %v", test.address, err)
			continue
		}
		if _, err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, 1); err != nil {
			t.Errorf("%s: %v", test.address, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", test.address, err)
		}
		if test.file != "" {
			if _, err := os.Stat(filepath.Join(dir, test.file)); err != nil {
				t.Error(err)
			}
		}
	}
	for _, address := range []string{"", "mysql://host/x", "sqlite:", "http://host"} {
		s, err := store.Open(ctx, address)
		if err == nil || s != nil {
			t.Errorf("%q was opened", address)
		}
	}
}
