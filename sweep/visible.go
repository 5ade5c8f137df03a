package sweep

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible returns a text with its control characters but line breaks and tabs written out, as \x1b: a
// terminal would obey those of programs. A carriage return before a line break is left out. In JSON the
// text of a string stays valid and the same.
func Visible(text string) string {
	at := strings.IndexFunc(text, acts)
	if at < 0 {
		return text
	}
	var b strings.Builder
	for at >= 0 {
		r, size := utf8.DecodeRuneInString(text[at:])
		b.WriteString(text[:at])
		switch {
		case r == utf8.RuneError && size > 1: // the character itself
			b.WriteRune(r)
		case r == utf8.RuneError:
			fmt.Fprintf(&b, `\x%02x`, text[at])
		case r == '\r' && strings.HasPrefix(text[at+1:], "\n"):
		case r < ' ':
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[at+size:]
		at = strings.IndexFunc(text, acts)
	}
	return b.String() + text
}

// acts reports whether a terminal may act on a character, or it is no valid UTF-8. Some characters change
// the direction of the text around them.
func acts(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', r >= 0x7f && r <= 0x9f, r == utf8.RuneError:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
