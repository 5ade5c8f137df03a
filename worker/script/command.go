package script

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"sweep/sweep"
)

var (
	variable    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{envvar:([A-Za-z_][A-Za-z0-9_]*)\}`) })
	macro       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$\{[^{}]*\}$`) })
	interpreter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^python[0-9.]*w?(\.exe)?$`) })
)

// commandLine has the values of a command's macros in one trial.
type commandLine struct {
	script    *sweep.Script
	arguments []argument
	// environment looks up a variable of the program's environment.
	environment func(name string) (string, bool)
	// jsonFile writes a text to a file of the trial and returns its path.
	jsonFile func(text string) (string, error)
}

// expand replaces the macros of the command line. The note names the interpreter that replaces
// one that does not exist here.
func (c *commandLine) expand() (argv []string, note string, err error) {
	for i, word := range c.script.Command {
		switch word {
		case "${env}":
			if runtime.GOOS != "windows" {
				argv = append(argv, "/usr/bin/env")
			}
		case "${interpreter}":
			python, err := findInterpreter()
			if err != nil {
				return nil, "", err
			}
			argv = append(argv, python)
		case "${program}":
			argv = append(argv, c.script.Program)
		case "${args}":
			for _, a := range c.arguments {
				argv = append(argv, "--"+a.name+"="+str(a.value))
			}
		case "${args_no_hyphens}":
			for _, a := range c.arguments {
				argv = append(argv, a.name+"="+str(a.value))
			}
		case "${args_no_boolean_flags}":
			for _, a := range c.arguments {
				switch flag, ok := a.value.(bool); {
				case !ok:
					argv = append(argv, "--"+a.name+"="+str(a.value))
				case flag:
					argv = append(argv, "--"+a.name)
				}
			}
		case "${args_no_equals}":
			for _, a := range c.arguments {
				argv = append(argv, "--"+a.name, str(a.value))
			}
		case "${args_json}":
			argv = append(argv, dumps(c.arguments))
		case "${args_json_file}":
			path, err := c.jsonFile(dumps(c.arguments))
			if err != nil {
				return nil, "", err
			}
			argv = append(argv, path)
		default:
			word, err := c.variables(word)
			if err != nil {
				return nil, "", err
			}
			if i == 0 || i == 1 && strings.HasSuffix(argv[0], "/env") {
				if word, note, err = replaceInterpreter(word); err != nil {
					return nil, "", err
				}
			}
			argv = append(argv, word)
		}
	}
	if len(argv) == 0 {
		return nil, "", fmt.Errorf("the command is empty")
	}
	return argv, note, nil
}

// variables replaces ${envvar:NAME} by the variable's value.
func (c *commandLine) variables(word string) (string, error) {
	var problem error
	if macro().MatchString(word) && !variable().MatchString(word) {
		return "", fmt.Errorf("command: %q is not a macro", word)
	}
	word = variable().ReplaceAllStringFunc(word, func(found string) string {
		name := variable().FindStringSubmatch(found)[1]
		value, ok := c.environment(name)
		if !ok && problem == nil {
			problem = fmt.Errorf("command: %s: the variable %s is not set where the program runs; --trainer-env %s "+
				"hands a worker's own on to it", found, name, name)
		}
		return value
	})
	return word, problem
}

// findInterpreter returns python, as W&B does, or python3 where only that is installed.
func findInterpreter() (string, error) {
	for _, name := range []string{"python", "python3"} {
		if _, err := exec.LookPath(name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("${interpreter}: there is no python and no python3 in PATH (%s)", os.Getenv("PATH"))
}

// replaceInterpreter replaces a Python that does not exist here by this machine's: a third of
// W&B's public sweep files name one in somebody's home folder.
func replaceInterpreter(word string) (replaced, note string, err error) {
	base := word[strings.LastIndexAny(word, `/\`)+1:]
	if !interpreter().MatchString(base) {
		return word, "", nil
	}
	path := word
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	if _, err := exec.LookPath(path); err == nil {
		return path, "", nil
	}
	if replaced, err = findInterpreter(); err != nil {
		return "", "", fmt.Errorf("%s does not exist, and %w", word, err)
	}
	return replaced, fmt.Sprintf("%s does not exist; using %s", word, replaced), nil
}
