package dataset

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// moduleDir is where a module's files are.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil || len(out) < 2 {
		t.Skipf("left out: the files of %s are not there: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

const (
	ownTrain = "series,x,y,label\n1,1,10,walk\n1,2,20,\n1,,30,\n2,4,40,sit\n3,,-1,walk\n3,5,,\n"
	ownTest  = "series,x,y,label\n1,1,,sit\n1,2,2,\n1,3,3,\n1,4,4,\n"
)

// The same series have the same digest whatever the form of their files, and another one otherwise.
func TestOwnForms(t *testing.T) {
	type lists struct {
		Label string     `parquet:"label"`
		Left  []*float32 `parquet:"left,list"`
		Right []*float32 `parquet:"right,list"`
	}
	number := func(values ...float32) (all []*float32) {
		for _, v := range values {
			all = append(all, &v)
			if v != v {
				all[len(all)-1] = nil
			}
		}
		return all
	}
	root := t.TempDir()
	dir := filepath.Join(root, "own", "small")
	write(t, filepath.Join(dir, "train.csv"), ownTrain)
	write(t, filepath.Join(dir, "test.csv.gz"), packed(t, ownTest))
	write(t, filepath.Join(root, "own", "lists", "train.parquet"), string(writeParquet(t, []lists{
		{"walk", number(1, 2, gap), number(10, 20, 30)}, {"sit", number(4), number(40)},
		{"walk", number(gap, 5), number(-1, gap)}})))
	write(t, filepath.Join(root, "own", "lists", "test.parquet"), string(writeParquet(t, []lists{
		{"sit", number(1, 2, 3, 4), number(gap, 2, 3, 4)}})))
	write(t, filepath.Join(root, "own", "other", "train.csv"), strings.Replace(ownTrain, "-1,walk", "-1.5,walk", 1))
	write(t, filepath.Join(root, "own", "other", "test.csv"), ownTest)
	digests := map[string]string{}
	for _, name := range []string{"small", "lists", "other"} {
		s, err := Open(root, Reference{Name: "own/" + name})
		if err != nil {
			t.Fatal(err)
		}
		digests[name] = s.Digest
		if s.Channels != 2 || s.Length != 8 || s.InputSize != 2 || s.Depth != 4 || !slices.Equal(s.Labels, []string{"sit",
			"walk"}) || !slices.Equal(s.Train.Labels, []int{1, 0, 1}) || !slices.Equal(s.Train.Lengths, []int{6, 2, 4}) ||
			!slices.Equal(s.Notes, []string{"4 of 20 values are missing", "series of 1 to 4 time steps"}) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if digests["small"] != digests["lists"] || digests["small"] == digests["other"] {
		t.Errorf("digests %v", digests)
	}
}

// Missing values are filled in by each rule as its definition says, from the training part alone.
func TestOwnMissing(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "own", "s", "train.csv"), ownTrain)
	write(t, filepath.Join(root, "own", "s", "test.csv"), ownTest)
	meanX, varianceX := stat.PopMeanVariance([]float64{1, 2, 4, 5}, nil)
	meanY, varianceY := stat.PopMeanVariance([]float64{10, 20, 30, 40, -1}, nil)
	x := func(v float64) float32 { return float32((v - meanX) / math.Sqrt(varianceX)) }
	y := func(v float64) float32 { return float32((v - meanY) / math.Sqrt(varianceY)) }
	for _, c := range []struct {
		normalization Normalization
		missing       Missing
		train, test   []float32 // the third series of training, the first of test
	}{
		{"", "", []float32{3, -1, 5, -1}, []float32{1, float32(meanY), 2, 2, 3, 3, 4, 4}},
		{NormalizeNone, MissingMean, []float32{3, -1, 5, float32(meanY)}, []float32{1, float32(meanY), 2, 2, 3, 3, 4, 4}},
		{NormalizeChannel, MissingPrevious, []float32{0, y(-1), x(5), y(-1)}, []float32{x(1), 0, x(2), y(2), x(3), y(3), x(4),
			y(4)}},
		{NormalizeChannel, MissingIndicators, []float32{0, y(-1), 1, 0, x(5), 0, 0, 1},
			[]float32{x(1), 0, 0, 1, x(2), y(2), 0, 0, x(3), y(3), 0, 0, x(4), y(4), 0, 0}},
	} {
		s, err := Open(root, Reference{Name: "own/s", Normalization: c.normalization, Missing: c.missing})
		if err != nil {
			t.Fatal(err)
		}
		width := s.Preparation.Width()
		if got := s.Train.Values[2*s.Length:]; !slices.Equal(got, append(c.train, make([]float32, len(got)-len(c.train))...)) ||
			s.Train.Lengths[2] != 2*width {
			t.Errorf("%+v: series %v of length %d in training", c, got, s.Train.Lengths[2])
		}
		if !slices.Equal(s.Test.Values, c.test) || s.Length != 4*width || s.InputSize != width {
			t.Errorf("%+v: %v of length %d in the test", c, s.Test.Values, s.Length)
		}
	}
}

// Series of one length are as those of any other set; validation has its own file.
func TestOwnOfOneLength(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "own", "s")
	write(t, filepath.Join(dir, "train.csv"), "a,b,c,d,label\n1,2,3,4,10\n5,6,7,8,9\n")
	write(t, filepath.Join(dir, "validation.csv"), "a,b,c,d,label\n0,0,0,0,2\n")
	write(t, filepath.Join(dir, "test.csv"), "a,b,c,d,label\n9,9,9,9,10.0\n")
	s, err := Open(root, Reference{Name: "own/s"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Listed != 1 || s.Train.N != 3 || s.Train.Lengths != nil || s.Length != 4 || s.InputSize != 2 || s.Notes != nil ||
		!slices.Equal(s.Labels, []string{"2", "9", "10"}) || !slices.Equal(s.Train.Labels, []int{2, 1, 0}) ||
		!slices.Equal(s.Test.Labels, []int{2}) || s.OutputWidth != 3 {
		t.Errorf("%+v", s)
	}
}

func TestOwnThatIsRefused(t *testing.T) {
	const good = "label,a,b\nu,1,2\nv,3,4\n"
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"train.csv": good}, "expected a file test.csv or test.csv.gz or test.npz or test.parquet"},
		{map[string]string{"train.csv": good, "test.csv": good, "test.npz": ""}, "test.csv and test.npz are both there"},
		{map[string]string{"train.csv": good, "test.csv": "label,a\nw,1\n"},
			`test.csv:2: bad label: label "w" does not occur in the training part`},
		{map[string]string{"train.csv": "a,b\n1,2\n", "test.csv": good}, "train.csv:2: bad label: the label is missing"},
		{map[string]string{"train.csv": "label,a\nu,1\nu,2\n", "test.csv": good}, "every series has the label u"},
		{map[string]string{"train.csv": "series,label,a,b\n1,u,1,2\n2,v,3,4\n", "test.csv": good},
			"test.csv: unsupported form: its channels are 1 without names, and those of"},
		{map[string]string{"train.csv": "series,label,a,b\n1,u,1,2\n2,v,3,4\n", "test.csv": "series,label,b,a\n1,u,1,2\n"},
			"its channels are b, a, and those of"},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			write(t, filepath.Join(root, "own", "s", name), text)
		}
		if _, err := Open(root, Reference{Name: "own/s"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v\nwant %s", c.files, err, c.want)
		}
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "own", "hearts"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Open(root, Reference{Name: "own/heart"})
	if unknown, is := errors.AsType[*UnknownError](err); !is || !slices.Equal(unknown.Near, []string{"own/hearts"}) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"own/", "own/..", "own/a/b", "own/."} {
		if _, err := Open(root, Reference{Name: name}); err == nil {
			t.Errorf("%s is opened", name)
		}
	}
}

// A series of its own length is arranged in its own steps as one of that length alone is.
func TestArrangeUneven(t *testing.T) {
	lengths := []int{6, 10, 4}
	p := &Part{N: 3, Values: make([]float32, 30), Lengths: lengths}
	for i, n := range lengths {
		for j := range n {
			p.Values[10*i+j] = float32(100*i + j + 1)
		}
	}
	for _, order := range Orders {
		for _, size := range []int{2, 4} {
			steps := (10 + size - 1) / size
			all, err := Arrange(p, order, steps, size)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range lengths {
				own := (n + size - 1) / size
				filled := append(slices.Clone(p.Values[10*i:][:n]), make([]float32, own*size-n)...)
				alone, err := Arrange(&Part{N: 1, Values: filled}, order, own, size)
				if err != nil {
					t.Fatal(err)
				}
				want := make([]float32, own*size)
				alone.Gather(want, []int{0})
				for _, taken := range []int{own, steps} {
					got := make([]float32, taken*size)
					all.GatherSteps(got, []int{i}, taken)
					if all.StepsOf(i) != own || !slices.Equal(got[:len(want)], want) || slices.ContainsFunc(got[len(want):], func(v float32) bool { return v != 0 }) {
						t.Errorf("%s, %d a step, series %d: %v, alone %v", order, size, i, got, want)
					}
				}
			}
		}
	}
	if _, err := Arrange(p, OrderPieces, 4, 2); err == nil {
		t.Error("too few steps are arranged")
	}
}
