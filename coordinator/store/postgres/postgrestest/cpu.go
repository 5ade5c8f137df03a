package postgrestest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is how often a second Linux counts processor time for /proc.
const ticks = 100

// CPU returns the processor time that the server's processes have used, those
// that ended included, as Linux counts it.
func (s *Server) CPU() (time.Duration, error) {
	s.lock.Lock()
	postmaster := s.cmd.Process.Pid
	s.lock.Unlock()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var total int64
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || len(text) == 0 {
			continue // it has ended
		}
		if err != nil {
			return 0, err
		}
		// pid (name) state ppid … with utime, stime and those of ended children from field 14 on.
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			return 0, fmt.Errorf("%s: %q", file, text)
		}
		own := filepath.Base(filepath.Dir(file)) == strconv.Itoa(postmaster)
		if !own && fields[1] != strconv.Itoa(postmaster) {
			continue
		}
		for i, field := range fields[11:15] {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", file, err)
			}
			if own || i < 2 {
				total += n
			}
		}
	}
	return time.Duration(total) * time.Second / ticks, nil
}
