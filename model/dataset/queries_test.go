package dataset

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// spelt returns the lines as text; a number without a character is a question mark.
func (q *QuerySet) spelt(lines *Lines) (all []string) {
	for i := range lines.Count() {
		var b strings.Builder
		for _, number := range lines.Line(i) {
			r := '?'
			if int(number) < len(q.Characters) {
				r = q.Characters[number]
			}
			b.WriteRune(r)
		}
		all = append(all, b.String())
	}
	return all
}

func TestQueryFiles(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "queries")
	write(t, filepath.Join(dir, "b.txt.gz"), packed(t, "usb hub\nusb hub\n"))
	write(t, filepath.Join(dir, "a.txt"), "\xef\xbb\xbfkäse 日\r\nmicro sd card")
	write(t, filepath.Join(dir, "README.md"), "\xff")
	q, err := NewCache(1<<20).OpenQueries(root, Queries)
	if err != nil {
		t.Fatal(err)
	}
	train, test := q.spelt(&q.Train), q.spelt(&q.Test)
	if !slices.Equal(train, []string{"käse 日", "micro sd card", "usb hub"}) || !slices.Equal(test, []string{"usb hub"}) {
		t.Errorf("queries %q and %q", train, test)
	}
	often := map[rune]int{}
	for _, query := range q.spelt(&q.Train) {
		for _, r := range query {
			often[r]++
		}
	}
	for i := 1; i < len(q.Characters); i++ {
		a, b := q.Characters[i-1], q.Characters[i]
		if often[a] < often[b] || often[a] == often[b] && a > b {
			t.Errorf("%c (%d times) comes before %c (%d times)", a, often[a], b, often[b])
		}
	}
}

func TestQueryFilesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, content string
		row           int
		kind          error
	}{
		{"a.txt", "", 0, ErrEmpty},
		{"a.txt", "a\nb\n", 0, ErrEmpty}, // too few
		{"a.txt", "a\n\nb\n", 2, ErrEmpty},
		{"a.txt", "a\nb\nc\xffd\n", 3, ErrForm},
		{"a.txt.gz", "\x1f\x8bno gzip", 0, ErrForm},
		{"a.csv", "a\nb\nc\n", 0, fs.ErrNotExist},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, c.name), c.content)
		_, err := LoadQueries(dir)
		var file *FileError
		if !errors.As(err, &file) || !errors.Is(err, c.kind) || file.Row != c.row || !strings.HasPrefix(file.Path, dir) {
			t.Errorf("%s %q: %v, want %v at line %d", c.name, c.content, err, c.kind, c.row)
		}
	}
	if _, err := OpenQueries(t.TempDir(), Queries); !errors.Is(err, ErrNoData) {
		t.Errorf("no folder: %v", err)
	}
	var unknown *UnknownError
	if _, err := OpenQueries("", "querys"); !errors.As(err, &unknown) || !slices.Contains(unknown.Near, Queries) {
		t.Errorf("querys: %v", err)
	}
}

// The generated queries have the frequencies of their grammar, whose probabilities add up to one.
func TestGeneratedQueries(t *testing.T) {
	const count = 30_000
	truth := GeneratedQueryProbabilities()
	q := GenerateQueries(3, count)
	often, sum := map[string]int{}, 0.0
	for _, query := range slices.Concat(q.spelt(&q.Train), q.spelt(&q.Test)) {
		often[query]++
	}
	for query, p := range truth {
		sum += p
		if n := float64(often[query]); math.Abs(n-p*count) > 5*math.Sqrt(p*count) {
			t.Errorf("%q comes %v times, want about %.0f", query, n, p*count)
		}
		delete(often, query)
	}
	if len(truth) != 6*3*3 || math.Abs(sum-1) > 1e-12 || len(often) > 0 {
		t.Errorf("%d queries of probability %v; others: %v", len(truth), sum, often)
	}
	// As on the slides: mic is completed to key mouse and to others.
	ofMic := 0.0
	for query, p := range truth {
		if strings.HasPrefix(query, "mic") {
			ofMic += p
		}
	}
	if want := .69; math.Abs(ofMic-want) > 1e-12 {
		t.Errorf("P(mic…) is %v, want %v", ofMic, want)
	}
	if a, b := GenerateQueries(0, 400), GenerateQueries(1, 400); a.Digest == b.Digest ||
		a.Digest != GenerateQueries(0, 400).Digest {
		t.Error("the digest is not that of the content")
	}
}
