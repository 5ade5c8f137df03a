package dataset

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sweep/model/random"
)

// write creates a file below a test's directory, and the folders above it.
func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func packed(t testing.TB, content string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// series is a small data set for writing out in every form.
type series struct {
	label  int
	values []float64
}

var (
	smallTrain = []series{{2, []float64{0.5, -1.25, 3e-05, 4}}, {-1, []float64{1, 2, 3, -4.0625}},
		{7, []float64{0, 1e10, -7, 0.1}}}
	smallTest = []series{{7, []float64{9, 8, 7, 6}}, {-1, []float64{-0.3, 1.5, 2.5, 1e-20}}}
)

func tsv(rows []series) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strconv.Itoa(r.label))
		for _, v := range r.values {
			b.WriteString("\t" + strconv.FormatFloat(v, 'g', -1, 64))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func ts(rows []series) string {
	var b strings.Builder
	b.WriteString("# a comment\n@problemName Small\n@timeStamps false\n@missing false\n@univariate " +
		"true\n@equalLength true\n@seriesLength 4\n@classLabel true -1 2 7\n@data\n")
	for _, r := range rows {
		for i, v := range r.values {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
		}
		fmt.Fprintf(&b, ":%d\n", r.label)
	}
	return b.String()
}

// matlab writes numbers as the archive's .txt files have them: blanks in front, labels with a fraction.
func matlab(rows []series) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "   %.7e", float64(r.label))
		for _, v := range r.values {
			fmt.Fprintf(&b, "  %.16e", v)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestForms(t *testing.T) {
	comma := func(rows []series) string { return strings.ReplaceAll(tsv(rows), "\t", ",") }
	dos := func(rows []series) string { return "\xef\xbb\xbf" + strings.ReplaceAll(tsv(rows), "\n", "\r\n") }
	forms := []struct {
		name  string
		file  string // %s stands for TRAIN and TEST
		write func([]series) string
		gzip  bool
	}{
		{"2018", "Small/Small_%s.tsv", tsv, false},
		{"2018 packed", "Small/Small_%s.tsv.gz", tsv, true},
		{"packed without saying so", "Small/Small_%s.tsv", tsv, true},
		{"2018 text", "Small/Small_%s.txt", matlab, false},
		{"2015 folder", "Small/Small_%s", comma, false},
		{"2015 loose", "Small_%s", comma, false},
		{"2015 loose packed", "Small_%s.gz", comma, true},
		{"comma and blank", "Small/Small_%s.csv", func(r []series) string {
			return strings.ReplaceAll(comma(r), ",", " , ")
		}, false},
		{"ts", "Small/Small_%s.ts", ts, false},
		{"ts packed", "Small/Small_%s.ts.gz", ts, true},
		{"DOS line ends and byte order mark", "Small/Small_%s.tsv", dos, false},
		{"no line end at the end", "Small/Small_%s.tsv", func(r []series) string {
			return strings.TrimRight(tsv(r), "\n")
		}, false},
		{"blank lines", "Small/Small_%s.tsv", func(r []series) string {
			return "\n" + strings.ReplaceAll(tsv(r), "\n", "\n\n  \n")
		}, false},
		{"lower case", "small/small_%s.TSV", tsv, false},
	}
	digest := ""
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			dir := t.TempDir()
			for part, rows := range map[string][]series{"TRAIN": smallTrain, "TEST": smallTest} {
				content := f.write(rows)
				if f.gzip {
					content = packed(t, content)
				}
				write(t, filepath.Join(dir, fmt.Sprintf(f.file, part)), content)
			}
			s, err := LoadUCR(dir, "Small", "")
			if err != nil {
				t.Fatal(err)
			}
			if s.Train.N != 3 || s.Test.N != 2 || s.Length != 4 || s.Classes != 3 || s.OutputWidth != 8 ||
				s.InputSize != 2 || s.Depth != 2 {
				t.Errorf("got %+v", s)
			}
			if !slices.Equal(s.Labels, []string{"-1", "2", "7"}) || !slices.Equal(s.Train.Labels, []int{1, 0, 2}) ||
				!slices.Equal(s.Test.Labels, []int{2, 0}) {
				t.Errorf("labels %v, train %v, test %v", s.Labels, s.Train.Labels, s.Test.Labels)
			}
			for i, r := range smallTrain {
				for j, v := range r.values {
					if got := s.Train.Values[i*4+j]; got != float32(v) {
						t.Errorf("train %d %d: got %v, want %v", i, j, got, float32(v))
					}
				}
			}
			if digest == "" {
				digest = s.Digest
			}
			if s.Digest != digest || len(s.Digest) != 64 {
				t.Errorf("digest %s, in the first form %s", s.Digest, digest)
			}
		})
	}

	// Fingerprints of stored results hold it.
	if digest != "986a2755dfaf761fc6313a2a7dbafe3f9e12d9bc8b1bc8d9ffcaa648dafa5054" {
		t.Errorf("the digest of the same content has changed to %s", digest)
	}

	// The digest tells every change of content.
	different := func(name string, train, test []series) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "Small_TRAIN"), tsv(train))
		write(t, filepath.Join(dir, "Small_TEST"), tsv(test))
		s, err := LoadUCR(dir, "Small", "")
		if err != nil {
			t.Fatal(err)
		}
		if s.Digest == digest {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	different("a value", []series{{2, []float64{0.50001, -1.25, 3e-05, 4}}, smallTrain[1], smallTrain[2]}, smallTest)
	different("a label", smallTrain, []series{{2, smallTest[0].values}, smallTest[1]})
	different("row order", []series{smallTrain[1], smallTrain[0], smallTrain[2]}, smallTest)
	different("output width", []series{smallTrain[0], smallTrain[1], {8, smallTrain[2].values}},
		[]series{{8, smallTest[0].values}, smallTest[1]})
	different("a row moved to test", smallTrain, append(slices.Clone(smallTest), smallTrain[0]))
}

func TestTextLabels(t *testing.T) {
	dir := t.TempDir()
	head := "@classLabel true walk Run sit\n@data\n"
	write(t, filepath.Join(dir, "Gait", "Gait_TRAIN.ts"), head+"1,2:walk\n3,4:Run\n5,6:sit\n")
	write(t, filepath.Join(dir, "Gait", "Gait_TEST.ts"), head+"1,2:sit\n")
	s, err := LoadUCR(dir, "gait", "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "Gait" || !slices.Equal(s.Labels, []string{"Run", "sit", "walk"}) || s.OutputWidth != 3 ||
		s.Test.Labels[0] != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestLabelValues(t *testing.T) {
	for _, c := range []struct {
		labels  string
		classes []int
		width   int
	}{
		{"0 1 0", []int{0, 1, 0}, 2},
		{"1 2 2", []int{0, 1, 1}, 3},
		{"-1 1 -1", []int{0, 1, 0}, 2},
		{"1 -1 1", []int{1, 0, 1}, 2},
		{"-2 -1 -1", []int{0, 1, 1}, 2}, // never fewer columns than classes
		{"3 8 5", []int{0, 2, 1}, 9},
		{"10 9 2", []int{2, 1, 0}, 11}, // by value, not as text
		{"1 1.0 +2", []int{0, 0, 1}, 3},
		{"20200101 20200102 20200102", []int{0, 1, 1}, 2}, // names, no counts
	} {
		t.Run(c.labels, func(t *testing.T) {
			dir := t.TempDir()
			content := ""
			for _, l := range strings.Fields(c.labels) {
				content += l + ",1,2,3\n"
			}
			write(t, filepath.Join(dir, "X_TRAIN"), content)
			write(t, filepath.Join(dir, "X_TEST"), content)
			s, err := LoadUCR(dir, "X", "")
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(s.Train.Labels, c.classes) || !slices.Equal(s.Test.Labels, c.classes) ||
				s.OutputWidth != c.width {
				t.Errorf("classes %v, width %d; want %v, %d", s.Train.Labels, s.OutputWidth, c.classes, c.width)
			}
		})
	}
}

// Train and test of different forms spell the same label differently.
func TestMixedForms(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "Small", "Small_TRAIN.tsv"), tsv(smallTrain))
	write(t, filepath.Join(dir, "Small", "Small_TEST.txt"), matlab(smallTest))
	s, err := LoadUCR(dir, "Small", "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Test.Labels, []int{2, 0}) {
		t.Errorf("test labels %v", s.Test.Labels)
	}
}

func TestBadFiles(t *testing.T) {
	const good = "1\t1\t2\t3\n2\t4\t5\t6\n"
	for _, c := range []struct {
		name, train, test string
		kind              error
		want              string // DIR stands for the folder
	}{
		{"NaN", "1\t1\t2\t3\n2\tNaN\t5\t6\n", good, ErrMissingValue, "DIR/X_TRAIN.tsv:2:2: missing value: NaN; fill " +
			"it in, or leave the set out"},
		{"NaN within", "1\t1\t2\t3\n2\t4\tnan\t6\n", good, ErrMissingValue, "DIR/X_TRAIN.tsv:2:3: missing value: " +
			"nan; fill it in, or leave the set out"},
		{"NaN in test", good, "1\t1\t2\t3\n2\t4\t5\t6\n1\t-NaN\t2\t3\n", ErrMissingValue, "DIR/X_TEST.tsv:3:2: " +
			"missing value: -NaN; fill it in, or leave the set out"},
		{"question mark", "1,1,?,3\n2,4,5,6\n", good, ErrMissingValue, "DIR/X_TRAIN.tsv:1:3: missing value: ?; fill " +
			"it in, or leave the set out"},
		{"empty field", "1,1,,3\n2,4,5,6\n", good, ErrMissingValue, "DIR/X_TRAIN.tsv:1:3: missing value: the field " +
			"is empty; fill it in, or leave the set out"},
		{"empty last field", "1,1,2,3\n2,4,5,\n", good, ErrMissingValue, "DIR/X_TRAIN.tsv:2:4: missing value: the " +
			"field is empty; fill it in, or leave the set out"},
		{"filled up with NaN", "1\t1\t2\t3\n2\t4\tNaN\tNaN\n", good, ErrVariableLength, "DIR/X_TRAIN.tsv:2:3: series " +
			"of unequal length: the series ends after 1 values and is filled up with NaN; only sets of one length " +
			"can be used"},
		{"short row", "1\t1\t2\t3\n2\t4\t5\n1\t1\t2\t3\n", good, ErrVariableLength, "DIR/X_TRAIN.tsv:2: series of " +
			"unequal length: 2 values where the first row has 3; only sets of one length can be used"},
		{"long row", "1\t1\t2\t3\n2\t4\t5\t6\t7\n", good, ErrVariableLength, "DIR/X_TRAIN.tsv:2: series of unequal " +
			"length: 4 values where the first row has 3; only sets of one length can be used"},
		{"other length in test", good, "1\t1\t2\n", ErrVariableLength, "DIR/X_TEST.tsv:1: series of unequal length: " +
			"2 values where the training part, DIR/X_TRAIN.tsv, has 3"},
		{"cut within a row", good, "1\t1\t2\t3\n2\t4\t5", ErrTruncated, "DIR/X_TEST.tsv:2: truncated file: the last " +
			"row has 2 values where the others have 3; fetch the file again"},
		{"cut within a number", good, "1\t1\t2\t3\n2\t4\t5\t6e-", ErrTruncated,
			`DIR/X_TEST.tsv:2:4: truncated file: the file ends with "6e-"; fetch it again`},
		{"cut behind a label", good, "1\t1\t2\t3\n2", ErrTruncated, "DIR/X_TEST.tsv:2: truncated file: the last row " +
			"has 0 values where the others have 3; fetch the file again"},
		{"word", "1\t1\t2\t3\n2\t4\tfive\t6\n", good, ErrNumber, `DIR/X_TRAIN.tsv:2:3: not a number: "five"`},
		{"other separator", "1\t1\t2\t3\n2,4,5,6\n", good, ErrLabel,
			`DIR/X_TRAIN.tsv:2:1: bad label: "2,4,5,6" is not a whole number; the label belongs in the first column`},
		{"decimal comma", "1\t1,5\t2\t3\n2\t4\t5\t6\n", good, ErrNumber, `DIR/X_TRAIN.tsv:1:2: not a number: "1,5"`},
		{"hexadecimal", "1\t0x1p4\t2\t3\n2\t4\t5\t6\n", good, ErrNumber, `DIR/X_TRAIN.tsv:1:2: not a number: "0x1p4"`},
		{"infinite", "1\t1\t-Inf\t3\n2\t4\t5\t6\n", good, ErrNumber,
			`DIR/X_TRAIN.tsv:1:3: not a number: "-Inf" is not finite in 32 bits`},
		{"too large", "1\t1\t2\t1e39\n2\t4\t5\t6\n", good, ErrNumber,
			`DIR/X_TRAIN.tsv:1:4: not a number: "1e39" is not finite in 32 bits`},
		{"empty file", "", good, ErrEmpty, "DIR/X_TRAIN.tsv: no data: the file holds no series"},
		{"blank file", good, "\n \n", ErrEmpty, "DIR/X_TEST.tsv: no data: the file holds no series"},
		{"label alone", "1\n2\n", good, ErrEmpty, "DIR/X_TRAIN.tsv:1: no data: a label without values"},
		{"one class", "1\t1\t2\t3\n1\t4\t5\t6\n", "1\t1\t2\t3\n", ErrLabel, "DIR/X_TRAIN.tsv: bad label: every " +
			"series has the label 1; two classes at least are needed"},
		{"unknown label", good, "1\t1\t2\t3\n2\t1\t2\t3\n4\t1\t2\t3\n", ErrLabel,
			`DIR/X_TEST.tsv:3: bad label: label "4" does not occur in the training part, DIR/X_TRAIN.tsv`},
		{"fractional label", "0.5\t1\t2\t3\n", good, ErrLabel,
			`DIR/X_TRAIN.tsv:1:1: bad label: "0.5" is not a whole number; the label belongs in the first column`},
		{"NaN label", "1\t1\t2\t3\nNaN\t1\t2\t3\n", good, ErrLabel,
			`DIR/X_TRAIN.tsv:2:1: bad label: "NaN" is not a whole number; the label belongs in the first column`},
		{"no label", "1\t1\t2\t3\n\t1\t2\t3\n", good, ErrLabel, "DIR/X_TRAIN.tsv:2:1: bad label: the label is missing"},
		{"header", "label\tt0\tt1\tt2\n1\t1\t2\t3\n", good, ErrLabel,
			`DIR/X_TRAIN.tsv:1:1: bad label: "label" is not a whole number; the label belongs in the first column`},
		{"cut gzip", packed(t, good)[:20], good, ErrTruncated, "DIR/X_TRAIN.tsv: truncated file: the gzip data ends " +
			"too early; fetch the file again"},
		{"spoilt gzip", "\x1f\x8bxxxxxxxxxxxxxxxxxxxxx", good, ErrForm, "DIR/X_TRAIN.tsv: unsupported form: gzip: " +
			"gzip: invalid header"},
		{"binary", "\x00\x01\x02\xff\n", good, ErrLabel,
			`DIR/X_TRAIN.tsv:1:1: bad label: "\x00\x01\x02\xff" is not a whole number; the label belongs in the first column`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "X_TRAIN.tsv"), c.train)
			write(t, filepath.Join(dir, "X_TEST.tsv"), c.test)
			expectFileError(t, dir, c.kind, c.want)
		})
	}
}

func expectFileError(t *testing.T, dir string, kind error, want string) {
	t.Helper()
	s, err := LoadUCR(dir, "X", "")
	if err == nil {
		t.Fatalf("no error; got %+v", s)
	}
	if got := strings.ReplaceAll(err.Error(), dir, "DIR"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var file *FileError
	if !errors.Is(err, kind) || !errors.As(err, &file) {
		t.Errorf("%v is not a FileError for %v", err, kind)
	}
}

func TestBadTS(t *testing.T) {
	const good = "@data\n1,2,3:a\n4,5,6:b\n"
	for _, c := range []struct {
		name, train string
		kind        error
		want        string
	}{
		{"no header", "1,2,3:a\n", ErrForm, "DIR/X_TRAIN.ts:1: unsupported form: a line of the header that does not " +
			"begin with @, and no @data above"},
		{"header alone", "@problemName X\n", ErrForm, "DIR/X_TRAIN.ts: unsupported form: no line @data"},
		{"no series", "@data\n\n", ErrEmpty, "DIR/X_TRAIN.ts: no data: the file holds no series"},
		{"multivariate", "@univariate false\n@data\n", ErrForm, "DIR/X_TRAIN.ts:1: unsupported form: several values " +
			"at a time; only univariate series can be used"},
		{"dimensions", "@dimension 3\n@data\n", ErrForm, "DIR/X_TRAIN.ts:1: unsupported form: several values at a " +
			"time; only univariate series can be used"},
		{"multivariate unannounced", "@data\n1,2,3:4,5,6:a\n", ErrForm, "DIR/X_TRAIN.ts:2: unsupported form: several " +
			"values at a time; only univariate series can be used"},
		{"time stamps", "@timeStamps true\n@data\n", ErrForm,
			"DIR/X_TRAIN.ts:1: unsupported form: values with time stamps"},
		{"regression", "@targetlabel true\n@data\n", ErrForm, "DIR/X_TRAIN.ts:1: unsupported form: targets of a " +
			"regression, where classes are expected"},
		{"no classes", "@classLabel false\n@data\n", ErrForm, "DIR/X_TRAIN.ts:1: unsupported form: series without " +
			"class labels"},
		{"missing", "@data\n1,2,3:a\n1,?,3:b\n", ErrMissingValue, "DIR/X_TRAIN.ts:3:2: missing value: ?; fill it in, " +
			"or leave the set out"},
		{"no label", "@data\n1,2,3\n1,2,3:b\n", ErrLabel, "DIR/X_TRAIN.ts:2: bad label: no label behind a colon"},
		{"empty label", "@data\n1,2,3:\n", ErrLabel, "DIR/X_TRAIN.ts:2: bad label: nothing behind the colon"},
		{"undeclared label", "@classLabel true a b\n@data\n1,2,3:c\n", ErrLabel,
			`DIR/X_TRAIN.ts:3: bad label: "c" is not among those that @classLabel declares`},
		{"no values", "@data\n:a\n", ErrEmpty, "DIR/X_TRAIN.ts:2: no data: a label without values"},
		{"unequal", "@data\n1,2,3:a\n1,2:b\n1,2,3:b\n", ErrVariableLength, "DIR/X_TRAIN.ts:3: series of unequal " +
			"length: 2 values where the first row has 3; only sets of one length can be used"},
		{"cut", "@data\n1,2,3:a\n1,2,", ErrTruncated, "DIR/X_TRAIN.ts:3: truncated file: the last row has no label; " +
			"fetch the file again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "X_TRAIN.ts"), c.train)
			write(t, filepath.Join(dir, "X_TEST.ts"), good)
			expectFileError(t, dir, c.kind, c.want)
		})
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"FiftyWords", "Gun_Point", "CricketX", "Lighting2"} {
		write(t, filepath.Join(dir, name, name+"_TRAIN.tsv"), tsv(smallTrain))
		write(t, filepath.Join(dir, name, name+"_TEST.tsv"), tsv(smallTest))
	}
	for asked, want := range map[string]string{
		"50words": "FiftyWords", "50Words": "FiftyWords", "FiftyWords": "FiftyWords", "fiftywords": "FiftyWords",
		"Gun Point": "GunPoint", "Gun_Point": "GunPoint", "GunPoint": "GunPoint", "gun-point": "GunPoint",
		"Cricket X": "CricketX", "Cricket_X": "CricketX", "CricketX": "CricketX",
		"Lighting2": "Lightning2", "Lightning2": "Lightning2",
	} {
		s, err := LoadUCR(dir, asked, "")
		if err != nil {
			t.Errorf("%s: %v", asked, err)
			continue
		}
		if s.Name != want {
			t.Errorf("%s: got %s, want %s", asked, s.Name, want)
		}
		if len(s.Notes) != 1 || !strings.HasPrefix(s.Notes[0],
			"3 series to train and 2 to test, where the archive has ") {
			t.Errorf("%s: the wrong sizes are not noted: %q", asked, s.Notes)
		}
	}
	for _, c := range []struct{ name, want string }{
		{"GunPiont", "unknown data set \"GunPiont\": not in DIR; did you mean Gun_Point?"},
		{"CricketY", "unknown data set \"CricketY\": not in DIR; did you mean CricketX?"},
		{"InsectWingbeatSound", "unknown data set \"InsectWingbeatSound\": not in DIR"},
		{"../FiftyWords/../nothing", "unknown data set \"../FiftyWords/../nothing\": not in DIR"},
		{"", "unknown data set \"\": not in DIR"},
	} {
		_, err := LoadUCR(dir, c.name, "")
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("%q: got %v", c.name, err)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), dir, "DIR"); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestMissingFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "A", "A_TRAIN.tsv"), tsv(smallTrain))
	write(t, filepath.Join(dir, "B", "B_TEST"), tsv(smallTest))
	write(t, filepath.Join(dir, "C", "readme.txt"), "")
	write(t, filepath.Join(dir, "d_train.tsv.gz"), "")
	for name, want := range map[string]string{
		"A": "DIR/A/A_TEST.tsv: file does not exist: A_TRAIN.tsv is there without it",
		"B": "DIR/B/B_TRAIN: file does not exist: B_TEST is there without it",
		"C": "DIR/C: file does not exist: no file whose name ends in _TRAIN.tsv, _TRAIN, _TRAIN.txt or _TRAIN.ts",
		"D": "DIR/d_test.tsv.gz: file does not exist: d_train.tsv.gz is there without it",
	} {
		_, err := LoadUCR(dir, name, "")
		if err == nil || !errors.Is(err, fs.ErrNotExist) || strings.ReplaceAll(err.Error(), dir, "DIR") != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	// The loose pair takes over from a folder that lacks a part.
	write(t, filepath.Join(dir, "A_TRAIN"), tsv(smallTrain))
	write(t, filepath.Join(dir, "A_TEST"), tsv(smallTest))
	if _, err := LoadUCR(dir, "A", ""); err != nil {
		t.Error(err)
	}
}

// numbered writes rows labels 0 and 1 in turn.
func numbered(rows int) string {
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "%d\t%d\t2\n", i%2, i)
	}
	return b.String()
}

func TestExchange(t *testing.T) {
	for _, c := range []struct {
		name           string
		train, test    int // rows of the files
		exchange       Exchange
		wantTrain      int
		wantExchanged  bool
		wantSizesNoted bool
	}{
		{"DistalPhalanxOutlineCorrect", 600, 276, "", 276, true, false},
		{"DistalPhalanxOutlineCorrect", 600, 276, ExchangeAuto, 276, true, false},
		{"DistalPhalanxOutlineCorrect", 600, 276, ExchangeNo, 600, false, false},
		{"DistalPhalanxOutlineCorrect", 276, 600, ExchangeAuto, 276, false, false}, // as the paper had it
		{"DistalPhalanxOutlineCorrect", 276, 600, ExchangeYes, 600, true, false},
		{"DistalPhalanxTW", 400, 139, ExchangeAuto, 139, true, false},
		{"DistalPhalanxTW", 139, 400, ExchangeAuto, 139, false, false},
		{"MiddlePhalanxOutlineCorrect", 600, 291, ExchangeAuto, 291, true, false},
		{"MiddlePhalanxOutlineCorrect", 600, 290, ExchangeAuto, 600, false, true}, // not the archive's files
		{"CBF", 30, 900, ExchangeAuto, 30, false, false},
		{"CBF", 900, 30, ExchangeAuto, 900, false, true},
		{"CBF", 30, 900, ExchangeYes, 900, true, false},
		{"Other", 600, 276, ExchangeAuto, 600, false, false},
	} {
		t.Run(fmt.Sprint(c.name, c.train, c.exchange), func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, c.name, c.name+"_TRAIN.tsv"), numbered(c.train))
			write(t, filepath.Join(dir, c.name, c.name+"_TEST.tsv"), numbered(c.test))
			s, err := LoadUCR(dir, c.name, c.exchange)
			if err != nil {
				t.Fatal(err)
			}
			if s.Train.N != c.wantTrain || s.Exchanged != c.wantExchanged || s.Train.N+s.Test.N != c.train+c.test {
				t.Errorf("train %d, test %d, exchanged %v", s.Train.N, s.Test.N, s.Exchanged)
			}
			notes := strings.Join(s.Notes, "; ")
			if strings.Contains(notes, "exchanged against the files") != c.wantExchanged ||
				strings.Contains(notes, "where the archive has") != c.wantSizesNoted {
				t.Errorf("notes %q", notes)
			}
		})
	}
	if _, err := LoadUCR(t.TempDir(), "CBF", "maybe"); err == nil ||
		err.Error() != `exchange is "maybe": want auto, yes or no` {
		t.Errorf("got %v", err)
	}

	// Exchanged files and files that are the other way round already are the same data.
	digests := map[string]bool{}
	for _, sizes := range [][2]int{{600, 276}, {276, 600}} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "DistalPhalanxOutlineCorrect_TRAIN"), numbered(sizes[0]))
		write(t, filepath.Join(dir, "DistalPhalanxOutlineCorrect_TEST"), numbered(sizes[1]))
		s, err := LoadUCR(dir, "DistalPhalanxOutlineCorrect", "")
		if err != nil {
			t.Fatal(err)
		}
		digests[s.Digest] = true
	}
	if len(digests) != 1 {
		t.Error("equal content has different digests")
	}
}

func TestScanFloat32(t *testing.T) {
	check := func(text string) {
		t.Helper()
		want, err := strconv.ParseFloat(text, 32)
		got, gotErr := parseFloat32([]byte(text))
		if (err == nil) != (gotErr == nil) || err == nil && math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Errorf("%q: got %v (%v), want %v (%v)", text, got, gotErr, float32(want), err)
		}
	}
	for _, text := range []string{
		"0", "-0", "+1", ".5", "5.", ".", "", "-", "1e", "1e+", "1e5", "1E-5", "1e400", "1e-400", "-1e-46", "1e-45",
		"3.4028235e38", "3.4028236e38",
		"16777217", "16777217.0000000000001", "16777216.9999999999", "1.00000017881393432617187499",
		"1.000000178813934326171875", "1.00000017881393432617187501",
		"9007199254740993", "123456789012345678901234567890", "0.000000000000000000000000000001", "1e22", "1e23",
		"1e-22", "1e-23", "1e99999", "Inf", "nan", "1.2.3", "--1",
	} {
		check(text)
	}
	// Numbers close to the middle between two float32, where rounding twice goes wrong.
	source := random.New(1, 7)
	for range 200000 {
		low := math.Float32frombits(uint32(source.Uint64())&0x7fffff | uint32(source.Below(60)+97)<<23)
		middle := (float64(low) + float64(math.Nextafter32(low, math.MaxFloat32))) / 2
		check(strconv.FormatFloat(middle, 'e', source.Below(20), 64))
		check(strconv.FormatFloat(float64(low), 'f', -1, 32))
	}
}

// A file of the archive that is cut within the last number of a row shows it by its size and its missing line end.
func TestCutWithinLastNumber(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "CBF", "CBF_TRAIN.tsv"), strings.TrimSuffix(numbered(20), "\n"))
	write(t, filepath.Join(dir, "CBF", "CBF_TEST.tsv"), numbered(900))
	_, err := LoadUCR(dir, "CBF", "")
	want := "DIR/CBF/CBF_TRAIN.tsv:20: truncated file: the last row has no line end, and 20 and 900 series are not " +
		"the 30 and 900 of the archive's CBF; fetch the file again"
	if !errors.Is(err, ErrTruncated) || strings.ReplaceAll(err.Error(), dir, "DIR") != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
