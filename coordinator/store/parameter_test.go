package store

import (
	"database/sql"
	"testing"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// TestParameterColumns: the first parameters that a sweep varies have columns, whose values are plain texts.
func TestParameterColumns(t *testing.T) {
	list := func(values ...any) sweep.Values { return sweep.Values{List: values} }
	c := newComparison(1, &sweep.Submission{Spec: sweep.Spec{Axes: []sweep.Axis{
		{Parameters: []sweep.AxisParameter{{Name: "fixed", Values: list(1)}, {Name: "seed", Values: list(1, 2)}}},
		{Parameters: []sweep.AxisParameter{{Name: "a", Values: list(1, 2)}, {Name: `b "c"`, Values: list(1, 2)}}},
		{Parameters: []sweep.AxisParameter{{Name: "d", Values: list(1, 2)}, {Name: "e", Values: list(1, 2)},
			{Name: "f", Values: list(1, 2)}, {Name: "g", Values: list(1, 2)}, {Name: "h", Values: list(1, 2)}}},
	}}})
	for text, want := range map[string][]string{
		`{"a":"x","b \"c\"":1e-05,"d":true,"e":[1,"z"],"f":null,"g":{"h":1},"h":2,"fixed":1,"seed":3}`: {"3", "x",
			"1e-05", "true", `[1,"z"]`, "", `{"h":1}`},
		`{"a":"a \"b\" \\ é\n","seed":4.0}`: {"4", "a \"b\" \\ é\n", "", "", "", "", ""},
		`{"a":"","seed":1.5}`:               {"", "", "", "", "", "", ""},
		`{"seed":9223372036854775807}`:      {"", "", "", "", "", "", ""},
		`{}`:                                {"", "", "", "", "", "", ""},
		`{"a":`:                             {"", "", "", "", "", "", ""},
		`{"a":"\`:                           {"", "", "", "", "", "", ""},
		`{"a":"`:                            {"", "", "", "", "", "", ""},
	} {
		row := c.parameterRow(text)
		got := []string{""}
		if row.seed.Valid {
			got[0] = sweep.TrialID{Index: row.seed.V}.String()[1:]
		}
		for _, value := range row.values {
			got = append(got, value.V)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: column %d is %q, want %q", text, i, got[i], want[i])
			}
		}
	}
	if empty := c.parameterRow(`{"a":"","b \"c\"":null}`); empty.values[0] != (sql.Null[string]{Valid: true}) ||
		empty.values[1].Valid {
		t.Errorf("an empty text and null: %+v", empty)
	}
	dialect := &database.Dialect{Label: func(name string) string { return name }}
	for name, want := range map[string]string{"a": "t.parameter0", "fixed": "CAST(t.parameters ->> 'fixed' AS text)",
		"h": "CAST(t.parameters ->> 'h' AS text)"} {
		if got := c.parameterOf(dialect, namedParameter{name: name, kind: sweep.AnyType}); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
