package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"sweep/model/random"
)

// Lines are lines of text, each a sequence of characters by number.
type Lines struct {
	text []uint16
	ends []int
}

// Count returns the number of lines.
func (l *Lines) Count() int { return len(l.ends) }

// Line returns the numbers of a line's characters.
func (l *Lines) Line(i int) []uint16 {
	from := 0
	if i > 0 {
		from = l.ends[i-1]
	}
	return l.text[from:l.ends[i]]
}

func (l *Lines) add(line []uint16) {
	l.text = append(l.text, line...)
	l.ends = append(l.ends, len(l.text))
}

// QuerySet is queries, one a line. A tenth of the lines are the test part, drawn once for the file: no seed of a trial
// changes it. Queries that were asked several times stay in as often, since they are what is to be learnt.
type QuerySet struct {
	// Name is [Queries] or [GeneratedQueries].
	Name string
	// Characters are the characters by number, the most frequent of the training part first. A character beyond the
	// 65,535th, or that the training part lacks, has a number without a character.
	Characters []rune
	// Train and Test are the parts.
	Train, Test Lines
	// Digest is the SHA-256, in hexadecimal, of the characters and the parts.
	Digest string

	sources
}

// Size returns the bytes of memory that the queries take.
func (q *QuerySet) Size() int64 {
	size := 4 * int64(len(q.Characters))
	for _, l := range []*Lines{&q.Train, &q.Test} {
		size += 2*int64(len(l.text)) + 8*int64(len(l.ends))
	}
	return size
}

// testShare is the share of the queries to test on, drawn by the seed 0.
const testShare = 0.1

// LoadQueries loads the queries of all files *.txt in dir, packed with gzip (*.txt.gz) or not, in the order of their
// names: a line is a query, in UTF-8. An empty line and bytes that are no UTF-8 are refused.
func LoadQueries(dir string) (*QuerySet, error) {
	const content = "text files (*.txt, *.txt.gz) of one query a line"
	if err := checkFolder(dir, content); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), ".gz"); strings.HasSuffix(name, ".txt") && !entry.IsDir() {
			names = append(names, name)
		}
	}
	if slices.Sort(names); len(names) == 0 {
		return nil, fileError(dir, 0, 0, fs.ErrNotExist, "it should hold %s", content)
	}
	q := &QuerySet{Name: Queries}
	var lines []string
	for _, name := range slices.Compact(names) {
		file := filepath.Join(dir, name)
		path, data, err := q.read(file, file+".gz")
		if err != nil {
			return nil, err
		}
		if lines, err = parseLines(path, data, lines); err != nil {
			return nil, err
		}
	}
	const fewest = 3 // to train, to validate and to test on
	if len(lines) < fewest {
		return nil, fileError(dir, 0, 0, ErrEmpty, "%d queries: want at least %d", len(lines), fewest)
	}
	q.part(lines)
	return q, nil
}

// parseLines appends the lines of a file.
func parseLines(path string, data []byte, all []string) ([]string, error) {
	reader := lineReader{rest: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	for line, ok := reader.next(); ok; line, ok = reader.next() {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			return nil, fileError(path, reader.number, 0, ErrEmpty, "an empty line is no query: remove it")
		}
		if at := invalidUTF8(line); at >= 0 {
			return nil, fileError(path, reader.number, 0, ErrForm, "byte %d (%#02x) is not UTF-8: convert the file, "+
				"for example with iconv", at+1, line[at])
		}
		all = append(all, string(line))
	}
	if reader.number == 0 {
		return nil, fileError(path, 0, 0, ErrEmpty, "the file holds no queries")
	}
	return all, nil
}

// invalidUTF8 returns the place of the first byte that is part of no character, -1 if there is none.
func invalidUTF8(line []byte) int {
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// part parts lines into train and test, and numbers their characters.
func (q *QuerySet) part(lines []string) {
	train, test := Split(make([]int, len(lines)), SplitRandom, testShare, 0)
	often := map[rune]int{}
	for _, i := range train {
		for _, r := range lines[i] {
			often[r]++
		}
	}
	q.Characters = slices.SortedFunc(maps.Keys(often), func(a, b rune) int {
		return cmp.Or(cmp.Compare(often[b], often[a]), cmp.Compare(a, b))
	})
	const most = 1<<16 - 1 // the number of all others
	q.Characters = q.Characters[:min(len(q.Characters), most)]
	numbers := make(map[rune]uint16, len(q.Characters))
	for i, r := range q.Characters {
		numbers[r] = uint16(i)
	}
	var numbered []uint16
	for _, part := range []struct {
		rows []int
		to   *Lines
	}{{train, &q.Train}, {test, &q.Test}} {
		for _, i := range part.rows {
			numbered = numbered[:0]
			for _, r := range lines[i] {
				number, ok := numbers[r]
				if !ok {
					number = most
				}
				numbered = append(numbered, number)
			}
			part.to.add(numbered)
		}
	}
	q.seal()
}

// seal sets the digest.
func (q *QuerySet) seal() {
	h := sha256.New()
	h.Write([]byte("sweep queries 1\n"))
	digestInts(h, len(q.Characters))
	digestInts(h, q.Characters...)
	for _, l := range []*Lines{&q.Train, &q.Test} {
		digestInts(h, len(l.ends))
		digestInts(h, l.ends...)
		digestInts(h, l.text...)
	}
	q.Digest = hex.EncodeToString(h.Sum(nil))
}

// queryGrammar is the grammar of the generated queries: a brand, one of its goods and a colour, each with its weight.
var (
	queryGrammar = []struct {
		brand  choice
		things []choice
	}{
		{choice{"mickey", 25}, []choice{{" mouse", 6}, {" mouse shirt", 3}, {" ears", 1}}},
		{choice{"micro", 36}, []choice{{" sd card", 5}, {" usb cable", 4}, {"fiber cloth", 1}}},
		{choice{"michael kors", 8}, []choice{{" handbags", 5}, {" watch", 3}, {" wallet", 2}}},
		{choice{"nike", 14}, []choice{{" shoes", 5}, {" socks", 3}, {" air max", 2}}},
		{choice{"lego", 12}, []choice{{" star wars", 4}, {" technic", 3}, {" city", 3}}},
		{choice{"usb", 5}, []choice{{" cable", 5}, {" hub", 3}, {" stick", 2}}},
	}
	queryColours = []choice{{"", 7}, {" black", 2}, {" red", 1}}
)

// choice is a text that is chosen in proportion to its weight.
type choice struct {
	text   string
	weight int
}

func brands() (all []choice) {
	for _, rule := range queryGrammar {
		all = append(all, rule.brand)
	}
	return all
}

func weightOf(choices []choice) (weight int) {
	for _, c := range choices {
		weight += c.weight
	}
	return weight
}

// GeneratedQueryProbabilities returns every query that [GenerateQueries] may draw, with its probability. A prefix is
// completed to a query with the query's probability by the sum of those of all queries with that prefix.
func GeneratedQueryProbabilities() map[string]float64 {
	all := map[string]float64{}
	for _, rule := range queryGrammar {
		of := float64(weightOf(brands()) * weightOf(rule.things) * weightOf(queryColours))
		for _, thing := range rule.things {
			for _, colour := range queryColours {
				all[rule.brand.text+thing.text+colour.text] = float64(rule.brand.weight*thing.weight*colour.weight) / of
			}
		}
	}
	return all
}

// GenerateQueries returns so many queries of a small grammar, which need no files, drawn with the probabilities of
// [GeneratedQueryProbabilities]. A seed gives the same bits everywhere.
func GenerateQueries(seed uint64, count int) *QuerySet {
	source := random.New(seed, random.Text)
	draw := func(choices []choice) int {
		for place, i := source.Below(weightOf(choices)), 0; ; i++ {
			if place -= choices[i].weight; place < 0 {
				return i
			}
		}
	}
	lines := make([]string, count)
	for i := range lines {
		rule := queryGrammar[draw(brands())]
		lines[i] = rule.brand.text + rule.things[draw(rule.things)].text + queryColours[draw(queryColours)].text
	}
	q := &QuerySet{Name: GeneratedQueries}
	q.part(lines)
	return q
}

// OpenQueries loads queries from the data directory root: [Queries] from its folder queries. The generated ones need no
// directory.
func OpenQueries(root, name string) (*QuerySet, error) {
	if name == GeneratedQueries {
		return GenerateQueries(0, generatedQueries), nil
	}
	if name != Queries {
		return nil, &UnknownError{Name: name, Dir: root, Near: nearest(name, []string{Queries, GeneratedQueries})}
	}
	if err := checkRoot(root); err != nil {
		return nil, err
	}
	return LoadQueries(filepath.Join(root, "queries"))
}

// generatedQueries is the number of generated queries.
const generatedQueries = 4000
