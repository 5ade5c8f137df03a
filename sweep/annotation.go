package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
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
	// MostTags is how many tags a sweep or trial may have.
	MostTags = 50
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
		if err := CheckText("notes", *e.Notes, true); err != nil {
			return err
		}
	}
	if len(e.Tags) > MostTags {
		return fmt.Errorf("%d tags; at most %d", len(e.Tags), MostTags)
	}
	for _, tag := range e.Tags {
		if err := checkTag(tag); err != nil {
			return err
		}
	}
	return cmp.Or(CheckText("by", e.By, false), checkLength("by", e.By))
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
	case strings.TrimSpace(tag) != tag || tag == "":
		return fmt.Errorf("tag %q: expected text without spaces around it", tag)
	case strings.Contains(tag, ","):
		return fmt.Errorf("tag %q: must not contain a comma", tag)
	case len(tag) > LongestTag:
		return fmt.Errorf("tag %.40q…: %d bytes; at most %d", tag, len(tag), LongestTag)
	}
	return CheckText("tag", tag, false)
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
	text := func(what, text string, longest int, control bool) string {
		clean := strings.Map(func(r rune) rune {
			if CheckText("", string(r), control) != nil {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, ""))
		if len(clean) > longest {
			clean = strings.ToValidUTF8(clean[:longest], "")
		}
		if clean != text {
			problems = append(problems, fmt.Sprintf("%s was shortened to %d bytes or lost control characters", what,
				len(clean)))
		}
		return clean
	}
	kept = RunLabels{Name: text("the name", l.Name, LongestName, false), Group: text("the group", l.Group, LongestName,
		false), Notes: text("the notes", l.Notes, LongestNotes, true)}
	for _, tag := range l.Tags {
		tag = strings.TrimSpace(tag)
		err := checkTag(tag)
		if err == nil && len(kept.Tags) == MostTags && !slices.Contains(kept.Tags, tag) {
			err = fmt.Errorf("tag %q: more than %d tags", tag, MostTags)
		}
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if !slices.Contains(kept.Tags, tag) {
			kept.Tags = append(kept.Tags, tag)
		}
	}
	kept.Tags = SortTags(kept.Tags)
	return kept, strings.Join(problems, "; ")
}
