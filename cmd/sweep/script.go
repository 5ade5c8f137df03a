package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/worker/script"
	"sweep/worker/trainer"
)

// cancelGrace lets programs have their own grace, and a little to end by; a worker
// ends a trainer that takes longer.
const cancelGrace = script.Grace + 2*time.Second

// scriptTrainer is the command line of the trainer that runs programs.
func scriptTrainer(program, home string) []string {
	folder := filepath.Join(home, "script")
	return []string{program, "trainer", "serve", sweep.ScriptTrainer,
		"--checkpoints", filepath.Join(folder, "checkpoints"), "--artifacts", filepath.Join(folder, "artifacts")}
}

// placeScript finds the directory in which a sweep file's program runs, and says
// which it is.
func placeScript(s *sweep.Script, path, directory string) (note string, err error) {
	if directory == "" {
		directory, err = script.Locate(s, path)
	} else {
		directory, err = filepath.Abs(directory)
	}
	if err != nil {
		return "", err
	}
	s.Directory = directory
	what := s.Program
	if what == "" {
		what = "the command"
	}
	return fmt.Sprintf("%s runs in %s", what, directory), nil
}

// asFromShell gives the trainers of a launcher the environment, home directory and files that a program
// has in the user's shell.
func asFromShell(l *trainer.Launcher) {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "SWEEP_") && name != "TMPDIR" {
			l.Environment = append(l.Environment, name)
		}
	}
	l.Secrets = nil
}

// restrictScripts has a worker run programs in some directories only; without any
// it does not offer to run programs.
func restrictScripts(l *trainer.Launcher, directories []string) error {
	if len(directories) == 0 {
		delete(l.BuiltIn, sweep.ScriptTrainer)
		return nil
	}
	for _, directory := range directories {
		path, err := filepath.Abs(directory)
		if err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return usageError("--script-dir %s: expected a directory", directory)
		}
		l.BuiltIn[sweep.ScriptTrainer] = append(l.BuiltIn[sweep.ScriptTrainer], "--root", path)
	}
	return nil
}

// newExec runs programs that make their sweeps themselves.
func newExec(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec COMMAND [ARGUMENT…]",
		Short: "Run a Python program that creates its sweep with wandb.sweep and wandb.agent",
		Long: `The program imports a replacement for the package wandb. wandb.sweep stores the sweep
in the local database, and wandb.agent runs its trials on this machine. No account and
no network are needed.

Exit codes: those of the program; 1 if it cannot be started.`,
		Example: "  sweep exec python3 tune.py\n  sweep exec --home ~/tune python3 tune.py --epochs 20",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return s.exec(cmd, args) },
	}
	cmd.Flags().SetInterspersed(false) // what follows is the program's
	return cmd
}

// exec starts a program with the stand-in first on PYTHONPATH and waits for it.
func (s *settings) exec(cmd *cobra.Command, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("path of this program: %w", err)
	}
	home, err := s.homeDir()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "sweep-wandb-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // in the temporary directory, whatever happens
	if err := script.WriteStandIn(folder); err != nil {
		return err
	}
	path := folder
	if before := os.Getenv("PYTHONPATH"); before != "" {
		path += string(os.PathListSeparator) + before
	}
	program := exec.CommandContext(cmd.Context(), args[0], args[1:]...)
	program.Env = append(os.Environ(), "PYTHONPATH="+path, "SWEEP_PROGRAM="+self, "SWEEP_HOME="+home)
	if s.store != "" {
		program.Env = append(program.Env, "SWEEP_STORE="+s.store)
	}
	program.Stdin, program.Stdout, program.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	program.WaitDelay = script.Grace
	err = program.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &exitError{exit.ExitCode(), fmt.Errorf("%s ended with %w", args[0], err)}
	}
	return err
}
