package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
		{root, "mnits", nil, `unknown data set "mnits": not in ` + filepath.Join(root, "ucr") +
			"; did you mean mnist?"},
		{root, "generated_cbf", nil, `unknown data set "generated_cbf": not in ` + filepath.Join(root, "ucr") +
			"; did you mean generated-cbf, generated-har-2 or generated-text?"},
		{root, "", nil, "no data set named"},
		{"", "CBF", ErrNoData, "no data directory: name the directory that holds ucr and mnist with --data DIR or in " +
			"SWEEP_DATA, or fill it with \"sweep data fetch\""},
		{elsewhere, "CBF", ErrNoData, "no data directory: " + elsewhere + " is not one; name the directory that " +
			"holds ucr and mnist with --data DIR or in SWEEP_DATA, or fill it with \"sweep data fetch\""},
		{file, "CBF", ErrNoData, "no data directory: " + file + " is not one; name the directory that holds ucr and " +
			"mnist with --data DIR or in SWEEP_DATA, or fill it with \"sweep data fetch\""},
		{empty, "CBF", ErrNoData, "no data directory: " + filepath.Join(empty, "ucr") + ": it should hold the UCR " +
			"archive, a folder a data set"},
		{empty, "mnist", ErrNoData, "no data directory: " + filepath.Join(empty, "mnist") +
			": it should hold MNIST's four files, train-images-idx3-ubyte.gz and so on"},
	} {
		_, err := Open(c.root, Reference{Name: c.name})
		if err == nil || err.Error() != c.want || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%q in %q:\ngot  %v\nwant %s", c.name, c.root, err, c.want)
		}
	}
}
