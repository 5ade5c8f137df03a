package trainer

import (
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"sweep/sweep/sweeptest"
)

// A process that has ended is not taken for one that must be killed, although the word of its end
// comes late; one that still runs is.
func TestLateWordOfAnEnd(t *testing.T) {
	dead, running := exec.Command("/bin/sh", "-c", "exit 3"), exec.Command("sleep", "3600")
	for _, cmd := range []*exec.Cmd{dead, running} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		_ = running.Process.Kill()
		_ = running.Wait()
		if _ = dead.Wait(); dead.ProcessState.ExitCode() != 3 {
			t.Errorf("the process ended with %v", dead.ProcessState)
		}
	}()
	sweeptest.Until(t, "the end of the process", func() bool { return hasEnded(dead.Process.Pid) })
	for cmd, want := range map[*exec.Cmd]bool{dead: true, running: false} {
		synctest.Test(t, func(t *testing.T) {
			c := &command{pid: cmd.Process.Pid, exited: make(chan struct{})}
			time.AfterFunc(10*deathGrace, func() { close(c.exited) })
			p := &process{command: c}
			if got := p.ends(); got != want {
				t.Errorf("%v has ended: %v", cmd.Args, got)
			}
		})
	}
}
