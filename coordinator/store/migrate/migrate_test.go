package migrate_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/migrate"
	"sweep/sweep"
)

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
			files[name] = &fstest.MapFile{Data: []byte("SELECT 1")}
		}
		all, err := migrate.Load(files)
		if (err == nil) != want {
			t.Errorf("%s: %v", names, err)
		}
		if err == nil && (!strings.HasPrefix(all[0].Version, "a ") || all[1].Version == all[0].Version) {
			t.Errorf("%s: %+v", names, all)
		}
	}
}

// A program with another file makes another database.
func TestVersion(t *testing.T) {
	version := func(text string) string {
		all, err := migrate.Load(fstest.MapFS{"0001_a.sql": &fstest.MapFile{Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Version
	}
	if one := version("SELECT 1"); one != version("SELECT 1") || one == version("SELECT 2") {
		t.Error(one, version("SELECT 2"))
	}
}

// named is a database in errors.
type named struct{}

func (named) Name() string               { return "the database x" }
func (named) Dialect() *database.Dialect { return &database.Dialect{Anew: "then do it anew"} }

func TestPending(t *testing.T) {
	all := []migrate.Migration{{Number: 1, Version: "a"}, {Number: 2, Version: "b"}}
	for _, test := range []struct {
		applied []migrate.Migration
		want    int // pending migrations, -1 for an error
		newer   bool
	}{
		{nil, 2, false},
		{[]migrate.Migration{{Number: 1, Version: "a"}}, 1, false},
		{[]migrate.Migration{{Number: 1, Version: "a"}, {Number: 2, Version: "b"}}, 0, false},
		{[]migrate.Migration{{Number: 1, Version: "a"}, {Number: 2, Version: "b"}, {Number: 3, Version: "c"}}, -1, true},
		{[]migrate.Migration{{Number: 1, Version: "a"}, {Number: 2, Version: "c"}}, -1, false},
		{[]migrate.Migration{{Number: 2, Version: "b"}}, -1, false},
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
