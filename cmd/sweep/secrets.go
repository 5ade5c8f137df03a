package main

import (
	"os"
	"path/filepath"
)

// secrets are the files by which this program's user reaches NATS and the
// database. Trainers have no use for them, and do not see them.
func (s *settings) secrets() []string {
	named := []string{s.nats.Credentials, s.nats.NKey, s.nats.Key, s.settingsFile(),
		os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), os.Getenv("PGPASSFILE"), os.Getenv("PGSERVICEFILE"),
		os.Getenv("PGSSLKEY")}
	var usual []string
	if dir, err := os.UserConfigDir(); err == nil {
		usual = append(usual, filepath.Join(dir, "sweep", "sweep.conf"), filepath.Join(dir, "nats"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		for _, name := range []string{".pgpass", ".pg_service.conf", ".postgresql", ".nkeys",
			".local/share/nats", ".aws"} {
			usual = append(usual, filepath.Join(home, name))
		}
	}
	var secrets []string
	for i, file := range append(named, usual...) {
		info, err := os.Stat(file)
		switch {
		case file == "":
		case err != nil && i >= len(named): // hiding what is not there would close its directory to new files
		case err == nil && !info.Mode().IsRegular() && !info.IsDir(): // /dev/null is no secret
		default:
			secrets = append(secrets, file)
		}
	}
	return secrets
}
