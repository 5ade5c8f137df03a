package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"sweep/sweep"
)

// TestRead: what has no end is read up to the limit, and refused.
func TestRead(t *testing.T) {
	data, err := Read("/dev/zero")
	if err != nil {
		t.Skip("this system has no /dev/zero")
	}
	if len(data) != MaxSize+1 {
		t.Fatalf("%d bytes were read", len(data))
	}
	if _, err := Decode("zero", data, Options{}); err == nil ||
		!strings.Contains(err.Error(), "zero:1:1: a sweep file has at most 16 MiB") {
		t.Errorf("%.200v", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestEncodings: a file in another encoding is told so.
func TestEncodings(t *testing.T) {
	const text = "parameters: {a: {value: 1}}\n"
	wide := func(order ...int) string {
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune(text)) {
			bytes := []byte{byte(unit), byte(unit >> 8), 0, 0}
			for _, i := range order {
				b.WriteByte(bytes[i])
			}
		}
		return b.String()
	}
	for name, test := range map[string]struct{ data, want string }{
		"little":         {wide(0, 1), "x.yaml:1:1: the file is in UTF-16: save it as UTF-8"},
		"big":            {wide(1, 0), "UTF-16"},
		"little, marked": {"\xff\xfe" + wide(0, 1), "UTF-16"},
		"big, marked":    {"\xfe\xff" + wide(1, 0), "UTF-16"},
		"four bytes":     {"\xff\xfe\x00\x00" + wide(0, 1, 2, 3), "UTF-32"},
		"unmarked":       {wide(3, 2, 1, 0), "UTF-32"},
		"tab": {"parameters:\n  a:\n\t\tvalue: 1\n", "x.yaml:3:1: not valid YAML: a tab stands where the " +
			"line is indented: use spaces"},
		"later tab": {"parameters:\n  a: {value: 1}\n \tb: {value: 1}\n",
			"a tab stands where the line is indented"},
	} {
		if _, err := Decode("x.yaml", []byte(test.data), Options{}); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	for _, good := range []string{text, "\xef\xbb\xbf" + text,
		"parameters:\n  a: {value:\t1}\t# tabs between words\n"} {
		if _, err := Decode("x.yaml", []byte(good), Options{}); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// TestLocateTrainer: a trainer that there is not is refused where it is named.
func TestLocateTrainer(t *testing.T) {
	for text, want := range map[string]string{
		"name: x\ntrainer: nope\nparameters: {a: {value: 1}}": "x.yaml:2:10: trainer: no such program: not found",
		"parameters: {a: {value: 1}}":                         "x.yaml:1:1: trainer: no such program: not found",
	} {
		cause := errorf{"no such program: not found", sweep.ErrNotFound}
		err := LocateTrainer("x.yaml", []byte(text), cause)
		if err.Error() != want || !errors.Is(err, sweep.ErrNotFound) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

type errorf struct {
	text string
	err  error
}

func (e errorf) Error() string { return e.text }
func (e errorf) Unwrap() error { return e.err }

// TestLabel: names are one line of up to 200 characters, whatever their bytes.
func TestLabel(t *testing.T) {
	for text, want := range map[string]bool{
		"":                        false,
		"x":                       true,
		" x":                      false,
		"x y ":                    true,
		"a\nb":                    false,
		"a\u200bb":                false, // invisible
		strings.Repeat("é", 200):  true,
		strings.Repeat("é", 201):  false,
		strings.Repeat("x", 1000): false,
	} {
		if isLabel(text) != want {
			t.Errorf("%.20q: %v", text, !want)
		}
	}
}
