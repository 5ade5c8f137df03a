package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/sweep"
)

// A confined command runs a file below its roots and nothing else, and no error tells which files exist elsewhere.
func TestCheckConfined(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root/train.py", "root/run", "root/sh", "root/-c", "root/sub/a.json", "root/sub/b.json",
		"root/venv/bin/x", "root/spool", "second/other.py", "beside/secret", "beside/train.py", "beside/python3",
		"beside/bin/python3"} {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"root/out": "../beside", "root/absolute": filepath.Join(base, "beside/secret"), "root/loop": "loop",
		"root/venv/bin/python": filepath.Join(base, "beside/python3"), "root/inner.py": filepath.Join(base, "root/train.py"),
		"root/second.py": "../second/other.py", "root/sub/c.txt": "../../beside/secret", "root/bin": "../beside/bin",
		"linked": "root",
	} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(base, "root")
	program := func(words ...string) *sweep.Script { return &sweep.Script{Program: "train.py", Command: words} }
	bare := func(words ...string) *sweep.Script { return &sweep.Script{Command: words} }
	files := func(patterns ...string) *sweep.Script {
		return &sweep.Script{Program: "train.py", Command: sweep.DefaultCommand, Files: patterns}
	}
	named := func(name string) *sweep.Script { return &sweep.Script{Program: name, Command: sweep.DefaultCommand} }
	for name, s := range map[string]*sweep.Script{
		"default": program(sweep.DefaultCommand...), "unbuffered": program("python3", "-u", "-B", "${program}", "${args}"),
		"path of the system": program("/usr/bin/env", "/usr/bin/python3", "train.py"), "shell": bare("sh", "run", "-c", "exit"),
		"virtual environment": program("venv/bin/python", "${program}"),
		"its whole path":      program(filepath.Join(root, "venv/bin/python"), "${program}"),
		"the file itself":     bare("./run", "${args}", "/etc/passwd"), "whole path": bare(filepath.Join(root, "run")),
		"link inside": named("inner.py"), "link into another root": named("second.py"),
		"files": files("train.py", "sub/*.json", filepath.Join(root, "sub", "a.json")),
		"named": {Program: "./run", Command: []string{"${program}", "${args_no_hyphens}"}},
	} {
		roots := []string{root, filepath.Join(base, "second")}
		if err := CheckConfined(s, root, roots); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := CheckConfined(s, filepath.Join(base, "linked"), append(roots, filepath.Join(base, "linked"))); err != nil {
			t.Errorf("%s, below a link: %v", name, err)
		}
	}
	for name, s := range map[string]*sweep.Script{
		"shell with its text": bare("sh", "-c", "id"), "beside a program": program("sh", "-c", "id", "${program}"),
		"python with its text": program("python3", "-c", "print()", "${program}"), "module": program("python3", "-m", "pip"),
		"flags of another": program("perl", "-s", "${program}"), "flags together": program("python3", "-uc", "${program}"),
		"absolute": bare("/bin/rm", "-r", "/"), "in PATH": bare("id"), "variable": bare("${envvar:SHELL}", "run"),
		"arguments first": program("python3", "${args}", "${program}"), "arguments alone": program("${args_no_hyphens}"),
		"environment": program("env", "PYTHONSTARTUP=x", "python3", "${program}"), "options of env": program("env", "-S", "id"),
		"nothing": program("${env}"), "only an interpreter": program("python3"), "no command": {Program: "train.py"},
		"file in PATH": bare("sh"), "program in PATH": {Program: "sh", Command: []string{"${program}", "-c"}},
		"flag as a file": {Program: "-c", Command: sweep.DefaultCommand}, "home": bare("~/bin/python3", "run"),
		"interpreter beside": program(filepath.Join(base, "beside/python3"), "${program}"),
		"its folder a link":  program("bin/python3", "${program}"), "interpreter above": program("../beside/python3", "${program}"),
		"program beside": named(filepath.Join(base, "beside/train.py")), "program above": named("../beside/train.py"),
		"program by a link": named("out/train.py"), "up behind a link": named("out/../beside/train.py"),
		"program is a link": named("absolute"), "program is a loop": named("loop"), "program is a folder": named("sub"),
		"word by a link": program("python3", "${program}", "out/secret"), "word is a link": program("python3", "${program}", "absolute"),
	} {
		if err := CheckConfined(s, root, []string{root, filepath.Join(base, "second")}); err == nil {
			t.Errorf("%s: %q was accepted", name, s.Command)
		}
	}
	// Each pair names a file that exists beside the root, and one that does not.
	for exists, missing := range map[string]string{
		filepath.Join(base, "beside/secret"): filepath.Join(base, "beside/nothing"), "../beside/secret": "../beside/nothing",
		"out/secret": "out/nothing", "out/s*": "out/n*", "/etc/passwd": "/etc/nothing", "sub/../../beside/secret": "sub/../../no",
		"[o]ut/secret": "[o]ut/nothing", filepath.Join(base, "b*/secret"): filepath.Join(base, "b*/nothing"),
	} {
		for kind, script := range map[string]func(name string) *sweep.Script{
			"program": named, "files": func(name string) *sweep.Script { return files(name) },
			"command": func(name string) *sweep.Script { return bare(name) },
			"run":     func(name string) *sweep.Script { return program("python3", name) },
			"runner":  func(name string) *sweep.Script { return program(name+"/python3", "train.py") },
			"word":    func(name string) *sweep.Script { return program("python3", "${program}", name) },
		} {
			of := func(name string) string {
				err := CheckConfined(script(name), root, []string{root})
				if err == nil {
					return "accepted"
				}
				return strings.ReplaceAll(err.Error(), name, "NAME")
			}
			a, b := of(exists), of(missing)
			if a != b || a == "accepted" && kind != "word" {
				t.Errorf("%s %s: %q, but %s: %q", kind, exists, a, missing, b)
			}
		}
	}
}
