package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/s3"
	"sweep/sweep/wire"
)

// artifactsURL returns where the artifacts of a cluster or of the local database are kept.
func (s *settings) artifactsURL(cluster bool) (string, error) {
	switch {
	case s.artifacts != "":
		return s.artifacts, nil
	case cluster:
		return "nats://" + wire.DefaultBucket, nil
	}
	database, err := s.storeURL()
	if err != nil {
		return "", err
	}
	if path, ok := sqlitePath(database); ok {
		return filepath.Join(filepath.Dir(path), "artifacts"), nil
	}
	home, err := s.homeDir()
	return filepath.Join(home, "artifacts"), err
}

// sqlitePath returns the file of a database that is one.
func sqlitePath(database string) (path string, ok bool) {
	path, named := strings.CutPrefix(database, "sqlite:")
	return strings.TrimPrefix(path, "//"), named || !strings.Contains(database, "://")
}

// openArtifacts opens the artifact store of the settings. w is the cluster's wire,
// nil for the local database.
func (s *settings) openArtifacts(w *wire.Wire, log *slog.Logger) (*artifact.Store, error) {
	address, err := s.artifactsURL(w != nil)
	if err != nil {
		return nil, err
	}
	var backend artifact.Backend
	scheme, rest, _ := strings.Cut(address, ":")
	switch {
	case scheme == "s3":
		backend, err = s3.Open(address)
	case scheme == "nats" && w == nil:
		return nil, usageError("--artifacts %s: a bucket of a cluster's NATS servers, and this is the local "+
			"database: name a folder or s3://…", wire.Redacted(address))
	case scheme == "nats":
		var bucket string
		var size int64
		if bucket, size, err = parseBucket(rest); err == nil {
			backend, err = w.Objects(bucket, size)
		}
	case scheme == "file":
		backend, err = artifact.NewFolder(filepath.FromSlash(strings.TrimPrefix(rest, "//")))
	case strings.Contains(address, "://"):
		return nil, usageError("--artifacts %s: expected a folder, file://PATH, nats://BUCKET or s3://BUCKET/PREFIX",
			wire.Redacted(address))
	default:
		backend, err = artifact.NewFolder(address)
	}
	if err != nil {
		return nil, usageError("--artifacts: %w", err)
	}
	return artifact.New(backend, log), nil
}

// parseBucket reads //BUCKET?size=SIZE: the name of the pools' buckets, and the maximum size of each in
// bytes; 0 if the text has none.
func parseBucket(text string) (bucket string, size int64, err error) {
	bucket, options, _ := strings.Cut(strings.TrimPrefix(text, "//"), "?")
	bucket = cmp.Or(bucket, wire.DefaultBucket)
	values, err := url.ParseQuery(options)
	if err != nil {
		return "", 0, err
	}
	for name := range values {
		if name != "size" {
			return "", 0, fmt.Errorf("bucket %s: unknown option %q (did you mean size?)", bucket, name)
		}
	}
	if values.Has("size") {
		if size, err = sweep.ParseSize(values.Get("size")); err == nil && size < 1 {
			err = fmt.Errorf("size %d: expected at least 1 byte", size)
		}
	}
	return bucket, size, err
}
