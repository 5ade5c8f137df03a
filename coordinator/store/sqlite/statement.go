package sqlite

import (
	"errors"
	"strings"
)

var (
	errEmpty    = errors.New("the query is empty")
	errMultiple = errors.New("one statement at a time: there is text after the first semicolon")
)

// single refuses a text with more than one statement, which the driver would
// run one after the other, or with none. It skips quoted texts, quoted names
// and comments; a semicolon at the end is allowed.
func single(text string) error {
	ended, found := false, false
	for i := 0; i < len(text); {
		switch n := skip(text[i:]); {
		case n > 0 && isComment(text[i:]), strings.IndexByte(" \t\r\n\f\v", text[i]) >= 0:
			i += max(n, 1)
		case text[i] == ';':
			ended = ended || found
			i++
		case ended:
			return errMultiple
		default:
			found = true
			i += max(n, 1)
		}
	}
	if !found {
		return errEmpty
	}
	return nil
}

func isComment(text string) bool {
	return strings.HasPrefix(text, "--") || strings.HasPrefix(text, "/*")
}

// skip returns the length of the comment, or of the quoted text or name, at
// the start of text; 0 if there is none.
func skip(text string) int {
	until := func(start int, end string) int {
		if i := strings.Index(text[start:], end); i >= 0 {
			return start + i + len(end)
		}
		return len(text)
	}
	switch {
	case strings.HasPrefix(text, "--"):
		return until(2, "\n")
	case strings.HasPrefix(text, "/*"):
		return until(2, "*/")
	}
	switch text[0] {
	case '\'', '"', '`':
		return until(1, text[:1]) // a doubled quote begins a further quoted text
	case '[':
		return until(1, "]")
	}
	return 0
}
