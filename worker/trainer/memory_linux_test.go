package trainer

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"sweep/sweep/sweeptest"
)

// The processor time of a process has that of its children, also of those that have ended.
func TestProcessorTime(t *testing.T) {
	before := processorTime(os.Getpid())
	child := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	const busy = 300 * time.Millisecond
	sweeptest.Until(t, "a child's processor time", func() bool { return processorTime(child.Process.Pid) >= busy })
	if got := processorTime(os.Getpid()) - before; got < busy {
		t.Errorf("with a busy child %s", got)
	}
	_ = child.Process.Kill() // it runs
	_ = child.Wait()
	if got := processorTime(os.Getpid()) - before; got < busy {
		t.Errorf("with a child that has ended %s", got)
	}
	if got := processorTime(child.Process.Pid); got != 0 {
		t.Errorf("of a process that is gone %s", got)
	}
}
