package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Annotation is what a sweep or trial is described by: what its file or program says, until a
// person changes it.
type Annotation struct {
	Notes string `json:"notes,omitempty"`
	// Tags are sorted, each once.
	Tags []string `json:"tags,omitempty"`
	// EditedBy and EditedAt say who changed it last, and when; empty if nobody has.
	EditedBy string    `json:"edited_by,omitempty"`
	EditedAt time.Time `json:"edited_at,omitzero"`
}

// RunLabels are what a program calls its run. They are no part of a result's digest.
type RunLabels struct {
	Name  string   `json:"name,omitempty"`
	Group string   `json:"group,omitempty"`
	Notes string   `json:"notes,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// Edit changes the annotation of a sweep or, with an Index, of one of its trials. What is nil
// stays as it is; empty tags remove all. The last edit wins.
type Edit struct {
	Index *int64   `json:"index,omitempty"`
	Notes *string  `json:"notes,omitempty"`
	Tags  []string `json:"tags,omitzero"`
	// By is who asks for it.
	By string `json:"by,omitempty"`
}

const (
	// LongestNotes bounds notes, in bytes.
	LongestNotes = 10_000
	// LongestTag bounds a tag, in bytes, as W&B's does.
	LongestTag = 64
	// MaxTags is how many tags a sweep or trial may have.
	MaxTags = 50
)

// Check returns an error unless the edit changes something to what a store can keep.
func (e *Edit) Check() error {
	if e.Notes == nil && e.Tags == nil {
		return fmt.Errorf("an edit without notes and without tags")
	}
	if e.Notes != nil {
		if n := len(*e.Notes); n > LongestNotes {
			return fmt.Errorf("notes: %d bytes; at most %d", n, LongestNotes)
		}
		if err := checkNotes(*e.Notes); err != nil {
			return err
		}
	}
	return cmp.Or(CheckTags(e.Tags), CheckText("by", e.By, false), checkLength("by", e.By))
}

// CheckTags returns an error for tags that a store cannot keep.
func CheckTags(tags []string) error {
	if len(tags) > MaxTags {
		return fmt.Errorf("%d tags; at most %d", len(tags), MaxTags)
	}
	for _, tag := range tags {
		if err := checkTag(tag); err != nil {
			return err
		}
	}
	return nil
}

// checkNotes returns an error for notes with control characters, which a terminal would obey, but line breaks and tabs.
func checkNotes(text string) error {
	return CheckText("notes", strings.NewReplacer("\n", "", "\t", "").Replace(text), false)
}

func checkLength(what, text string) error {
	if len(text) > LongestName {
		return fmt.Errorf("%s: %d bytes; at most %d", what, len(text), LongestName)
	}
	return nil
}

// checkTag returns an error for a tag that cannot be one of a list with commas.
func checkTag(tag string) error {
	switch {
	case len(tag) > LongestTag:
		return fmt.Errorf("tag %.40q…: %d bytes; at most %d", tag, len(tag), LongestTag)
	case strings.TrimSpace(tag) != tag || tag == "":
		return fmt.Errorf("tag %q: expected a text without spaces around it", tag)
	case strings.Contains(tag, ","):
		return fmt.Errorf("tag %q: must not contain a comma", tag)
	}
	return CheckText("tag", tag, false)
}

// Tag returns the tag that a condition on TagColumn names, and whether trials are to have it.
func (c *TrialCondition) Tag() (tag string, wanted bool, err error) {
	tag, isText := c.Value.(string)
	switch {
	case c.Operator != "=" && c.Operator != "!=":
		return "", false, fmt.Errorf("condition on %s: expected %[1]s=TAG or %[1]s!=TAG", c.Name.Own())
	case !isText:
		return "", false, fmt.Errorf(`condition on %s: %v is no text; write %[1]s%[3]s"%[2]v"`, c.Name.Own(), c.Value,
			c.Operator)
	case strings.Contains(tag, ","):
		return "", false, fmt.Errorf("condition on %s: %q has a comma, which no tag has; write one for each tag",
			c.Name.Own(), tag)
	}
	return tag, c.Operator == "=", nil
}

// ParseTags reads tags from a list with commas, "a, b"; the empty text has none.
func ParseTags(text string) ([]string, error) {
	tags := []string{}
	if strings.TrimSpace(text) == "" {
		return tags, nil
	}
	for tag := range strings.SplitSeq(text, ",") {
		tag = strings.TrimSpace(tag)
		if err := checkTag(tag); err != nil {
			return nil, err
		}
		tags = append(tags, tag)
	}
	return SortTags(tags), nil
}

// SortTags returns tags in order, each once.
func SortTags(tags []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(tags)))
}

// Clean returns the labels as stores can keep them, and what had to be changed, "" if nothing.
// A program's labels never fail its trial.
func (l *RunLabels) Clean() (kept RunLabels, problem string) {
	var problems []string
	text := func(what, text string, longest int, kept string) string {
		clean := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && !strings.ContainsRune(kept, r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, ""))
		if len(clean) > longest {
			clean = strings.ToValidUTF8(clean[:longest], "")
		}
		if clean != text {
			problems = append(problems, fmt.Sprintf("%s: cut to %d bytes, or without what is no text", what,
				len(clean)))
		}
		return clean
	}
	kept = RunLabels{
		Name:  text("name", l.Name, LongestName, ""),
		Group: text("group", l.Group, LongestName, ""),
		Notes: text("notes", l.Notes, LongestNotes, "\n\t"),
	}
	refused, more := 0, 0
	for _, tag := range l.Tags {
		tag = strings.TrimSpace(tag)
		switch err := checkTag(tag); {
		case err != nil:
			if refused++; refused == 1 {
				problems = append(problems, err.Error())
			}
		case slices.Contains(kept.Tags, tag):
		case len(kept.Tags) == MaxTags:
			more++
		default:
			kept.Tags = append(kept.Tags, tag)
		}
	}
	if refused > 1 {
		problems = append(problems, fmt.Sprintf("%s like that one", CountText(refused-1, "further tag")))
	}
	if more > 0 {
		problems = append(problems, fmt.Sprintf("%s left out: at most %d", CountText(more, "tag"), MaxTags))
	}
	kept.Tags = SortTags(kept.Tags)
	return kept, strings.Join(problems, "; ")
}
