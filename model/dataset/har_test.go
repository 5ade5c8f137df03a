package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// The real files have the archive's sizes, and each number its place.
func TestHAR2(t *testing.T) {
	s, err := LoadHAR2(filepath.Join(realData(t), "har"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Train.N != 7352 || s.Test.N != 2947 || s.InputSize != 9 || s.Depth != 128 || s.OutputWidth != 1 ||
		len(s.Notes) > 0 {
		t.Errorf("%d and %d windows of %d × %d, %d outputs, %v", s.Train.N, s.Test.N, s.Depth, s.InputSize,
			s.OutputWidth, s.Notes)
	}
	// Label counts 1 … 6 of SOURCES.md: walking, upstairs, downstairs, sitting, standing, laying.
	for part, want := range map[*Part]int{&s.Train: 1226 + 986 + 1374, &s.Test: 496 + 420 + 532} {
		ones := 0
		for _, class := range part.Labels {
			ones += class
		}
		if ones != want {
			t.Errorf("%d windows of class 1, want %d", ones, want)
		}
	}
	// The first numbers of body_acc_x_train; total minus body is gravity, of length about 1.
	for step, want := range []float32{1.8085150e-4, 1.0138560e-2, 9.2755740e-3} {
		if got := s.Train.Values[step*9]; got != want {
			t.Errorf("body_acc_x of step %d is %v, want %v", step, got, want)
		}
	}
	for window := 0; window < s.Train.N; window += 500 {
		x := s.Train.Values[window*harLength:]
		length := 0.0
		for axis := range 3 {
			length += math.Pow(float64(x[6+axis]-x[axis]), 2)
		}
		if length = math.Sqrt(length); length < .9 || length > 1.1 {
			t.Errorf("window %d: gravity of %v", window, length)
		}
	}
}

// harFiles are the files of three windows; the number of channel c at step t of window w is 100w + t + c/10.
func harFiles() map[string]string {
	files := map[string]string{}
	for _, part := range []string{"train", "test"} {
		files[filepath.Join(part, "y_"+part+".txt")] = "5\n2\n6\n"
		for channel, signal := range harSignals {
			var b strings.Builder
			for window := range 3 {
				for step := range harSteps {
					fmt.Fprintf(&b, "  %.7e", float64(100*window+step)+float64(channel)/10)
				}
				b.WriteString("\r\n")
			}
			files[filepath.Join(part, "Inertial Signals", signal+"_"+part+".txt")] = b.String()
		}
	}
	return files
}

func TestHAR2Forms(t *testing.T) {
	dir := t.TempDir()
	for name, content := range harFiles() {
		if strings.Contains(name, "gyro") {
			name, content = name+".gz", packed(t, content)
		}
		write(t, filepath.Join(dir, name), content)
	}
	s, err := LoadHAR2(dir)
	if err != nil {
		t.Fatal(err)
	}
	for window, class := range []int{1, 0, 0} {
		if s.Test.Labels[window] != class {
			t.Errorf("window %d is of class %d", window, s.Test.Labels[window])
		}
		for step := range harSteps {
			for channel := range harChannels {
				want := float32(float64(100*window+step) + float64(channel)/10)
				if got := s.Test.Values[(window*harSteps+step)*harChannels+channel]; got != want {
					t.Fatalf("window %d, step %d, channel %d: %v, want %v", window, step, channel, got, want)
				}
			}
		}
	}
	if len(s.Notes) != 2 {
		t.Errorf("notes %v", s.Notes)
	}
}

func TestBadHAR2(t *testing.T) {
	signal, labels := filepath.Join("train", "Inertial Signals", "body_gyro_y_train.txt"),
		filepath.Join("test", "y_test.txt")
	good := harFiles()[signal]
	for name, c := range map[string]struct {
		file, content string
		kind          error
		want          string
	}{
		"no file": {signal, "", fs.ErrNotExist, "body_gyro_y_train.txt"},
		"short":   {signal, good[:len(good)/2], ErrTruncated, "the last line has no end"},
		"few windows": {signal, good[:strings.Index(good, "\n")+1], ErrTruncated,
			"1 windows where there are 3 activities"},
		"many windows": {signal, good + good, ErrForm, ":4: "},
		"long window":  {signal, strings.Replace(good, "\r\n", " 1\r\n", 1), ErrVariableLength, ":1: "},
		"NaN":          {signal, strings.Replace(good, "  4.", " NaN  4.", 1), ErrMissingValue, ":1:"},
		"text":         {signal, strings.Replace(good, "e+00", "x", 1), ErrNumber, ":1:2: "},
		"activity":     {labels, "5\n7\n1\n", ErrLabel, "y_test.txt:2: "},
		"no activity":  {labels, "\n", ErrEmpty, "y_test.txt"},
	} {
		dir := t.TempDir()
		for file, content := range harFiles() {
			if file == c.file {
				content = c.content
			}
			if content != "" {
				write(t, filepath.Join(dir, file), content)
			}
		}
		var file *FileError
		if _, err := LoadHAR2(dir); !errors.As(err, &file) || !errors.Is(err, c.kind) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.kind, c.want)
		}
	}
	if _, err := LoadHAR2(filepath.Join(t.TempDir(), "har")); !errors.Is(err, ErrNoData) {
		t.Errorf("no folder: %v", err)
	}
}

// The generated twin has the shape of the real set, the same bits each time, and classes that are told apart by what
// several channels say together.
func TestGeneratedHAR2(t *testing.T) {
	s, again := GenerateHAR2(0), GenerateHAR2(0)
	if s.Digest != again.Digest || s.Digest == GenerateHAR2(1).Digest {
		t.Error("the bits are not those of the seed")
	}
	if s.InputSize != 9 || s.Depth != 128 || s.OutputWidth != 1 || s.Train.N != 240 || s.Test.N != 120 {
		t.Errorf("%d and %d windows of %d × %d", s.Train.N, s.Test.N, s.Depth, s.InputSize)
	}
	ones := 0
	for _, class := range s.Train.Labels {
		ones += class
	}
	if ones != 120 {
		t.Errorf("%d of 240 windows are of class 1", ones)
	}
}

func FuzzSignal(f *testing.F) {
	f.Add([]byte(harFiles()[filepath.Join("train", "Inertial Signals", "total_acc_z_train.txt")]))
	f.Add([]byte("1 2 x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		windows := bytes.Count(data, []byte("\n"))
		dst := make([]float32, windows*harLength)
		var file *FileError
		if err := parseSignal("F", data, windows, dst); err != nil && (!errors.As(err, &file) || file.Path != "F") {
			t.Fatalf("%v is no FileError", err)
		}
		for i, x := range dst {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				t.Fatalf("number %d is %v", i, x)
			}
		}
		if _, err := parseActivities("F", data); err != nil && !errors.As(err, &file) {
			t.Fatalf("%v is no FileError", err)
		}
	})
}
