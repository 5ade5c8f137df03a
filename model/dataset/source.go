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

// source is a file that a set was read from, as it was then.
type source struct {
	path    string
	size    int64
	changed time.Time
}

// current tells whether the file is still as it was.
func (s source) current() bool {
	info, err := os.Stat(s.path)
	return err == nil && info.Size() == s.size && info.ModTime().Equal(s.changed)
}

// readFile returns a file's content, unpacked if it is packed with gzip, whatever its name.
func readFile(path string) ([]byte, source, error) {
	src := source{path: path}
	info, err := os.Stat(path)
	if err != nil {
		return nil, src, fmt.Errorf("reading data: %w", err)
	}
	src.size, src.changed = info.Size(), info.ModTime()
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, src, fmt.Errorf("reading data: %w", err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, src, nil
	}
	data, err = unpack(path, data)
	return data, src, err
}

// readPacked reads the file of that path, or of that path and .gz.
func readPacked(path string) (found string, data []byte, src source, err error) {
	found = path
	data, src, err = readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		found = path + ".gz"
		data, src, err = readFile(found)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &FileError{Path: path, Kind: fs.ErrNotExist, Detail: "nor is it there as " + filepath.Base(found)}
	}
	return found, data, src, err
}

func unpack(path string, packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, &FileError{Path: path, Kind: ErrForm, Detail: "gzip: " + err.Error()}
	}
	data, err := io.ReadAll(io.LimitReader(r, maxContent+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &FileError{Path: path, Kind: ErrTruncated,
			Detail: "the gzip data ends too early; fetch the file again"}
	case err != nil:
		return nil, &FileError{Path: path, Kind: ErrForm, Detail: "gzip: " + err.Error()}
	case len(data) > maxContent:
		return nil, &FileError{Path: path, Kind: ErrForm, Detail: "unpacks to more than 4 GiB"}
	}
	return data, nil
}
