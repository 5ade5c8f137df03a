package sweep

import "testing"

func TestFailureCause(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"exit status 1: ValueError: loss is nan at step 48", "exit status 1: ValueError: loss is nan at step …"},
		{"exit status 2", "exit status 2"},
		{"CUDA out of memory: tried 132.5 MiB, see /tmp/run-12/x.log\n", "CUDA out of memory: tried … MiB, see …"},
		{`cannot open 'C:\data\a-7.npz' at 0x7f3a`, "cannot open '…' at …"},
		{"conv2d wants float32, not 1e-05 of 64", "conv2d wants float32, not … of …"},
		{"", ""},
	} {
		if got := FailureCause(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
