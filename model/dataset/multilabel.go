package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"sweep/model/random"
)

// LabelledRows are sparse rows of features, each with at least one label.
type LabelledRows struct {
	labels, columns []int32 // of all rows, ascending within each
	values          []float32
	labelEnds, ends []int // of each row
}

// Count returns the number of rows.
func (r *LabelledRows) Count() int { return len(r.ends) }

// Labels returns a row's labels.
func (r *LabelledRows) Labels(row int) []int32 { return span(r.labels, r.labelEnds, row) }

// Features returns a row's columns, and its values there; all others are 0.
func (r *LabelledRows) Features(row int) (columns []int32, values []float32) {
	return span(r.columns, r.ends, row), span(r.values, r.ends, row)
}

func span[T any](of []T, ends []int, row int) []T {
	from := 0
	if row > 0 {
		from = ends[row-1]
	}
	return of[from:ends[row]]
}

func (r *LabelledRows) size() int64 {
	return 4*int64(len(r.labels)+len(r.columns)+len(r.values)) + 8*int64(len(r.labelEnds)+len(r.ends))
}

// MultiLabelSet is sparse rows of which each has any number of labels.
type MultiLabelSet struct {
	// Name is [MultiLabel] or [GeneratedMultiLabel].
	Name string
	// Features is the number of columns. Names are the labels of both parts, ascending: label i of a row is Names[i].
	Features int
	Names    []int32
	// Train and Test are the parts.
	Train, Test LabelledRows
	// Digest is the SHA-256, in hexadecimal, of all of this.
	Digest string

	sources
}

// Size returns the bytes of memory that the rows take.
func (s *MultiLabelSet) Size() int64 { return s.Train.size() + s.Test.size() + 4*int64(len(s.Names)) }

// maxFeatures bounds the columns and the different labels: networks read a row as a dense one.
const maxFeatures = 1 << 16

// LoadMultiLabel loads train.txt and test.txt of dir, packed with gzip (.gz) or not. A line is a row in SVMlight's
// form, with its labels, whole numbers, before the features, "3,17 4:0.5 9:1"; what follows # is a comment. Features
// are numbered from base, 0 or 1, in ascending order. As in the Extreme Classification Repository, a first line may
// have the numbers of rows, features and labels.
func LoadMultiLabel(dir string, base int) (*MultiLabelSet, error) {
	if err := checkFolder(dir, "train.txt and test.txt, whose lines are as 3,17 4:0.5 9:1"); err != nil {
		return nil, err
	}
	s := &MultiLabelSet{Name: MultiLabel}
	for _, part := range []struct {
		name string
		rows *LabelledRows
	}{{"train.txt", &s.Train}, {"test.txt", &s.Test}} {
		file := filepath.Join(dir, part.name)
		path, data, err := s.read(file, file+".gz")
		if err != nil {
			return nil, err
		}
		p := labelledParser{path: path, base: base, rows: part.rows}
		if err := p.parse(data); err != nil {
			return nil, err
		}
		s.Features = max(s.Features, p.features)
	}
	if s.number(); len(s.Names) > maxFeatures {
		return nil, fileError(dir, 0, 0, ErrForm, "%d different labels: want at most %d", len(s.Names), maxFeatures)
	}
	return s, nil
}

// number replaces the labels by their places among all, and sets the digest.
func (s *MultiLabelSet) number() {
	parts := []*LabelledRows{&s.Train, &s.Test}
	s.Names = slices.Concat(s.Train.labels, s.Test.labels)
	slices.Sort(s.Names)
	s.Names = slices.Compact(s.Names)
	h := sha256.New()
	h.Write([]byte("sweep multilabel 1\n"))
	digestInts(h, s.Features, len(s.Names))
	digestInts(h, s.Names...)
	for _, p := range parts {
		for i, label := range p.labels {
			place, _ := slices.BinarySearch(s.Names, label)
			p.labels[i] = int32(place)
		}
		digestInts(h, len(p.ends))
		digestInts(h, slices.Concat(p.labelEnds, p.ends)...)
		digestInts(h, slices.Concat(p.labels, p.columns)...)
		digestFloats(h, p.values)
	}
	s.Digest = hex.EncodeToString(h.Sum(nil))
}

// labelledParser reads a file of [LabelledRows].
type labelledParser struct {
	path     string
	base     int
	rows     *LabelledRows
	features int     // columns so far, or those of the first line
	header   *[3]int // rows, features and labels of the first line; nil without one
	line     int
}

func (p *labelledParser) fail(column int, kind error, format string, args ...any) error {
	return fileError(p.path, p.line, column, kind, format, args...)
}

func (p *labelledParser) parse(data []byte) error {
	reader := lineReader{rest: data}
	for line, ok := reader.next(); ok; line, ok = reader.next() {
		p.line = reader.number
		text, _, commented := bytes.Cut(line, []byte("#"))
		fields := bytes.Fields(text)
		switch {
		case len(fields) == 0 && commented:
			continue
		case len(fields) == 0:
			return p.fail(0, ErrEmpty, "an empty line is no row: remove it")
		case p.rows.Count() == 0 && p.header == nil && len(fields) == 3 && !bytes.ContainsAny(text, ":,"):
			if err := p.readHeader(fields); err != nil {
				return err
			}
			continue
		}
		if err := p.readLabels(fields[0]); err != nil {
			return err
		}
		if err := p.readFeatures(fields[1:]); err != nil {
			return err
		}
	}
	p.line = 0
	switch count := p.rows.Count(); {
	case count == 0:
		return p.fail(0, ErrEmpty, "the file holds no rows")
	case p.header != nil && count != p.header[0]:
		return p.fail(0, ErrTruncated, "%d rows where the first line says %d; fetch the file again", count, p.header[0])
	case len(p.rows.columns) == 0:
		return p.fail(0, ErrEmpty, "no row has a feature")
	}
	return nil
}

// readHeader reads the numbers of rows, features and labels.
func (p *labelledParser) readHeader(fields [][]byte) error {
	p.header = &[3]int{}
	for i, field := range fields {
		n, err := strconv.ParseInt(string(field), 10, 32)
		if err != nil || n < 1 {
			return p.fail(i+1, ErrForm, "%q: want a number of rows, features or labels, or a row such as 1,2 1:0.5",
				clip(field))
		}
		p.header[i] = int(n)
	}
	p.features = p.header[1]
	return p.checkFeatures(2, p.features)
}

// checkFeatures refuses more columns than there may be.
func (p *labelledParser) checkFeatures(column, features int) error {
	if features > maxFeatures {
		return p.fail(column, ErrForm, "%d features: want at most %d, as networks read a row as a dense one", features,
			maxFeatures)
	}
	return nil
}

func (p *labelledParser) readLabels(field []byte) error {
	if bytes.IndexByte(field, ':') >= 0 {
		return p.fail(1, ErrLabel, "the row begins with a feature, %q: want its labels, as 1,2", clip(field))
	}
	r := p.rows
	from := len(r.labels)
	for text := range bytes.SplitSeq(field, []byte(",")) {
		label, err := strconv.ParseInt(string(text), 10, 32)
		switch {
		case err != nil || label < 0:
			return p.fail(1, ErrLabel, "%q is no label: want a whole number that is not negative", clip(text))
		case p.header != nil && int(label) > p.header[2]:
			return p.fail(1, ErrLabel, "label %d of %d labels, as the first line says", label, p.header[2])
		}
		r.labels = append(r.labels, int32(label))
	}
	row := r.labels[from:]
	slices.Sort(row)
	for i, label := range row[1:] {
		if label == row[i] {
			return p.fail(1, ErrLabel, "label %d comes twice", label)
		}
	}
	r.labelEnds = append(r.labelEnds, len(r.labels))
	return nil
}

func (p *labelledParser) readFeatures(fields [][]byte) error {
	r, before := p.rows, int64(-1)
	for i, field := range fields {
		at := i + 2
		number, text, ok := bytes.Cut(field, []byte(":"))
		index, err := strconv.ParseInt(string(number), 10, 32)
		index -= int64(p.base)
		switch {
		case !ok || err != nil:
			return p.fail(at, ErrForm, "%q: want a feature's number and value, as 4:0.5", clip(field))
		case index < 0:
			return p.fail(at, ErrForm, "feature %s, where features are numbered from %d (index_base)", number, p.base)
		case index <= before:
			return p.fail(at, ErrForm, "feature %s after feature %d: want ascending numbers", number,
				before+int64(p.base))
		case p.header != nil && int(index) >= p.header[1]:
			return p.fail(at, ErrForm, "feature %s of %d, as the first line says, numbered from %d (index_base)",
				number, p.header[1], p.base)
		}
		if err := p.checkFeatures(at, int(index)+1); err != nil {
			return err
		}
		value, err := parseFloat32(text)
		switch {
		case math.IsNaN(float64(value)), len(text) == 0:
			return p.fail(at, ErrMissingValue, "%q", clip(field))
		case errors.Is(err, strconv.ErrRange), math.IsInf(float64(value), 0):
			return p.fail(at, ErrNumber, "%q is not finite in 32 bits", clip(text))
		case err != nil:
			return p.fail(at, ErrNumber, "%q", clip(text))
		}
		before, p.features = index, max(p.features, int(index)+1)
		r.columns, r.values = append(r.columns, int32(index)), append(r.values, value)
	}
	r.ends = append(r.ends, len(r.columns))
	return nil
}

// Numbers of the generated set.
const (
	generatedLabels, generatedFeatures = 20, 120
	// featuresOfLabel is how many features show a label, and featureNoise of how many others one is on.
	featuresOfLabel, featureNoise = 6, 6
)

// GenerateMultiLabel returns rows that need no files: 800 to train on and 400 to test on, of 1 to 4 of 20 labels. A
// label shows in half of its six features, which other labels may have, too; a sixth of all features are on by chance.
// A seed gives the same bits everywhere.
func GenerateMultiLabel(seed uint64) *MultiLabelSet {
	source := random.New(seed, random.Series)
	var shown [generatedLabels][]int
	for i := range shown {
		shown[i] = source.Permutation(generatedFeatures)[:featuresOfLabel]
	}
	s := &MultiLabelSet{Name: GeneratedMultiLabel, Features: generatedFeatures}
	for _, part := range []struct {
		rows  *LabelledRows
		count int
	}{{&s.Train, 800}, {&s.Test, 400}} {
		for range part.count {
			part.rows.generate(source, &shown)
		}
	}
	s.number()
	return s
}

// generate appends a row.
func (r *LabelledRows) generate(source *random.Source, shown *[generatedLabels][]int) {
	var on [generatedFeatures]bool
	for i := range on {
		on[i] = source.Below(featureNoise) == 0
	}
	labels := source.Permutation(generatedLabels)[:1+source.Below(4)]
	slices.Sort(labels)
	for _, label := range labels {
		r.labels = append(r.labels, int32(label))
		for _, feature := range shown[label] {
			on[feature] = on[feature] || source.Below(2) == 0
		}
	}
	for i, is := range on {
		if is {
			r.columns, r.values = append(r.columns, int32(i)), append(r.values, 1)
		}
	}
	r.labelEnds, r.ends = append(r.labelEnds, len(r.labels)), append(r.ends, len(r.columns))
}

// OpenMultiLabel loads [MultiLabel] from the folder multilabel of the data directory root, its features numbered from
// base. The generated set needs no directory.
func OpenMultiLabel(root, name string, base int) (*MultiLabelSet, error) {
	if name == GeneratedMultiLabel {
		return GenerateMultiLabel(0), nil
	}
	if name != MultiLabel {
		return nil, &UnknownError{Name: name, Dir: root, Near: nearest(name, []string{MultiLabel, GeneratedMultiLabel})}
	}
	if err := checkRoot(root); err != nil {
		return nil, err
	}
	return LoadMultiLabel(filepath.Join(root, "multilabel"), base)
}
