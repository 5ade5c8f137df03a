package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"A", "B", "C"} {
		write(t, filepath.Join(root, "ucr", name, name+"_TRAIN.tsv"), tsv(smallTrain))
		write(t, filepath.Join(root, "ucr", name, name+"_TEST.tsv"), tsv(smallTest))
	}
	one, err := Open(root, Reference{Name: "A"})
	if err != nil {
		t.Fatal(err)
	}
	c := NewCache(2 * one.Size())
	open := func(name string) *Set {
		t.Helper()
		s, err := c.Open(root, Reference{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := open("A"), open("B")
	if open("A") != a || open("B") != b || open("A") != a {
		t.Error("what is in the cache was read again")
	}
	// Exchange auto is the default: the same set.
	if s, err := c.Open(root, Reference{Name: "A", Exchange: ExchangeAuto, Limit: 5}); err != nil || s != a {
		t.Errorf("an equal reference was read again (%v)", err)
	}
	open("C") // B was not used for longest
	if open("A") != a {
		t.Error("the set used last but one was dropped")
	}
	if open("B") == b {
		t.Error("more is kept than the limit allows")
	}

	// A changed file is read again.
	a = open("A")
	path := filepath.Join(root, "ucr", "A", "A_TRAIN.tsv")
	write(t, path, strings.Replace(tsv(smallTrain), "0.5", "0.6", 1))
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if s := open("A"); s == a || s.Digest == a.Digest {
		t.Error("a changed file was not noticed")
	}
	// A file that is gone is an error, not the old data.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(root, Reference{Name: "A"}); err == nil {
		t.Error("a removed file was not noticed")
	}

	// A set above the limit is kept as long as it is the last one.
	c = NewCache(1)
	if a := open("C"); open("C") != a {
		t.Error("a large set is read for every trial")
	}
	if len(c.entries) != 1 {
		t.Errorf("%d sets kept", len(c.entries))
	}
}
