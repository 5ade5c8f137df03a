//go:build unix

package group

import (
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// Kill kills every process of a group.
func Kill(pgid int) { _ = syscall.Kill(-pgid, syscall.SIGKILL) }

// KillOwn kills this process and, if it leads its group, what it has started.
func KillOwn() {
	if syscall.Getpgrp() == syscall.Getpid() {
		Kill(syscall.Getpid())
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
}

// Guard is a small process that kills a group when this process ends, however it ends: the
// parent-death signal reaches the leader of the group, but not what the leader has started.
type Guard struct {
	cmd *exec.Cmd
	// hold is the writing end of the guard's standard input, which the kernel closes when
	// this process ends.
	hold io.WriteCloser
}

// guardScript waits for the end of its input, kills the group $1 and removes the directory $2,
// if there is one. The signals of a stopping service must not end it before.
const guardScript = `trap '' HUP INT TERM; read -r _; kill -s KILL -- "-$1"; [ -z "$2" ] || rm -rf -- "$2"`

// StartGuard starts the guard of a group, and of its directory unless that is "".
func StartGuard(name string, pgid int, dir string) (*Guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, name, strconv.Itoa(pgid), dir)
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
	return &Guard{cmd, hold}, nil
}

// Stop ends the guard without letting it kill anything. A nil guard has nothing to stop.
func (g *Guard) Stop() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait() // it was killed; Wait closes hold
}
