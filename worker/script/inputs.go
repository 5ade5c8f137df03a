package script

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sweep/sweep"
)

// A result belongs to what its program has read. Python's start-up module (python/sitecustomize.py) appends a line to a
// file, which the first line makes, for each file, module and variable before it is read, so that a process that is
// killed has told everything; a recorder follows that file and digests what it names. Lines begin with a letter:
//
//	B PID             a process records
//	R SIZE TIME PATH  a file is read, which has this size and time of change in nanoseconds
//	M SIZE TIME PATH  a file is a word of a command that is started
//	A PATH            a file was to be read and does not exist
//	W TIME PATH       a file is written
//	L TIME SIZE TIME PATH  a file is appended to, or is a database: processes share it on purpose. It had this size,
//	                  -1 if it does not exist, and time of change
//	O PATH            a file that was written is read
//	E NAME            a variable is looked up
//	C                 a process is started that should record, too
//	X NAME            a process is started that does not
const (
	// followEvery is how often the file is read while the program runs.
	followEvery = 250 * time.Millisecond
	// maxDigested bounds the bytes of a file, and allDigested those of a trial, that are digested. Size and time of
	// change stand for others.
	maxDigested, allDigested = 32 << 20, 512 << 20
)

// recorder collects the inputs of a trial.
type recorder struct {
	path      string
	trainer   *Trainer
	project   *project
	began     time.Time
	variables environment
	// words are the values of parameters, and the words of commands, that are files, as they were before these ran.
	words map[string]*inputFile
	// earlier is what the executions have read from whose checkpoint the program resumes.
	earlier []sweep.Input

	read     int64
	rest     []byte
	digested int64
	files    map[string]*inputFile
	looked   map[string]bool
	// shared are the names of files that were read and that another trial has written meanwhile.
	shared map[string]bool
	// pids are the processes that record; started counts those that should, too, and other names one that does not.
	pids    map[int]bool
	started int
	other   string
}

// inputFile is a file that was read or written.
type inputFile struct {
	size, time int64
	digest     string
	written    bool
	// unread says that it is an input once it is read.
	unread bool
}

// newRecorder prepares the recording of a trial whose program has these variables.
func (e *execution) newRecorder(variables environment) *recorder {
	r := &recorder{
		path: filepath.Join(e.scratch, "inputs"), trainer: e.trainer, began: time.Now(), variables: variables,
		project: e.project, words: map[string]*inputFile{}, shared: map[string]bool{},
		files: map[string]*inputFile{}, looked: map[string]bool{}, pids: map[int]bool{},
	}
	for _, name := range e.request.Parameters.Names() {
		text, ok := e.request.Parameters[name].(string)
		if !ok || text == "" || len(text) > 1000 {
			continue
		}
		path := text
		if !filepath.IsAbs(path) {
			path = filepath.Join(e.workdir, path)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			f := &inputFile{size: info.Size(), time: info.ModTime().UnixNano()}
			r.words[filepath.Clean(path)] = f
		}
	}
	return r
}

// follow digests what is read until the returned function is called, which waits for the rest. It keeps the list so far
// in a file, unless kept is empty.
func (r *recorder) follow(kept string) (end func()) {
	known := int64(0)
	take := func() {
		if r.take(); r.read > known && kept != "" {
			known = r.read
			if text, err := json.Marshal(r.list(0)); err == nil {
				_ = os.WriteFile(kept+".new", text, 0o600) // else the checkpoint is taken to be this program's
				_ = os.Rename(kept+".new", kept)
			}
		}
	}
	done := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		ticks := time.NewTicker(followEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				take()
			case <-done:
				take()
				return
			}
		}
	})
	return func() {
		close(done)
		following.Wait()
	}
}

// take reads the lines that were appended.
func (r *recorder) take() {
	const most = 64 << 20
	f, err := os.Open(r.path)
	if errors.Is(err, os.ErrNotExist) && r.read == 0 {
		return // nothing records yet
	}
	var size int64
	if err == nil {
		defer func() { _ = f.Close() }() // it was only read
		size, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil || size < r.read {
		r.other = "the program, whose record is gone,"
		return
	}
	if _, err = f.Seek(r.read, io.SeekStart); err != nil {
		return
	}
	news, err := io.ReadAll(io.LimitReader(f, most))
	if len(news) == most {
		r.other = cmp.Or(r.other, "the program, whose record is too long,")
	}
	r.read += int64(len(news))
	r.rest = append(r.rest, news...)
	for err == nil {
		line, after, found := bytes.Cut(r.rest, []byte{'\n'})
		if !found {
			return
		}
		r.rest = after
		kind, text, _ := strings.Cut(string(line), " ")
		r.line(kind, unescape(text))
	}
}

// line takes one line.
func (r *recorder) line(kind, text string) {
	switch kind {
	case "B":
		if pid, err := strconv.Atoi(text); err == nil {
			r.pids[pid] = true
		}
	case "M", "R", "L":
		f := &inputFile{unread: true, written: kind == "L"}
		if kind == "L" {
			_, text = timed(text)
		}
		f.size, text = timed(text)
		f.time, text = timed(text)
		switch known := r.files[text]; {
		case kind == "M" && known == nil:
			r.words[text] = f
		case kind == "M":
		case known == nil:
			r.files[text] = f
		default:
			known.written = known.written || f.written
		}
		if kind == "R" {
			r.reads(text)
		}
	case "A":
		if r.files[text] == nil {
			r.files[text] = &inputFile{digest: sweep.AbsentInput}
		}
	case "W":
		_, text = timed(text)
		if r.files[text] == nil {
			r.files[text] = &inputFile{}
		}
		r.files[text].written, r.files[text].unread = true, false // unless it was read before, it is the trial's own
	case "O":
		r.reads(text)
	case "E":
		r.looked[text] = true
	case "C":
		r.started++
	case "X":
		r.other = cmp.Or(r.other, text)
	}
}

// reads takes a file that is read, unless the trial has made it, for an input as it was before the trial wrote to it.
func (r *recorder) reads(path string) {
	f := r.files[path]
	if f == nil || !f.unread {
		return
	}
	f.unread = false
	switch name, ok := r.project.name(path); {
	case f.size == -1:
		f.digest = sweep.AbsentInput
	case f.size >= 0 && ok && !r.made(name, f):
		f.digest = r.digest(path, f)
	}
}

// made reports whether a file was written while the trial runs, by what does not record, as libraries do that are not
// Python: it is no input then, unless it looks like a source that a person has changed.
func (r *recorder) made(name string, f *inputFile) bool {
	return f.time > r.began.UnixNano() && !isSource(name)
}

// digest returns the digest of what a file had when it was read.
func (r *recorder) digest(path string, f *inputFile) string {
	same := func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() == f.size && info.ModTime().UnixNano() == f.time
	}
	if !same() {
		return sweep.ChangedInput
	}
	if f.size > maxDigested || r.digested+f.size > allDigested {
		return sizeDigest(f.size, f.time)
	}
	r.digested += f.size
	sum, _, err := r.trainer.digests.file(path)
	if err != nil || !same() {
		return sweep.ChangedInput
	}
	return sum
}

// sizeDigest stands for the content of a large file.
func sizeDigest(size, time int64) string { return fmt.Sprintf("size %d changed at %d", size, time) }

// variableDigest is the digest of a variable, which does not tell its value.
func variableDigest(name, value string) string {
	sum := sha256.Sum256([]byte(name + "=" + value))
	return hex.EncodeToString(sum[:])
}

// list returns what the trial whose first process had this id has read. While it runs the id is 0, and words are left
// out.
func (r *recorder) list(pid int) *sweep.Inputs {
	in := &sweep.Inputs{}
	for path, f := range r.files {
		name, ok := r.project.name(path)
		if !ok || f.digest == "" || f.digest == sweep.AbsentInput && filepath.IsAbs(name) {
			continue
		}
		kind := sweep.FileInput
		if f.written {
			kind = sweep.RewrittenInput
		}
		in.Rows = append(in.Rows, sweep.Input{Kind: kind, Name: name, Digest: f.digest})
	}
	for path, f := range r.words {
		// A file that has changed meanwhile is what the program was to write, unless it looks like a source.
		if name, ok := r.project.name(path); ok && pid != 0 && r.files[path] == nil {
			if digest := r.digest(path, f); digest != sweep.ChangedInput || isSource(path) {
				in.Rows = append(in.Rows, sweep.Input{Kind: sweep.FileInput, Name: name, Digest: digest})
			}
		}
	}
	for name := range r.looked {
		if compared(name) {
			digest := sweep.AbsentInput
			if value, ok := r.variables[name]; ok {
				digest = variableDigest(name, value)
			}
			in.Rows = append(in.Rows, sweep.Input{Kind: sweep.VariableInput, Name: name, Digest: digest})
		}
	}
	for name := range r.shared { // which of them it read, is not known
		in.Rows = slices.DeleteFunc(in.Rows, func(row sweep.Input) bool {
			return row.Name == name && row.Kind != sweep.VariableInput
		})
		in.Rows = append(in.Rows, sweep.Input{Kind: sweep.FileInput, Name: name, Digest: sweep.ChangedInput})
	}
	in.Rows = resumed(in.Rows, r.earlier)
	children := len(r.pids)
	if r.pids[pid] {
		children--
	}
	switch {
	case !r.pids[pid]:
		in.Unrecorded = "what the program reads"
	case r.other != "":
		in.Unrecorded = "what " + strings.ToValidUTF8(r.other[:min(len(r.other), 100)], "") + " reads"
	case r.started > children:
		in.Unrecorded = "what a process reads that the program starts"
	}
	return in.Clean()
}

// resumed adds what earlier executions have read to what one has that resumes from their checkpoint. An input that is
// another now has changed in between.
func resumed(rows, earlier []sweep.Input) []sweep.Input {
	for _, old := range earlier {
		i := slices.IndexFunc(rows, func(row sweep.Input) bool {
			return row.Name == old.Name && (row.Kind == sweep.VariableInput) == (old.Kind == sweep.VariableInput)
		})
		switch {
		case i < 0:
			rows = append(rows, old)
		case old.Kind == sweep.RewrittenInput: // as it was before the trial
			rows[i] = old
		case rows[i].Digest != old.Digest:
			rows[i].Digest = sweep.ChangedInput
		}
	}
	return rows
}

// isSource reports whether a file looks like one that a person edits.
func isSource(name string) bool { return slices.Contains(sources, strings.ToLower(filepath.Ext(name))) }

// given are variables that each trial has of its own, sessions differ in, or that are secret: by their names, or the
// beginnings or parts of them.
var (
	given = []string{"PYTHONPATH", "PYTHONUNBUFFERED", "WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_SWEEP_PARAM_PATH",
		"WANDB_PROJECT", "WANDB_ENTITY", "WANDB_DIR", "WANDB_AGENT_SOCKET", "TMPDIR", "TEMP", "TMP", "_", "SHLVL",
		"PWD", "OLDPWD", "TERM", "COLUMNS", "LINES", "DISPLAY", "WAYLAND_DISPLAY", "WINDOWID", "HOSTNAME", "STY",
		"JOB_ID", "INVOCATION_ID", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES",
		"ROCR_VISIBLE_DEVICES"}
	givenStarts = []string{"SWEEP_", "SSH_", "XDG_SESSION", "XDG_RUNTIME", "SLURM_", "PBS_", "LSB_", "TMUX", "TERM_"}
	secretParts = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}
)

// compared reports whether a variable is an input.
func compared(name string) bool {
	upper := strings.ToUpper(name)
	return !slices.Contains(given, name) &&
		!slices.ContainsFunc(givenStarts, func(start string) bool { return strings.HasPrefix(name, start) }) &&
		!slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(upper, part) })
}

// project says which files are a program's inputs, and how they are named.
type project struct {
	directory string
	// roots are the folders that belong to the project, as they are written and with their links followed.
	roots, resolved []string
	// skipped are folders below which nothing is an input.
	skipped []string
	// outside says that files of other folders are inputs, too: the submitter's machine has them.
	outside bool
	// copied is the trial's own copy of the last of roots; empty if there is none.
	copied string
}

// systems are folders whose files belong to the machine.
var systems = []string{"/usr", "/etc", "/proc", "/sys", "/dev", "/lib", "/lib64", "/bin", "/sbin", "/run", "/var",
	"/opt", "/snap", "/tmp", "/System", "/Library", "/private"}

// projectOf returns the project of a program that runs in a directory: its repository or, without one, the directory.
func (t *Trainer) projectOf(directory, scratch string) *project {
	p := &project{directory: filepath.Clean(directory), outside: len(t.options.Roots) == 0}
	p.roots = []string{p.directory}
	home, _ := os.UserHomeDir() // without one no repository is it
	for folder := p.directory; ; folder = filepath.Dir(folder) {
		if folder == home || filepath.Dir(folder) == folder {
			break
		}
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			p.roots = append(p.roots, folder)
			break
		}
	}
	for _, root := range p.roots {
		if resolved, err := filepath.EvalSymlinks(root); err == nil {
			p.resolved = append(p.resolved, resolved)
		}
	}
	p.skipped = []string{scratch}
	for _, folder := range []string{t.options.Checkpoints, t.options.Artifacts} {
		if folder != "" {
			p.skipped = append(p.skipped, filepath.Dir(folder))
		}
	}
	return p
}

// name returns the name of a file by its absolute path, false if it is no input.
func (p *project) name(path string) (string, bool) {
	path = filepath.Clean(path)
	if rest, err := filepath.Rel(p.copied, path); p.copied != "" && err == nil && filepath.IsLocal(rest) {
		path = filepath.Join(p.roots[len(p.roots)-1], rest)
	}
	if below(path, p.skipped) {
		return "", false
	}
	if below(path, p.roots) {
		return relative(p.directory, path)
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil && below(resolved, p.resolved) {
		return relative(p.resolved[0], resolved)
	}
	if !p.outside || below(path, systems) || below(path, []string{os.TempDir()}) || strings.Contains(path, "/.") {
		return "", false
	}
	return filepath.ToSlash(path), true
}

// unread are folders of a project whose files say nothing about the program.
var unread = []string{".git", ".hg", ".svn", "__pycache__", ".ipynb_checkpoints", "node_modules"}

// relative returns a path from a directory, false if it is below an unread folder.
func relative(directory, path string) (string, bool) {
	name, err := filepath.Rel(directory, path)
	name = filepath.ToSlash(name)
	for part := range strings.SplitSeq(name, "/") {
		if slices.Contains(unread, part) {
			return "", false
		}
	}
	return name, err == nil
}
