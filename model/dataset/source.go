package dataset

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxContent bounds what a packed file may unpack to.
const maxContent = 4 << 30

// source is a file that data came from, as it was then.
type source struct {
	path    string
	size    int64
	changed time.Time
}

// find returns the first of the paths at which there is a file.
func find(paths ...string) (source, error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil {
			return source{path, info.Size(), info.ModTime()}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || len(paths) == 1 {
			return source{}, fmt.Errorf("reading data: %w", err)
		}
	}
	return source{}, fileError(paths[0], 0, 0, fs.ErrNotExist, "nor is it there as %s", filepath.Base(paths[1]))
}

// sources are the files that data came from.
type sources []source

// current reports whether the files are as they were.
func (s sources) current() bool {
	for _, then := range s {
		if now, err := find(then.path); err != nil || now.size != then.size || !now.changed.Equal(then.changed) {
			return false
		}
	}
	return true
}

// read adds the first of the paths at which there is a file, and returns it with its content, unpacked if it is packed
// with gzip, whatever its name.
func (s *sources) read(paths ...string) (path string, data []byte, err error) {
	src, err := find(paths...)
	if err != nil {
		return "", nil, err
	}
	*s = append(*s, src)
	if data, err = os.ReadFile(src.path); err != nil {
		return "", nil, fmt.Errorf("reading data: %w", err)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		data, err = unpack(src.path, data)
	}
	return src.path, data, err
}

// checkFolder returns an error that tells what the folder should hold if it is not there.
func checkFolder(dir, content string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s: it should hold %s", ErrNoData, dir, content)
	}
	return nil
}

func unpack(path string, packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fileError(path, 0, 0, ErrForm, "gzip: %v", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxContent+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fileError(path, 0, 0, ErrTruncated, "the gzip data ends too early; fetch the file again")
	case err != nil:
		return nil, fileError(path, 0, 0, ErrForm, "gzip: %v", err)
	case len(data) > maxContent:
		return nil, fileError(path, 0, 0, ErrForm, "unpacks to more than 4 GiB")
	}
	return data, nil
}
