package sweep_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sweep/sweep"
)

func TestParseTags(t *testing.T) {
	for text, want := range map[string][]string{
		"": {}, "  ": {}, "a": {"a"}, "b, a ,b": {"a", "b"}, "two words,naïve": {"naïve", "two words"},
		strings.Repeat("x", sweep.LongestTag): {strings.Repeat("x", sweep.LongestTag)},
	} {
		if got, err := sweep.ParseTags(text); err != nil || got == nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a,,b": `tag ""`, ",": `tag ""`, "a\tb": "control character", "\xff": "not valid UTF-8",
		strings.Repeat("x", sweep.LongestTag+1): "65 bytes; at most 64",
	} {
		if got, err := sweep.ParseTags(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %q, %v; want an error with %q", text, got, err, want)
		}
	}
}

// A tag with a comma could not be told from two, and a number would not be the text that was written.
func TestConditionOnTag(t *testing.T) {
	for _, test := range []struct {
		operator string
		value    any
		wanted   bool
		problem  string
	}{
		{"=", "a", true, ""}, {"!=", "a", false, ""}, {"<", "a", false, "expected tag=TAG"},
		{"=", int64(7), false, `write tag="7"`}, {"!=", true, false, `write tag!="true"`},
		{"=", "a,b", false, "write one for each tag"},
	} {
		c := sweep.TrialCondition{Name: sweep.TagColumn, Operator: test.operator, Value: test.value}
		tag, wanted, err := c.Tag()
		if test.problem == "" && (err != nil || tag != test.value || wanted != test.wanted) ||
			test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%+v: %q %v %v", c, tag, wanted, err)
		}
	}
}

// Notes of others must not move the cursor of a terminal.
func TestEditCheck(t *testing.T) {
	notes := func(text string) sweep.Edit { return sweep.Edit{Notes: &text} }
	many := make([]string, sweep.MaxTags+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, good := range []sweep.Edit{notes(""), notes("a\n\tb"), notes(strings.Repeat("x", sweep.LongestNotes)),
		{Tags: []string{}}, {Tags: many[1:], By: "ada"}} {
		if err := good.Check(); err != nil {
			t.Errorf("%.100v: %v", good, err)
		}
	}
	for _, test := range []struct {
		edit sweep.Edit
		want string
	}{
		{sweep.Edit{By: "ada"}, "without notes and without tags"},
		{notes("\x1b[2J"), "control character"}, {notes("\x00"), "control character"}, {notes("\xff"), "not valid UTF-8"},
		{notes(strings.Repeat("x", sweep.LongestNotes+1)), "10001 bytes; at most 10000"},
		{sweep.Edit{Tags: many}, "51 tags; at most 50"}, {sweep.Edit{Tags: []string{"a,b"}}, "must not contain a comma"},
		{sweep.Edit{Tags: []string{}, By: "\x1b"}, "control character"},
		{sweep.Edit{Tags: []string{}, By: strings.Repeat("x", sweep.LongestName+1)}, "201 bytes; at most 200"},
	} {
		if err := test.edit.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.100v: %v, want an error with %q", test.edit, err, test.want)
		}
	}
}

func TestRunLabelsClean(t *testing.T) {
	many := make([]string, sweep.MaxTags+3)
	for i := range many {
		many[i] = fmt.Sprintf("tag-%02d", i)
	}
	long := strings.Repeat("é", sweep.LongestNotes) // two bytes each
	for _, test := range []struct {
		name        string
		given, want sweep.RunLabels
		problems    []string // "" if there must be none
	}{
		{"good", sweep.RunLabels{Name: "fox", Group: "folds", Notes: "two\nlines", Tags: []string{"b", " a", "b"}},
			sweep.RunLabels{Name: "fox", Group: "folds", Notes: "two\nlines", Tags: []string{"a", "b"}}, nil},
		{"none", sweep.RunLabels{}, sweep.RunLabels{}, nil},
		{"control characters", sweep.RunLabels{Name: "a\nb", Notes: "a\x00\x1b[2Jb\tc\r\n"}, sweep.RunLabels{Name: "ab", Notes: "a[2Jb\tc\n"},
			[]string{"name: ", "notes: "}},
		{"bad UTF-8", sweep.RunLabels{Group: "a\xffb", Tags: []string{"\xff", "ok"}},
			sweep.RunLabels{Group: "ab", Tags: []string{"ok"}}, []string{"group: ", "not valid UTF-8"}},
		{"long", sweep.RunLabels{Name: long, Notes: "x" + long}, sweep.RunLabels{Name: long[:sweep.LongestName],
			Notes: "x" + long[:sweep.LongestNotes-2]}, []string{"name: cut to 200 bytes", "notes: cut to 9999 bytes"}},
		{"bad tags", sweep.RunLabels{Tags: []string{"a,b", "", "c", long}}, sweep.RunLabels{Tags: []string{"c"}},
			[]string{`tag "a,b": must not contain a comma`, "2 further tags like that one"}},
		{"many tags", sweep.RunLabels{Tags: append(many, many...)}, sweep.RunLabels{Tags: many[:sweep.MaxTags]},
			[]string{"6 tags left out: at most 50"}},
	} {
		got, problem := test.given.Clean()
		if !reflect.DeepEqual(got, test.want) || (problem == "") != (test.problems == nil) || len(problem) > 500 ||
			!utf8.ValidString(problem) {
			t.Errorf("%s: %.300v, %q; want %.300v", test.name, got, problem, test.want)
		}
		for _, want := range test.problems {
			if !strings.Contains(problem, want) {
				t.Errorf("%s: %q, want %q", test.name, problem, want)
			}
		}
		if again, problem := got.Clean(); problem != "" || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: what is clean was cleaned again: %s", test.name, problem)
		}
	}
}
