package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sweep/coordinator/store"
	"sweep/sweep"
	"sweep/sweep/paper/archive"
	"sweep/sweep/wire"
)

// settings are the flags that every command knows.
type settings struct {
	home        string
	store       string
	nats        wire.Access
	natsDomain  string
	configFile  string
	data        string
	trainerPath []string
	trainerHome string
	trainerEnv  []string
	logLevel    logLevel
	artifacts   string
	// origins tell where the settings in force come from; see resolve.
	origins map[string]string
}

func (s *settings) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.home, "home", "", "keep the local database and all other state in `DIR` (default sweep in the "+
		"user's data directory)")
	flags.StringVar(&s.store, "store", "", "keep results in `DATABASE`: a path, sqlite:PATH or postgres://… (default "+
		"sweep.db in the state directory)")
	n := &s.nats
	flags.StringVar(&n.Addresses, "nats", "", "use the cluster whose NATS servers are `SERVERS`, such as "+
		"nats://HOST:4222, in place of the local database")
	flags.StringVar(&n.Credentials, "nats-creds", "", "file with a NATS user's credentials (JWT and seed), as nsc "+
		"writes them")
	flags.StringVar(&n.NKey, "nats-nkey", "", "file with a NATS user's seed (SU…)")
	flags.StringVar(&n.Certificate, "nats-cert", "", "file with the client certificate for NATS, in PEM")
	flags.StringVar(&n.Key, "nats-key", "", "file with the private key of --nats-cert, in PEM")
	flags.StringVar(&n.CA, "nats-ca", "", "file with the certificates, in PEM, of the authority that signed the "+
		"certificates of the NATS servers (default: the system's authorities)")
	flags.StringVar(&n.Inbox, "nats-inbox", "", "prefix of the subjects for replies from NATS; servers may permit "+
		"each user only one (default _INBOX.client; for daemons, that of their role)")
	flags.StringVar(&s.natsDomain, "nats-domain", "", "JetStream domain that holds the cluster's streams, if the NATS "+
		"server is a leaf node with a domain of its own (default: the server's own)")
	flags.StringVar(&s.configFile, "config", "", "read settings from `FILE`, as lines SWEEP_NAME=VALUE (default "+
		"sweep/sweep.conf in the user's configuration directory)")
	flags.StringVar(&s.data, "data", "", "find the data sets in `DIR`: DIR/ucr, DIR/mnist … (default data in the "+
		"state directory)")
	flags.StringSliceVar(&s.trainerPath, "trainer-path", nil, "directories with executables of further trainers")
	flags.StringVar(&s.trainerHome, "trainer-home", "", "home directory of trainers (default: a temporary one for "+
		"each process)")
	flags.StringSliceVar(&s.trainerEnv, "trainer-env", nil, "names of environment variables that trainers get "+
		"in addition to the usual ones, such as PYTHONPATH")
	flags.StringVar(&s.artifacts, "artifacts", "", "artifact store: a folder; nats://BUCKET?size=SIZE, a bucket for "+
		"each pool on the cluster's servers (by default the buckets share half of their storage); or "+
		"s3://BUCKET/PREFIX?endpoint=https://HOST:PORT (default artifacts beside the local database or, with --nats, "+
		"nats://SWEEP_ARTIFACTS)")
	s.logLevel = logLevel(slog.LevelWarn)
	flags.Var(&s.logLevel, "log-level", "log messages of `LEVEL` and above: debug, info, warn or error")
}

// homeDir returns the directory of everything local, which it creates for this user alone.
func (s *settings) homeDir() (string, error) {
	dir := s.home
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
	if err := makePrivate(dir, s.home == ""); err != nil {
		return "", fmt.Errorf("state directory: %w", err)
	}
	return dir, nil
}

// makePrivate creates a directory that only its owner may enter. One that exists and is named by the user keeps its
// mode: it may be shared.
func makePrivate(dir string, own bool) error {
	if info, err := os.Stat(dir); err == nil {
		if own && info.IsDir() && info.Mode().Perm()&0o077 != 0 {
			return os.Chmod(dir, 0o700) // whoever made it
		}
		return os.MkdirAll(dir, 0o700) // fails if it is a file
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}

// dataDir returns the directory of the data sets; it need not exist.
func (s *settings) dataDir() (string, error) {
	if s.data != "" {
		return filepath.Abs(s.data)
	}
	home, err := s.homeDir()
	return filepath.Join(home, "data"), err
}

// storeURL returns where the results are.
func (s *settings) storeURL() (string, error) {
	if s.store != "" {
		return s.store, nil
	}
	home, err := s.homeDir()
	return "sqlite:" + filepath.Join(home, "sweep.db"), err
}

// access is how a part of the cluster reaches NATS, with the inbox of its role
// unless another one is set.
func (s *settings) access(inbox string) wire.Access {
	access := s.nats
	access.Inbox = cmp.Or(access.Inbox, inbox)
	return access
}

// openStore opens the database of the settings.
func (s *settings) openStore(ctx context.Context) (sweep.Store, error) {
	url, err := s.storeURL()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, url, archive.Views())
}

// logLevel is the value of a flag.
type logLevel slog.Level

// String implements pflag.Value.
func (l *logLevel) String() string { return strings.ToLower(slog.Level(*l).String()) }

// Type implements pflag.Value.
func (l *logLevel) Type() string { return "level" }

// Set implements pflag.Value.
func (l *logLevel) Set(text string) error {
	if err := (*slog.Level)(l).UnmarshalText([]byte(text)); err != nil {
		return errors.New("expected debug, info, warn or error")
	}
	return nil
}

// logger returns the structured logger of the settings.
func (s *settings) logger(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.Level(s.logLevel)}))
}
