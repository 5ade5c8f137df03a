package migrate_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/migrate"
	"sweep/migrations"
	"sweep/sweep"
)

// TestSameNumbers: both databases have the same migrations.
func TestSameNumbers(t *testing.T) {
	sqlite, err := migrate.Load(migrations.Files, "sqlite")
	if err != nil {
		t.Fatal(err)
	}
	postgres, err := migrate.Load(migrations.Files, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	if len(sqlite) == 0 || len(sqlite) != len(postgres) {
		t.Fatalf("%d and %d migrations", len(sqlite), len(postgres))
	}
	for i := range sqlite {
		if sqlite[i].Number != i+1 || sqlite[i].Number != postgres[i].Number || sqlite[i].Name != postgres[i].Name ||
			sqlite[i].SQL == "" {
			t.Errorf("migration %d is %s and %s", i+1, sqlite[i].Name, postgres[i].Name)
		}
	}
}

func TestLoad(t *testing.T) {
	for names, want := range map[string]bool{
		"0001_a.sql 0002_b_c.sql": true,
		"0001_a.sql 0003_b.sql":   false,
		"0002_a.sql":              false,
		"0001_a.sql 0001_b.sql":   false,
		"0001_a.sql notes.txt":    false,
		"0001.sql":                false,
		"0001_a.sql 0002_b.sql 0003_c.sql 0004_d.sql 5_e.sql": true,
	} {
		files := fstest.MapFS{}
		for _, name := range strings.Fields(names) {
			files["x/"+name] = &fstest.MapFile{Data: []byte("SELECT 1")}
		}
		all, err := migrate.Load(files, "x")
		if (err == nil) != want {
			t.Errorf("%s: %v", names, err)
		}
		if err == nil && all[1].SQL != "SELECT 1" {
			t.Errorf("%s: %+v", names, all)
		}
	}
	if _, err := migrate.Load(fstest.MapFS{}, "x"); err == nil {
		t.Error("a folder that is not there was read")
	}
}

// named is a database in errors.
type named struct{}

func (named) Name() string               { return "the database x" }
func (named) Dialect() *database.Dialect { return &database.Dialect{Anew: "then do it anew"} }

func TestPending(t *testing.T) {
	all := []migrate.Migration{{Number: 1, Name: "a"}, {Number: 2, Name: "b"}}
	for _, test := range []struct {
		applied []migrate.Migration
		want    int // pending migrations, -1 for an error
		newer   bool
	}{
		{nil, 2, false},
		{[]migrate.Migration{{Number: 1, Name: "a"}}, 1, false},
		{[]migrate.Migration{{Number: 1, Name: "a"}, {Number: 2, Name: "b"}}, 0, false},
		{[]migrate.Migration{{Number: 1, Name: "a"}, {Number: 2, Name: "b"}, {Number: 3, Name: "c"}}, -1, true},
		{[]migrate.Migration{{Number: 1, Name: "a"}, {Number: 2, Name: "c"}}, -1, false},
		{[]migrate.Migration{{Number: 2, Name: "b"}}, -1, false},
	} {
		pending, err := migrate.Pending(all, test.applied, named{})
		if (err != nil) != (test.want < 0) || err == nil && len(pending) != test.want ||
			errors.Is(err, sweep.ErrNewerSchema) != test.newer {
			t.Errorf("%v: %v %v", test.applied, pending, err)
		}
		if err != nil && !strings.Contains(err.Error(), "the database x") {
			t.Errorf("the error does not name the database: %v", err)
		}
		if err != nil && !test.newer && !strings.Contains(err.Error(), "sweep export") {
			t.Errorf("the error does not say how results are kept: %v", err)
		}
	}
}
