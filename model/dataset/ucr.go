package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Exchange says whether a set's train and test files change their roles.
type Exchange string

const (
	// ExchangeAuto exchanges the parts of the three sets of Table 4 whose train and test the archive's 2018 form has
	// the other way round than the paper (DistalPhalanxOutlineCorrect, DistalPhalanxTW, MiddlePhalanxOutlineCorrect),
	// and only if the files have the sizes of the 2018 form: files that are as the paper had them stay as they are.
	ExchangeAuto Exchange = "auto"
	// ExchangeYes exchanges them in any case.
	ExchangeYes Exchange = "yes"
	// ExchangeNo never does.
	ExchangeNo Exchange = "no"
)

// LoadUCR loads a data set of the UCR archive from dir, the folder that holds the archive. It takes the archive's 2018
// form (NAME/NAME_TRAIN.tsv; the .txt variant too), its 2015 form (NAME/NAME_TRAIN or NAME_TRAIN, with commas) and .ts
// files, each also packed with gzip. The name may be spelt as in the paper or in either form of the archive, in upper
// or lower case: "50words", "Gun Point" and "Gun_Point" are "FiftyWords", "GunPoint" and "GunPoint". An exchange of ""
// means [ExchangeAuto].
//
// The error is an [*UnknownError] if there is no such set, a [*FileError] if a file cannot be used, and wraps
// [ErrNoData] if dir is not there.
func LoadUCR(dir, name string, exchange Exchange) (*Set, error) {
	exchange = cmp.Or(exchange, ExchangeAuto)
	if exchange != ExchangeAuto && exchange != ExchangeYes && exchange != ExchangeNo {
		return nil, fmt.Errorf("exchange is %q: want auto, yes or no", exchange)
	}
	files, err := findUCR(dir, name)
	if err != nil {
		return nil, err
	}
	s := &Set{}
	train, err := s.readTable(files.train)
	if err != nil {
		return nil, err
	}
	test, err := s.readTable(files.test)
	if err != nil {
		return nil, err
	}
	if test.length != train.length {
		return nil, test.fail(test.line[0], 0, ErrVariableLength, "%d values where the training part, %s, has %d",
			test.length, train.path, train.length)
	}

	s.Name, s.Length = files.name, train.length
	paper, inPaper := LookupPaper(name)
	if inPaper {
		s.Name = paper.Name
		known := train.rows() == paper.ArchiveTrain && test.rows() == paper.ArchiveTest
		if exchange == ExchangeAuto && paper.Exchanged() && known {
			exchange = ExchangeYes
		}
		// The 2015 form has the paper's parts.
		known = known || paper.Exchanged() && train.rows() == paper.ArchiveTest && test.rows() == paper.ArchiveTrain
		if !known {
			// A cut within the last number of a row leaves no other trace.
			for _, t := range []*table{train, test} {
				if t.open {
					return nil, t.fail(t.line[t.rows()-1], 0, ErrTruncated, "the last row has no line end, and %d "+
						"and %d series are not the %d and %d of the archive's %s; fetch the file again",
						train.rows(), test.rows(), paper.ArchiveTrain, paper.ArchiveTest, paper.Name)
				}
			}
			s.Notes = append(s.Notes, fmt.Sprintf("%d series to train and %d to test, where the archive has %d and %d",
				train.rows(), test.rows(), paper.ArchiveTrain, paper.ArchiveTest))
		}
	}
	if exchange == ExchangeYes {
		train, test = test, train
		s.Exchanged = true
		s.Notes = append(s.Notes, "train and test exchanged against the files")
	}

	width, err := s.fill(train, test)
	if err != nil {
		return nil, err
	}
	s.OutputWidth = max(width, s.Classes)
	s.InputSize = paperInputSize(s.Length)
	if inPaper && s.Length == paper.Length {
		s.InputSize = paper.InputSize
		// 50words is the one set whose labels start at 1 without a column 0 to show for it.
		if s.Name == "FiftyWords" && s.Classes == paper.Classes {
			s.OutputWidth = paper.OutputWidth
		}
	}
	s.Depth = s.Length / s.InputSize
	s.seal()
	return s, nil
}

// fill sets the parts and their classes, and returns the width of the labels as one-hot columns.
func (s *Set) fill(train, test *table) (width int, err error) {
	numbering := classify(train.names)
	s.Labels, s.Classes = numbering.names, len(numbering.names)
	if s.Classes < 2 {
		return 0, train.fail(0, 0, ErrLabel, "every series has the label %s; two classes at least are needed",
			s.Labels[0])
	}
	s.Train = Part{N: train.rows(), Values: train.values}
	s.Test = Part{N: test.rows(), Values: test.values}
	if s.Train.Labels, err = numbering.apply(train, train); err != nil {
		return 0, err
	}
	s.Test.Labels, err = numbering.apply(test, train)
	return numbering.width, err
}

// ucrFiles are the files of one data set.
type ucrFiles struct {
	name        string // as the directory spells it
	train, test string // paths
}

// forms are the endings of data files, the most exact one first.
var forms = []string{".tsv", "", ".csv", ".txt", ".ts", ".tsv.gz", ".gz", ".csv.gz", ".txt.gz", ".ts.gz"}

// findUCR looks in dir for the files of a data set, whatever the spelling.
func findUCR(dir, name string) (ucrFiles, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ucrFiles{}, fmt.Errorf("%w: %s: it should hold the UCR archive, a folder a data set", ErrNoData, dir)
	}
	if err != nil {
		return ucrFiles{}, fmt.Errorf("looking for data: %w", err)
	}

	// The folder spelt as asked comes before one that is spelt otherwise, and a folder before loose files.
	key := nameKey(name)
	var folders, loose, known []string
	for _, e := range entries {
		if stem, _, _, ok := partOf(e.Name()); ok && !isFolder(dir, e) {
			loose = append(loose, e.Name())
			known = append(known, stem)
		} else if isFolder(dir, e) {
			known = append(known, e.Name())
			if nameKey(e.Name()) == key {
				folders = append(folders, e.Name())
			}
		}
	}
	slices.SortStableFunc(folders, func(a, b string) int { return rank(a, name) - rank(b, name) })
	var half *FileError
	for _, folder := range folders {
		inner, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			return ucrFiles{}, fmt.Errorf("looking for data: %w", err)
		}
		var names []string
		for _, e := range inner {
			names = append(names, e.Name())
		}
		files, missing := pairOf(filepath.Join(dir, folder), key, names)
		if missing == nil {
			files.name = folder
			return files, nil
		}
		half = missing
	}
	files, missing := pairOf(dir, key, loose)
	switch {
	case missing == nil:
		return files, nil
	case half != nil:
		return ucrFiles{}, half
	case files != ucrFiles{}:
		return ucrFiles{}, missing
	}
	slices.Sort(known)
	return ucrFiles{}, &UnknownError{Name: name, Dir: dir, Near: nearest(name, slices.Compact(known))}
}

// pairOf chooses the train and the test file of a data set among the names in dir: both of one form if possible.
// missing tells what is not there.
func pairOf(dir, key string, names []string) (files ucrFiles, missing *FileError) {
	slices.Sort(names)
	var best ucrFiles
	for _, form := range forms {
		var f ucrFiles
		for _, n := range names {
			stem, part, ending, ok := partOf(n)
			if !ok || ending != form || nameKey(stem) != key {
				continue
			}
			f.name = stem
			if path := filepath.Join(dir, n); part == "train" {
				f.train = path
			} else {
				f.test = path
			}
		}
		if f.train != "" && f.test != "" {
			return f, nil
		}
		best.name = max(best.name, f.name)
		best.train, best.test = cmp.Or(best.train, f.train), cmp.Or(best.test, f.test)
	}
	switch {
	case best.train != "" && best.test != "":
		return best, nil
	case best.train != "":
		return best, counterpartMissing(best.train, "train", "test")
	case best.test != "":
		return best, counterpartMissing(best.test, "test", "train")
	}
	return best, &FileError{Path: dir, Kind: fs.ErrNotExist, Detail: "no file whose name ends in _TRAIN.tsv, _TRAIN, " +
		"_TRAIN.txt or _TRAIN.ts"}
}

// counterpartMissing tells that one of the two files of a set is there without the other.
func counterpartMissing(path, part, other string) *FileError {
	base := filepath.Base(path)
	i := strings.LastIndex(strings.ToLower(base), "_"+part) + 1
	if strings.HasPrefix(base[i:], strings.ToUpper(part)) {
		other = strings.ToUpper(other)
	}
	return &FileError{
		Path:   filepath.Join(filepath.Dir(path), base[:i]+other+base[i+len(part):]),
		Kind:   fs.ErrNotExist,
		Detail: base + " is there without it",
	}
}

// partOf takes a file name such as "CBF_TRAIN.tsv.gz" apart.
func partOf(file string) (stem, part, ending string, ok bool) {
	for _, part := range []string{"train", "test"} {
		i := strings.LastIndex(strings.ToLower(file), "_"+part)
		if i < 0 {
			continue
		}
		ending := strings.ToLower(file[i+1+len(part):])
		if slices.Contains(forms, ending) {
			return file[:i], part, ending, true
		}
	}
	return "", "", "", false
}

// rank orders spellings of a name: as asked, as the archive's 2018 form has it, others.
func rank(folder, asked string) int {
	if folder == asked {
		return 0
	}
	if p, ok := LookupPaper(asked); ok && folder == p.Name {
		return 1
	}
	return 2
}

// isFolder follows links.
func isFolder(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}

// readTable reads a data file in the form that its name tells.
func (s *sources) readTable(path string) (*table, error) {
	path, data, err := s.read(path)
	if err != nil {
		return nil, err
	}
	if _, _, ending, _ := partOf(filepath.Base(path)); ending == ".ts" || ending == ".ts.gz" {
		return parseTS(path, data)
	}
	return parseDelimited(path, data)
}
