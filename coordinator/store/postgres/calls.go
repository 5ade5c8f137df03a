package postgres

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// calls returns the names that a statement may call as functions: every name
// that stands before an opening parenthesis, folded as Postgres folds it, once
// each. It reads the statement as Postgres' scanner does with
// standard_conforming_strings on, and takes rather too much for a call than too
// little. What it could misread is refused.
func calls(statement string) ([]string, error) {
	if !utf8.ValidString(statement) || strings.IndexByte(statement, 0) >= 0 {
		return nil, errors.New("the statement is no UTF-8 text")
	}
	s := scanner{text: statement}
	seen := map[string]bool{}
	var names []string
	name := "" // the last token, if it was a name
	for s.space(); s.at < len(s.text); s.space() {
		c := s.text[s.at]
		last := name
		name = ""
		switch {
		case c == '(':
			s.at++
			if last != "" && !seen[last] {
				seen[last] = true
				names = append(names, last)
			}
		case c == '\'':
			s.quoted(false)
		case c == '"':
			name = s.delimited()
		case c == '$':
			s.dollar()
		case startsName(c):
			var err error
			if name, err = s.name(); err != nil {
				return nil, err
			}
		default: // a digit, a sign: names begin after either
			s.at++
		}
	}
	return names, nil
}

// scanner walks over a statement; at is where it is.
type scanner struct {
	text string
	at   int
}

func startsName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func continuesName(c byte) bool { return startsName(c) || c >= '0' && c <= '9' || c == '$' }

// rest is what has not been read.
func (s *scanner) rest() string { return s.text[s.at:] }

// skip goes on behind the next occurrence of end, or to the statement's end.
func (s *scanner) skip(end string) {
	if i := strings.Index(s.rest(), end); i >= 0 {
		s.at += i + len(end)
		return
	}
	s.at = len(s.text)
}

// space skips white space and comments; those in /* */ nest.
func (s *scanner) space() {
	for s.at < len(s.text) {
		switch rest := s.rest(); {
		case strings.IndexByte(" \t\n\r\f\v", rest[0]) >= 0:
			s.at++
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexAny(rest, "\r\n")
			if end < 0 {
				end = len(rest)
			}
			s.at += end
		case strings.HasPrefix(rest, "/*"):
			s.comment()
		default:
			return
		}
	}
}

func (s *scanner) comment() {
	for depth := 0; s.at < len(s.text); {
		switch rest := s.rest(); {
		case strings.HasPrefix(rest, "/*"):
			depth++
			s.at += 2
		case strings.HasPrefix(rest, "*/"):
			depth--
			s.at += 2
			if depth == 0 {
				return
			}
		default:
			s.at++
		}
	}
}

// quoted skips a text in single quotes. A doubled quote is two texts, which
// comes to the same, unless backslashes escape.
func (s *scanner) quoted(escapes bool) {
	for s.at++; s.at < len(s.text); s.at++ {
		switch {
		case escapes && s.text[s.at] == '\\':
			s.at++
		case escapes && strings.HasPrefix(s.rest(), "''"):
			s.at++
		case s.text[s.at] == '\'':
			s.at++
			return
		}
	}
	s.at = len(s.text)
}

// delimited reads a name in double quotes.
func (s *scanner) delimited() string {
	var name strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		if s.text[s.at] == '"' {
			s.at++
			if !strings.HasPrefix(s.rest(), `"`) {
				break
			}
		}
		name.WriteByte(s.text[s.at])
	}
	return name.String()
}

// dollar skips a text in dollar quotes, or the sign alone.
func (s *scanner) dollar() {
	end := s.at + 1
	for end < len(s.text) && s.text[end] != '$' && continuesName(s.text[end]) {
		end++
	}
	if end >= len(s.text) || s.text[end] != '$' || end > s.at+1 && !startsName(s.text[s.at+1]) {
		s.at++
		return
	}
	tag := s.text[s.at : end+1]
	s.at = end + 1
	s.skip(tag)
}

// name reads a plain name, or the text or name in quotes that a prefix of one
// letter introduces.
func (s *scanner) name() (string, error) {
	start := s.at
	for s.at < len(s.text) && continuesName(s.text[s.at]) {
		s.at++
	}
	name := foldName(s.text[start:s.at])
	switch {
	case name == "e" && strings.HasPrefix(s.rest(), "'"):
		s.quoted(true)
		// After a line's end it would go on, with escapes.
		if s.space(); strings.HasPrefix(s.rest(), "'") {
			return "", errors.New("a text with escapes (E'…') must be in one piece")
		}
		return "", nil
	case name == "u" && strings.HasPrefix(s.rest(), `&"`):
		return "", fmt.Errorf(`names with escapes (U&"…") are not taken: write the name itself`)
	}
	return name, nil
}

// foldName turns the letters A to Z of a name without quotes into small ones.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
