package dataset

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The real text has the published numbers of words, ends of lines among them.
func TestPTB(t *testing.T) {
	text, err := LoadPTB(filepath.Join(realData(t), "ptb"))
	if err != nil {
		t.Fatal(err)
	}
	if len(text.Train) != 929589 || len(text.Validation) != 73760 || len(text.Test) != 82430 ||
		len(text.Words) != 10000 || len(text.Notes) > 0 {
		t.Errorf("%d, %d, %d words of %d, %v", len(text.Train), len(text.Validation), len(text.Test),
			len(text.Words), text.Notes)
	}
	if text.Words[0] != "the" || text.Words[text.LineEnd] != "<eos>" {
		t.Errorf("the first word is %q, the line's end %q", text.Words[0], text.Words[text.LineEnd])
	}
	var begin []string
	for _, word := range text.Train[24:30] {
		begin = append(begin, text.Words[word])
	}
	if want := []string{"<eos>", "pierre", "<unk>", "N", "years", "old"}; !slices.Equal(begin, want) {
		t.Errorf("the second line begins with %q, want %q", begin, want)
	}
	lines := 0
	for _, word := range text.Train {
		if word == text.LineEnd {
			lines++
		}
	}
	if lines != 42068 {
		t.Errorf("%d lines", lines)
	}
}

func ptbFiles() map[string]string {
	return map[string]string{
		"ptb.train.txt": " the cat sat \n\n the cat <unk> \r\n", "ptb.valid.txt": "sat the\n",
		"ptb.test.txt": " cat \n sat\n",
	}
}

func TestTextForms(t *testing.T) {
	dir := t.TempDir()
	for name, content := range ptbFiles() {
		if name == "ptb.valid.txt" {
			name, content = name+".gz", packed(t, content)
		}
		write(t, filepath.Join(dir, name), content)
	}
	text, err := LoadPTB(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Three ends of lines, two times the and cat, one time <unk> and sat.
	if want := []string{"<eos>", "cat", "the", "<unk>", "sat"}; !slices.Equal(text.Words, want) {
		t.Errorf("words %q, want %q", text.Words, want)
	}
	for _, c := range []struct{ got, want []int32 }{
		{text.Train, []int32{2, 1, 4, 0, 0, 2, 1, 3, 0}}, {text.Validation, []int32{4, 2, 0}},
		{text.Test, []int32{1, 0, 4, 0}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("words %v, want %v", c.got, c.want)
		}
	}
	if len(text.Notes) != 3 {
		t.Errorf("notes %v", text.Notes)
	}
}

func TestBadText(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		kind          error
		want          string
	}{
		"no file": {"ptb.valid.txt", "", fs.ErrNotExist, "ptb.valid.txt"},
		"empty":   {"ptb.test.txt", " \n", ErrEmpty, "ptb.test.txt"},
		"cut":     {"ptb.train.txt", "the cat sat\nthe c", ErrTruncated, "no end"},
		"unknown": {"ptb.test.txt", "cat\n the dog\n", ErrLabel,
			`ptb.test.txt:2: bad label: the training part has no word "dog"`},
		"binary": {"ptb.train.txt", "the\ncat\x00\n", ErrForm, "ptb.train.txt:2: "},
		"long":   {"ptb.train.txt", strings.Repeat("x", 2000) + "\n", ErrForm, "ptb.train.txt:1: "},
	} {
		dir := t.TempDir()
		for file, content := range ptbFiles() {
			if file == c.file {
				content = c.content
			}
			if content != "" {
				write(t, filepath.Join(dir, file), content)
			}
		}
		var file *FileError
		if _, err := LoadPTB(dir); !errors.As(err, &file) || !errors.Is(err, c.kind) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.kind, c.want)
		}
	}
	if _, err := LoadPTB(filepath.Join(t.TempDir(), "ptb")); !errors.Is(err, ErrNoData) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := OpenText("", PTB); !errors.Is(err, ErrNoData) {
		t.Errorf("no data directory: %v", err)
	}
	var unknown *UnknownError
	if _, err := OpenText("", "ptp"); !errors.As(err, &unknown) || !slices.Contains(unknown.Near, PTB) {
		t.Errorf("an unknown text: %v", err)
	}
}

// The generated text has the same bits each time, and a word tells much about the next
// one: two in three are called for.
func TestGeneratedText(t *testing.T) {
	text := GenerateText(0)
	if text.Digest != GenerateText(0).Digest || text.Digest == GenerateText(1).Digest {
		t.Error("the bits are not those of the seed")
	}
	if len(text.Train) != 12000 || len(text.Validation) != 2000 || len(text.Test) != 2000 || len(text.Words) != 600 {
		t.Errorf("%d, %d, %d words of %d", len(text.Train), len(text.Validation), len(text.Test), len(text.Words))
	}
	called := 0
	for i, word := range text.Train[1:] {
		if int(word) == (7*int(text.Train[i])+3)%600 {
			called++
		}
	}
	if share := float64(called) / 11999; math.Abs(share-2./3) > .02 {
		t.Errorf("a share of %v is called for", share)
	}
}

// A cache holds texts beside sets.
func TestCacheOfTexts(t *testing.T) {
	root := t.TempDir()
	for name, content := range ptbFiles() {
		write(t, filepath.Join(root, "ptb", name), content)
	}
	c := NewCache(1 << 20)
	first, err := c.OpenText(root, PTB)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.OpenText(root, PTB); err != nil || again != first {
		t.Errorf("what is in the cache was read again (%v)", err)
	}
	write(t, filepath.Join(root, "ptb", "ptb.train.txt"), "the cat sat upon <unk>\n")
	if changed, err := c.OpenText(root, PTB); err != nil || changed.Digest == first.Digest {
		t.Errorf("a changed text was not read again (%v)", err)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(" the cat \n sat\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := parseText("F", data)
		if err != nil {
			var file *FileError
			if !errors.As(err, &file) || file.Path != "F" {
				t.Fatalf("%v is no FileError", err)
			}
			return
		}
		var text Text
		numbered, err := parsed.numbered(text.count(parsed))
		if err != nil {
			t.Fatal(err)
		}
		for i, number := range numbered {
			if text.Words[number] != parsed.words[i] {
				t.Fatalf("word %d is %q, was %q", i, text.Words[number], parsed.words[i])
			}
		}
	})
}
