package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
)

// readCSV reads a table whose first line names the columns. The fields are parted by commas, semicolons or tabs.
func readCSV(path string, data []byte) (*Series, error) {
	data = trimBOM(data)
	first, _, _ := bytes.Cut(data, []byte("\n"))
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	if i := bytes.IndexAny(first, ",;\t"); i >= 0 {
		r.Comma = rune(first[i])
	}
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fileError(path, 0, 0, ErrEmpty, "expected a line with the names of the columns")
	} else if err != nil {
		return nil, csvError(path, err)
	}
	header = slices.Clone(header)
	for i, name := range header {
		header[i] = strings.Clone(strings.TrimSpace(name))
	}
	line, _ := r.FieldPos(0)
	rows, err := newRowReader(path, header, line)
	if err != nil {
		return nil, err
	}
	if _, err := (&field{text: header[0]}).value(); err == nil && rows.label < 0 && rows.series < 0 {
		return nil, fileError(path, line, 1, ErrForm, "%q is a number, where the first line should name the columns",
			clip([]byte(header[0])))
	}
	var fields []field
	for {
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return &rows.Series, nil
		case err != nil:
			return nil, csvError(path, err)
		}
		fields = fields[:0]
		for _, text := range record {
			fields = append(fields, field{text: strings.TrimSpace(text)})
		}
		line, _ := r.FieldPos(0)
		if err := rows.add(line, fields); err != nil {
			return nil, err
		}
	}
}

func csvError(path string, err error) error {
	var at *csv.ParseError
	if errors.As(err, &at) {
		return fileError(path, at.Line, 0, ErrForm, "%v", at.Err)
	}
	return fileError(path, 0, 0, ErrForm, "%v", err)
}
