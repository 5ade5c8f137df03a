package script

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// A program that is not for Python runs by itself, if the file has no command and it is executable.
func TestDirect(t *testing.T) {
	for name, want := range map[string]struct {
		program string
		mode    os.FileMode
		command string // "" if it is refused
		said    string
	}{
		"train.sh":  {"#!/bin/bash\necho\n", 0o755, "./train.sh ${args}", "runs as it is"},
		"plain.sh":  {"#!/usr/bin/env -S bash\n", 0o644, "", `command: [bash, "${program}", "${args}"], or make it`},
		"bare.jl":   {"println(1)\n", 0o644, "", "julia"},
		"bare.sh":   {"echo\n", 0o755, "", "#! line"},
		"binary":    {"\x7fELF\x02", 0o755, "./binary ${args}", "binary"},
		"bin/tool":  {"#!/usr/bin/perl\n", 0o755, "bin/tool ${args}", "runs as it is"},
		"train.py":  {"print(1)\n", 0o755, strings.Join(sweep.DefaultCommand, " "), ""},
		"python":    {"#!/opt/x/bin/python3.9\n", 0o755, strings.Join(sweep.DefaultCommand, " "), ""},
		"no-suffix": {"import os\n", 0o644, strings.Join(sweep.DefaultCommand, " "), ""},
		"empty":     {"", 0o644, strings.Join(sweep.DefaultCommand, " "), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sweep.Script{Program: name, Command: slices.Clone(sweep.DefaultCommand), Directory: t.TempDir()}
			path := filepath.Join(s.Directory, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(want.program),
				want.mode)); err != nil {
				t.Fatal(err)
			}
			note, err := Direct(s)
			if want.command == "" {
				if err == nil || !strings.Contains(err.Error(), want.said) {
					t.Errorf("error %v, want %s", err, want.said)
				}
				return
			}
			if err != nil || strings.Join(s.Command, " ") != want.command || (note == "") != (want.said == "") ||
				!strings.Contains(note, want.said) {
				t.Errorf("%q %q %v", s.Command, note, err)
			}
		})
	}
}

// A command that begins with what is no program here is refused before a trial.
func TestCheckStart(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"run": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for command, problem := range map[string]string{
		"sh -c true": "", "./run": "", "/usr/bin/env sh": "", "/usr/bin/env X=1 nowhere": "", "${env} sh": "",
		"nowhere x": "no such program in PATH", "./missing": "no such file", "./text": "not executable",
		"${env} nowhere": "no such program in PATH", "run": "no such program in PATH", "${args}": "no such",
	} {
		s := &sweep.Script{Command: strings.Fields(command), Directory: dir}
		err := CheckStart(s, sweep.Parameters{"x": int64(1)})
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%s: %v, want %q", command, err, problem)
		}
	}
}

// A value that is too long for an argument is refused before a trial.
func TestLongestWord(t *testing.T) {
	for size, fits := range map[int]bool{LongestWord - len("--x="): true, LongestWord - len("--x=") + 1: false} {
		s := &sweep.Script{Command: []string{"echo", "${args}"}, Directory: t.TempDir()}
		given := sweep.Parameters{"x": strings.Repeat("a", size)}
		err := CheckStart(s, given)
		if fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "argument --x… has 131072 bytes") {
			t.Errorf("%d bytes: %v", size, err)
		}
		if got := exec.Command("echo", "--x="+given["x"].(string)).Run(); runtime.GOOS == "linux" && (got == nil) != fits {
			t.Errorf("Linux takes %d bytes otherwise: %v", size, got)
		}
	}
}

// A program whose command has no parameters, and that reads them in no other way, is told of.
func TestIgnores(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"plain.py": "print(1)", "a/uses.py": "import wandb", "b/main.py": "import own",
		"b/own.py": "os.environ['SWEEP_PARAMETERS']", "c/run.sh": "echo 1"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for command, note := range map[string]string{
		"python3 plain.py": "neither plain.py nor", "sh c/run.sh": "neither c/run.sh nor", "python3 a/uses.py": "",
		"python3 b/main.py": "", "python3 plain.py ${args}": "", "python3 -m plain": "", "python3 none.py": "",
	} {
		got := Ignores(&sweep.Script{Command: strings.Fields(command), Directory: dir})
		if (got == "") != (note == "") || !strings.Contains(got, note) {
			t.Errorf("%s: %q, want %q", command, got, note)
		}
	}
}
