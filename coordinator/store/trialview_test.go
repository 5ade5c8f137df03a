package store

import "testing"

// The definition of t comes before those of a statement, whatever is before and after its keywords.
func TestWithView(t *testing.T) {
	for _, test := range []struct{ sql, want string }{
		{"SELECT 1", "WITH t AS (V)\nSELECT 1"},
		{"\n-- WITH\nSELECT 1", "WITH t AS (V)\nSELECT 1"},
		{"WITHIN", "WITH t AS (V)\nWITHIN"},
		{"with a AS (SELECT 1) SELECT 2", "WITH t AS (V),\na AS (SELECT 1) SELECT 2"},
		{"/* WITH */ WITH\nrecursive/**/a AS (SELECT 1) SELECT 2", "WITH RECURSIVE t AS (V),\n/**/a AS (SELECT 1) SELECT 2"},
		{"WITH recursives AS (SELECT 1) SELECT 2", "WITH t AS (V),\nrecursives AS (SELECT 1) SELECT 2"},
		{"", "WITH t AS (V)\n"}, {"--", "WITH t AS (V)\n"}, {"/*", "WITH t AS (V)\n"}, {"WITH", "WITH t AS (V),\n"},
	} {
		if got := withView("V", test.sql, true); got != test.want {
			t.Errorf("%q: %q, want %q", test.sql, got, test.want)
		}
	}
	const nested = "/* /* */ WITH a AS (SELECT 1) SELECT 2 */ SELECT 3"
	if got := withView("V", nested, true); got != "WITH t AS (V)\nSELECT 3" {
		t.Errorf("nested: %q", got)
	}
	if got := withView("V", nested, false); got != "WITH t AS (V),\na AS (SELECT 1) SELECT 2 */ SELECT 3" {
		t.Errorf("not nested: %q", got)
	}
}
