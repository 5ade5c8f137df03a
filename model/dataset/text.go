package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sweep/model/random"
)

// Text is a running text of words in three parts, each word a number.
type Text struct {
	// Name is [PTB] or [GeneratedText].
	Name string
	// Words are the words by number, the most frequent of the training part first.
	Words []string
	// Train, Validation and Test are the parts, word after word.
	Train, Validation, Test []int32
	// LineEnd is the number of the word that stands for the end of a line.
	LineEnd int32
	// Notes are what a reader of the results should know, one sentence each.
	Notes []string
	// Digest is the SHA-256, in hexadecimal, of the words and the parts.
	Digest string

	sources
}

// endOfLine is the word that stands for the end of a line.
const endOfLine = "<eos>"

// Size returns the bytes of memory that the text takes.
func (t *Text) Size() int64 {
	size := int64(4 * (len(t.Train) + len(t.Validation) + len(t.Test)))
	for _, word := range t.Words {
		size += int64(len(word)) + 16
	}
	return size
}

// LoadPTB loads the Penn Treebank in Mikolov's version of 10,000 words from dir, which holds ptb.train.txt,
// ptb.valid.txt and ptb.test.txt, each packed with gzip or not. A line is a sentence, its words parted by blanks; its
// end is a word of its own, <eos>, as the published numbers of words have it. A word of the other parts that training
// lacks is refused.
func LoadPTB(dir string) (*Text, error) {
	if err := checkFolder(dir, "the texts ptb.train.txt, ptb.valid.txt and ptb.test.txt"); err != nil {
		return nil, err
	}
	t := &Text{Name: PTB}
	var parts [3]textFile
	for i, name := range []string{"train", "valid", "test"} {
		file := filepath.Join(dir, "ptb."+name+".txt")
		path, data, err := t.read(file, file+".gz")
		if err != nil {
			return nil, err
		}
		if parts[i], err = parseText(path, data); err != nil {
			return nil, err
		}
	}
	numbers := t.count(parts[0])
	for i, part := range []*[]int32{&t.Train, &t.Validation, &t.Test} {
		numbered, err := parts[i].numbered(numbers)
		if err != nil {
			return nil, err
		}
		*part = numbered
		if want := [3]int{929589, 73760, 82430}[i]; len(numbered) != want {
			t.Notes = append(t.Notes, fmt.Sprintf("%d words in %s where the published text has %d", len(numbered),
				filepath.Base(parts[i].path), want))
		}
	}
	t.seal()
	return t, nil
}

// textFile is the words of a file, and the line that each is in.
type textFile struct {
	path  string
	words []string
	lines []int32
}

// maxWord bounds what counts as a word.
const maxWord = 1 << 10

// parseText reads words parted by blanks. Equal words share their memory.
func parseText(path string, data []byte) (textFile, error) {
	f := textFile{path: path}
	fail := func(line int, kind error, format string, args ...any) (textFile, error) {
		return f, fileError(path, line, 0, kind, format, args...)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return fail(0, ErrEmpty, "the file holds no words")
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		return fail(0, ErrTruncated, "the last line has no end; fetch the file again")
	}
	known := map[string]string{}
	lines := lineReader{rest: data}
	for line, ok := lines.next(); ok; line, ok = lines.next() {
		for _, field := range bytes.Fields(line) {
			if len(field) > maxWord || bytes.IndexByte(field, 0) >= 0 {
				return fail(lines.number, ErrForm, "%q is no word", clip(field))
			}
			word, ok := known[string(field)]
			if !ok {
				word = string(field)
				known[word] = word
			}
			f.words, f.lines = append(f.words, word), append(f.lines, int32(lines.number))
		}
		f.words, f.lines = append(f.words, endOfLine), append(f.lines, int32(lines.number))
	}
	return f, nil
}

// count numbers the words of the training part, the most frequent first and equally frequent ones by their letters.
func (t *Text) count(train textFile) map[string]int32 {
	often := map[string]int{}
	for _, word := range train.words {
		often[word]++
	}
	t.Words = slices.SortedFunc(maps.Keys(often), func(a, b string) int {
		return cmp.Or(cmp.Compare(often[b], often[a]), strings.Compare(a, b))
	})
	numbers := make(map[string]int32, len(t.Words))
	for i, word := range t.Words {
		numbers[word] = int32(i)
	}
	t.LineEnd = numbers[endOfLine]
	return numbers
}

// numbered returns the numbers of the words.
func (f *textFile) numbered(numbers map[string]int32) ([]int32, error) {
	result := make([]int32, len(f.words))
	for i, word := range f.words {
		number, ok := numbers[word]
		if !ok {
			return nil, fileError(f.path, int(f.lines[i]), 0, ErrLabel, "the training part has no word %q",
				clip([]byte(word)))
		}
		result[i] = number
	}
	return result, nil
}

// seal sets the digest.
func (t *Text) seal() {
	h := sha256.New()
	h.Write([]byte("sweep text 1\n"))
	digestInts(h, len(t.Words), int(t.LineEnd))
	for _, word := range t.Words {
		h.Write([]byte(word + "\n"))
	}
	for _, part := range [][]int32{t.Train, t.Validation, t.Test} {
		digestInts(h, len(part))
		digestInts(h, part...)
	}
	t.Digest = hex.EncodeToString(h.Sum(nil))
}

// GenerateText returns a text of 600 words that needs no files, 12,000 of them to train on and 2000 each to validate
// and to test on: in two of three places the word that follows is the one that its predecessor w calls for, 7 w + 3
// modulo the number of words, else one whose frequency falls with its number, about as 1/√number. So a model of pairs
// of words gets far below the frequencies of single ones. A seed gives the same bits everywhere.
func GenerateText(seed uint64) *Text {
	const words = 600
	t := &Text{Name: GeneratedText}
	for i := range words {
		t.Words = append(t.Words, fmt.Sprintf("w%d", i))
	}
	t.Words[0] = endOfLine
	source := random.New(seed, random.Text)
	word := 0
	for _, part := range []struct {
		words *[]int32
		n     int
	}{{&t.Train, 12_000}, {&t.Validation, 2000}, {&t.Test, 2000}} {
		for range part.n {
			if source.Below(3) > 0 {
				word = (7*word + 3) % words
			} else {
				u := source.Uniform()
				word = min(int(float64(u*u)*words), words-1)
			}
			*part.words = append(*part.words, int32(word))
		}
	}
	t.seal()
	return t
}

// OpenText loads a text from the data directory root: [PTB] from its folder ptb. The generated one needs no directory.
func OpenText(root, name string) (*Text, error) {
	if name == GeneratedText {
		return GenerateText(0), nil
	}
	if name != PTB {
		return nil, &UnknownError{Name: name, Dir: root, Near: nearest(name, []string{PTB, GeneratedText})}
	}
	if err := checkRoot(root); err != nil {
		return nil, err
	}
	return LoadPTB(filepath.Join(root, "ptb"))
}
