package script

import (
	"bytes"
	"context"
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
	// maxLooked bounds how many files are looked at.
	maxLooked = 20_000
	// gitTime is how long git may take to list files.
	gitTime = 5 * time.Second
)

// sources are the ends of the names of files that programs read, where git does not say which belong to a project.
var sources = []string{".py", ".pyx", ".r", ".jl", ".js", ".lua", ".sh", ".c", ".cc", ".cpp", ".h", ".cu", ".rs", ".go",
	".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".gin"}

// Unrecorded returns the files of a program's project that were modified after a time and that its digest does not
// cover, sorted: those below its directory that git tracks or, without a repository, that look like sources. Files
// that look like sweep files are left out.
func Unrecorded(ctx context.Context, s *sweep.Script, since time.Time) (changed []string) {
	covered := commandFiles(s, s.Directory)
	if s.Program != "" {
		program := filepath.Clean(s.Program)
		if below, err := filepath.Rel(s.Directory, program); err == nil && filepath.IsAbs(program) {
			program = below
		}
		covered = append(covered, filepath.ToSlash(program))
	}
	look := func(name string, info fs.FileInfo) {
		name = filepath.ToSlash(name)
		if !info.Mode().IsRegular() || !info.ModTime().After(since) || slices.Contains(covered, name) ||
			isSweepFile(filepath.Join(s.Directory, name), info) {
			return
		}
		for _, pattern := range s.Files {
			if ok, err := filepath.Match(pattern, name); ok && err == nil {
				return
			}
		}
		changed = append(changed, name)
	}
	if tracked := tracked(ctx, s.Directory); len(tracked) > 0 {
		for _, name := range tracked[:min(len(tracked), maxLooked)] {
			if info, err := os.Lstat(filepath.Join(s.Directory, name)); err == nil {
				look(name, info)
			}
		}
		slices.Sort(changed)
		return changed
	}
	looked := 0
	// What cannot be read is left out: this is for a note.
	_ = fs.WalkDir(os.DirFS(s.Directory), ".", func(name string, entry fs.DirEntry, err error) error {
		if looked++; looked > maxLooked || ctx.Err() != nil {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return fs.SkipDir
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."),
			entry.IsDir() && slices.Contains([]string{"wandb", "__pycache__", "node_modules"}, entry.Name()):
			return fs.SkipDir
		case isSource(name):
			if info, err := entry.Info(); err == nil {
				look(name, info)
			}
		}
		return nil
	})
	slices.Sort(changed)
	return changed
}

// tracked are the files below a directory that git knows.
func tracked(ctx context.Context, directory string) []string {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	list, err := exec.CommandContext(ctx, "git", "-C", directory, "ls-files", "-z").Output()
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(list), "\x00"), "\x00")
}

// isSweepFile reports whether a file looks like a sweep file, which says what is run and is not read by programs.
func isSweepFile(path string, info fs.FileInfo) bool {
	const most = 1 << 20
	if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" || info.Size() > most {
		return false
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	content = append([]byte("\n"), content...)
	has := func(key string) bool { return bytes.Contains(content, []byte("\n"+key+":")) }
	return has("parameters") && (has("program") || has("command") || has("method") || has("trainer"))
}
