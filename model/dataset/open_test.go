package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOpen(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "ucr", "Small", "Small_TRAIN.tsv"), tsv(smallTrain))
	write(t, filepath.Join(root, "ucr", "Small", "Small_TEST.tsv"), tsv(smallTest))
	if err := os.Rename(writeMNIST(t, nil), filepath.Join(root, "mnist")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reference Reference
		name      string
		train     int
	}{
		{Reference{Name: "Small"}, "Small", 3},
		{Reference{Name: "small", Exchange: ExchangeYes}, "Small", 2},
		{Reference{Name: "mnist"}, "mnist", 4},
		{Reference{Name: "MNIST", Limit: 2}, "mnist", 2},
		{Reference{Name: "permuted-mnist", Permutation: 3}, "permuted-mnist", 4},
		{Reference{Name: "generated-cbf"}, "generated-cbf", 30},
	} {
		s, err := Open(root, c.reference)
		if c.reference.Exchange == ExchangeYes {
			// Exchanged, the small set's train part lacks a label of its test part.
			if !errors.Is(err, ErrLabel) {
				t.Errorf("%+v: got %v", c.reference, err)
			}
			continue
		}
		if err != nil || s.Name != c.name || s.Train.N != c.train {
			t.Errorf("%+v: got %+v, %v", c.reference, s, err)
		}
	}
	if _, err := Open("", Reference{Name: "generated-cbf"}); err != nil {
		t.Errorf("the generated set wants a directory: %v", err)
	}

	elsewhere := filepath.Join(root, "elsewhere")
	empty := t.TempDir()
	file := filepath.Join(root, "ucr", "Small", "Small_TRAIN.tsv")
	for _, c := range []struct {
		root string
		name string
		kind error
		want string
	}{
		{root, "Smal", nil, `unknown data set "Smal": not in ` + filepath.Join(root, "ucr") + "; did you mean Small?"},
		{root, "mnits", nil, `unknown data set "mnits": not in ` + filepath.Join(root, "ucr") + "; did you mean mnist?"},
		{root, "generated_cbf", nil, `unknown data set "generated_cbf": not in ` + filepath.Join(root, "ucr") + "; did you mean generated-cbf?"},
		{root, "", nil, "no data set named"},
		{"", "CBF", ErrNoData, "no data directory: name the directory that holds ucr and mnist with --data DIR or in SWEEP_DATA"},
		{elsewhere, "CBF", ErrNoData, "no data directory: " + elsewhere + " is not one; name the directory that holds ucr and mnist with --data DIR or in SWEEP_DATA"},
		{file, "CBF", ErrNoData, "no data directory: " + file + " is not one; name the directory that holds ucr and mnist with --data DIR or in SWEEP_DATA"},
		{empty, "CBF", ErrNoData, "no data directory: " + filepath.Join(empty, "ucr") + ": it should hold the UCR archive, a folder a data set"},
		{empty, "mnist", ErrNoData, "no data directory: " + filepath.Join(empty, "mnist") + ": it should hold MNIST's four files, train-images-idx3-ubyte.gz and so on"},
	} {
		_, err := Open(c.root, Reference{Name: c.name})
		if err == nil || err.Error() != c.want || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%q in %q:\ngot  %v\nwant %s", c.name, c.root, err, c.want)
		}
	}
}

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
