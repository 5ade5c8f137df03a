package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sweep/sweep"
)

// Folder stores artifacts as files in a folder, each at its location.
type Folder struct{ dir string }

var _ Backend = (*Folder)(nil)

// NewFolder returns the store in a folder, which is created when it is needed.
func NewFolder(dir string) (*Folder, error) {
	absolute, err := filepath.Abs(dir)
	return &Folder{absolute}, err
}

// unfinished is the prefix of the names of unfinished files.
const unfinished = ".unfinished-"

// Name implements Backend.
func (f *Folder) Name() string { return "file://" + filepath.ToSlash(f.dir) }

// Prepare implements Backend.
func (f *Folder) Prepare(context.Context, string) error { return nil }

// path returns the path of a location's file.
func (f *Folder) path(location string) (string, error) {
	local := filepath.FromSlash(location)
	if !filepath.IsLocal(local) {
		return "", fmt.Errorf("%q is no place in a folder", location)
	}
	return filepath.Join(f.dir, local), nil
}

// Write implements Backend.
func (f *Folder) Write(ctx context.Context, location string, content *io.SectionReader) error {
	err := f.write(ctx, location, content)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", sweep.ErrStoreFull, err)
	}
	return err
}

func (f *Folder) write(ctx context.Context, location string, content *io.SectionReader) error {
	path, err := f.path(location)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(path), unfinished)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, &bound{ctx, content})
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = out.Chmod(0o644)
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}

// bound reads until a context ends.
type bound struct {
	ctx context.Context
	io.Reader
}

func (b *bound) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.Reader.Read(p)
}

// Read implements Backend.
func (f *Folder) Read(_ context.Context, location string, from int64) (io.ReadCloser, error) {
	path, err := f.path(location)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := in.Seek(from, io.SeekStart); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// Size implements Backend.
func (f *Folder) Size(_ context.Context, location string) (int64, error) {
	path, err := f.path(location)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Remove implements Backend. It also removes folders that are empty then.
func (f *Folder) Remove(ctx context.Context, prefix string, keep func(location string) bool) error {
	top, err := f.path(strings.TrimSuffix(prefix, "/"))
	if err != nil {
		return err
	}
	var folders []string
	err = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir():
			folders = append(folders, path)
			return nil
		}
		location, err := filepath.Rel(f.dir, path)
		if err != nil || keep(filepath.ToSlash(location)) {
			return err
		}
		return os.Remove(path)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, folder := range slices.Backward(folders) { // inner folders first
		_ = os.Remove(folder) // fails unless it is empty
	}
	return nil
}

// Delete implements Backend. It also removes the trial's folder if that is empty then.
func (f *Folder) Delete(_ context.Context, location string) error {
	path, err := f.path(location)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Dir(path)) // fails unless it is empty
	return nil
}

// Lasting implements Backend.
func (f *Folder) Lasting(err error) bool {
	lasting := []error{fs.ErrPermission, sweep.ErrStoreFull, syscall.EROFS, syscall.ENOTDIR}
	return slices.ContainsFunc(lasting, func(kind error) bool { return errors.Is(err, kind) })
}
