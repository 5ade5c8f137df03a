package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// retryPause is between two attempts at something that may fail for a while.
	retryPause = 200 * time.Millisecond
	// queryLimit bounds a query.
	queryLimit = 10 * time.Second
)

// findPostgres returns the directory of Postgres' programs.
func findPostgres() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is right
	if len(found) == 0 {
		return "", errors.New("no Postgres server was found: install it (.ci/install), or have initdb in PATH")
	}
	return filepath.Dir(slices.Max(found)), nil
}

// serverUser is whom Postgres runs as: it does not run as root.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// createDatabase makes a Postgres server and starts it.
func (c *cluster) createDatabase(ctx context.Context) error {
	as, err := serverUser()
	if err != nil {
		return fmt.Errorf("finding a user to run Postgres as: %w", err)
	}
	dir := c.path("postgres")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	initdb := exec.CommandContext(ctx, filepath.Join(c.programs.postgres, "initdb"), "-D", dir, "-U", "postgres", "-A",
		"trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	c.postgres = &process{name: "postgres", log: c.path("postgres.log"), dir: "/", user: as,
		env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"},
		arguments: []string{filepath.Join(c.programs.postgres, "postgres"), "-D", dir, "-k", dir, "-p",
			strconv.Itoa(c.port + postgresPort), "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"}}
	if err := c.postgres.start(); err != nil {
		return err
	}
	for _, statement := range []string{"CREATE ROLE sweep LOGIN CREATEROLE", "CREATE DATABASE sweep OWNER sweep"} {
		if err := c.until(ctx, time.Minute, func() error { return c.execute(ctx, "postgres", statement) }); err != nil {
			return fmt.Errorf("starting Postgres: %w", err)
		}
	}
	return nil
}

// until tries again until do succeeds, for a while, and returns the last error otherwise.
func (c *cluster) until(ctx context.Context, limit time.Duration, do func() error) error {
	for deadline := time.Now().Add(limit); ; {
		err := do()
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// connect connects as Postgres' own user.
func (c *cluster) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "postgres://postgres@"+c.address(postgresPort)+"/"+database)
}

func (c *cluster) execute(ctx context.Context, database, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	conn, err := c.connect(ctx, database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// text runs a query whose answer is one text, "" if there is none.
func (c *cluster) text(ctx context.Context, query string) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	conn, err := c.connect(ctx, "sweep")
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	var found *string
	if err := conn.QueryRow(ctx, query).Scan(&found); err != nil {
		return "", err
	}
	if found != nil {
		text = *found
	}
	return text, nil
}
