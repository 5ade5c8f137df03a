package trainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"sweep/sweep"
)

// Prefix may precede a trainer's name in the name of its executable.
const Prefix = "sweep-trainer-"

// DefaultStartTimeout is how long a trainer may take until its handshake: a Python program that
// imports its libraries from a cold network disk needs most of it.
const DefaultStartTimeout = time.Minute

// environment lists the host's variables that trainers see: those that programs need to run, and
// those for threads, memory and devices.
var environment = []string{
	"PATH", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH",
	"SWEEP_KERNEL", "SWEEP_THREADS", "SWEEP_HISTORY",
	"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "GORACE",
	"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
	"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
	// Windows programs do not start without it.
	"SYSTEMROOT",
}

// BuiltIn is a trainer that is not looked for.
type BuiltIn struct {
	// Command is its command line.
	Command []string
	// Open, if not nil, makes the trainer that Command serves within this process, for its description alone.
	Open func() (sweep.Trainer, error)
}

// Launcher starts trainers by name: those of BuiltIn, and the executables NAME or
// sweep-trainer-NAME in the directories of Path, of which the first wins. The zero
// value knows no trainer. A Launcher must not be changed while it is used; Launch
// may be called from several goroutines.
type Launcher struct {
	// BuiltIn are trainers by name.
	BuiltIn map[string]BuiltIn
	// Path holds the directories to search.
	Path []string
	// Environment names variables that trainers see besides the usual ones (PATH, locale,
	// threads and devices, SWEEP_KERNEL, SWEEP_THREADS, SWEEP_HISTORY). They see no others.
	Environment []string
	// Home is the home directory of trainers. If it is empty, each process has its own,
	// which is removed with its temporary directory when it ends.
	Home string
	// Secrets are files and directories, existing or not, that trainers and what they start
	// cannot read or write. They cannot inspect other processes either, except those that
	// they have started. Where CanHide returns an error, nothing is hidden.
	Secrets []string
	// StartTimeout is how long a start may take; DefaultStartTimeout if 0.
	StartTimeout time.Duration
	// CancelGrace is how long a cancelled trial may take to end before its trainer
	// is killed; 3 s if 0.
	CancelGrace time.Duration
	// Log gets what trainers write to standard error, at level debug; slog.Default
	// if nil.
	Log *slog.Logger

	// cleaned removes the directories of killed workers.
	cleaned sync.Once
}

var _ sweep.Launcher = (*Launcher)(nil)

// Launch implements sweep.Launcher. It starts the process and requests its description, so a
// launched trainer answers. When ctx ends during the start, the process is killed; later ctx has
// no effect.
func (l *Launcher) Launch(ctx context.Context, name string, variables ...string) (sweep.Process, error) {
	argv, err := l.find(name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	log := cmp.Or(l.Log, slog.Default())
	timeout := cmp.Or(l.StartTimeout, DefaultStartTimeout)
	l.cleaned.Do(func() { removeLeftovers(os.TempDir()) })
	scratch, err := newScratch(os.TempDir())
	if err != nil {
		return nil, err
	}
	command := newCommand(argv, l.Secrets, scratch, log.With("trainer", name))
	var sockets string
	host := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{pluginName: &adapter{}},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			command.env, sockets = append(l.environ(scratch, variables), cmd.Env...), socketDir
			return command, nil
		},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		StartTimeout:     timeout,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: socketParent(scratch)},
		// The one connection lasts as long as the process.
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithIdleTimeout(0), grpc.WithStaticConnWindowSize(windowSize),
			grpc.WithStaticStreamWindowSize(windowSize),
		},
		Logger: hclog.NewNullLogger(),
	})
	stop := context.AfterFunc(ctx, func() { command.kill("its start was cancelled") })
	process, err := connect(ctx, name, command, host)
	if err == nil && l.CancelGrace > 0 {
		process.grace = l.CancelGrace
	}
	if err == nil && stop() {
		forget(sockets)
		return process, nil
	}
	shut(host, command, 0)
	scratch.remove() // if nothing was started
	if sockets != "" {
		forget(sockets)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, explain(name, command, timeout, err)
}

// Describe implements sweep.Describer.
func (l *Launcher) Describe(ctx context.Context, name string) (*sweep.Description, error) {
	if open := l.BuiltIn[name].Open; open != nil {
		served, err := open()
		if err != nil {
			return nil, fmt.Errorf("trainer %s: %w", name, err)
		}
		return served.Describe(ctx)
	}
	process, err := l.Launch(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = process.Close() }() // it has answered
	return process.Describe(ctx)
}

// connect starts a command and asks it for its description.
func connect(ctx context.Context, name string, command *command, host *plugin.Client) (*process, error) {
	protocol, err := host.Client()
	if err != nil {
		return nil, err
	}
	connection, err := protocol.Dispense(pluginName)
	if err != nil {
		return nil, err
	}
	p := newProcess(name, command, host, connection.(*grpc.ClientConn))
	if p.description, err = p.client.Describe(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// explain returns why a trainer did not start: go-plugin's error does not say it. The process has
// ended.
func explain(name string, command *command, timeout time.Duration, err error) error {
	path := command.argv[0]
	what := fmt.Sprintf("trainer %s (%s)", name, path)
	if command.ID() == "" {
		return fmt.Errorf("%s cannot be started: %w", what, err)
	}
	lastLine := ""
	if line := errorLine(command.stderr.String()); line != "" {
		lastLine = "; its last output: " + line
	}
	line := command.firstLine()
	fields := strings.Split(line, "|")
	switch {
	case line == "" && strings.Contains(err.Error(), "timeout"):
		return fmt.Errorf("%s has not completed its handshake within %v, killed%s", what, timeout, lastLine)
	case line == "":
		return fmt.Errorf("%s ended (%s) without a handshake: is it a trainer?%s", what, command.exit(), lastLine)
	case len(fields) < 5 || fields[0] != fmt.Sprint(plugin.CoreProtocolVersion):
		if len(line) > 100 {
			line = strings.ToValidUTF8(line[:100], "") + "…"
		}
		return fmt.Errorf("%s wrote %q to standard output before its handshake: is it a trainer? "+
			"A trainer writes nothing there before it serves, but to standard error%s", what, line, lastLine)
	case fields[1] != fmt.Sprint(ProtocolVersion):
		return fmt.Errorf("%s speaks version %s of the trainer contract, this program version %d: "+
			"update the older one", what, fields[1], ProtocolVersion)
	case len(fields) < 6 || fields[5] == "":
		return fmt.Errorf("%s offers no certificate in its handshake: a trainer must support AutoMTLS", what)
	}
	return fmt.Errorf("%s did not start: %w", what, err)
}

// Names returns the names of the available trainers, sorted.
func (l *Launcher) Names() []string {
	names := slices.Collect(maps.Keys(l.BuiltIn))
	for _, dir := range l.Path {
		// A directory that cannot be read has no trainers; Launch reports that.
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if executable(filepath.Join(dir, entry.Name())) == nil {
				names = append(names, strings.TrimSuffix(strings.TrimPrefix(entry.Name(), Prefix), suffix()))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// find returns the command line of a trainer.
func (l *Launcher) find(name string) ([]string, error) {
	if builtin, ok := l.BuiltIn[name]; ok {
		return builtin.Command, nil
	}
	if name == "" || name != filepath.Base(name) || name == "." || name == ".." {
		return nil, fmt.Errorf("trainer %q: a trainer's name is the name of a file without its directory: %w", name,
			sweep.ErrNotFound)
	}
	var refused error
	for _, dir := range l.Path {
		for _, file := range []string{name, Prefix + name} {
			path, err := filepath.Abs(filepath.Join(dir, file+suffix()))
			if err == nil {
				err = executable(path)
			}
			switch {
			case err == nil:
				return []string{path}, nil
			case !errors.Is(err, fs.ErrNotExist) && refused == nil:
				refused = err
			}
		}
	}
	if refused != nil {
		return nil, fmt.Errorf("trainer %s: %w", name, refused)
	}
	where := "and --trainer-path names no directory"
	if len(l.Path) > 0 {
		where = "neither built in nor in " + strings.Join(l.Path, ", ")
	}
	hint := ""
	if near := sweep.Nearest(name, l.Names()); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("trainer %s: %w: %s%s", name, sweep.ErrNotFound, where, hint)
}

// executable returns nil if path is a file that can be executed.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "trainer", Path: path, Err: fs.ErrNotExist}
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable (mode %v), chmod +x makes it so: %w", path, info.Mode(),
			fs.ErrPermission)
	case runtime.GOOS == "windows" && !strings.HasSuffix(path, suffix()):
		return &fs.PathError{Op: "trainer", Path: path, Err: fs.ErrNotExist}
	}
	return nil
}

// suffix ends the names of executables.
func suffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// environ returns the environment of a trainer, without the variables of go-plugin. Those that are given replace others,
// and remove them where they have no value.
func (l *Launcher) environ(s *scratch, given []string) []string {
	environ := []string{"HOME=" + cmp.Or(l.Home, s.home()), "TMPDIR=" + s.temp()}
	for _, name := range append(slices.Clone(environment), l.Environment...) {
		if value, ok := os.LookupEnv(name); ok {
			environ = append(environ, name+"="+value)
		}
	}
	for _, variable := range given {
		name, _, set := strings.Cut(variable, "=")
		environ = slices.DeleteFunc(environ, func(other string) bool { return strings.HasPrefix(other, name+"=") })
		if set {
			environ = append(environ, variable)
		}
	}
	return environ
}

// socketParent returns the directory in which go-plugin creates the directory of the socket: the
// process' own, unless its path is too long. A socket's path has at most 104 bytes.
func socketParent(s *scratch) string {
	const most = 60
	if len(s.dir) > most && runtime.GOOS != "windows" {
		return "/tmp"
	}
	return s.dir
}
