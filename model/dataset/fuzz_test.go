package dataset

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
)

// checkTable holds a parser's answer to what the loader relies on.
func checkTable(t *testing.T, table *table, err error) {
	t.Helper()
	if err != nil {
		var file *FileError
		if !errors.As(err, &file) || file.Path != "F" || file.Kind == nil {
			t.Fatalf("%v is no FileError", err)
		}
		return
	}
	if table.rows() == 0 || table.length == 0 || len(table.values) != table.rows()*table.length ||
		len(table.line) != table.rows() {
		t.Fatalf("%d rows, %d lines, %d values of length %d", table.rows(), len(table.line), len(table.values),
			table.length)
	}
	for _, v := range table.values {
		if v-v != 0 {
			t.Fatalf("value %v", v)
		}
	}
	c := classify(table.names)
	labels, err := c.apply(table, table)
	if err != nil {
		t.Fatalf("the training part lacks a label of itself: %v", err)
	}
	for _, k := range labels {
		if k < 0 || k >= len(c.names) {
			t.Fatalf("class %d of %d", k, len(c.names))
		}
	}
}

func FuzzDelimited(f *testing.F) {
	f.Add([]byte(tsv(smallTrain)))
	f.Add([]byte(matlab(smallTrain)))
	f.Add([]byte("1,2,,3\r\n-1,?,NaN,1e400\n"))
	f.Add([]byte("1 2\t3\n2, 3\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := parseDelimited("F", data)
		checkTable(t, table, err)
		if err != nil || len(table.values) > 1<<12 {
			return
		}
		// Written out plainly, the table reads the same.
		var b bytes.Buffer
		for i := range table.rows() {
			b.WriteString(table.names[table.label[i]])
			for _, v := range table.values[i*table.length : (i+1)*table.length] {
				b.WriteString("," + strconv.FormatFloat(float64(v), 'g', -1, 32))
			}
			b.WriteString("\n")
		}
		again, err := parseDelimited("F", b.Bytes())
		if err != nil {
			t.Fatalf("written out again: %v\n%s", err, b.String())
		}
		for i, v := range table.values {
			if math.Float32bits(v) != math.Float32bits(again.values[i]) {
				t.Fatalf("value %d: %v became %v", i, v, again.values[i])
			}
		}
	})
}

func FuzzTS(f *testing.F) {
	f.Add([]byte(ts(smallTrain)))
	f.Add([]byte("@data\n1,2:a\n?,NaN:b\n:c\n"))
	f.Add([]byte("@classLabel\n@univariate\n@data\n1:a:b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := parseTS("F", data)
		checkTable(t, table, err)
	})
}

func FuzzIDX(f *testing.F) {
	f.Add([]byte(labels(1, 2, 3)), 0)
	f.Add([]byte(images(1)), 1)
	f.Add([]byte(packed(f, labels(1, 2, 3))), 2)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		for magic, size := range map[uint32]int{magicLabels: 1, magicImages: mnistPixels} {
			content, err := parseIDX("F", bytes.NewReader(data), magic, limit)
			if err != nil {
				var file *FileError
				if !errors.As(err, &file) || file.Path != "F" {
					t.Fatalf("%v is no FileError", err)
				}
				continue
			}
			want := content.count
			if limit > 0 {
				want = min(want, limit)
			}
			if len(content.data) != want*size {
				t.Fatalf("%d bytes for %d items", len(content.data), want)
			}
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1.5", "-.5e-7", "1e+", "0.1e1000000000", "+0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, n := scanFloat32([]byte(text))
		if n == 0 {
			return
		}
		want, err := strconv.ParseFloat(text[:n], 32)
		if err != nil || math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Fatalf("%q: got %v, want %v (%v)", text[:n], got, float32(want), err)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("micro sd card\r\n\xef\xbb\xbfkäse\n\n"))
	f.Add([]byte("a\xff\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := parseLines("F", data, nil)
		var file *FileError
		if err != nil {
			if !errors.As(err, &file) || file.Path != "F" || file.Kind == nil {
				t.Fatalf("%v is no FileError", err)
			}
			return
		}
		q := &QuerySet{}
		q.part(lines)
		if q.Train.Count()+q.Test.Count() != len(lines) {
			t.Fatalf("%d and %d of %d lines", q.Train.Count(), q.Test.Count(), len(lines))
		}
	})
}

func FuzzWAV(f *testing.F) {
	f.Add([]byte(wav(speechForm, 1, -2, 3)))
	f.Add([]byte(wav(clipForm{1, 2, 44_100, 24})))
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEfmt \xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		samples, err := parseWAV("F", data)
		var file *FileError
		if err == nil && len(samples) == 0 || err != nil && (!errors.As(err, &file) || file.Path != "F" || file.Kind == nil) {
			t.Fatalf("%d samples, %v", len(samples), err)
		}
	})
}

func FuzzClipList(f *testing.F) {
	f.Add([]byte("go/a.wav\r\nno/b.wav"))
	f.Add([]byte("go/../a.wav\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseClipList("F", data)
		var file *FileError
		if err != nil && (!errors.As(err, &file) || file.Path != "F" || file.Kind == nil) {
			t.Fatalf("%v is no FileError", err)
		}
		for _, clip := range list {
			if err == nil && (!strings.HasSuffix(clip, ".wav") || strings.Count(clip, "/") != 1) {
				t.Fatalf("clip %q", clip)
			}
		}
	})
}

func FuzzLabelled(f *testing.F) {
	f.Add([]byte("7,2 1:0.5 4:-1e-2 # a comment\r\n30 2:3\n"), 1)
	f.Add([]byte("2 4 40\n1,3 0:NaN\n\n"), 0)
	f.Add([]byte("1 3:1 2:1\n: ,"), 0)
	f.Fuzz(func(t *testing.T, data []byte, base int) {
		base &= 1
		s := &MultiLabelSet{}
		p := labelledParser{path: "F", base: base, rows: &s.Train}
		if err := p.parse(data); err != nil {
			var file *FileError
			if !errors.As(err, &file) || file.Path != "F" || file.Kind == nil {
				t.Fatalf("%v is no FileError", err)
			}
			return
		}
		if s.Features = p.features; s.Features < 1 || s.Features > maxFeatures {
			t.Fatalf("%d features", s.Features)
		}
		s.number()
		// Written out plainly, the rows read the same.
		text := strings.Join(s.spelt(&s.Train), "\n")
		again := &MultiLabelSet{Features: s.Features}
		p = labelledParser{path: "F", rows: &again.Train}
		if err := p.parse([]byte(text)); err != nil {
			t.Fatalf("written out again: %v\n%s", err, text)
		}
		if again.number(); again.Digest != s.Digest {
			t.Fatalf("written out again the rows are others:\n%s", text)
		}
	})
}
