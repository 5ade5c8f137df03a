// Command sweep trains every point of a hyperparameter grid, on one laptop or
// on a cluster, and turns the results into the tables of the papers.
//
// Each subcommand has a file of its own name. This package is the only place
// that wires concrete types: the trainer, the store, the broker.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sweep/sweep"
	"sweep/sweep/figure"
	"sweep/sweep/file"
	"sweep/sweep/frame"
)

// Exit codes, the same for every command; each help text names those it uses.
const (
	exitFailure     = 1 // something went wrong that is not listed below
	exitUsage       = 2 // wrong flags or arguments, or a sweep file that is refused
	exitTrials      = 3 // the sweep ended, but some of its trials failed
	exitNotFound    = 4 // no such sweep, trial or file
	exitArtifacts   = 5 // an artifact is missing, lost or damaged
	exitHalted      = 6 // the sweep is paused because its trials fail
	exitMetric      = 7 // no trial has logged the sweep's metric
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit code: main without the
// process around it, which is what tests call.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	args = negativeLast(root, args)
	root.SetArgs(args)
	root.SetIn(stdin)
	out, errOut := &visible{out: stdout}, &visible{out: stderr}
	defer out.flush()
	defer errOut.flush()
	root.SetOut(out)
	root.SetErr(errOut)
	err := run(ctx, root, args)
	if err == nil {
		return 0
	}
	if panicked, is := errors.AsType[*sweep.PanicError](err); is {
		fmt.Fprintln(errOut, panicked.Stack)
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintln(errOut, "sweep:", err)
	}
	return exitCode(err)
}

var negative = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-[0-9]+$`) })

// negativeLast puts a negative priority behind the flags and "--": it would be taken for a flag.
func negativeLast(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	i := slices.IndexFunc(args, negative().MatchString)
	if err != nil || cmd.Name() != "priority" || i < 0 || slices.Contains(args, "--") {
		return args
	}
	return append(slices.Delete(slices.Clone(args), i, i+1), "--", args[i])
}

// run runs a command, whose panic is its error.
func run(ctx context.Context, root *cobra.Command, args []string) (err error) {
	defer sweep.Catch(&err)
	if err := misnamed(root, args); err != nil {
		return err
	}
	return root.ExecuteContext(ctx)
}

// misnamed is the error of a command line that asks for the help of no command: it would get that of the one above.
func misnamed(root *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") ||
		!slices.Contains(rest, "--help") && !slices.Contains(rest, "-h") {
		return nil
	}
	return unknownCommand(cmd, rest[0])
}

// errSilent marks errors whose message has been printed already.
var errSilent = errors.New("")

// exitError gives an error its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func exitCode(err error) int {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, new(*sweep.LostError)), errors.As(err, new(*sweep.DamagedError)):
		return exitArtifacts
	case errors.As(err, new(*file.Error)), errors.As(err, new(*sweep.ParameterError)),
		errors.As(err, new(*frame.QueryError)), errors.As(err, new(*figure.OptionError)), errors.Is(err, sweep.ErrNoPoint),
		errors.Is(err, sweep.ErrTooManyPoints):
		return exitUsage
	case errors.Is(err, sweep.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return exitNotFound
	default:
		return exitFailure
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "sweep",
		Short: "Train every point of a hyperparameter grid and turn the results into tables",
		Long: `A sweep file names a trainer and the values of its parameters. "sweep run FILE"
trains all of its trials on this machine; nothing else needs to be installed. Results
are stored in a database: query them with "sweep table", "sweep trials" and SQL.

Exit codes: those of the command.`,
		Example: `  sweep run examples/cbf.yaml
  sweep table ucr
  sweep trials --sort validation_loss --limit 10
  sweep sql --sweep latest "SELECT model, avg(test_accuracy) FROM t GROUP BY model"`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = false
	var s settings
	s.addFlags(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return s.resolve(cmd) }
	addGroup(root, "train", "Train:", newRun(&s), newPreset(&s), newLonger(&s), newExec(&s))
	addGroup(root, "ask", "Query results:", newStatus(&s), newTable(&s), newFigure(&s), newTrials(&s), newCurves(&s),
		newDiff(&s), newSQL(&s), newExport(&s), newReport(&s), newTrial(&s), newLogs(&s), newArtifacts(&s),
		newComplete(&s), newPredict(&s), newUI(&s), newWatch(&s), newMCP(&s), newConfig(&s))
	addGroup(root, "cluster", "Train on a cluster:", append(changeCommands(&s), newSubmit(&s), newExtend(&s),
		newTell(&s), newAsk(&s), newNote(&s), newTag(&s), newCoordinator(&s), newWorker(&s), newWorkers(&s),
		newDrain(&s), newMigrate(&s), newNATS(), newToken(&s))...)
	addGroup(root, "write", "Write sweep files:", newInit(), newExpand(&s), newSchema(&s), newTrainer(&s), newData(&s))
	root.AddCommand(newVersion(), newManual())
	finishCommand(root)
	addHelp(root)
	s.addCompletion(root)
	return root
}

// addGroup adds commands that the help lists under a title.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = id
	}
	root.AddCommand(commands...)
}

// family is a command that only has subcommands.
func family(use, short, long, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long + "\n\nExit codes: those of the subcommand.", Example: example,
		Args: cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// unknownCommand is the error of a name that is no subcommand.
func unknownCommand(cmd *cobra.Command, name string) error {
	var known []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			known = append(append(known, sub.Name()), sub.Aliases...)
		}
	}
	return usageError("unknown command %q for %q%s (see \"%[2]s --help\")", name, cmd.CommandPath(),
		meant(name, "", known))
}

// flagError adds to an error of flags where to read about them, and to an unknown one which may be meant.
func flagError(cmd *cobra.Command, err error) error {
	hint := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		hint = meant(unknown.GetSpecifiedName(), "--", known)
	}
	return usageError("%w%s (see \"%s --help\")", err, hint, cmd.CommandPath())
}

// meant asks whether the known name is meant that is nearest to an unknown one; "" if none is near.
func meant(name, prefix string, known []string) string {
	if nearest := sweep.Nearest(name, known); nearest != "" {
		return fmt.Sprintf("; did you mean %q?", prefix+nearest)
	}
	return ""
}

// finishCommand begins the help of each command with its summary, and gives wrong arguments the exit code
// of wrong usage.
func finishCommand(cmd *cobra.Command) {
	cmd.Long = strings.TrimSpace(cmd.Short + ".\n\n" + strings.Trim(cmd.Long, "\n"))
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err == nil:
				return nil
			case cmd.HasSubCommands() && len(args) > 0:
				return unknownCommand(cmd, args[0])
			case errors.As(err, new(*exitError)): // which says what to write
				return err
			}
			return usageError("%s: %w\nUsage: %s (see \"%[1]s --help\")", cmd.CommandPath(), err, cmd.UseLine())
		}
	}
	for _, sub := range cmd.Commands() {
		finishCommand(sub)
	}
}
