//go:build unix

package group

import (
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Guard is a small process that kills groups of processes when this process ends, however it
// ends: the parent-death signal reaches the leader of a group, but not what the leader has
// started. On Linux, it also kills the processes that have a mark in their environment.
type Guard struct {
	cmd *exec.Cmd
	// hold is the writing end of the guard's standard input, which the kernel closes when
	// this process ends.
	hold io.WriteCloser
}

// guardScript reads the groups, of which the last line counts, to the end of its input. Then it
// kills them and the processes with the mark $1, and removes the directory $2, if there is one.
// What it kills may start further processes meanwhile, and a process that executes another
// program shows no environment for a moment, so it looks again: after pauses, until three looks
// have found nothing. The signals of a stopping service must not end it before.
const guardScript = `trap '' HUP INT TERM
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "-$group"; done
round=0
pauses='0.05 0.5'
while [ -n "$1" ] && [ -r /proc/self/environ ] && [ $round -lt 100 ]; do
  found=$(grep -lsF -e "$1" /proc/[0-9]*/environ)
  if [ -z "$found" ]; then
    [ -n "$pauses" ] || break
    sleep "${pauses%% *}"
    pauses=${pauses#"${pauses%% *}"}
    pauses=${pauses# }
  fi
  for file in $found; do pid=${file#/proc/}; kill -s KILL "${pid%/environ}"; done
  round=$((round + 1))
done
[ -z "$2" ] || rm -rf -- "$2"`

// StartGuard starts a guard for processes with a mark and for a directory, unless these are "".
// Watch names the groups.
func StartGuard(name, mark, dir string) (*Guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, name, mark, dir)
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

// Watch replaces the groups that are killed when this process ends.
func (g *Guard) Watch(groups ...int) error {
	words := make([]string, len(groups))
	for i, group := range groups {
		words[i] = strconv.Itoa(group)
	}
	_, err := io.WriteString(g.hold, strings.Join(words, " ")+"\n")
	return err
}

// Stop ends the guard without letting it kill anything. A nil guard has nothing to stop.
func (g *Guard) Stop() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait() // it was killed; Wait closes hold
}
