package dataset

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// realData returns the directory of the real data, which tests need to see what is out there.
func realData(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("SWEEP_TEST_DATA")
	if dir == "" {
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			if root == filepath.Dir(root) {
				t.Fatal("no go.mod above the working directory")
			}
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "..", "shared", "data")
	}
	if _, err := os.Stat(filepath.Join(dir, "ucr")); err != nil {
		t.Skipf("the real data is not there (%v); name its directory in SWEEP_TEST_DATA", err)
	}
	return dir
}

func TestArchive(t *testing.T) {
	dir := filepath.Join(realData(t), "ucr")
	for _, p := range Table4 {
		if p.Name == "InsectWingbeatSound" {
			continue // its test file is not to be had
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			s, err := LoadUCR(dir, p.Paper, "")
			if err != nil {
				t.Fatal(err)
			}
			train, test := p.Train, p.Test
			if p.Name == "DistalPhalanxTW" {
				train, test = 139, 400 // the table's figures are misprints
			}
			type facts struct {
				name                                                  string
				train, test, length, classes, width, inputSize, depth int
				exchanged                                             bool
			}
			got := facts{s.Name, s.Train.N, s.Test.N, s.Length, s.Classes, s.OutputWidth, s.InputSize,
				s.Depth, s.Exchanged}
			want := facts{p.Name, train, test, p.Length, p.Classes, p.OutputWidth, p.InputSize, p.Depth, p.Exchanged()}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if len(s.Notes) > 0 && (!s.Exchanged || len(s.Notes) > 1) {
				t.Errorf("notes %q", s.Notes)
			}
			for _, part := range []*Part{&s.Train, &s.Test} {
				for i := range part.N {
					// The archive's series are normalised, some by the sample deviation and some by the other.
					mean, variance := moments(part.Values[i*s.Length : (i+1)*s.Length])
					if math.Abs(mean) > 1e-3 || math.Abs(variance-1) > 0.05 {
						t.Fatalf("series %d has mean %v and variance %v", i, mean, variance)
					}
				}
			}
		})
	}
}
