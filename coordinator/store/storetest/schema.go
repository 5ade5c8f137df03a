package storetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sweep/coordinator/store"
	"sweep/sweep/paper/archive"
)

// empty is a SQLite database with the schema and nothing else, made once for all tests of a program.
var empty = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "sweep-schema-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "sweep.db")
	s, err := store.Open(context.Background(), "sqlite:"+path, archive.Views())
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// WithSchema writes a SQLite database with the schema and nothing else, which is quicker than having the schema made;
// a file that is there stays as it is. All such databases are of the same cluster.
func WithSchema(t testing.TB, path string) {
	t.Helper()
	content, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return
	}
	if err == nil {
		_, err = file.Write(content)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
