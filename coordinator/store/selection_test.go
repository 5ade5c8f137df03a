package store

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// TestConditions: values are bound as what they are, or refused. What the
// conditions mean is tested by storetest.
func TestConditions(t *testing.T) {
	same := func(name string) string { return name }
	dialect := &database.Dialect{Collation: "c", Label: same, Member: func(_, _ string, _ []string) database.Member {
		return database.Member{Present: "p", Typed: map[string]string{"number": "n", "text": "t", "boolean": "b",
			"json": "j"}}
	}}
	for _, test := range []struct {
		operator string
		value    any
		want     string // the end of the condition, "" if it is refused
		bound    any
	}{
		{"=", 1, "(n) = CAST($2 AS bigint), FALSE)", int64(1)},
		{"<", float32(0.5), "(n) < CAST($2 AS double precision), FALSE)", 0.5},
		{">", "x", "(t) COLLATE c > CAST($2 AS text), FALSE)", "x"},
		{"=", true, "(b) = CAST($2 AS boolean), FALSE)", true},
		{"=", nil, "NOT (p)", nil},
		{"!=", nil, "(p)", nil},
		{sweep.Lacks, nil, "NOT (p)", nil},
		{"=", []any{1, "a"}, "(j) = CAST($2 AS text), FALSE)", `[1,"a"]`},
		{"!=", map[string]any{}, "(p) AND coalesce((j) != CAST($2 AS text), TRUE))", "{}"},
		{"<", nil, "", nil},
		{">=", []any{1}, "", nil},
		{"=", math.NaN(), "", nil},
		{"=", struct{}{}, "", nil},
		{"~", 1, "", nil},
	} {
		query := sweep.TrialQuery{Where: []sweep.TrialCondition{{Name: "x", Operator: test.operator,
			Value: test.value}}}
		none := func(string) *metricPlace { return nil }
		b := (&selection{TrialQuery: query, dialect: dialect, metric: none, own: func(string) bool {
			return false
		}}).plain(nil, nil, 0)
		text, args, err := b.text.String(), b.args, b.err
		if (err == nil) != (test.want != "") {
			t.Errorf("%s %v: %v", test.operator, test.value, err)
			continue
		}
		text, _, _ = strings.Cut(text, "\nORDER BY")
		if !strings.HasSuffix(text, test.want) {
			t.Errorf("%s %v: %s", test.operator, test.value, text)
		}
		if test.bound != nil && (len(args) != 2 || fmt.Sprint(args) != fmt.Sprint([]any{"x", test.bound})) {
			t.Errorf("%s %v: bound %v", test.operator, test.value, args)
		}
	}
}

func TestTrialColumns(t *testing.T) {
	if want := slices.Sorted(maps.Keys(columns)); !slices.Equal(slices.Sorted(slices.Values(sweep.TrialColumns)),
		want) {
		t.Errorf("sweep.TrialColumns are %v, want %v", sweep.TrialColumns, want)
	}
}
