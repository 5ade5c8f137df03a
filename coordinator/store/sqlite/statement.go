package sqlite

import (
	"errors"
	"regexp"
)

var (
	errEmpty    = errors.New("the query is empty")
	errMultiple = errors.New("one statement at a time: there is text after the first semicolon")
)

// token is, at the beginning of a text, what is blank (a comment or white space); a text or name
// in quotes, of which a doubled quote ends one and begins the next; or a word or sign.
var token = regexp.MustCompile(`(?s)^(?:(--[^\n]*|/\*.*?(?:\*/|$)|[ \t\r\n\f\v]+)|` +
	`'[^']*'?|"[^"]*"?|` + "`[^`]*`?" + `|\[[^\]]*\]?|\w+|.)`)

// single refuses a text with more than one statement, which the driver would
// run one after the other, or with none. A semicolon at the end is allowed.
func single(text string) error {
	ended, found := false, false
	for text != "" {
		match := token.FindStringSubmatch(text)
		switch {
		case match[1] != "": // blank
		case match[0] == ";":
			ended = ended || found
		case ended:
			return errMultiple
		default:
			found = true
		}
		text = text[len(match[0]):]
	}
	if !found {
		return errEmpty
	}
	return nil
}
