// Package migrate reads the numbered migrations of one kind of database and
// tells which of them a database still needs. The stores apply them, each in a
// transaction of its own in which it is also recorded.
package migrate

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"sweep/sweep"
)

// Migration is one numbered SQL file.
type Migration struct {
	Number int
	// Name is the file's name without number and ending.
	Name string
	SQL  string
}

// Applied is a migration as a database records it.
type Applied struct {
	Number int
	Name   string
}

// Load reads the files NNNN_name.sql of a folder, which must be numbered
// 1, 2, 3, ….
func Load(files fs.FS, folder string) ([]Migration, error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	var all []Migration
	for _, entry := range entries {
		number, name, ok := strings.Cut(strings.TrimSuffix(entry.Name(), ".sql"), "_")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n != len(all)+1 {
			return nil, fmt.Errorf("migrations: %s/%s: expected %04d_name.sql", folder, entry.Name(), len(all)+1)
		}
		text, err := fs.ReadFile(files, path.Join(folder, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		all = append(all, Migration{Number: n, Name: name, SQL: string(text)})
	}
	return all, nil
}

// Pending returns the migrations that a database lacks which has applied, in
// order of number. One that the program does not know is ErrNewerSchema,
// wrapped; database names the database in errors.
func Pending(all []Migration, applied []Applied, database string) ([]Migration, error) {
	for i, a := range applied {
		if i >= len(all) {
			newest := applied[len(applied)-1]
			return nil, fmt.Errorf("%s has schema version %d (%s), this program knows up to version %d: %w; use the newer program",
				database, newest.Number, newest.Name, len(all), sweep.ErrNewerSchema)
		}
		if a.Number != all[i].Number || a.Name != all[i].Name {
			return nil, fmt.Errorf("%s has migration %d %q where this program has %d %q: it belongs to another program or version",
				database, a.Number, a.Name, all[i].Number, all[i].Name)
		}
	}
	return all[len(applied):], nil
}
