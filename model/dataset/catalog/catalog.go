// Package catalog lists the public data sets that the papers use: what each is, its licence, where it may be had, and
// the digests of its files. It finds what a data directory lacks, and fetches it.
//
//	for _, set := range catalog.All() {
//		for _, f := range set.Files {
//			err := f.Check(root) // nil, fs.ErrNotExist or a *DifferentError
//		}
//	}
package catalog

import (
	"compress/gzip"
	"crypto/sha1" // git's
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Set is a data set.
type Set struct {
	// Name is its folder in a data directory.
	Name string `json:"name"`
	// Title says what it is, Licence under what terms, Source where it is published.
	Title   string `json:"title"`
	Licence string `json:"licence"`
	Source  string `json:"source"`
	// ByHand says how to get it where it is not fetched file by file.
	ByHand string `json:"by_hand,omitempty"`
	Files  []File `json:"files"`

	base   string // of the files' URLs
	suffix string // of the files there
}

// File is a file of a data set.
type File struct {
	// Path is its path in a data directory, with slashes. The file may be packed with gzip, and then ends in .gz.
	Path string `json:"path"`
	// Size is the bytes of its content, unpacked; 0 where it is not known.
	Size int64 `json:"size,omitempty"`
	// Digest is the SHA-256, in hexadecimal, of its content; where that is not known git's object ID, which has 40
	// digits.
	Digest string `json:"digest"`
	// URL is where it is fetched from, "" for nowhere.
	URL string `json:"url,omitempty"`
}

//go:embed files.tsv
var files string

// All returns the data sets.
func All() []*Set {
	sets := []*Set{
		{
			Name: "ucr", Title: "UCR time series archive, 2018 form: the 21 sets of the papers' table",
			Licence: "none stated; the archive asks to cite Dau et al., The UCR Time Series Archive, 2018",
			Source:  "https://www.cs.ucr.edu/~eamonn/time_series_data_2018/",
			base: "https://raw.githubusercontent.com/iwuqing/Time-Series-Classification-based-on-KNN/" +
				"6f961db51e2633ba46524913177c518bd03bb843/data/",
		},
		{
			Name: "mnist", Title: "MNIST handwritten digits, 60,000 to train on and 10,000 to test on",
			Licence: "none stated; by LeCun, Cortes and Burges",
			Source:  "https://storage.googleapis.com/cvdf-datasets/mnist/",
			base:    "https://storage.googleapis.com/cvdf-datasets/mnist/", suffix: ".gz",
		},
		{
			Name:    "har",
			Title:   "UCI Human Activity Recognition Using Smartphones: inertial signals, 7352 + 2947 windows",
			Licence: "no commercial use; publications must cite Anguita et al., IWAAL 2012",
			Source:  "https://archive.ics.uci.edu/dataset/240/human+activity+recognition+using+smartphones",
			base: "https://raw.githubusercontent.com/elias-jhsph/Data-Cleaning-Example/" +
				"fe06396e452c400a038666475fcb69630c0ace1a/UCI HAR Dataset/",
		},
		{
			Name: "ptb", Title: "Penn Treebank in Mikolov's version of 10,000 words",
			Licence: "of the Linguistic Data Consortium; do not publish the text further",
			Source:  "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz",
			ByHand:  "unpack the archive and copy its data/ptb.train.txt, ptb.valid.txt and ptb.test.txt",
		},
		{
			Name:    "speech",
			Title:   "Google Speech Commands, version 0.01: 64,727 clips of 30 words (lists and noises are checked)",
			Licence: "Creative Commons BY 4.0; Warden, Speech Commands, 2017",
			Source:  "https://storage.googleapis.com/download.tensorflow.org/data/speech_commands_v0.01.tar.gz",
			ByHand:  "download the archive (1.4 GB) and unpack it with tar -xzf",
		},
	}
	byName := map[string]*Set{}
	for _, s := range sets {
		byName[s.Name] = s
	}
	for line := range strings.Lines(files) {
		field := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		s := byName[field[0]]
		size, _ := strconv.ParseInt(field[2], 10, 64) // a test reads the file
		f := File{Path: s.Name + "/" + field[1], Size: size, Digest: field[3]}
		if s.base != "" {
			f.URL = (&url.URL{Path: field[1] + s.suffix}).EscapedPath()
			f.URL = strings.ReplaceAll(s.base, " ", "%20") + f.URL
		}
		s.Files = append(s.Files, f)
	}
	return sets
}

// Find returns the sets of these names, or all if there is none.
func Find(names []string) ([]*Set, error) {
	all := All()
	if len(names) == 0 {
		return all, nil
	}
	var found []*Set
	for _, name := range names {
		before := len(found)
		var known []string
		for _, s := range all {
			if known = append(known, s.Name); s.Name == name {
				found = append(found, s)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("no data set %q in the catalog: expected one of %s", name, strings.Join(known, ", "))
		}
	}
	return found, nil
}

// DifferentError says that a file is not the one of the catalog.
type DifferentError struct {
	Path      string
	Got, Want string // digests
}

// Error names the file and both digests.
func (e *DifferentError) Error() string {
	return fmt.Sprintf("%s: digest %.16s…, expected %.16s…", e.Path, e.Got, e.Want)
}

// Locate returns the path of the file in a data directory, packed or not, or an error that is fs.ErrNotExist.
func (f *File) Locate(root string) (string, error) {
	path := filepath.Join(root, filepath.FromSlash(f.Path))
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, packed := os.Stat(path + ".gz"); packed == nil {
			return path + ".gz", nil
		}
	}
	return path, err
}

// Check returns nil if the file is in a data directory as the catalog has it, fs.ErrNotExist if it is not there, and a
// *DifferentError if it is another.
func (f *File) Check(root string) error {
	path, err := f.Locate(root)
	if err != nil {
		return err
	}
	return f.checkAt(path)
}

// checkAt checks a file's content.
func (f *File) checkAt(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	got, err := f.digest(file)
	if err == nil && got != f.Digest {
		err = &DifferentError{Path: path, Got: got, Want: f.Digest}
	}
	return err
}

// maxContent bounds the content that is read, against files that unpack without end.
const maxContent = 1 << 32

// digest returns the digest of what a reader has, unpacked.
func (f *File) digest(from io.ReadSeeker) (string, error) {
	var magic [2]byte
	n, err := io.ReadFull(from, magic[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if n < 2 || magic != [2]byte{0x1f, 0x8b} {
		return f.sum(io.LimitReader(from, maxContent))
	}
	got := damagedGzip
	unpacked, err := gzip.NewReader(from)
	if err == nil {
		got, err = f.sum(io.LimitReader(unpacked, maxContent))
	}
	if disk := (*fs.PathError)(nil); errors.As(err, &disk) {
		return "", err
	}
	if err != nil {
		got = damagedGzip
	}
	return got, nil
}

// damagedGzip stands for the digest of what cannot be unpacked.
const damagedGzip = "damaged gzip"

// sum returns the digest of a content.
func (f *File) sum(content io.Reader) (string, error) {
	if len(f.Digest) == 2*sha256.Size {
		h := sha256.New()
		_, err := io.Copy(h, content)
		return hex.EncodeToString(h.Sum(nil)), err
	}
	all, err := io.ReadAll(content)
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(all)) // git hashes the size before the content
	h.Write(all)
	return hex.EncodeToString(h.Sum(nil)), err
}
