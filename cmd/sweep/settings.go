package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sweep/coordinator/store"
	"sweep/sweep"
)

// settings are the flags that every command knows.
type settings struct {
	home        string
	store       string
	nats        string
	configFile  string
	data        string
	trainerPath []string
	logLevel    string
	// origins tell where the settings in force come from; see resolve.
	origins map[string]string
}

func (s *settings) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.home, "home", "", "directory of the local database and broker (default $SWEEP_HOME, then the user's data directory)")
	flags.StringVar(&s.store, "store", "", "database: a path, sqlite:PATH or postgres://… (default $SWEEP_STORE, then sweep.db in the home directory)")
	flags.StringVar(&s.nats, "nats", "", "NATS servers of a cluster, as nats://HOST:4222; without them commands use the local database (default $SWEEP_NATS)")
	flags.StringVar(&s.configFile, "config", "", "file of settings, lines of NAME=VALUE (default $SWEEP_CONFIG, then sweep/sweep.conf in the user's configuration directory)")
	flags.StringVar(&s.data, "data", "", "directory of the data sets, with ucr/, mnist/ … in it (default $SWEEP_DATA, then data in the home directory)")
	flags.StringSliceVar(&s.trainerPath, "trainer-path", filepath.SplitList(os.Getenv("SWEEP_TRAINER_PATH")), "directories of further trainers' executables (default $SWEEP_TRAINER_PATH)")
	flags.StringVar(&s.logLevel, "log-level", "warn", "what is logged to standard error: debug, info, warn or error")
}

// homeDir returns the directory of everything local, which it creates.
func (s *settings) homeDir() (string, error) {
	dir := s.home
	if dir == "" {
		dir = os.Getenv("SWEEP_HOME")
	}
	if dir == "" {
		base := os.Getenv("XDG_DATA_HOME")
		if base == "" {
			user, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("no home directory (%w): set SWEEP_HOME or use --home DIR", err)
			}
			base = filepath.Join(user, ".local", "share")
		}
		dir = filepath.Join(base, "sweep")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("home directory: %w", err)
	}
	return dir, nil
}

// dataDir returns the directory of the data sets; it need not exist.
func (s *settings) dataDir() (string, error) {
	dir := s.data
	if dir == "" {
		dir = os.Getenv("SWEEP_DATA")
	}
	if dir == "" {
		home, err := s.homeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, "data")
	}
	return filepath.Abs(dir)
}

// storeURL returns where the results are.
func (s *settings) storeURL() (string, error) {
	if s.store != "" {
		return s.store, nil
	}
	if url := os.Getenv("SWEEP_STORE"); url != "" {
		return url, nil
	}
	home, err := s.homeDir()
	if err != nil {
		return "", err
	}
	return "sqlite:" + filepath.Join(home, "sweep.db"), nil
}

// openStore opens the database of the settings.
func (s *settings) openStore(ctx context.Context) (sweep.Store, error) {
	url, err := s.storeURL()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, url)
}

// logger returns the structured logger of the settings.
func (s *settings) logger(cmd *cobra.Command) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(strings.ToUpper(s.logLevel))); err != nil {
		return nil, usageError("--log-level %s: expected debug, info, warn or error", s.logLevel)
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level})), nil
}

// findSweep opens the results and the sweep that a command's optional argument
// names, the newest if there is none.
func (s *settings) findSweep(ctx context.Context, args []string) (reader, *sweep.SweepRecord, error) {
	results, err := s.openReader(ctx)
	if err != nil {
		return nil, nil, err
	}
	reference := "latest"
	if len(args) > 0 {
		reference = args[0]
	}
	record, err := results.Sweep(ctx, reference)
	if err != nil {
		_ = results.Close() // the first error is the one that matters
		return nil, nil, err
	}
	return results, record, nil
}
