// Package postgrestest starts private Postgres servers for tests: a cluster in
// a temporary folder, on a Unix socket, gone when the test ends. Where the
// server programs are missing it installs Debian's package if it may; else the
// test fails, it never skips. As root the server runs as another user, since
// it refuses to run as root.
package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Server is a running private server.
type Server struct {
	bin    string
	dir    string
	runAs  *syscall.Credential
	args   []string
	output lockedBuffer

	lock   sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	made   atomic.Int64
}

// lockedBuffer takes the server's log.
type lockedBuffer struct {
	lock   sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.String()
}

// startTimeout bounds initdb, a start and a stop, on a busy machine.
const startTimeout = 5 * time.Minute

// testSettings trade durability for speed: what was committed survives the
// death of the server's processes, not that of the machine.
var testSettings = []string{
	"fsync=off", "full_page_writes=off", "shared_buffers=64MB", "min_wal_size=32MB", "max_wal_size=256MB",
	"max_connections=200", "log_min_messages=fatal",
}

// Start starts a server for a test and stops it at its end. settings
// (NAME=VALUE) add to those for tests, which do not survive a power failure.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := start(append(append([]string{}, testSettings...), settings...))
	if err != nil {
		t.Fatalf("private Postgres: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", s.output.String())
		}
		if err := s.remove(); err != nil {
			t.Errorf("private Postgres: %v", err)
		}
	})
	return s
}

func start(settings []string) (*Server, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	s.args = []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses="}
	for _, setting := range settings {
		s.args = append(s.args, "-c", setting)
	}
	if err := s.copyCluster(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// newServer finds the server's programs and user, and makes its folder, empty.
func newServer() (s *Server, err error) {
	s = &Server{}
	if s.bin, err = programs(); err != nil {
		return nil, err
	}
	if s.runAs, err = serverUser(); err != nil {
		return nil, err
	}
	s.dir, err = temporaryFolder()
	return s, err
}

// temporaryFolder makes a folder whose path is short enough for a socket: in memory, if
// there is plenty and no other place was chosen.
func temporaryFolder() (string, error) {
	const longestSocket = 100
	parent := os.TempDir()
	if os.Getenv("TMPDIR") == "" && roomInMemory() {
		parent = memoryFolder
	}
	if len(parent)+len("/sweep-postgres-1234567890/.s.PGSQL.5432.lock") > longestSocket {
		parent = "/tmp"
	}
	return os.MkdirTemp(parent, "sweep-postgres-")
}

// serverUser returns the user to run as, nil for the own one.
func serverUser() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if errUID == nil && errGID == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("as root there must be a user postgres or nobody to run the server as")
}

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.runAs, Setpgid: true}
	return cmd
}

// cluster is a new cluster's files, in memory: writing them is much quicker than
// initdb, and tests make many clusters.
var cluster = sync.OnceValues(func() (fstest.MapFS, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	files, err := s.initialize()
	return files, errors.Join(err, os.RemoveAll(s.dir))
})

// initialize makes a cluster and reads it.
func (s *Server) initialize() (fstest.MapFS, error) {
	if err := s.own(s.dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	out, err := s.command(ctx, "initdb", "-D", s.data(), "-U", "sweep", "-A", "trust", "-E", "UTF8", "--locale=C",
		"--no-sync").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	files := fstest.MapFS{}
	tree := os.DirFS(s.data())
	return files, fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		file := &fstest.MapFile{Mode: fs.ModeDir | 0o700}
		if err == nil && !entry.IsDir() {
			file.Mode = 0o600
			file.Data, err = fs.ReadFile(tree, path)
		}
		files[path] = file
		return err
	})
}

// copyCluster gives the server a new cluster.
func (s *Server) copyCluster() error {
	files, err := cluster()
	if err != nil {
		return err
	}
	if err := os.CopyFS(s.data(), files); err != nil {
		return err
	}
	// The server refuses a cluster that others can read.
	if err := os.Chmod(s.data(), 0o700); err != nil {
		return err
	}
	return filepath.WalkDir(s.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, s.own(path))
	})
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// own gives a path to the user that the server runs as.
func (s *Server) own(path string) error {
	if s.runAs == nil {
		return nil
	}
	return os.Chown(path, int(s.runAs.Uid), int(s.runAs.Gid))
}

// Start starts the server again after Stop or Kill, and waits until it takes
// connections.
func (s *Server) Start() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	cmd := s.command(context.Background(), "postgres", s.args...)
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	// The server must not outlive a killed test. The kernel sends the signal
	// when the starting thread ends, so that thread waits for the server.
	setParentDeathSignal(cmd.SysProcAttr)
	started := make(chan error)
	exited := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ends is in its log
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.cmd, s.exited = cmd, exited
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-exited:
			return fmt.Errorf("the server ended:\n%s", s.output.String())
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w\n%s", err, s.output.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Log is what the server has logged.
func (s *Server) Log() string { return s.output.String() }

// Stop ends the server in order, ending its sessions.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

// Kill ends the server and its sessions with SIGKILL.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

func (s *Server) end(signal syscall.Signal) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	select {
	case <-s.exited:
		return nil
	default:
	}
	target := s.cmd.Process.Pid
	if signal == syscall.SIGKILL {
		target = -target // the whole group, or the sessions would live on
	}
	if err := syscall.Kill(target, signal); err != nil {
		return err
	}
	select {
	case <-s.exited:
		return nil
	case <-time.After(startTimeout):
		return fmt.Errorf("the server does not end:\n%s", s.output.String())
	}
}

func (s *Server) remove() error {
	return errors.Join(s.end(syscall.SIGQUIT), os.RemoveAll(s.dir))
}

// URL returns the address of a database of the server.
func (s *Server) URL(database string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.User("sweep"), Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir}, "port": {"5432"}}.Encode(),
	}).String()
}

// Database makes a new, empty database and returns its address.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	return s.database(t, "template1")
}

// Copy makes a new database with all that another one of this server has, whose address
// is given and in which nobody is at work, and returns its address.
func (s *Server) Copy(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return s.database(t, pgx.Identifier{strings.TrimPrefix(u.Path, "/")}.Sanitize())
}

func (s *Server) database(t testing.TB, template string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	name := fmt.Sprintf("test_%d", s.made.Add(1))
	for {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template)
		// The server waits some seconds for sessions of the template that are ending.
		if failure := (*pgconn.PgError)(nil); !errors.As(err, &failure) || failure.Code != "55006" {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.URL(name)
}

// programs finds the folder of the server programs, of the highest version.
func programs() (string, error) {
	if bin := find(); bin != "" {
		return bin, nil
	}
	if err := install(); err != nil {
		return "", fmt.Errorf("no Postgres server was found (initdb and postgres in PATH or "+
			"/usr/lib/postgresql/*/bin), and installing it failed: %w; install Debian's package postgresql, or your "+
			"system's", err)
	}
	if bin := find(); bin != "" {
		return bin, nil
	}
	return "", errors.New("the package postgresql was installed, but has no initdb in /usr/lib/postgresql/*/bin")
}

func find() string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well-formed
	best, version := "", -1
	for _, folder := range folders {
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if err == nil && n > version && complete(folder) {
			best, version = folder, n
		}
	}
	if best != "" {
		return best
	}
	for _, folder := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/pgsql/bin", "/opt/homebrew/bin",
		"/usr/pgsql/bin") {
		if complete(folder) {
			return folder
		}
	}
	return ""
}

func complete(folder string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return false
		}
	}
	return true
}

// install installs Debian's package without the cluster that it would make and
// start.
func install() error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("there is no apt-get here")
	}
	script := `set -e
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] ||
  echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o DPkg::Lock::Timeout=300 update
apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold install --no-install-recommends postgresql`
	shell := []string{"sh", "-c", script}
	if os.Getuid() != 0 {
		if _, err := exec.LookPath("sudo"); err != nil {
			return errors.New("neither root nor sudo is there")
		}
		shell = append([]string{"sudo", "-n"}, shell...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, shell[0], shell[1:]...).CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%w: %s", err, strings.Join(lines[max(0, len(lines)-5):], "\n"))
	}
	return nil
}
