//go:build !unix

package script

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// errUnsupported says that programs need named pipes and process groups.
var errUnsupported = errors.New("programs as trainers need a Unix system: named pipes and process groups")

var errTaken = errors.New("another trial uses it")

type pipe struct{ path string }

func newPipe(string) (*pipe, error) { return nil, errUnsupported }

func (p *pipe) close() {}

type process struct {
	argv, env []string
	directory string
	log       io.Writer
	events    *pipe
	read      func(io.Reader)
}

func (p *process) run(context.Context, time.Duration) (*os.ProcessState, error) {
	return nil, errUnsupported
}

func signalled(*os.ProcessState) string { return "" }

func lockFolder(string) (*os.File, error) { return nil, errUnsupported }

func links(os.FileInfo) uint64 { return 0 }
