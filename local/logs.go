package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// A "sweep run" answers "sweep logs" for the trials that run in it, at a socket
// that only its user reaches. The socket is in a temporary directory, because the
// path of one is short; the file runSocket in the home directory has the path.
const runSocket = "run.socket"

// logRequest asks for the log of a trial that runs, behind the first From bytes.
// The answer is a wire.RunningLog, or null if it does not run.
type logRequest struct {
	Trial sweep.TrialID `json:"trial"`
	From  int64         `json:"from"`
}

// logTimeout bounds one question and its answer.
const logTimeout = 5 * time.Second

// logServer answers for the trials that run in this process.
type logServer struct {
	listener net.Listener
	folder   string
	pointer  string
	log      func(id sweep.TrialID, from int64) *wire.RunningLog
	serving  sync.WaitGroup
}

// serveLogs answers until the server is closed.
func serveLogs(home string, log func(id sweep.TrialID, from int64) *wire.RunningLog) (*logServer, error) {
	folder, err := os.MkdirTemp("", "sweep-run-") // for this user alone
	if err != nil {
		return nil, fmt.Errorf("socket for logs: %w", err)
	}
	if old, err := os.ReadFile(filepath.Join(home, runSocket)); err == nil { // of a run that was killed
		socket := strings.TrimSpace(string(old))
		_ = os.Remove(socket)
		_ = os.Remove(filepath.Dir(socket)) // which is empty then
	}
	s := &logServer{folder: folder, pointer: filepath.Join(home, runSocket), log: log}
	path := filepath.Join(folder, "logs")
	if s.listener, err = net.Listen("unix", path); err != nil {
		return nil, errors.Join(fmt.Errorf("socket for logs: %w", err), os.RemoveAll(folder))
	}
	if err := os.WriteFile(s.pointer, []byte(path+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("socket for logs: %w", err), s.close())
	}
	s.serving.Go(s.serve)
	return s, nil
}

func (s *logServer) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // it is closed
		}
		s.serving.Go(func() {
			defer func() { _ = conn.Close() }() // the client has the answer, or is gone
			_ = conn.SetDeadline(time.Now().Add(logTimeout))
			var request logRequest
			if json.NewDecoder(conn).Decode(&request) == nil {
				_ = json.NewEncoder(conn).Encode(s.log(request.Trial, request.From))
			}
		})
	}
}

// close ends the server and waits for its answers.
func (s *logServer) close() error {
	err := s.listener.Close()
	s.serving.Wait()
	if gone := os.Remove(s.pointer); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// RunningLogs are those of the trials that a run in another process, with the same home
// directory, trains.
type RunningLogs struct{ Home string }

// RunningLog returns the log of a trial behind the first from bytes, nil if it does not run.
func (l RunningLogs) RunningLog(ctx context.Context, _ string, id sweep.TrialID, from int64) (*wire.RunningLog, error) {
	path, err := os.ReadFile(filepath.Join(l.Home, runSocket))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // nothing runs
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the log of trial %s: %w", id, err)
	}
	dialer := net.Dialer{Timeout: logTimeout}
	conn, err := dialer.DialContext(ctx, "unix", strings.TrimSpace(string(path)))
	if err != nil {
		return nil, ctx.Err() // it has ended without a word, or is about to
	}
	defer func() { _ = conn.Close() }() // the answer is read by then
	_ = conn.SetDeadline(time.Now().Add(logTimeout))
	if err := json.NewEncoder(conn).Encode(logRequest{id, from}); err != nil {
		return nil, ctx.Err()
	}
	var log *wire.RunningLog
	if err := json.NewDecoder(conn).Decode(&log); err != nil {
		return nil, ctx.Err()
	}
	return log, nil
}
