package dataset

import (
	"bytes"
	"slices"
	"strings"
)

// parseTS reads the form of the UEA and UCR repository and of sktime: a header of lines that begin with @, the line
// @data, then a series a line, commas between its values and the label behind a colon. Labels may be any text.
func parseTS(path string, data []byte) (*table, error) {
	t := newTable(path, data)
	lines := lineReader{rest: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	var declared []string
	inData := false
	for line, ok := lines.next(); ok; line, ok = lines.next() {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
			continue
		case !inData:
			if line[0] != '@' {
				return nil, t.fail(lines.number, 0, ErrForm, "a line of the header that does not begin with @, and "+
					"no @data above")
			}
			fields := strings.Fields(string(line))
			value := ""
			if len(fields) > 1 {
				value = strings.ToLower(fields[1])
			}
			switch key := strings.ToLower(fields[0]); {
			case key == "@data":
				inData = true
			case key == "@univariate" && value == "false",
				(key == "@dimension" || key == "@dimensions") && value != "1":
				return nil, t.fail(lines.number, 0, ErrForm,
					"several values at a time; only univariate series can be used")
			case key == "@timestamps" && value == "true":
				return nil, t.fail(lines.number, 0, ErrForm, "values with time stamps")
			case key == "@targetlabel" && value == "true":
				return nil, t.fail(lines.number, 0, ErrForm, "targets of a regression, where classes are expected")
			case key == "@classlabel" && value == "false":
				return nil, t.fail(lines.number, 0, ErrForm, "series without class labels")
			case key == "@classlabel":
				declared = fields[min(2, len(fields)):]
			}
			continue
		}

		last := len(bytes.TrimSpace(lines.rest)) == 0
		colon := bytes.LastIndexByte(line, ':')
		if colon < 0 {
			if last {
				return nil, t.fail(lines.number, 0, ErrTruncated, "the last row has no label; fetch the file again")
			}
			return nil, t.fail(lines.number, 0, ErrLabel, "no label behind a colon")
		}
		series, name := bytes.TrimSpace(line[:colon]), bytes.TrimSpace(line[colon+1:])
		if bytes.IndexByte(series, ':') >= 0 {
			return nil, t.fail(lines.number, 0, ErrForm, "several values at a time; only univariate series can be used")
		}
		if len(name) == 0 {
			return nil, t.fail(lines.number, 0, ErrLabel, "nothing behind the colon")
		}
		if _, ok := t.known[string(name)]; !ok && len(declared) > 0 && !slices.Contains(declared, string(name)) {
			return nil, t.fail(lines.number, 0, ErrLabel, "%q is not among those that @classLabel declares", clip(name))
		}
		if len(series) == 0 {
			return nil, t.fail(lines.number, 0, ErrEmpty, "a label without values")
		}
		if t.rows() == 0 {
			t.reserve(len(data), series, ',')
		}
		if err := t.scanValues(series, 0, ',', lines.number, 1, last); err != nil {
			return nil, err
		}
		t.addLabel(name, lines.number)
	}
	switch {
	case !inData:
		return nil, t.fail(0, 0, ErrForm, "no line @data")
	case t.rows() == 0:
		return nil, t.fail(0, 0, ErrEmpty, "the file holds no series")
	}
	return t, nil
}
