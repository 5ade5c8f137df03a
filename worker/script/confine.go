package script

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sweep/sweep"
)

// runners are the programs that may begin a confined command, before the file that they run.
var runners = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(python[0-9.]*|Rscript|julia|node|perl|ruby|bash|dash|sh)$`)
})

// pythonFlags may stand between Python and its file. Those of others, such as -c and -e, may run their argument.
var pythonFlags = []string{"-u", "-B", "-O", "-OO", "-s", "-E", "-I"}

// systemFolders are those whose runners a confined command may name by their paths.
var systemFolders = []string{"/bin", "/usr/bin", "/usr/local/bin"}

// CheckConfined returns an error unless a script that runs in a directory keeps to some roots: its command is a
// file below one, or an interpreter that runs such a file, and so are its program and all that files match.
// Links are followed first. The errors do not tell which files exist beside the roots.
func CheckConfined(s *sweep.Script, directory string, roots []string) error {
	c := confinement{shown: strings.Join(roots, ", ")}
	var err error
	if c.directory, err = filepath.Abs(directory); err != nil {
		return err
	}
	for _, root := range roots {
		if root, err = filepath.Abs(root); err != nil {
			return err
		}
		c.roots = append(c.roots, root)
		if root, err = filepath.EvalSymlinks(root); err != nil {
			return fmt.Errorf("--script-dir: %w", err)
		}
		c.resolved = append(c.resolved, root)
	}
	if err := c.command(s); err != nil {
		return &sweep.DataError{Err: err}
	}
	if s.Program != "" && !c.file(s.Program) {
		return &sweep.DataError{Err: fmt.Errorf("program: %s is not a file below %s, links followed", s.Program,
			c.shown)}
	}
	for _, pattern := range s.Files {
		if err := c.files(pattern); err != nil {
			return &sweep.DataError{Err: err}
		}
	}
	return nil
}

// confinement is where the files of a script may be.
type confinement struct {
	directory string
	// roots are as they were named, resolved with their links followed.
	roots, resolved []string
	// shown are the roots in errors.
	shown string
}

// below reports whether a clean absolute path is in one of some directories.
func below(path string, directories []string) bool {
	return slices.ContainsFunc(directories, func(directory string) bool {
		rest, err := filepath.Rel(directory, path)
		return err == nil && filepath.IsLocal(rest)
	})
}

// path makes a path of a script absolute; false if it is not below a root as it is written. A path that goes up is
// not: where that leads depends on the links before.
func (c *confinement) path(name string) (string, bool) {
	if slices.Contains(strings.Split(filepath.ToSlash(name), "/"), "..") {
		return "", false
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.directory, name)
	}
	name = filepath.Clean(name)
	return name, below(name, c.roots) || below(name, c.resolved)
}

// inside reports whether an existing path is below a root, links followed.
func (c *confinement) inside(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	return err == nil && below(resolved, c.resolved)
}

// file reports whether a path of a script is a file below a root.
func (c *confinement) file(name string) bool {
	path, ok := c.path(name)
	return ok && c.inside(path) && isFile(path)
}

// files checks a pattern, all of whose files must be below the roots.
func (c *confinement) files(pattern string) error {
	path, ok := c.path(pattern)
	var found []string
	if ok {
		var err error
		if found, err = filepath.Glob(path); err != nil {
			return fmt.Errorf("files: %q is not a pattern: %w", pattern, err)
		}
	}
	outside := func(path string) bool { return !c.inside(path) }
	if len(found) == 0 || slices.ContainsFunc(found, outside) {
		return fmt.Errorf("files: %s does not name files below %s only, links followed", pattern, c.shown)
	}
	return nil
}

// runner reports whether a word of a command is an interpreter: of the system or, as in a virtual environment, in a
// folder below a root.
func (c *confinement) runner(word string) bool {
	if word == "${interpreter}" {
		return true
	}
	folder, name := filepath.Split(word)
	if !runners().MatchString(name) {
		return false
	}
	if folder == "" || slices.Contains(systemFolders, filepath.Clean(folder)) {
		return true
	}
	path, ok := c.path(folder)
	return ok && c.inside(path)
}

// command checks a command line.
func (c *confinement) command(s *sweep.Script) error {
	words := s.Command
	if len(words) > 0 && slices.Contains([]string{"${env}", "env", "/usr/bin/env", "/bin/env"}, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return fmt.Errorf("command: names no program")
	}
	first := words[0]
	run, rest := first, words[1:]
	isRunner := c.runner(first)
	if isRunner {
		for len(rest) > 0 && slices.Contains(pythonFlags, rest[0]) &&
			(first == "${interpreter}" || strings.HasPrefix(filepath.Base(first), "python")) {
			rest = rest[1:]
		}
		run = ""
		if len(rest) > 0 {
			run, rest = rest[0], rest[1:]
		}
	}
	if run == "${program}" {
		run = s.Program
	}
	switch {
	case strings.HasPrefix(run, "-") || run == "" || !c.file(run):
		return fmt.Errorf("command: %q is not a file below %s, links followed: a command is such a file, or an "+
			"interpreter (python, Rscript, julia, node, perl, ruby, bash, sh) and then such a file", run, c.shown)
	case !isRunner && !strings.Contains(run, "/"):
		return fmt.Errorf("command: %q would be looked for in PATH: write ./%s", run, run)
	}
	for _, word := range rest {
		if c.leads(word) {
			return fmt.Errorf("command: %q leads out of %s by a link", word, c.shown)
		}
	}
	return nil
}

// leads reports whether a word, or a part of it that exists, is a path in the directory that leads out of the roots:
// the digest of a script covers the words that are files.
func (c *confinement) leads(word string) bool {
	if !filepath.IsLocal(word) {
		return false
	}
	for path := filepath.Join(c.directory, word); below(path, c.roots); path = filepath.Dir(path) {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			return !below(resolved, c.resolved)
		}
	}
	return false
}
