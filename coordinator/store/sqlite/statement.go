package sqlite

import (
	"errors"
	"strings"
)

var (
	errEmpty    = errors.New("the query is empty")
	errMultiple = errors.New("one statement at a time: there is text after the first semicolon")
)

// passages are comments, and texts and names in quotes, by how they begin and
// end. A doubled quote ends one passage and begins the next.
var passages = []struct {
	begin, end string
	comment    bool
}{
	{"--", "\n", true}, {"/*", "*/", true}, {"'", "'", false}, {`"`, `"`, false}, {"`", "`", false}, {"[", "]", false},
}

// single refuses a text with more than one statement, which the driver would
// run one after the other, or with none. A semicolon at the end is allowed.
func single(text string) error {
	ended, found := false, false
	for text != "" {
		n, blank := 1, strings.IndexByte(" \t\r\n\f\v", text[0]) >= 0
		for _, p := range passages {
			if rest, ok := strings.CutPrefix(text, p.begin); ok {
				inner, _, _ := strings.Cut(rest, p.end)
				n, blank = min(len(p.begin)+len(inner)+len(p.end), len(text)), p.comment
				break
			}
		}
		switch {
		case blank:
		case text[0] == ';':
			ended = ended || found
		case ended:
			return errMultiple
		default:
			found = true
		}
		text = text[n:]
	}
	if !found {
		return errEmpty
	}
	return nil
}
