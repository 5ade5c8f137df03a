package dataset

import (
	"bytes"
	"errors"
	"strconv"
)

// table is what one text file holds: labelled series of one length.
type table struct {
	path   string
	length int
	values []float32 // [rows][length]
	names  []string  // the different labels, as spelt, in order of appearance
	label  []int     // [rows]: index into names
	line   []int     // [rows]: line of the file, from 1
	known  map[string]int
	open   bool // the last line has no line end
}

func newTable(path string, data []byte) *table {
	return &table{path: path, known: map[string]int{}, open: !bytes.HasSuffix(data, []byte("\n"))}
}

func (t *table) rows() int { return len(t.label) }

func (t *table) fail(line, column int, kind error, format string, args ...any) error {
	return fileError(t.path, line, column, kind, format, args...)
}

// reserve makes room for the values of a file of so many bytes whose rows are about as long as the first one.
func (t *table) reserve(size int, first []byte, separator byte) {
	n := (size/len(first) + 1) * (bytes.Count(first, []byte{separator}) + 1)
	t.values = make([]float32, 0, min(n+n/16, size/2+1)) // a value takes two bytes at least
}

// addLabel completes a row.
func (t *table) addLabel(name []byte, line int) {
	i, ok := t.known[string(name)]
	if !ok {
		i = len(t.names)
		t.names = append(t.names, string(name))
		t.known[t.names[i]] = i
	}
	t.label = append(t.label, i)
	t.line = append(t.line, line)
}

// parseDelimited reads the archive's text forms: a series a line, the label first, tabs (2018), commas (2015) or blanks
// between the fields.
func parseDelimited(path string, data []byte) (*table, error) {
	t := newTable(path, data)
	var separator byte
	lines := lineReader{rest: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	for line, ok := lines.next(); ok; line, ok = lines.next() {
		line = bytes.TrimLeft(bytes.TrimRight(line, " \t\r"), " ")
		if len(line) == 0 {
			continue
		}
		if t.rows() == 0 {
			separator = separatorOf(line)
			t.reserve(len(data), line, separator)
		}
		end := fieldEnd(line, 0, separator)
		name := bytes.TrimSpace(line[:end])
		if err := t.checkNumericLabel(name, lines.number); err != nil {
			return nil, err
		}
		if err := t.scanValues(line, min(end+1, len(line)), separator, lines.number,
			2, len(bytes.TrimSpace(lines.rest)) == 0); err != nil {
			return nil, err
		}
		t.addLabel(name, lines.number)
	}
	if t.rows() == 0 {
		return nil, t.fail(0, 0, ErrEmpty, "the file holds no series")
	}
	return t, nil
}

// checkNumericLabel refuses labels that are no whole numbers. In these forms a label is one, and anything else means
// that the first column is not the label.
func (t *table) checkNumericLabel(name []byte, line int) error {
	if _, ok := t.known[string(name)]; ok {
		return nil
	}
	if len(name) == 0 {
		return t.fail(line, 1, ErrLabel, "the label is missing")
	}
	if _, ok := wholeNumber(string(name)); !ok {
		return t.fail(line, 1, ErrLabel, "%q is not a whole number; the label belongs in the first column", clip(name))
	}
	return nil
}

// scanValues appends the values of a row, which stand in line from offset i on and count as columns from first. last
// tells that no further row follows.
func (t *table) scanValues(line []byte, i int, separator byte, number, first int, last bool) error {
	start := len(t.values)
	for i < len(line) || i == len(line) && len(t.values) > start && separator != ' ' {
		if i < len(line) && (line[i] == ' ' || line[i] == '\t' && separator == ' ') {
			i++
			continue
		}
		v, end, err := scanField(line, i, separator)
		if err != nil {
			field := bytes.TrimSpace(line[i:end])
			return t.badValue(field, err, line[end:], separator, number, len(t.values)-start, first, last)
		}
		t.values = append(t.values, v)
		if i = end + 1; end == len(line) {
			break
		}
	}

	count := len(t.values) - start
	switch {
	case count == 0 && t.length == 0:
		return t.fail(number, 0, ErrEmpty, "a label without values")
	case t.length == 0:
		t.length = count
	case count < t.length && last:
		return t.fail(number, 0, ErrTruncated,
			"the last row has %d values where the others have %d; fetch the file again", count, t.length)
	case count != t.length:
		return t.fail(number, 0, ErrVariableLength, "%d values where the first row has %d; only sets of one length "+
			"can be used", count, t.length)
	}
	return nil
}

// badValue returns the error for a field that is no finite number: the one after count good ones of its row, with rest
// behind it.
func (t *table) badValue(field []byte, err error, rest []byte, separator byte, number, count, first int,
	last bool) error {
	column := first + count
	switch {
	case isMissing(field):
		if count > 0 && len(field) > 0 && allMissing(rest, separator) {
			return t.fail(number, column, ErrVariableLength, "the series ends after %d values and is filled up with "+
				"%s; only sets of one length can be used", count, field)
		}
		if len(field) == 0 {
			return t.fail(number, column, ErrMissingValue, "the field is empty; fill it in, or leave the set out")
		}
		return t.fail(number, column, ErrMissingValue, "%s; fill it in, or leave the set out", field)
	case errors.Is(err, strconv.ErrRange):
		return t.fail(number, column, ErrNumber, "%q is not finite in 32 bits", clip(field))
	case last && len(rest) == 0:
		return t.fail(number, column, ErrTruncated, "the file ends with %q; fetch it again", clip(field))
	}
	return t.fail(number, column, ErrNumber, "%q", clip(field))
}

func isMissing(field []byte) bool {
	return len(field) == 0 || len(field) == 1 && field[0] == '?' ||
		bytes.EqualFold(bytes.TrimLeft(field, "+-"), []byte("nan"))
}

func allMissing(rest []byte, separator byte) bool {
	for field := range bytes.FieldsFuncSeq(rest, func(r rune) bool {
		return r == rune(separator) || r == ' ' || r == '\t'
	}) {
		if !isMissing(field) {
			return false
		}
	}
	return true
}

func separatorOf(line []byte) byte {
	for _, c := range []byte("\t,") {
		if bytes.IndexByte(line, c) >= 0 {
			return c
		}
	}
	return ' '
}

func fieldEnd(line []byte, i int, separator byte) int {
	for ; i < len(line); i++ {
		if c := line[i]; c == separator || separator == ' ' && c == '\t' {
			return i
		}
	}
	return i
}

// clip shortens text from a file for a message.
func clip(text []byte) []byte {
	if len(text) > 40 {
		return append(bytes.Clone(text[:40]), "…"...)
	}
	return text
}

// lineReader walks over the lines of a text.
type lineReader struct {
	rest   []byte
	number int // of the line last returned, from 1
}

func (r *lineReader) next() (line []byte, ok bool) {
	if len(r.rest) == 0 {
		return nil, false
	}
	r.number++
	if i := bytes.IndexByte(r.rest, '\n'); i >= 0 {
		line, r.rest = r.rest[:i], r.rest[i+1:]
	} else {
		line, r.rest = r.rest, nil
	}
	return line, true
}
