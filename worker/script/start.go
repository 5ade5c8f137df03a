package script

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sweep/sweep"
)

// Digest is the digest of all that decides about the results of a program in its directory, as Validate returns it.
func Digest(s *sweep.Script) (string, error) { return new(digests).of(s, s.Directory) }

// shells run programs of other languages, by the ends of their names.
var shells = map[string]string{".sh": "sh", ".bash": "bash", ".zsh": "zsh", ".r": "Rscript", ".jl": "julia",
	".js": "node", ".mjs": "node", ".pl": "perl", ".rb": "ruby", ".lua": "lua", ".php": "php"}

// Direct has a program that is not for Python, in a file without a command, run by itself: by its #! line, or as an
// executable; the note tells the user. It returns a *sweep.DataError if the program cannot run so.
func Direct(s *sweep.Script) (note string, err error) {
	if s.Program == "" || !slices.Equal(s.Command, sweep.DefaultCommand) {
		return "", nil
	}
	path := s.Program
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Directory, path)
	}
	kind, runner, err := kindOf(path)
	if err != nil || kind == "" {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	bare := kind == shells[strings.ToLower(filepath.Ext(path))] // without a #! line
	if info.Mode()&0o111 == 0 || bare {
		hint := ""
		if runner != "" {
			hint = fmt.Sprintf(" write command: [%s, \"${program}\", \"${args}\"], or", runner)
		}
		remedy := "make it executable (chmod +x " + s.Program + ")"
		if bare {
			remedy = "give it a #! line and " + remedy
		}
		return "", &sweep.DataError{Err: fmt.Errorf("the program %s is not for Python (%s), which runs programs "+
			"without a command:%s %s", s.Program, kind, hint, remedy)}
	}
	word := s.Program
	if !strings.ContainsRune(word, filepath.Separator) {
		word = "." + string(filepath.Separator) + word // a bare name would be looked for in PATH
	}
	s.Command = []string{word, "${args}"}
	return fmt.Sprintf("%s runs as it is (%s); command: names another way", s.Program, kind), nil
}

// kindOf says what a program is that is not for Python, and which command runs it; "" of one that may be.
func kindOf(path string) (kind, runner string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	r := bufio.NewReader(io.LimitReader(file, 4<<10))
	start, err := r.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", "", fmt.Errorf("%s: %w", path, err)
	}
	line, script := strings.CutPrefix(start, "#!")
	words := strings.Fields(line)
	switch {
	case strings.HasPrefix(start, "\x7fELF"), strings.HasPrefix(start, "\xcf\xfa\xed\xfe"):
		return "a binary", "", nil
	case script && len(words) > 0:
		if strings.Contains(line, "python") {
			return "", "", nil
		}
		if filepath.Base(words[0]) == "env" && len(words) > 1 {
			words = slices.DeleteFunc(words[1:], func(word string) bool { return strings.HasPrefix(word, "-") })
		}
		for i, word := range words {
			words[i] = filepath.Base(word)
		}
		return "#!" + strings.TrimSpace(line), strings.Join(words, ", "), nil
	default:
		runner = shells[strings.ToLower(filepath.Ext(path))]
		return runner, runner, nil
	}
}

// LongestWord bounds a word of a command: Linux takes no longer one (MAX_ARG_STRLEN, with its final zero byte).
const LongestWord = 128<<10 - 1

// CheckStart returns a *sweep.DataError if a program's command begins with what cannot be started on this machine, or
// has a word that is too long for a program's argument.
func CheckStart(s *sweep.Script, given sweep.Parameters) error {
	line := commandLine{script: s, environment: os.LookupEnv, jsonFile: func(string) (string, error) { return "", nil }}
	var err error
	if line.arguments, err = newArguments(s, given); err != nil {
		return err
	}
	argv, _, err := line.expand()
	if err != nil {
		return &sweep.DataError{Err: fmt.Errorf("program %s: %w", nameOf(s), err)}
	}
	for _, word := range argv {
		if len(word) > LongestWord {
			name, _, _ := strings.Cut(word[:256], "=")
			return &sweep.DataError{Err: fmt.Errorf("the argument %s… has %d bytes, and a program takes at most %d in "+
				"one: have the program read the file SWEEP_PARAMETERS, or write ${args_json_file} in place of ${args}",
				shortened(name), len(word), LongestWord)}
		}
	}
	if filepath.Base(argv[0]) == "env" && len(argv) > 1 {
		if argv = argv[1:]; argv[0] == "" || argv[0][0] == '-' || strings.Contains(argv[0], "=") {
			return nil // an option or a variable of env
		}
	}
	word := argv[0]
	if strings.ContainsRune(word, filepath.Separator) && !filepath.IsAbs(word) {
		word = filepath.Join(s.Directory, word)
	}
	switch _, err = exec.LookPath(word); {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		err = errors.New("it is not executable (chmod +x makes it so)")
	case errors.Is(err, exec.ErrNotFound):
		err = errors.New("there is no such program in PATH")
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("there is no such file")
	}
	return &sweep.DataError{Err: fmt.Errorf("the command cannot start: its first word is %s: %w", argv[0], err)}
}

// shortened is the beginning of a long text.
func shortened(text string) string { return text[:min(len(text), 40)] }

// reads are what the source of a program has that reads its parameters without arguments.
var reads = []string{"wandb", "sweep", "WANDB_", "SWEEP_"}

// Ignores returns a note if all trials of a program may be alike: its command has no parameters, and no source beside
// it in its language names what reads them; else "".
func Ignores(s *sweep.Script) string {
	if slices.ContainsFunc(s.Command, func(word string) bool { return strings.HasPrefix(word, "${args") }) {
		return ""
	}
	program := ""
	for _, word := range append([]string{s.Program}, s.Command...) {
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Directory, path)
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || !isSource(path) {
			continue
		}
		program = cmp.Or(program, word)
		if !silent(path) {
			return ""
		}
		beside, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+filepath.Ext(path)))
		const most = 1000
		if err != nil || len(beside) > most {
			return ""
		}
		for _, other := range beside {
			if !silent(other) {
				return ""
			}
		}
	}
	if program == "" {
		return ""
	}
	return fmt.Sprintf("the command has no parameters, and neither %s nor the files beside it name wandb, sweep or "+
		"SWEEP_PARAMETERS: all trials may be alike; add \"${args}\" to command", program)
}

// silent reports whether a source names nothing that reads parameters.
func silent(path string) bool {
	const most = 1 << 20
	info, err := os.Stat(path)
	if err != nil || info.Size() > most {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && !slices.ContainsFunc(reads, func(name string) bool {
		return strings.Contains(string(text), name)
	})
}
