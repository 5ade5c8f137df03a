package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sweep/coordinator"
	"sweep/sweep"
	"sweep/sweep/wire"
)

// Where a setting in force comes from, apart from files.
const (
	fromFlag    = "flag"
	fromDefault = "default"
)

// settable are the flags that the environment and the settings file set too, as
// SWEEP_NAME: the same names in both, so that one file serves this program,
// systemd (EnvironmentFile) and containers (env_file).
var settable = []string{"home", "store", "nats", "nats-creds", "nats-nkey", "nats-cert", "nats-key", "nats-ca",
	"nats-inbox", "nats-domain",
	"data", "artifacts", "trainer-path", "trainer-home", "trainer-env", "log-level",
	"slots", "pool", "name", "grace", "listen", "pprof", "ack-wait", "lease", "replicas", "window", "memory", "label",
	"spool", "script-dir", "ui", "ui-cert", "ui-key", "tokens"}

// variable is the environment's name of a setting.
func variable(name string) string {
	return "SWEEP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// resolve sets the command's flags that were not given from the environment,
// then from the settings file.
func (s *settings) resolve(cmd *cobra.Command) error {
	s.origins = map[string]string{}
	if cmd.Hidden {
		return nil // the trainer of a worker has no settings
	}
	lines, err := s.readFile()
	if err != nil {
		return err
	}
	for _, name := range settable {
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			continue
		}
		line, inFile := lines[variable(name)]
		environment := os.Getenv(variable(name))
		switch {
		case flag.Changed:
			s.origins[name] = fromFlag
		case environment != "":
			s.origins[name] = "environment " + variable(name)
			err = set(flag, environment)
		case inFile:
			s.origins[name] = line.place
			err = set(flag, line.value)
		default:
			s.origins[name] = fromDefault
		}
		if err != nil {
			return usageError("%s: %s: %w", s.origins[name], variable(name), err)
		}
	}
	return nil
}

func set(flag *pflag.Flag, value string) error {
	if flag.Name == "trainer-path" || flag.Name == "script-dir" {
		value = strings.Join(filepath.SplitList(value), ",")
	}
	return flag.Value.Set(value)
}

// fileLine is a setting in the settings file.
type fileLine struct {
	value, place string
}

// settingsFile is the settings file that --config or SWEEP_CONFIG names; "" if neither does.
func (s *settings) settingsFile() string {
	if s.configFile != "" {
		return s.configFile
	}
	return os.Getenv("SWEEP_CONFIG")
}

// readFile reads the settings file. It is an error if one that the user names does not exist.
func (s *settings) readFile() (map[string]fileLine, error) {
	path, asked := s.settingsFile(), true
	if path == "" {
		asked = false
		if dir, err := os.UserConfigDir(); err == nil {
			path = filepath.Join(dir, "sweep", "sweep.conf")
		}
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	return parseSettings(path, text)
}

// parseSettings reads lines of NAME=VALUE; empty lines and those that begin
// with # mean nothing.
func parseSettings(path string, text []byte) (map[string]fileLine, error) {
	lines := map[string]fileLine{}
	scanner := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		place := fmt.Sprintf("%s:%d", path, number)
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok {
			return nil, usageError("%s: expected NAME=VALUE", place) // the line may hold a password
		}
		if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		if before, twice := lines[name]; twice {
			return nil, usageError("%s: %s is set already at %s", place, name, before.place)
		}
		known := make([]string, len(settable))
		for i, setting := range settable {
			known[i] = variable(setting)
		}
		if !slices.Contains(known, name) {
			return nil, usageError("%s: unknown setting %s; known are %s", place, name, strings.Join(known, ", "))
		}
		lines[name] = fileLine{value, place}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("settings file %s: %w", path, err)
	}
	return lines, nil
}

// daemon are the settings of coordinators and workers.
type daemon struct {
	slots      int
	pool, name string
	listen     string
	pprof      string
	grace      time.Duration
	ackWait    time.Duration
	lease      time.Duration
	replicas   int
	window     int
	memory     string
	spool      string
	labels     []string
	scriptDirs []string
	devices    deviceFlags
	dashboard  dashboard
}

func newConfig(s *settings) *cobra.Command {
	var d daemon
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the settings in force and where each comes from",
		Long: `A setting comes from a flag, the environment (SWEEP_NAME), or the settings file, in
that order. The file has lines SWEEP_NAME=VALUE. Passwords are not shown.

Exit codes: 0 done, 2 an invalid setting.`,
		Example: "  sweep config\n  SWEEP_NATS=nats://head:4222 sweep config",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defaults := map[string]func() (string, error){
				"home": s.homeDir, "store": s.storeURL, "data": s.dataDir,
				"artifacts": func() (string, error) { return s.artifactsURL(s.server() != "") },
			}
			w := newColumns(cmd.OutOrStdout())
			fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
			for _, name := range settable {
				value := cmd.Flags().Lookup(name).Value.String()
				if value == "" || value == "[]" {
					value = "-"
					if find := defaults[name]; find != nil {
						var err error
						if value, err = find(); err != nil {
							return err
						}
					}
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", variable(name), wire.Redacted(value), s.origins[name])
			}
			return w.Flush()
		},
	}
	d.addFlags(cmd.Flags())
	d.addCoordinatorFlags(cmd.Flags())
	d.addWorkerFlags(cmd.Flags())
	return cmd
}

// addFlags adds the flags of coordinators and workers alike.
func (d *daemon) addFlags(f *pflag.FlagSet) {
	f.StringVar(&d.listen, "listen", "", "address of /healthz, /readyz and /metrics, such as :8080; none if empty")
	f.StringVar(&d.pprof, "pprof", "", "address of /debug/pprof, such as 127.0.0.1:6060; none if empty. Everyone who "+
		"reaches it can inspect the program and slow it down")
	f.DurationVar(&d.ackWait, "ack-wait", wire.DefaultAckWait, "how long the broker waits for a worker's progress "+
		"message before another worker gets the trial; applies to new queues. A worker goes by its own value until a "+
		"coordinator has told it that of its queue")
}

func (d *daemon) addCoordinatorFlags(f *pflag.FlagSet) {
	d.dashboard.addFlags(f, "")
	f.DurationVar(&d.lease, "lease", coordinator.DefaultLease, "how long a trial whose job is lost may be silent "+
		"before it is queued again")
	f.IntVar(&d.window, "window", coordinator.DefaultWindow, "number of jobs waiting in NATS for the workers of a "+
		"pool, divided among their queues by slots, in addition to one or two per slot; up to four times as many "+
		"while trials are short")
	f.IntVar(&d.replicas, "replicas", 1, "replicas of new streams, in a cluster of NATS servers")
}

// defaultSpool is worker.DefaultSpool.
const defaultSpool = "4GiB"

func (d *daemon) addWorkerFlags(f *pflag.FlagSet) {
	f.IntVar(&d.slots, "slots", runtime.NumCPU(), "number of trials that run at the same time")
	f.StringVar(&d.pool, "pool", sweep.DefaultPool, "pool of the worker: only sweeps that name it run here")
	f.StringVar(&d.name, "name", "", "name of the worker (default: host and process number)")
	f.StringVar(&d.memory, "memory", "", "memory per slot, such as 8GiB: trials that need more are not sent here, "+
		"and a trial that uses more is stopped (default: the host's memory divided by the slots)")
	f.StringSliceVar(&d.labels, "label", nil, "labels that sweeps can require, such as gpu=a100; separate several "+
		"with commas or repeat the flag")
	d.devices.addFlags(f)
	f.StringVar(&d.spool, "spool", defaultSpool, "disk space in --home for artifacts that wait for their store; when "+
		"it is used up, the worker takes no trials that leave artifacts")
	f.StringSliceVar(&d.scriptDirs, "script-dir", nil, "directories whose programs sweeps may run; none if empty")
	f.DurationVar(&d.grace, "grace", 30*time.Second, "how long running trials may continue when the worker stops")
}
