package script

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sweep/sweep"
)

// Bounds of the files that a digest covers.
const (
	maxFiles = 10_000
	maxBytes = 4 << 30
)

// Locate returns the folder in which the program of a sweep file runs: the first of these that
// contains the program: the working directory, the sweep file's folder, and its parents up to the
// repository's. Without a program it is the first in which a word of the command is a file, else
// the working directory. W&B's agent uses the directory in which it was started.
func Locate(s *sweep.Script, sweepFile string) (directory string, err error) {
	working, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	folder, err := filepath.Abs(filepath.Dir(sweepFile))
	if err != nil {
		return "", err
	}
	directories := []string{working}
	for ; ; folder = filepath.Dir(folder) {
		directories = append(directories, folder)
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil || filepath.Dir(folder) == folder {
			break
		}
	}
	if filepath.IsAbs(s.Program) && isFile(s.Program) {
		return working, nil
	}
	for _, directory := range directories {
		if s.Program == "" && len(commandFiles(s, directory)) > 0 || s.Program != "" &&
			isFile(filepath.Join(directory, s.Program)) {
			return directory, nil
		}
	}
	if s.Program == "" {
		return working, nil
	}
	where := "the working directory " + working
	if beside := directories[1]; beside != working {
		where += " or in the sweep file's folder " + beside
	}
	return "", &sweep.DataError{Err: fmt.Errorf("there is no program %s in %s or above it, up to the root of its "+
		"repository: correct the name, or name the directory to run it in with --directory", s.Program, where)}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// commandFiles are the words of a command that name files beneath a directory.
func commandFiles(s *sweep.Script, directory string) (files []string) {
	for _, word := range s.Command {
		if filepath.IsLocal(word) && isFile(filepath.Join(directory, word)) {
			files = append(files, filepath.ToSlash(filepath.Clean(word)))
		}
	}
	return files
}

// place is a folder with a program, and the program's digest.
type place struct {
	directory string
	digest    string
}

// digests computes the digests of programs and caches those of unchanged files.
type digests struct {
	mu    sync.Mutex
	files map[string]fileDigest
}

type fileDigest struct {
	size int64
	time time.Time
	sum  string
}

// of returns the digest of everything that determines the results of a program in a directory:
// command, program, the words of the command that are files, and the sweep file's files.
func (d *digests) of(s *sweep.Script, directory string) (string, error) {
	names := commandFiles(s, directory)
	if s.Program != "" {
		names = append(names, s.Program)
	}
	for _, pattern := range s.Files {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(directory, pattern)
		}
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("files: %q is not a pattern: %w", pattern, err)
		}
		regular := slices.DeleteFunc(found, func(path string) bool { return !isFile(path) })
		if len(regular) == 0 {
			return "", fmt.Errorf("files: %s does not exist: %w", pattern, fs.ErrNotExist)
		}
		for _, path := range regular {
			if name, err := filepath.Rel(directory, path); err == nil {
				path = name
			}
			names = append(names, filepath.ToSlash(path))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > maxFiles {
		return "", fmt.Errorf("files: %d files; at most %d", len(names), maxFiles)
	}
	h := sha256.New()
	fmt.Fprintf(h, "script 1\n%q\n", s.Command)
	var total int64
	for _, name := range names {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(directory, path)
		}
		sum, size, err := d.file(path)
		if err != nil {
			return "", err
		}
		if total += size; total > maxBytes {
			return "", fmt.Errorf("files: more than %s in all", sweep.SizeText(maxBytes))
		}
		fmt.Fprintf(h, "%q %s\n", name, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// unchanged is how long a file must be unchanged before its digest is cached: the times of file
// systems are coarse.
const unchanged = 2 * time.Second

// file returns the digest of a file, from the cache if it has not changed.
func (d *digests) file(path string) (sum string, size int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", 0, err
	}
	d.mu.Lock()
	known, ok := d.files[path]
	d.mu.Unlock()
	if ok && known.size == info.Size() && known.time.Equal(info.ModTime()) {
		return known.sum, known.size, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if size, err = io.Copy(h, io.LimitReader(f, maxBytes+1)); err != nil {
		return "", 0, fmt.Errorf("%s: %w", path, err)
	}
	sum = hex.EncodeToString(h.Sum(nil))
	if time.Since(info.ModTime()) > unchanged && size == info.Size() {
		d.mu.Lock()
		if d.files == nil || len(d.files) > 2*maxFiles {
			d.files = map[string]fileDigest{}
		}
		d.files[path] = fileDigest{size, info.ModTime(), sum}
		d.mu.Unlock()
	}
	return sum, size, nil
}

// find returns where a program runs: in its own directory or, with roots, in its own if that is
// in a root, else in a root that contains the program. It prefers a place where the program has
// the wanted digest. It fails with a *sweep.DataError if no place contains the program.
func (t *Trainer) find(s *sweep.Script, wanted string) (place, error) {
	directories := []string{s.Directory}
	if len(t.options.Roots) > 0 {
		directories = nil
		for _, root := range t.options.Roots {
			if rest, err := filepath.Rel(root, s.Directory); err == nil && filepath.IsLocal(rest) {
				directories = append(directories, s.Directory)
			}
		}
		directories = append(directories, t.options.Roots...)
	}
	var first place
	var problem error
	for _, directory := range directories {
		digest, err := t.digests.of(s, directory)
		switch {
		case err != nil:
			problem = errors.Join(problem, err)
		case digest == wanted || wanted == "":
			return place{directory, digest}, nil
		case first.directory == "":
			first = place{directory, digest}
		}
	}
	if first.directory != "" {
		return first, nil
	}
	if problem == nil {
		problem = errors.New("no folder is known for it")
	}
	return place{}, &sweep.DataError{Err: fmt.Errorf("program %s: %w", nameOf(s), problem)}
}

// nameOf is what a script is called in errors.
func nameOf(s *sweep.Script) string {
	if s.Program != "" {
		return s.Program
	}
	return strings.Join(s.Command, " ")
}
