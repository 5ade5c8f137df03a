package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// scriptTrainer is the trainer that runs programs.
func scriptTrainer(program, home string) trainer.BuiltIn {
	folder := filepath.Join(home, "script")
	return trainer.BuiltIn{
		Command: []string{program, "trainer", "serve", sweep.ScriptTrainer,
			"--checkpoints", filepath.Join(folder, "checkpoints"), "--artifacts", filepath.Join(folder, "artifacts")},
		Open: func() (sweep.Trainer, error) { return &script.Trainer{}, nil },
	}
}

// placeScript finds the directory in which a sweep file's program runs, and says
// which it is.
func (s *settings) placeScript(ctx context.Context, program *sweep.Script, path string,
	o planOptions) (note string, err error) {
	find := func() (string, error) { return filepath.Abs(o.directory) }
	if o.directory == "" {
		find = func() (string, error) { return script.Locate(program, path) }
	}
	directory, err := find()
	if err == nil && o.roots != nil {
		err = script.CheckConfined(program, directory, o.roots)
	}
	var home string
	if err == nil {
		home, err = s.homeDir()
	}
	if err != nil {
		return "", err
	}
	program.Directory = directory
	what := program.Program
	if what == "" {
		what = "the command"
	}
	note = fmt.Sprintf("%s runs in %s", what, directory)
	listing, err := script.Listing(ctx, program, home)
	if listing != "" {
		note += ", each trial in a directory of its own: " + listing
	}
	return note, err
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
	programs := l.BuiltIn[sweep.ScriptTrainer]
	for _, directory := range directories {
		path, err := filepath.Abs(directory)
		if err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return usageError("--script-dir %s: expected a directory", directory)
		}
		programs.Command = append(programs.Command, "--root", path)
	}
	l.BuiltIn[sweep.ScriptTrainer] = programs
	return nil
}

// programUnchanged returns an error if the program of a sweep, or a file that belongs to it, is here and differs from
// what was submitted: its trials would wait for ever. With indices only their submissions count, else one that can
// still run is enough.
func programUnchanged(ctx context.Context, results sweep.Reader, id string, indices ...int64) error {
	record, err := results.Sweep(ctx, id)
	if err != nil {
		return err
	}
	var problem error
	for i := range record.Grids {
		g := &record.Grids[i]
		named := slices.ContainsFunc(indices, func(n int64) bool { return n >= g.First && n < g.First+g.Points })
		if len(indices) > 0 && !named {
			continue
		}
		s := g.Submission.Spec.Script
		if s == nil || s.Directory == "" || len(g.Submission.Datasets) == 0 {
			continue
		}
		digest, err := script.Digest(s)
		switch {
		case err != nil: // the program is elsewhere
		case slices.Contains(slices.Collect(maps.Values(g.Submission.Datasets)), digest):
			if len(indices) == 0 {
				return nil
			}
		default:
			problem = fmt.Errorf("nothing is started: the program %s in %s, or a file that belongs to it, has changed "+
				"since sweep %s was submitted, whose trials run only with the program as it was then. To run all of "+
				"them with the new program, submit the sweep file again: \"sweep submit FILE\", or \"sweep run FILE\" "+
				"without a cluster", cmp.Or(s.Program, strings.Join(s.Command, " ")), s.Directory, record.ID)
		}
	}
	return problem
}

// newExec runs programs that make their sweeps themselves.
func newExec(s *settings) *cobra.Command {
	var options planOptions
	cmd := &cobra.Command{
		Use:   "exec COMMAND [ARGUMENT…]",
		Short: "Run a Python program that creates its sweep with wandb.sweep and wandb.agent",
		Long: `The program imports a replacement for the package wandb. wandb.sweep stores the sweep
in the local database, and wandb.agent runs its trials on this machine. No account and
no network are needed. Other commands know the sweep by the id that wandb.sweep returns.
The command wandb (wandb sweep FILE, wandb agent ID), also when a program starts it, and
"python -m wandb" do the same.

--method and --count override the sweep's method and the count of wandb.agent. Flags
stand before COMMAND.

Exit codes: those of the program; 1 if it cannot be started.`,
		Example: "  sweep exec python3 tune.py\n  sweep exec --method random --count 20 python3 tune.py --epochs 20",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := options.check(); err != nil {
				return err
			}
			return s.exec(cmd, args, &options)
		},
	}
	options.addSearchFlags(cmd.Flags())
	cmd.Flags().SetInterspersed(false) // what follows is the program's
	return cmd
}

// exec starts a program with the stand-in first on PYTHONPATH and waits for it.
func (s *settings) exec(cmd *cobra.Command, args []string, options *planOptions) error {
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
	if args[0] == "wandb" { // whatever of this name is installed
		args = append([]string{filepath.Join(folder, script.CommandFolder, "wandb")}, args[1:]...)
	}
	path := folder
	if before := os.Getenv("PYTHONPATH"); before != "" {
		path += string(os.PathListSeparator) + before
	}
	program := exec.CommandContext(cmd.Context(), args[0], args[1:]...)
	program.Env = append(os.Environ(), "PYTHONPATH="+path, "SWEEP_PROGRAM="+self, "SWEEP_HOME="+home,
		"PATH="+filepath.Join(folder, script.CommandFolder)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if s.store != "" {
		program.Env = append(program.Env, "SWEEP_STORE="+s.store)
	}
	ran := filepath.Join(folder, "agent") // appears when wandb.agent has run something
	program.Env = append(program.Env, "SWEEP_AGENT_RAN="+ran)
	if options.method != "" {
		program.Env = append(program.Env, "SWEEP_AGENT_METHOD="+options.method)
	}
	if options.count > 0 {
		program.Env = append(program.Env, fmt.Sprintf("SWEEP_AGENT_COUNT=%d", options.count))
	}
	program.Stdin, program.Stdout, program.Stderr = cmd.InOrStdin(),
		unchanged(cmd.OutOrStdout()), unchanged(cmd.ErrOrStderr())
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	program.WaitDelay = script.Grace
	err = program.Run()
	if _, missing := os.Stat(ran); missing != nil && (options.method != "" || options.count > 0) {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: --method and --count had no effect: the program ran no wandb.agent")
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &exitError{exit.ExitCode(), fmt.Errorf("%s ended with %w", args[0], err)}
	}
	return err
}
