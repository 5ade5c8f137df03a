package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OwnPrefix begins the names of users' own data sets: own/NAME is the folder NAME in the data directory's folder own.
const OwnPrefix = "own/"

// IsOwn says whether a name is that of a user's own data set.
func IsOwn(name string) bool { return strings.HasPrefix(name, OwnPrefix) }

// maxValues bounds the values of a set, with those that fill up its shorter series.
const maxValues = 1 << 30

// LoadOwn loads a user's own data set from its folder, which holds the files train and test, and may hold validation,
// each with an ending that [ReadSeries] knows. Series may have different lengths and several channels, values may be
// missing, and labels are any texts. The series of validation become the last of the training part, see [Set.Listed].
// What is missing is NaN, and shorter series end with zeros; [Open] prepares both.
func LoadOwn(dir, name string) (*Set, error) {
	s := &Set{Name: OwnPrefix + name}
	var files []*Series
	for _, part := range []string{"train", "validation", "test"} {
		path, err := findOwn(dir, part)
		if err != nil {
			return nil, err
		}
		if path == "" {
			continue
		}
		series, err := s.readSeries(path)
		if err != nil {
			return nil, err
		}
		if i := slices.Index(series.Labels, ""); i >= 0 {
			return nil, series.fail(series.Rows[i], 0, ErrLabel, "the label is missing: every series of this part "+
				"needs one, in the column label, or the array y")
		}
		if part == "validation" {
			s.Listed = len(series.Values)
		}
		files = append(files, series)
	}
	if err := s.join(files); err != nil {
		return nil, err
	}
	s.describe()
	s.seal()
	return s, nil
}

// findOwn returns the path of a part's file; "" where the part of validation has none.
func findOwn(dir, part string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("looking for data: %w", err)
	}
	var found, all []string
	for _, e := range endings {
		all = append(all, part+e.ending)
	}
	for _, e := range entries {
		if slices.Contains(all, strings.ToLower(e.Name())) {
			found = append(found, e.Name())
		}
	}
	switch {
	case len(found) > 1:
		return "", fileError(dir, 0, 0, ErrForm, "%s and %s are both there: remove one", found[0], found[1])
	case len(found) == 1:
		return filepath.Join(dir, found[0]), nil
	case part == "validation":
		return "", nil
	}
	return "", fileError(dir, 0, 0, fs.ErrNotExist, "expected a file %s", strings.Join(all, " or "))
}

// join makes the parts of the files: of training, of validation where there is one, and of test.
func (s *Set) join(files []*Series) error {
	train := files[0]
	s.Channels, s.ChannelNames = train.Width, train.Channels
	var different []string
	count := 0
	for i, f := range files {
		if f.Width != train.Width || f.Channels != nil && train.Channels != nil &&
			!slices.Equal(f.Channels, train.Channels) {
			return f.fail(0, 0, ErrForm, "its channels are %s, and those of %s are %s", f.channels(), train.Path,
				train.channels())
		}
		count += len(f.Values)
		for j, values := range f.Values {
			s.Length = max(s.Length, len(values))
			if i < len(files)-1 && !slices.Contains(different, f.Labels[j]) {
				different = append(different, f.Labels[j])
			}
		}
	}
	if s.Length > maxValues/count {
		return train.fail(0, 0, ErrForm, "%d series, the longest of %d values: filled up to one length, more than %d "+
			"values; cut the long ones", count, s.Length, maxValues)
	}
	numbering := classify(different)
	s.Labels, s.Classes = numbering.names, len(numbering.names)
	if s.Classes < 2 {
		return train.fail(0, 0, ErrLabel, "every series has the label %s; two classes at least are needed", s.Labels[0])
	}
	s.OutputWidth = s.Classes
	for i, f := range files {
		part := &s.Train
		if i == len(files)-1 {
			part = &s.Test
		}
		if err := s.add(part, f, numbering); err != nil {
			return err
		}
	}
	return nil
}

// add adds the series of a file to a part.
func (s *Set) add(part *Part, f *Series, numbering classes) error {
	for i, values := range f.Values {
		class, ok := numbering.of(f.Labels[i])
		if !ok {
			return f.fail(f.Rows[i], 0, ErrLabel, "label %q does not occur in the training part",
				clip([]byte(f.Labels[i])))
		}
		part.N++
		part.Labels = append(part.Labels, class)
		part.Lengths = append(part.Lengths, len(values))
		part.Values = append(append(part.Values, values...), make([]float32, s.Length-len(values))...)
	}
	return nil
}

// channels names the channels of a file for messages.
func (s *Series) channels() string {
	if s.Channels == nil {
		return fmt.Sprintf("%d without names", s.Width)
	}
	return strings.Join(s.Channels, ", ")
}

// describe sets what follows from the series: whether their lengths differ, how a step reads them, and notes.
func (s *Set) describe() {
	shortest, gaps, all := s.Length, 0, 0
	for _, p := range []*Part{&s.Train, &s.Test} {
		shortest = min(shortest, slices.Min(p.Lengths))
		for _, n := range p.Lengths {
			all += n
		}
		for _, v := range p.Values {
			if v != v {
				gaps++
			}
		}
	}
	if s.gaps = gaps > 0; s.gaps {
		s.Notes = append(s.Notes, fmt.Sprintf("%d of %d values are missing", gaps, all))
	}
	if shortest < s.Length {
		s.Notes = append(s.Notes, fmt.Sprintf("series of %d to %d time steps", shortest/s.Channels,
			s.Length/s.Channels))
	} else {
		s.Train.Lengths, s.Test.Lengths = nil, nil
	}
	switch {
	case s.Channels > 1:
		s.InputSize = s.Channels
	case shortest < s.Length:
		s.InputSize = int(math.Sqrt(float64(s.Length)))
	default:
		s.InputSize = paperInputSize(s.Length)
	}
	s.Depth = (s.Length + s.InputSize - 1) / s.InputSize
}

// openOwn loads a set from the data directory by its name with [OwnPrefix].
func openOwn(root, name string) (*Set, error) {
	dir, folder := filepath.Join(root, "own"), strings.TrimPrefix(name, OwnPrefix)
	if !filepath.IsLocal(folder) || strings.ContainsAny(folder, `/\`) || folder == "." {
		return nil, fmt.Errorf("data set %s: expected the name of a folder after %s", name, OwnPrefix)
	}
	s, err := LoadOwn(filepath.Join(dir, folder), folder)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if _, is := errors.AsType[*FileError](err); is {
		return nil, err
	}
	unknown := &UnknownError{Name: name, Dir: dir}
	if entries, err := os.ReadDir(dir); err == nil {
		var known []string
		for _, e := range entries {
			known = append(known, OwnPrefix+e.Name())
		}
		unknown.Near = nearest(name, known)
	}
	return nil, unknown
}
