package sweep

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"plain ü 漢\t\n":         "plain ü 漢\t\n",
		"\x1b[31mred\x1b[2J":    `\x1b[31mred\x1b[2J`,
		"\x1b]0;owned\x07":      `\x1b]0;owned\x07`,
		"a\r\nb\rc\x00":         "a\nb" + `\x0dc\x00`,
		"\u009b31m\x7f\u202e":   `\u009b31m\u007f\u202e`,
		"\x9b31m \xff a\xc3":    `\x9b31m \xff a\xc3`,
		"the character \ufffd.": "the character \ufffd.",
	} {
		if got := Visible(text); got != want {
			t.Errorf("Visible(%q) = %q, want %q", text, got, want)
		}
	}
}

// FuzzVisible: nothing is left on which a terminal acts, and JSON stays the same.
func FuzzVisible(f *testing.F) {
	f.Add("\x1b[31m\u009b\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		shown := Visible(text)
		if !utf8.ValidString(shown) || Visible(shown) != shown {
			t.Errorf("Visible(%q) = %q", text, shown)
		}
		if data, err := json.Marshal(text); err == nil {
			var again, before string
			if json.Unmarshal(data, &before) != nil || json.Unmarshal([]byte(Visible(string(data))), &again) != nil ||
				again != before {
				t.Errorf("JSON %s: %q, want %q", data, again, before)
			}
		}
		if strings.ContainsFunc(shown, func(r rune) bool { return r != utf8.RuneError && acts(r) }) {
			t.Errorf("%q still has a control character", shown)
		}
	})
}
