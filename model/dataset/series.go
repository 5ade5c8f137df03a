package dataset

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Series are those of one file of a user: of any lengths, with missing values, with labels or without.
type Series struct {
	Path     string
	Channels []string    // their names; nil where the file has none
	Width    int         // number of channels
	Values   [][]float32 // of each series: time by time, the channels of each; NaN where a value is missing
	Labels   []string    // of each series; "" where it has none
	Names    []string    // of each series, in files that name them
	Rows     []int       // of each series: the line or the item at which it begins, from 1
}

// maxSteps bounds the time steps of a series.
const maxSteps = 1 << 24

// endings are those of files that [ReadSeries] reads, with what reads each.
var endings = []struct {
	ending string
	read   func(path string, data []byte) (*Series, error)
}{{".csv", readCSV}, {".csv.gz", readCSV}, {".npz", readNPZ}, {".parquet", readParquet}}

// seriesEnding returns the ending of a file's name among those that can be read, "" for none.
func seriesEnding(path string) string {
	name := strings.ToLower(filepath.Base(path))
	for _, e := range endings {
		if strings.HasSuffix(name, e.ending) {
			return e.ending
		}
	}
	return ""
}

// ReadSeries reads the series of a file, whose form its name tells: .csv, .csv.gz, .npz or .parquet. What cannot be
// read is a [*FileError] with the file, row and column.
func ReadSeries(path string) (*Series, error) { return new(sources).readSeries(path) }

func (s *sources) readSeries(path string) (*Series, error) {
	ending := seriesEnding(path)
	if ending == "" {
		return nil, fileError(path, 0, 0, ErrForm, "expected a name that ends in .csv, .csv.gz, .npz or .parquet")
	}
	path, data, err := s.read(path)
	if err != nil {
		return nil, err
	}
	for _, e := range endings {
		if e.ending == ending {
			series, err := e.read(path, data)
			if err == nil && len(series.Values) == 0 {
				err = fileError(path, 0, 0, ErrEmpty, "the file holds no series")
			}
			return series, err
		}
	}
	return nil, fileError(path, 0, 0, ErrForm, "no reader")
}

// Labelled says whether every series has a label.
func (s *Series) Labelled() bool { return !slices.Contains(s.Labels, "") }

func (s *Series) fail(row, column int, kind error, format string, args ...any) error {
	return fileError(s.Path, row, column, kind, format, args...)
}

// A field is what a row of a table has in a column: a text, which may be that of a number, or a number.
type field struct {
	text   string
	number float64
	binary bool // the number holds, not the text
}

// missing says whether there is no value.
func (f *field) missing() bool {
	if f.binary {
		return math.IsNaN(f.number)
	}
	switch strings.ToLower(f.text) {
	case "na", "n/a", "null", "none":
		return true
	}
	return isMissing([]byte(f.text))
}

// value returns the number, NaN where it is missing.
func (f *field) value() (float32, error) {
	switch {
	case f.missing():
		return float32(math.NaN()), nil
	case f.binary:
		if v := float32(f.number); v-v == 0 {
			return v, nil
		}
		return 0, strconv.ErrRange
	}
	v, err := parseFloat32([]byte(f.text))
	if err == nil && v-v != 0 {
		err = strconv.ErrRange
	}
	return v, err
}

// label returns the field as a label: "" where it is missing.
func (f *field) label() string {
	switch {
	case f.binary && math.IsNaN(f.number):
		return ""
	case f.binary:
		return strconv.FormatFloat(f.number, 'f', -1, 64)
	case f.text == "?":
		return ""
	}
	return f.text
}

// Columns of tables that are no channels.
const (
	labelColumn  = "label"
	seriesColumn = "series"
	timeColumn   = "time"
)

// A rowReader makes series of the rows of a table. With a column "series" a row is a time step, and consecutive rows
// with one name are a series; other columns but "label" and "time" are its channels. Without, a row is a series of one
// channel, which ends before its trailing missing values.
type rowReader struct {
	Series
	header              []string
	label, series, time int // columns; -1 for none
	channels            []int
	seen                map[string]int // row at which a series of that name began
	lastTime            field
}

// newRowReader returns a reader of rows below a header, which is in so many a row.
func newRowReader(path string, header []string, row int) (*rowReader, error) {
	r := &rowReader{Series: Series{Path: path}, header: header, label: -1, series: -1, time: -1, seen: map[string]int{}}
	for i, name := range header {
		if name == "" {
			return nil, r.fail(row, i+1, ErrForm, "a column without a name (as pandas writes its index): name it or "+
				"leave it out")
		}
		if first := slices.Index(header[:i], name); first >= 0 {
			return nil, r.fail(row, i+1, ErrForm, "%q is the name of column %d, too", clip([]byte(name)), first+1)
		}
		switch strings.ToLower(name) {
		case labelColumn:
			r.label = i
		case seriesColumn:
			r.series = i
		case timeColumn:
			r.time = i
		default:
			r.channels = append(r.channels, i)
		}
	}
	switch {
	case r.time >= 0 && r.series < 0:
		return nil, r.fail(row, r.time+1, ErrForm, "a column time, but no column series that says which rows are one "+
			"series")
	case len(r.channels) == 0:
		return nil, r.fail(row, 0, ErrForm, "no column of values, but label, series and time")
	case r.series < 0:
		r.Width = 1
		return r, nil
	}
	r.Width = len(r.channels)
	for _, i := range r.channels {
		r.Channels = append(r.Channels, header[i])
	}
	return r, nil
}

// add reads a row, of at most as many fields as there are columns.
func (r *rowReader) add(row int, fields []field) error {
	if r.series < 0 {
		return r.addSeries(row, fields)
	}
	if len(fields) != len(r.header) {
		return r.fail(row, 0, ErrForm, "%d fields where the header has %d", len(fields), len(r.header))
	}
	name := fields[r.series].label()
	if name == "" {
		return r.fail(row, r.series+1, ErrForm, "the name of the series is missing")
	}
	last := len(r.Values) - 1
	if last < 0 || r.Names[last] != name {
		if began, known := r.seen[name]; known {
			return r.fail(row, r.series+1, ErrForm, "series %s, which began at row %d, goes on behind another: "+
				"put its rows together", clip([]byte(name)), began)
		}
		r.seen[name] = row
		r.Names = append(r.Names, name)
		r.begin(row)
		last++
	} else if err := r.checkTime(row, fields); err != nil {
		return err
	}
	if r.time >= 0 {
		r.lastTime = fields[r.time]
	}
	if r.label >= 0 {
		switch label := fields[r.label].label(); {
		case r.Labels[last] == "":
			r.Labels[last] = label
		case label != "" && label != r.Labels[last]:
			return r.fail(row, r.label+1, ErrLabel, "%q, where the rows of series %s before have %q",
				clip([]byte(label)), clip([]byte(name)), r.Labels[last])
		}
	}
	if len(r.Values[last]) >= maxSteps*r.Width {
		return r.fail(row, 0, ErrForm, "a series of more than %d time steps", maxSteps)
	}
	return r.append(row, fields, r.channels)
}

// checkTime refuses a time that is not after that of the row before.
func (r *rowReader) checkTime(row int, fields []field) error {
	if r.time < 0 {
		return nil
	}
	now, before := &fields[r.time], &r.lastTime
	a, errA := strconv.ParseFloat(before.label(), 64)
	b, errB := strconv.ParseFloat(now.label(), 64)
	after := b > a
	if errA != nil || errB != nil {
		after = now.label() > before.label()
	}
	if after {
		return nil
	}
	return r.fail(row, r.time+1, ErrForm, "time %q is not after %q of the row before: sort the rows of each series by "+
		"time", clip([]byte(now.label())), clip([]byte(before.label())))
}

// addSeries reads a row that is a series.
func (r *rowReader) addSeries(row int, fields []field) error {
	if len(fields) > len(r.header) {
		return r.fail(row, 0, ErrForm, "%d fields where the header has %d", len(fields), len(r.header))
	}
	columns := r.channels
	for len(columns) > 0 && (columns[len(columns)-1] >= len(fields) || fields[columns[len(columns)-1]].missing()) {
		columns = columns[:len(columns)-1]
	}
	if len(columns) == 0 {
		return r.fail(row, 0, ErrEmpty, "a series without values")
	}
	r.begin(row)
	if r.label >= 0 && r.label < len(fields) {
		r.Labels[len(r.Labels)-1] = fields[r.label].label()
	}
	return r.append(row, fields, columns)
}

// begin begins a series.
func (r *rowReader) begin(row int) {
	r.Rows, r.Labels, r.Values = append(r.Rows, row), append(r.Labels, ""), append(r.Values, nil)
}

// append appends the values of some columns to the last series.
func (r *rowReader) append(row int, fields []field, columns []int) error {
	last := len(r.Values) - 1
	for _, i := range columns {
		v, err := fields[i].value()
		if err != nil {
			detail := "%q in column %s"
			if errors.Is(err, strconv.ErrRange) {
				detail = "%q in column %s is not finite in 32 bits"
			}
			return r.fail(row, i+1, ErrNumber, detail, clip([]byte(fields[i].label())), r.header[i])
		}
		r.Values[last] = append(r.Values[last], v)
	}
	return nil
}

// trimBOM removes the mark that some programs begin a UTF-8 text with.
func trimBOM(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }
