package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
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

	sources []source
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
// ptb.valid.txt
// and ptb.test.txt, each packed with gzip or not. A line is a sentence, its words parted by blanks; its end is a word
// of
// its own, <eos>, as the published numbers of words have it. A word of the other parts that training lacks is refused.
func LoadPTB(dir string) (*Text, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s: it should hold the texts ptb.train.txt, ptb.valid.txt and ptb.test.txt",
			ErrNoData, dir)
	}
	t := &Text{Name: PTB}
	var parts [3]textFile
	for i, name := range []string{"train", "valid", "test"} {
		path, data, src, err := readPacked(filepath.Join(dir, "ptb."+name+".txt"))
		if err != nil {
			return nil, err
		}
		t.sources = append(t.sources, src)
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
				parts[i].path, want))
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
		return f, &FileError{Path: path, Row: line, Kind: kind, Detail: fmt.Sprintf(format, args...)}
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
	for word := range often {
		t.Words = append(t.Words, word)
	}
	slices.SortFunc(t.Words, func(a, b string) int {
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
			return nil, &FileError{Path: f.path, Row: int(f.lines[i]), Kind: ErrLabel,
				Detail: fmt.Sprintf("the training part has no word %q", clip([]byte(word)))}
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
		digestWords(h, part)
	}
	t.Digest = hex.EncodeToString(h.Sum(nil))
}

func digestWords(h hash.Hash, words []int32) {
	var block [512]int
	for len(words) > 0 {
		n := min(len(words), len(block))
		for i, word := range words[:n] {
			block[i] = int(word)
		}
		digestInts(h, block[:n]...)
		words = words[n:]
	}
}

// TextOptions are the choices in generating a text. Zero values mean the defaults.
type TextOptions struct {
	Seed  uint64
	Words int // different ones, 600
	Train int // words to train on, 12000; a sixth of them each to validate and to test on
}

// GenerateText returns a text that needs no files: in two of three places the word that follows is the one that its
// predecessor w calls for, 7 w + 3 modulo the number of words, else one whose frequency falls with its number, about as
// 1/√number. So a model of pairs of words gets far below the frequencies of single ones. The same options give the same
// bits everywhere.
func GenerateText(options TextOptions) *Text {
	if options.Words == 0 {
		options.Words = 600
	}
	if options.Train == 0 {
		options.Train = 12_000
	}
	t := &Text{Name: GeneratedText}
	for i := range options.Words {
		t.Words = append(t.Words, fmt.Sprintf("w%d", i))
	}
	t.Words[0] = endOfLine
	source := random.New(options.Seed, random.Text)
	word := 0
	for _, part := range []struct {
		words *[]int32
		n     int
	}{{&t.Train, options.Train}, {&t.Validation, options.Train / 6}, {&t.Test, options.Train / 6}} {
		for range part.n {
			if source.Below(3) > 0 {
				word = (7*word + 3) % options.Words
			} else {
				u := source.Uniform()
				word = min(int(float64(u*u)*float64(options.Words)), options.Words-1)
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
		return GenerateText(TextOptions{}), nil
	}
	if name != PTB {
		return nil, &UnknownError{Name: name, Dir: root, Near: nearest(name, []string{PTB, GeneratedText})}
	}
	if err := checkRoot(root); err != nil {
		return nil, err
	}
	return LoadPTB(filepath.Join(root, "ptb"))
}
