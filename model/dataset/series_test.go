package dataset

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

var gap = float32(math.NaN())

// shown is what a test compares: NaN is equal to itself.
type shown struct {
	Channels []string
	Width    int
	Values   [][]float32
	Labels   []string
	Names    []string
	Rows     []int
}

func checkSeries(t *testing.T, what string, got *Series, err error, want shown) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	const instead = -12345
	plain := func(series [][]float32) (all [][]float32) {
		for _, values := range series {
			var copied []float32
			for _, v := range values {
				if v != v {
					v = instead
				}
				copied = append(copied, v)
			}
			all = append(all, copied)
		}
		return all
	}
	is := shown{got.Channels, got.Width, plain(got.Values), got.Labels, got.Names, got.Rows}
	if want.Values = plain(want.Values); !reflect.DeepEqual(is, want) {
		t.Errorf("%s: got  %+v\nwant %+v", what, is, want)
	}
}

// A table's rows are time steps where it has a column series, else series.
func TestCSV(t *testing.T) {
	steps := shown{Channels: []string{"x", "y"}, Width: 2, Values: [][]float32{{1, 10, 2, 20, 3, gap}, {-1.5, .25, gap, 7}},
		Labels: []string{"sit", "stand, ü"}, Names: []string{"a", "b"}, Rows: []int{2, 5}}
	rows := shown{Width: 1, Values: [][]float32{{1, gap, 3}, {4, 5}, {6}}, Labels: []string{"u", "v", ""}, Rows: []int{2, 3, 4}}
	plain := rows
	plain.Labels = []string{"", "", ""}
	for text, want := range map[string]shown{
		"series,time,x,y,label\na,1,1,10,sit\na,2,2,20,\na,10,3,NaN,sit\nb,1,-1.5,.25,\"stand, ü\"\nb,2,,7,\"stand, ü\"\n": steps,
		"\xef\xbb\xbfLabel;x;y;Series\r\nsit;1;10;a\r\n;2;20;a\r\n;3;?;a\r\nstand, ü;-1.5;0.25;b\r\n;NA;7;b":               steps,
		"label\tt0\tt1\tt2\nu\t1\t\t3\nv\t4\t5\tnan\n?\t6\n":                                                               rows,
		"t0, t1, t2\n1, null, 3\n4, 5\n6,\n":                                                                               plain,
	} {
		got, err := readCSV("F", []byte(text))
		checkSeries(t, text, got, err, want)
	}
}

// What is wrong is said with its line and column.
func TestBadCSV(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "F: no data: expected a line with the names of the columns",
		"label,a\n":                               "F: no data: the file holds no series",
		"label,a,a\n1,2,3":                        `F:1:3: unsupported form: "a" is the name of column 2, too`,
		",label,a\n0,1,2":                         "F:1:1: unsupported form: a column without a name (as pandas writes its index)",
		"1.5,2\n3,4":                              `F:1:1: unsupported form: "1.5" is a number, where the first line should name the columns`,
		"label,series\na,1":                       "F:1: unsupported form: no column of values",
		"time,a\n1,2":                             "F:1:1: unsupported form: a column time, but no column series",
		"label,a,b\nu,1,2\nv,1,2x":                `F:3:3: not a number: "2x" in column b`,
		"label,a,b\nu,1,2\nv,1,1e99":              `F:3:3: not a number: "1e99" in column b is not finite in 32 bits`,
		"label,a,b\nu,1,inf":                      `F:2:3: not a number: "inf" in column b is not finite`,
		"label,a,b\nu,1,2,3":                      "F:2: unsupported form: 4 fields where the header has 3",
		"label,a,b\nu,,":                          "F:2: no data: a series without values",
		"series,a\n1,2\n1":                        "F:3: unsupported form: 1 fields where the header has 2",
		"series,a\n,2":                            "F:2:1: unsupported form: the name of the series is missing",
		"series,a\n1,2\n2,2\n1,3":                 "F:4:1: unsupported form: series 1, which began at row 2, goes on behind another",
		"series,label,a\n1,u,2\n1,v,2":            `F:3:2: bad label: "v", where the rows of series 1 before have "u"`,
		"series,time,a\n1,9,2\n1,9,2":             `F:3:2: unsupported form: time "9" is not after "9" of the row before`,
		"series,time,a\n1,10,2\n1,9,2":            `F:3:2: unsupported form: time "9" is not after "10"`,
		"series,time,a\n1,2020-02,2\n1,2020-01,2": `F:3:2: unsupported form: time "2020-01" is not after "2020-02"`,
		"label,a\n\"u,1\n":                        "F:2: unsupported form",
	} {
		path := filepath.Join(t.TempDir(), "f.csv")
		write(t, path, text)
		_, err := ReadSeries(path)
		if err == nil {
			t.Errorf("%q is read", text)
		} else if got := strings.Replace(err.Error(), path, "F", 1); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s\nwant %s", text, got, want)
		}
	}
	if _, err := ReadSeries("f.xls"); err == nil || !strings.Contains(err.Error(), ".parquet") {
		t.Errorf("a form that is not known: %v", err)
	}
}

// The files were written by NumPy, see testdata/own/npz.py.
func TestNumPy(t *testing.T) {
	values := [][]float32{{1, 10, 2, 20, 3, gap}, {-1.5, .25, gap, 7}}
	for name, want := range map[string]shown{
		"float32":    {Width: 2, Values: values, Labels: []string{"sit", "stand ü"}, Rows: []int{1, 2}},
		"columns":    {Width: 2, Values: values, Labels: []string{"3", "-1"}, Rows: []int{1, 2}},
		"half":       {Width: 1, Values: [][]float32{{.5, -2}, {1.0 / (1 << 24), 1, 0}}, Labels: []string{"a", "bc"}, Rows: []int{1, 2}},
		"integers":   {Width: 1, Values: [][]float32{{1, -2, 3}}, Labels: []string{"1"}, Rows: []int{1}},
		"unlabelled": {Width: 1, Values: [][]float32{{1, 2, 3}}, Labels: []string{""}, Rows: []int{1}},
	} {
		got, err := ReadSeries("testdata/own/" + name + ".npz")
		checkSeries(t, name, got, err, want)
	}
	if _, err := ReadSeries("testdata/own/objects.npz"); !errors.Is(err, ErrForm) ||
		!strings.Contains(err.Error(), "fill series of unequal length up with NaN") {
		t.Errorf("objects: %v", err)
	}
}

func writeParquet[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows, options...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type (
	parquetStep struct {
		Series string   `parquet:"series,dict"`
		X      float32  `parquet:"x"`
		Y      *float64 `parquet:"y,optional"`
		Label  *string  `parquet:"label,optional,dict"`
	}
	parquetLists struct {
		Label int64      `parquet:"label"`
		X     []float64  `parquet:"x,list"`
		Y     []*float32 `parquet:"y,list"`
	}
)

// A Parquet file is read as a CSV file of the same table, or a list a channel.
func TestParquet(t *testing.T) {
	label := func(s string) *string { return &s }
	steps := []parquetStep{{"a", 1, new(10.0), label("sit")}, {"a", 2, new(20.0), nil}, {"a", 3, nil, nil},
		{"b", -1.5, new(.25), label("stand")}, {"b", 0, new(math.NaN()), nil}}
	want := shown{Channels: []string{"x", "y"}, Width: 2, Values: [][]float32{{1, 10, 2, 20, 3, gap}, {-1.5, .25, 0, gap}},
		Labels: []string{"sit", "stand"}, Names: []string{"a", "b"}, Rows: []int{1, 4}}
	for _, codec := range []parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.Compression(&parquet.Zstd)} {
		got, err := readParquet("F", writeParquet(t, steps, codec))
		checkSeries(t, "steps", got, err, want)
	}
	lists := []parquetLists{{7, []float64{1, 2, 3}, []*float32{new(float32(10)), new(float32(20)), nil}},
		{-2, []float64{4}, []*float32{new(float32(5))}}}
	got, err := readParquet("F", writeParquet(t, lists))
	checkSeries(t, "lists", got, err, shown{Channels: []string{"x", "y"}, Width: 2, Values: [][]float32{{1, 10, 2, 20, 3, gap},
		{4, 5}}, Labels: []string{"7", "-2"}, Rows: []int{1, 2}})

	bad := writeParquet(t, []parquetLists{{1, []float64{1}, nil}})
	if _, err := readParquet("F", bad); err == nil || !strings.HasPrefix(err.Error(), "F:1:3: unsupported form: a list of 0") {
		t.Errorf("lists of unequal length: %v", err)
	}
	type index struct {
		V float64 `parquet:"v"`
		I int64   `parquet:"__index_level_0__"`
	}
	if _, err := readParquet("F", writeParquet(t, []index{{1, 2}})); err == nil ||
		!strings.Contains(err.Error(), "write the file with index=False") {
		t.Errorf("index: %v", err)
	}
	type nested struct {
		V struct{ A, B float64 } `parquet:"v"`
	}
	if _, err := readParquet("F", writeParquet(t, []nested{{}})); err == nil ||
		!strings.Contains(err.Error(), "column v is neither of numbers nor of texts") {
		t.Errorf("nested: %v", err)
	}
}

// TestForeignParquet reads files that other programs wrote, of those that the library is tested with.
func TestForeignParquet(t *testing.T) {
	dir := moduleDir(t, "github.com/parquet-go/parquet-go")
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, "testdata", name))
		if err != nil {
			t.Skipf("left out: %v", err)
		}
		return data
	}
	// By Arrow: columns int64_list [[1, 2, 3], [null, 1], [4]] and utf8_list, which is no list of numbers.
	if _, err := readParquet("F", read("list_columns.parquet")); err == nil ||
		!strings.HasPrefix(err.Error(), `F:1:2: not a number: "abc" in column utf8_list`) {
		t.Errorf("list_columns: %v", err)
	}
	// By parquet-mr: a column of one NaN.
	got, err := readParquet("F", read("single_nan.parquet"))
	if err == nil || !strings.HasPrefix(err.Error(), "F:1: no data: a series without values") {
		t.Errorf("single_nan: %+v, %v", got, err)
	}
	malformed, err := filepath.Glob(filepath.Join(dir, "testdata", "malformed", "*.parquet"))
	if err != nil || len(malformed) == 0 {
		t.Errorf("no malformed files: %v", err)
	}
	for _, path := range malformed {
		if _, err := ReadSeries(path); !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// No file makes a reader panic, and what is read is what the rest relies on.
func FuzzSeries(f *testing.F) {
	f.Add([]byte("series,time,x,label\na,1,1,u\na,2,,\nb,1,3,v\n"), uint8(0))
	f.Add([]byte("label,0,1\nu,1\nv,2,3\n"), uint8(0))
	for _, name := range []string{"float32", "columns", "half", "objects"} {
		data, err := os.ReadFile("testdata/own/" + name + ".npz")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(1))
	}
	f.Add(writeParquet(f, []parquetLists{{1, []float64{1, 2}, []*float32{nil, nil}}}), uint8(2))
	f.Add(writeParquet(f, []parquetStep{{Series: "a", X: 1}}), uint8(2))
	readers := []func(string, []byte) (*Series, error){readCSV, readNPZ, readParquet}
	f.Fuzz(func(t *testing.T, data []byte, form uint8) {
		s, err := readers[int(form)%len(readers)]("F", data)
		if err != nil {
			if file, is := errors.AsType[*FileError](err); !is || file.Path != "F" || file.Kind == nil {
				t.Fatalf("%v is no FileError", err)
			}
			return
		}
		if len(s.Labels) != len(s.Values) || len(s.Rows) != len(s.Values) || s.Names != nil && len(s.Names) != len(s.Values) {
			t.Fatalf("%d series, %d labels, %d rows, %d names", len(s.Values), len(s.Labels), len(s.Rows), len(s.Names))
		}
		for _, values := range s.Values {
			if len(values) == 0 || len(values)%s.Width != 0 {
				t.Fatalf("%d values of %d channels", len(values), s.Width)
			}
			for _, v := range values {
				if math.IsInf(float64(v), 0) {
					t.Fatal("not finite")
				}
			}
		}
	})
}
