package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// Parameters of trials are stored as JSON. The seed, and the first ones that a sweep varies, are in
// columns of the table trials, too, so that grouping by them reads no JSON.

// parameterColumns are the columns for parameters that a sweep varies: texts, of what is no text the
// JSON.
var parameterColumns = [...]string{"parameter0", "parameter1", "parameter2", "parameter3", "parameter4",
	"parameter5"}

const allParameterColumns = "seed, parameter0, parameter1, parameter2, parameter3, parameter4, parameter5"

// parameterRow has the values of the columns for parameters, NULL where there is none.
type parameterRow struct {
	seed   sql.Null[int64]
	values [len(parameterColumns)]sql.Null[string]
}

// parameterRow returns the columns of a trial's parameters, which are canonical JSON.
func (c *comparison) parameterRow(parameters string) (row parameterRow) {
	for rest := parameters; rest != ""; {
		var name, member string
		name, member, rest = cutMember(rest)
		if len(member) <= len(name)+1 {
			continue
		}
		value := member[len(name)+1:]
		if name == seedMember {
			row.seed = wholeNumber(value)
		} else if place, ok := c.columns[name]; ok {
			row.values[place] = plainText(value)
		}
	}
	return row
}

func (r *parameterRow) columns(row []any) []any {
	row = append(row, &r.seed)
	for i := range r.values {
		row = append(row, &r.values[i])
	}
	return row
}

// wholeNumber returns a number that is written as JSON, NULL if it is not whole.
func wholeNumber(text string) (number sql.Null[int64]) {
	const exact = 1e18
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return sql.Null[int64]{V: v, Valid: v > -exact && v < exact}
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && v > -exact && v < exact && v == float64(int64(v)) {
		return sql.Null[int64]{V: int64(v), Valid: true}
	}
	return number
}

// plainText returns a text without its quotes, NULL for null, and the JSON of other values.
func plainText(value string) (text sql.Null[string]) {
	switch {
	case value == "null":
	case value[0] != '"':
		text = sql.Null[string]{V: value, Valid: true}
	case !strings.Contains(value, `\`) && len(value) > 1:
		text = sql.Null[string]{V: value[1 : len(value)-1], Valid: true}
	default:
		text.Valid = json.Unmarshal([]byte(value), &text.V) == nil
	}
	return text
}

// parameterOf returns the expression of a parameter of trials t, as a value of its type.
func (c *comparison) parameterOf(dialect *database.Dialect, p namedParameter) string {
	place, ok := c.columns[quoteName(p.name)]
	switch {
	case p.kind == sweep.AnyType && (!ok || len(p.alike) > 0):
		return anyOf(dialect, database.Parameters, p)
	case !ok:
		return memberOf(dialect, database.Parameters, p.name, p.kind)
	}
	column := "t." + parameterColumns[place]
	switch p.kind {
	case sweep.BooleanType:
		return column + " = 'true'"
	case sweep.IntegerType:
		return fmt.Sprintf("CAST(%s AS bigint)", column)
	case sweep.NumberType:
		return fmt.Sprintf("CAST(%s AS double precision)", column)
	}
	return column
}
