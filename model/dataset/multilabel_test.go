package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plain is a row as text, with labels by name.
func (s *MultiLabelSet) plain(rows *LabelledRows, row int) string {
	var b strings.Builder
	for i, label := range rows.Labels(row) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, s.Names[label])
	}
	columns, values := rows.Features(row)
	for i, column := range columns {
		fmt.Fprintf(&b, " %d:%v", column, values[i])
	}
	return b.String()
}

func (s *MultiLabelSet) spelt(rows *LabelledRows) (all []string) {
	for row := range rows.Count() {
		all = append(all, s.plain(rows, row))
	}
	return all
}

func TestMultiLabelFiles(t *testing.T) {
	for _, c := range []struct {
		base        int
		train, test string
	}{
		{1, "# two rows\n7,2 1:0.5 4:-1e-2 # a comment\r\n 30\t2:3\n", "2 4:1\n5\n"},
		{0, "2 4 40\n7,2 0:0.5 3:-0.01\n30 1:3", "2 3:1\n5 # no feature"},
	} {
		root := t.TempDir()
		write(t, filepath.Join(root, "multilabel", "train.txt.gz"), packed(t, c.train))
		write(t, filepath.Join(root, "multilabel", "test.txt"), c.test)
		s, err := NewCache(1<<20).OpenMultiLabel(root, MultiLabel, c.base)
		if err != nil {
			t.Fatal(err)
		}
		train, test := s.spelt(&s.Train), s.spelt(&s.Test)
		if !slices.Equal(train, []string{"2,7 0:0.5 3:-0.01", "30 1:3"}) || !slices.Equal(test, []string{"2 3:1", "5"}) ||
			s.Features != 4 || !slices.Equal(s.Names, []int32{2, 5, 7, 30}) {
			t.Errorf("rows %q and %q of %d features and labels %v", train, test, s.Features, s.Names)
		}
	}
}

// What is wrong with a file is said with its line and field.
func TestMultiLabelFilesThatAreRefused(t *testing.T) {
	const right = "1 1:1\n"
	for _, c := range []struct {
		content     string
		row, column int
		kind        error
	}{
		{"", 0, 0, ErrEmpty},
		{"# a comment alone\n", 0, 0, ErrEmpty},
		{"1\n2\n", 0, 0, ErrEmpty}, // no feature
		{right + "\n" + right, 2, 0, ErrEmpty},
		{right + "1:0.5 2:1\n", 2, 1, ErrLabel}, // no label
		{right + ", 1:0.5\n", 2, 1, ErrLabel},
		{"1,,2 1:1\n", 1, 1, ErrLabel},
		{"-1 1:1\n", 1, 1, ErrLabel},
		{"cat 1:1\n", 1, 1, ErrLabel},
		{"3,1,3 1:1\n", 1, 1, ErrLabel},
		{"1 2:1 2:1\n", 1, 3, ErrForm},
		{"1 1:1 3:1 2:1\n", 1, 4, ErrForm},
		{"1 0:1\n", 1, 2, ErrForm},
		{"1 1:1 2\n", 1, 3, ErrForm},
		{"1 qid:3 1:1\n", 1, 2, ErrForm},
		{"1 65537:1\n", 1, 2, ErrForm},
		{"1 99999999999:1\n", 1, 2, ErrForm},
		{"1 1:NaN\n", 1, 2, ErrMissingValue},
		{"1 1:\n", 1, 2, ErrMissingValue},
		{"1 1:inf\n", 1, 2, ErrNumber},
		{"1 1:1e40\n", 1, 2, ErrNumber},
		{"1 1:0x10\n", 1, 2, ErrNumber},
		{"1 1:two\n", 1, 2, ErrNumber},
		{"1 65537 4\n" + right, 1, 2, ErrForm},
		{"2 4 4\n" + right, 0, 0, ErrTruncated},
		{"1 4 4\n1 5:1\n", 2, 2, ErrForm},
		{"1 4 4\n5 1:1\n", 2, 1, ErrLabel},
		{"1 4 x\n" + right, 1, 3, ErrForm},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "train.txt"), right)
		write(t, filepath.Join(dir, "test.txt"), c.content)
		_, err := LoadMultiLabel(dir, 1)
		var file *FileError
		if !errors.As(err, &file) || !errors.Is(err, c.kind) || file.Row != c.row || file.Column != c.column ||
			file.Path != filepath.Join(dir, "test.txt") {
			t.Errorf("%q: %v, want %v at line %d, field %d", c.content, err, c.kind, c.row, c.column)
		}
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "multilabel", "train.txt"), right)
	if _, err := OpenMultiLabel(root, MultiLabel, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no test file: %v", err)
	}
	if _, err := OpenMultiLabel(t.TempDir(), MultiLabel, 1); !errors.Is(err, ErrNoData) {
		t.Errorf("no folder: %v", err)
	}
}

// The generated rows are the same everywhere, have 1 to 4 labels, and every label and feature comes.
func TestGeneratedMultiLabel(t *testing.T) {
	s := GenerateMultiLabel(0)
	const digest = "b4aedab3df5b6990bba00db2e9b9e8441750c063fa609fb5412f6452e92d3d79"
	if s.Digest != digest {
		t.Errorf("digest %s, want %s", s.Digest, digest)
	}
	if s.Train.Count() != 800 || s.Test.Count() != 400 || s.Features != 120 || len(s.Names) != 20 {
		t.Errorf("%d and %d rows of %d features and %d labels", s.Train.Count(), s.Test.Count(), s.Features, len(s.Names))
	}
	on := map[int32]bool{}
	for row := range s.Train.Count() {
		columns, _ := s.Train.Features(row)
		for _, column := range columns {
			on[column] = true
		}
		if n := len(s.Train.Labels(row)); n < 1 || n > 4 {
			t.Errorf("row %d has %d labels", row, n)
		}
	}
	if len(on) != s.Features || GenerateMultiLabel(1).Digest == s.Digest {
		t.Errorf("%d features are ever on", len(on))
	}
}
