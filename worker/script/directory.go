package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sweep/sweep"
)

const (
	// maxCopied bounds the bytes that are copied for a trial where the file system cannot clone files.
	maxCopied = 50 << 20
	// maxLinks bounds the links that stand for the entries of a folder; a link to the folder stands for more.
	maxLinks = 1000
)

// layout is what a trial's own directory has: the files below the project's directory as copies and, as links, those
// that git ignores, those that are too large, and what the repository has beside the directory. Names are relative to
// root.
type layout struct {
	// root is the repository, else directory, which is where the program runs.
	root, directory string
	// skipped are folders that are left out.
	skipped []string
	ignored map[string]bool
	folders []string
	files   []projectFile
	// links lead to the same place in the project, other ones where they are mapped to.
	links []string
	other map[string]string
	// large are those of files that are links where they cannot be cloned.
	large int
	bytes int64
	// shown are the links that people are told of.
	shown []string
}

// projectFile is a file that is copied.
type projectFile struct {
	name string
	info fs.FileInfo
}

// newLayout looks at a project's directory, of which most bytes are copied.
func newLayout(ctx context.Context, p *project, skipped []string, most int64) (*layout, error) {
	l := &layout{root: p.roots[len(p.roots)-1], directory: p.directory, skipped: skipped, other: map[string]string{}}
	within, err := filepath.Rel(l.root, l.directory)
	if err != nil {
		return nil, err
	}
	if len(p.roots) > 1 {
		l.ignored = ignored(ctx, l.directory, within)
		if err := l.beside(within); err != nil {
			return nil, err
		}
	}
	l.folders = append(l.folders, within)
	if err := l.walk(ctx, within); err != nil {
		return nil, err
	}
	slices.SortStableFunc(l.files, func(a, b projectFile) int { return cmp.Compare(a.info.Size(), b.info.Size()) })
	for i, f := range l.files {
		if l.bytes+f.info.Size() > most {
			l.large = len(l.files) - i
			break
		}
		l.bytes += f.info.Size()
	}
	for _, f := range l.files[len(l.files)-l.large:] {
		l.shown = append(l.shown, f.name)
	}
	for i, name := range l.shown {
		if shown, err := filepath.Rel(within, name); err == nil {
			l.shown[i] = filepath.ToSlash(shown)
		}
		if strings.HasSuffix(name, "/") {
			l.shown[i] += "/"
		}
	}
	slices.Sort(l.shown)
	return l, nil
}

// ignored are the files and folders below a directory that git ignores, by their names from the root, in which the
// directory is within.
func ignored(ctx context.Context, directory, within string) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	list, err := exec.CommandContext(ctx, "git", "-C", directory, "ls-files", "-z", "--others", "--ignored",
		"--exclude-standard", "--directory").Output()
	names := map[string]bool{}
	if err != nil {
		return names // without git all files are the project's
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if name = filepath.Clean(filepath.FromSlash(name)); name != "." {
			names[filepath.Join(within, name)] = true
		}
	}
	return names
}

// beside has links stand for what is in the folders above the directory, up to the root, which has .git.
func (l *layout) beside(within string) error {
	if within == "." {
		l.links = append(l.links, ".git")
		return nil
	}
	for folder := filepath.Dir(within); ; folder = filepath.Dir(folder) {
		entries, err := os.ReadDir(filepath.Join(l.root, folder))
		if err != nil {
			return l.unreadable(folder, err)
		}
		for _, entry := range entries {
			name := filepath.Join(folder, entry.Name())
			if rest, err := filepath.Rel(name, within); err != nil || !filepath.IsLocal(rest) {
				l.links = append(l.links, name)
			}
		}
		l.folders = append(l.folders, folder)
		if folder == "." {
			return nil
		}
	}
}

// walk looks at a folder of the project.
func (l *layout) walk(ctx context.Context, folder string) error {
	entries, err := os.ReadDir(filepath.Join(l.root, folder))
	if err != nil {
		return l.unreadable(folder, err)
	}
	for _, entry := range entries {
		name := filepath.Join(folder, entry.Name())
		path := filepath.Join(l.root, name)
		switch kind := entry.Type(); {
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.Name() == ".git", slices.Contains(l.skipped, path):
		case l.ignored[name]:
			l.link(name, entry.IsDir())
		case kind&fs.ModeSymlink != 0:
			err = l.symlink(name)
		case entry.IsDir() && len(l.files) >= maxLooked:
			l.links, l.shown = append(l.links, name), append(l.shown, name+"/")
		case entry.IsDir():
			l.folders = append(l.folders, name)
			err = l.walk(ctx, name)
		case kind.IsRegular():
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				l.files = append(l.files, projectFile{name, info})
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it was removed meanwhile
			return err
		}
	}
	return nil
}

// link has links stand for an ignored file, or for the entries of an ignored folder: what the trial adds to the folder
// is its own.
func (l *layout) link(name string, folder bool) {
	if !folder {
		l.links, l.shown = append(l.links, name), append(l.shown, name)
		return
	}
	l.shown = append(l.shown, name+"/")
	entries, err := os.ReadDir(filepath.Join(l.root, name))
	if err != nil || len(entries) > maxLinks {
		l.links = append(l.links, name)
		return
	}
	l.folders = append(l.folders, name)
	for _, entry := range entries {
		if entry := filepath.Join(name, entry.Name()); !slices.Contains(l.skipped, filepath.Join(l.root, entry)) {
			l.links = append(l.links, entry)
		}
	}
}

// symlink keeps a link of the project: as it is, if it leads to a file of the project or is absolute.
func (l *layout) symlink(name string) error {
	target, err := os.Readlink(filepath.Join(l.root, name))
	if err != nil {
		return err
	}
	if !filepath.IsAbs(target) && !filepath.IsLocal(filepath.Join(filepath.Dir(name), target)) {
		target = filepath.Join(l.root, filepath.Dir(name), target)
	}
	l.other[name] = target
	return nil
}

// unreadable is the error of a file that cannot be read.
func (l *layout) unreadable(name string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("directory: own: %w", err)
	}
	return &sweep.DataError{Err: fmt.Errorf("directory: own copies %s, and %s cannot be read: make it readable, or "+
		"move it out of the project: %w", l.directory, name, err)}
}

// text says what a trial's own directory has.
func (l *layout) text() string {
	text := fmt.Sprintf("%s (%s) copied", sweep.CountText(len(l.files)-l.large, "file"), sweep.SizeText(l.bytes))
	if list := l.linked(); list != "" {
		text += "; " + list
	}
	return text
}

// linked says which files are links, "" if none are.
func (l *layout) linked() string {
	const most = 5
	if len(l.shown) == 0 {
		return ""
	}
	list := strings.Join(l.shown[:min(len(l.shown), most)], ", ")
	if more := len(l.shown) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return "links to the project's files for what git ignores or is over " + sweep.SizeText(maxCopied) + " in all: " +
		list
}

// make makes the directory in a new folder, whose entries are removed with it.
func (l *layout) make(ctx context.Context, to string) error {
	for _, folder := range l.folders {
		if err := os.MkdirAll(filepath.Join(to, folder), 0o755); err != nil {
			return err
		}
	}
	clones := true
	for i, f := range l.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, at := filepath.Join(l.root, f.name), filepath.Join(to, f.name)
		small := i < len(l.files)-l.large
		err := copyFile(from, at, f.info, &clones, small)
		switch {
		case errors.Is(err, errNoClone):
			err = os.Symlink(from, at)
		case errors.Is(err, fs.ErrPermission):
			return l.unreadable(f.name, err)
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			err = nil
		}
		if err != nil {
			return fmt.Errorf("directory: own: %w", err)
		}
	}
	for _, name := range l.links {
		if err := os.Symlink(filepath.Join(l.root, name), filepath.Join(to, name)); err != nil {
			return fmt.Errorf("directory: own: %w", err)
		}
	}
	for name, target := range l.other {
		if err := os.Symlink(target, filepath.Join(to, name)); err != nil {
			return fmt.Errorf("directory: own: %w", err)
		}
	}
	return nil
}

// errNoClone means that a file system cannot clone a file.
var errNoClone = errors.New("the file system cannot clone files")

// copyFile clones a file or, if small, copies it, with its mode and its time of change. It notes whether files can be
// cloned.
func copyFile(from, to string, info fs.FileInfo, clones *bool, small bool) error {
	if !small && !*clones {
		return errNoClone
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if *clones = *clones && cloneFile(target, source) == nil; !*clones {
		if err = errNoClone; small {
			_, err = io.Copy(target, source)
		}
	}
	if err == nil {
		err = target.Chmod(info.Mode().Perm())
	}
	if err = errors.Join(err, target.Close()); err == nil {
		err = os.Chtimes(to, time.Time{}, info.ModTime())
	}
	if errors.Is(err, errNoClone) {
		err = errors.Join(err, os.Remove(to))
	}
	return err
}
