package script

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sweep/sweep"
)

// Checker compares lists of inputs with the files and variables of this machine.
type Checker struct {
	directory string
	// variables looks up a variable; nil if variables are not compared: workers have others.
	variables func(name string) (string, bool)
	digests   digests
	now       map[sweep.Input]string
}

// NewChecker returns a checker for a program in a directory.
func NewChecker(directory string, variables func(name string) (string, bool)) *Checker {
	return &Checker{directory: directory, variables: variables, now: map[sweep.Input]string{}}
}

// Changed returns the inputs of a list whose digests are others now.
func (c *Checker) Changed(in *sweep.Inputs) (changed []sweep.Input) {
	for _, row := range in.Rows {
		if c.digest(row) != row.Digest {
			changed = append(changed, row)
		}
	}
	return changed
}

// digest returns the digest of an input as it is now, in the form in which the list has it.
func (c *Checker) digest(row sweep.Input) string {
	key := row
	if !strings.HasPrefix(key.Digest, "size ") {
		key.Digest = ""
	}
	if now, known := c.now[key]; known {
		return now
	}
	now := sweep.ChangedInput
	switch {
	case row.Kind == sweep.VariableInput && c.variables == nil:
		return row.Digest
	case row.Digest == sweep.ChangedInput:
		return "" // no digest is this one
	case row.Kind == sweep.VariableInput:
		now = sweep.AbsentInput
		if value, ok := c.variables(row.Name); ok {
			now = variableDigest(row.Name, value)
		}
	default:
		path := filepath.FromSlash(row.Name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.directory, path)
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			if now = sweep.AbsentInput; !errors.Is(err, fs.ErrNotExist) {
				now = "unreadable"
			}
		case !info.Mode().IsRegular():
			now = "no file"
		case key.Digest != "":
			now = sizeDigest(info.Size(), info.ModTime().UnixNano())
		case info.Size() > maxDigested: // it has grown
		default:
			if sum, _, err := c.digests.file(path); err == nil {
				now = sum
			}
		}
	}
	c.now[key] = now
	return now
}
