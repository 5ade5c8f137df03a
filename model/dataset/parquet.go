package dataset

import (
	"errors"
	"regexp"

	"sweep/model/dataset/parquet"
)

// readParquet reads a table: of the columns that a CSV file has, or of lists, when a row is a series, each list one of
// its channels, and the column label its label.
func readParquet(path string, data []byte) (*Series, error) {
	s := &Series{Path: path}
	table, err := parquet.Open(data)
	if err != nil {
		return nil, s.fail(0, 0, ErrForm, "%v", err)
	}
	var header []string
	lists := false
	for i, c := range table.Columns {
		if pandasIndex.MatchString(c.Name) {
			return nil, s.fail(0, i+1, ErrForm, "column %s is the index of pandas: write the file with index=False",
				c.Name)
		}
		header, lists = append(header, c.Name), lists || c.List
	}
	add, rows := s.addLists, (*rowReader)(nil)
	if lists {
		err = s.checkLists(table.Columns)
	} else if rows, err = newRowReader(path, header, 0); err == nil {
		s, add = &rows.Series, rows.addValues
	}
	if err != nil {
		return nil, err
	}
	row := 0
	err = table.Rows(func(values [][]parquet.Value) error {
		row++
		return add(row, table.Columns, values)
	})
	if _, is := errors.AsType[*FileError](err); err != nil && !is {
		err = s.fail(row+1, 0, ErrForm, "%v", err)
	}
	return s, err
}

var pandasIndex = regexp.MustCompile(`^__index_level_\d+__$`)

// addValues adds a row of single values.
func (r *rowReader) addValues(row int, _ []parquet.Column, values [][]parquet.Value) error {
	fields := make([]field, len(values))
	for i, v := range values {
		if len(v) != 1 {
			return r.fail(row, i+1, ErrForm, "%d values, expected one", len(v))
		}
		fields[i] = fieldOf(v[0])
	}
	return r.add(row, fields)
}

func fieldOf(v parquet.Value) field {
	if v.Null {
		return field{}
	}
	return field{text: v.Text, number: v.Number, binary: v.Numeric}
}

// checkLists sets the channels of a table with lists.
func (s *Series) checkLists(columns []parquet.Column) error {
	for i, c := range columns {
		switch {
		case c.List:
			s.Channels = append(s.Channels, c.Name)
		case c.Name != labelColumn && c.Name != seriesColumn:
			return s.fail(0, i+1, ErrForm, "column %s is no list, as others are: expected lists, label and series",
				c.Name)
		}
	}
	s.Width = len(s.Channels)
	return nil
}

// addLists adds a row of lists.
func (s *Series) addLists(row int, columns []parquet.Column, values [][]parquet.Value) error {
	label, channel, steps := "", 0, -1
	var series []float32
	for i, c := range columns {
		if !c.List {
			if len(values[i]) != 1 {
				return s.fail(row, i+1, ErrForm, "%d values, expected one", len(values[i]))
			}
			f := fieldOf(values[i][0])
			if c.Name == labelColumn {
				label = f.label()
			} else {
				s.Names = append(s.Names, f.label())
			}
			continue
		}
		if steps < 0 {
			steps = len(values[i])
			series = make([]float32, steps*s.Width)
		}
		if len(values[i]) != steps || steps == 0 || steps > maxSteps {
			return s.fail(row, i+1, ErrForm, "a list of %d values, expected as many as in the row's other "+
				"lists, 1 to %d", len(values[i]), maxSteps)
		}
		for t, v := range values[i] {
			f := fieldOf(v)
			number, err := f.value()
			if err != nil {
				return s.fail(row, i+1, ErrNumber, "%q in column %s", clip([]byte(f.label())), c.Name)
			}
			series[t*s.Width+channel] = number
		}
		channel++
	}
	s.Rows, s.Labels, s.Values = append(s.Rows, row), append(s.Labels, label), append(s.Values, series)
	return nil
}
