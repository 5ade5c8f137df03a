//go:build unix

package trainer

import (
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// killGroup kills every process of a group.
func killGroup(pgid int) { _ = syscall.Kill(-pgid, syscall.SIGKILL) }

// killOwnGroup kills this process and, if it leads its group, what it has started.
func killOwnGroup() {
	if syscall.Getpgrp() == syscall.Getpid() {
		killGroup(syscall.Getpid())
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
}

// guard is a small process that kills a trainer's group when this process ends,
// and removes its directory: the parent-death signal reaches the trainer, but not
// what the trainer started.
type guard struct {
	cmd *exec.Cmd
	// hold is the writing end of the guard's standard input; the kernel closes it
	// when this process ends, however it does.
	hold io.WriteCloser
}

// guardScript waits for the end of its input, kills the group $1 and removes the
// directory $2. The signals of a stopping service must not end it before.
const guardScript = `trap '' HUP INT TERM; read -r _; kill -s KILL -- "-$1"; rm -rf -- "$2"`

// startGuard starts the guard of a group and its directory.
func startGuard(pgid int, dir string) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "sweep-trainer-guard", strconv.Itoa(pgid), dir)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		_ = hold.Close()
		return nil, err
	}
	return &guard{cmd: cmd, hold: hold}, nil
}

// stop ends the guard without letting it kill anything.
func (g *guard) stop() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	// It was killed: how it ended says nothing. Wait closes hold.
	_ = g.cmd.Wait()
}
