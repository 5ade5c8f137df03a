package store

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// columnNames are the names of the columns of t. A database may take two of them for one: SQLite does not tell upper
// from lower case, and Postgres cuts long ones. So it gets other names for those, in the statement too, and they are
// put back into its answer.
type columnNames struct {
	// cut is how many bytes the database has for a name, 0 if there is no bound; folds means that it does not tell
	// upper from lower case.
	cut     int
	folds   bool
	taken   map[string]bool   // as the database takes them
	aliases map[string]string // by name
}

func newColumnNames(cut int, folds bool) *columnNames {
	return &columnNames{cut: cut, folds: folds, taken: map[string]bool{}, aliases: map[string]string{}}
}

// taking is a name as the database takes it.
func (c *columnNames) taking(name string) string {
	if c.cut > 0 && len(name) > c.cut {
		name = name[:c.cut]
	}
	if c.folds {
		name = strings.ToLower(name)
	}
	return name
}

// add returns the name that the database gets for a column.
func (c *columnNames) add(name string) string {
	alias := name
	for i := len(c.taken); c.taken[c.taking(alias)] || c.cut > 0 && len(alias) > c.cut; i++ {
		alias = fmt.Sprintf("column %d", i)
	}
	c.taken[c.taking(alias)] = true
	if alias != name {
		c.aliases[name] = alias
	}
	return alias
}

// heading is a column of an answer as the user calls it.
func (c *columnNames) heading(column string) string {
	for name, alias := range c.aliases {
		if column == alias {
			return name
		}
		column = strings.ReplaceAll(column, quoteColumn(alias), quoteColumn(name))
	}
	return column
}

// rewrite puts the database's names into a statement. A name without quotes that Postgres would take in lower case it
// leaves alone, and keywords and functions.
func (c *columnNames) rewrite(sql string, nested bool) string {
	if len(c.aliases) == 0 {
		return sql
	}
	var b strings.Builder
	for sql != "" {
		length, name, quoted := token(sql, nested)
		alias, has := c.aliases[name]
		after := sql[length:]
		after = after[blank(after, nested):]
		if has && (quoted || c.folds && !keywords[strings.ToLower(name)] && !strings.HasPrefix(after, "(")) {
			b.WriteString(quoteColumn(alias))
		} else {
			b.WriteString(sql[:length])
		}
		sql = sql[length:]
	}
	return b.String()
}

// token is the length of the first token of a statement, and what it names, if anything, in quotes or without.
func token(sql string, nested bool) (length int, name string, quoted bool) {
	if n := blank(sql, nested); n > 0 {
		return n, "", false
	}
	switch first := sql[0]; {
	case first == '"':
		n := quotedLength(sql, '"', false)
		return n, strings.ReplaceAll(strings.Trim(sql[:n], `"`), `""`, `"`), true
	case first == '`' && !nested: // SQLite
		n := quotedLength(sql, '`', false)
		return n, strings.ReplaceAll(strings.Trim(sql[:n], "`"), "``", "`"), true
	case first == '[' && !nested && strings.Contains(sql, "]"):
		n := strings.IndexByte(sql, ']') + 1
		return n, sql[1 : n-1], true
	case first == '\'':
		return quotedLength(sql, '\'', false), "", false
	case (first == 'e' || first == 'E') && strings.HasPrefix(sql[1:], "'") && nested: // Postgres
		return 1 + quotedLength(sql[1:], '\'', true), "", false
	case first == '$' && nested:
		if n := strings.IndexByte(sql[1:], '$'); n >= 0 && !strings.ContainsFunc(sql[1:1+n], notInName) {
			tag := sql[:n+2]
			if end := strings.Index(sql[len(tag):], tag); end >= 0 {
				return 2*len(tag) + end, "", false
			}
		}
		return 1, "", false
	}
	n := strings.IndexFunc(sql, notInName)
	switch {
	case n < 0:
		return len(sql), sql, false
	case n > 0:
		return n, sql[:n], false
	}
	_, n = utf8.DecodeRuneInString(sql)
	return n, "", false
}

// notInName reports whether a character ends a name without quotes.
func notInName(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// quotedLength is the length of the text in quotes at the beginning of another; all of that if it does not end.
func quotedLength(text string, quote byte, escapes bool) int {
	for i := 1; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] != quote:
		case i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(text)
}

// quoteColumn writes a name of a column in SQL.
func quoteColumn(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// keywords are words of SQL that are no names without quotes.
var keywords = func() map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(`all and as asc between by case cast collate cross desc distinct else end except
		exists filter first following from full group groups having in inner intersect is isnull join last left like
		limit natural not notnull null nulls offset on or order outer over partition preceding range recursive right
		rows select set some t table then union using values when where window with`) {
		all[word] = true
	}
	return all
}()
