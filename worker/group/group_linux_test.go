package group_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"sweep/sweep/sweeptest"
	"sweep/worker/group"
)

// asHost has the test binary run a program until it is killed.
const asHost = "as-host"

// hosted starts a child without the mark in the program's group, a daemon with it, and prints all.
const hosted = `env -i sh -c 'echo child $$; exec sleep 1000' &
setsid -f sh -c 'echo daemon $$; exec sleep 1000'
echo program $$
wait`

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asHost {
		runtime.LockOSThread()
		for range 2 { // the second one is the first one's successor
			cmd := exec.Command("sh", "-c", os.Args[2])
			cmd.Stdout = os.Stdout
			program, err := group.Start(cmd)
			if err == nil {
				_, err = program.Wait()
				fmt.Println("cleared", program.Clear(), err)
			}
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// host starts a host of the program and returns the lines that are written, by their first word.
func host(t *testing.T, program string, words ...string) (*exec.Cmd, map[string]int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], asHost, program)
	cmd.Env = append(os.Environ(), group.NewMark())
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pids := map[string]int{}
	for lines := bufio.NewScanner(stdout); len(pids) < len(words) && lines.Scan(); {
		var word string
		var pid int
		if n, _ := fmt.Sscan(lines.Text(), &word, &pid); n == 2 {
			pids[word] = pid
		}
	}
	if len(pids) < len(words) {
		t.Fatalf("only %v of %v were started", pids, words)
	}
	return cmd, pids
}

// ended reports whether a process has ended, be it as a zombie that nobody has buried.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ") || strings.Contains(string(stat), ") X ")
}

// If a process is killed, what its programs have started ends: their groups, and by the mark what
// has left them.
func TestHostKilled(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		t.Run(fmt.Sprint("stopped ", stopped), func(t *testing.T) {
			cmd, pids := host(t, hosted, "program", "child", "daemon")
			if stopped {
				if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for what, pid := range pids {
				sweeptest.Until(t, "the "+what+" ends", func() bool { return ended(pid) })
			}
		})
	}
}

// The guard of the first program also serves the second one.
func TestHostKilledInLaterProgram(t *testing.T) {
	program := "[ -e $0.second ] || { : > $0.second; exit 0; }; " + hosted
	program = strings.ReplaceAll(program, "$0", t.TempDir()+"/first")
	cmd, pids := host(t, program, "program", "child", "daemon")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for what, pid := range pids {
		sweeptest.Until(t, "the "+what+" ends", func() bool { return ended(pid) })
	}
}

// Many processes, which start others while they are killed, have ended when Clear returns.
func TestClear(t *testing.T) {
	const program = `i=0; while [ $i -lt 20 ]; do i=$((i + 1))
setsid -f sh -c 'j=0; while [ $j -lt 200 ]; do j=$((j + 1)); setsid -f sleep 1000; sleep 0.01; done'; done; echo program $$`
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	started, err := group.Start(exec.Command("sh", "-c", program))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := started.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := started.Clear(); err != nil {
		t.Fatal(err)
	}
	lists, err := exec.Command("sh", "-c", "cat /proc/$PPID/task/*/children").Output()
	if err != nil {
		t.Skip("left out: this kernel does not list children")
	}
	for _, word := range strings.Fields(string(lists)) {
		name, _ := os.ReadFile("/proc/" + word + "/comm")
		if strings.HasPrefix(string(name), "sleep") {
			t.Errorf("process %s is left", word)
		}
	}
}
