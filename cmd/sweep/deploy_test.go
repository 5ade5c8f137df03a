package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"sweep/coordinator/store/postgres/postgrestest"
)

// The script brings a cluster up and takes all of it down again, and finds what
// it had when it is started once more.
func TestLocalClusterScript(t *testing.T) {
	script, err := filepath.Abs("../../deploy/local-cluster.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// As root the database runs as another user, who must reach its files.
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	port := freePorts(t, 5)
	file := write(t, t.TempDir(), "small.yaml", "name: small\nreplicates: 3\nparameters:\n  dataset: {value: generated-cbf}\n  epochs: {value: 4}\n")
	for round, want := range []string{"3 completed (0 taken over", "3 completed (3 taken over"} {
		cmd := exec.Command(script, dir)
		cmd.Env = append(cmd.Environ(), "PORT="+strconv.Itoa(port), "SWEEP_DATA="+dir)
		log, err := os.Create(filepath.Join(dir, fmt.Sprintf("script-%d.log", round)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = log.Close() }()
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
			_ = cmd.Wait()
			if t.Failed() {
				text, _ := os.ReadFile(log.Name()) // only to be shown
				t.Logf("round %d: %s", round, text)
			}
		})
		address := fmt.Sprint("127.0.0.1:", port)
		await(t, "the cluster", func() bool { return get(fmt.Sprint("127.0.0.1:", port+4), "/readyz") == "ok\n" })
		client := program(t, t.TempDir(), "submit", file, "--watch", "--nats", "nats://"+address)
		if text, err := client.CombinedOutput(); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("round %d: %v: %s", round, err, text)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its exit code is looked at below
		if code := cmd.ProcessState.ExitCode(); code != 143 {
			t.Errorf("exit code %d", code)
		}
		for i := range 5 {
			if conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port+i)); err == nil {
				_ = conn.Close()
				t.Errorf("something still listens on port %d of %d", i+1, 5)
			}
		}
	}
}

// The servers take the settings that deploy gives them.
func TestServersTakeTheSettings(t *testing.T) {
	options, err := server.ProcessConfigFile("../../deploy/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	if options.MaxPayload != maxPayload || !options.JetStream || options.StoreDir != "/data" {
		t.Errorf("nats.conf: %+v", options)
	}
	text, err := os.ReadFile("../../deploy/postgresql.conf")
	if err != nil {
		t.Fatal(err)
	}
	var settings []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || strings.HasPrefix(line, "shared_buffers") { // more than a test may take
			continue
		}
		settings = append(settings, strings.ReplaceAll(line, " = ", "="))
	}
	if len(settings) < 10 {
		t.Errorf("postgresql.conf has %d settings", len(settings))
	}
	postgrestest.Start(t, settings...) // which ends at a setting that it does not know
}

// The daemons take the arguments that the files of deploy give them.
func TestDeployedArguments(t *testing.T) {
	list := regexp.MustCompile(`(?:args: \[|\[")((?:coordinator|worker)\b[^\]]*)\]`)
	line := regexp.MustCompile(`(?m)(?:ENTRYPOINT|/sweep|exec sweep) ((?:coordinator|worker)\b[^'\n]*)`)
	for name, want := range map[string]int{
		"compose.yaml": 2, "kubernetes/sweep.yaml": 2, "slurm/workers.sh": 1,
		"systemd/sweep-coordinator.service": 1, "systemd/sweep-worker.service": 1,
	} {
		text, err := os.ReadFile("../../deploy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var calls [][]string
		for _, m := range list.FindAllStringSubmatch(string(text), -1) {
			calls = append(calls, strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(` ,"`, r) }))
		}
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			calls = append(calls, strings.Fields(m[1]))
		}
		if len(calls) != want {
			t.Errorf("%s calls the program %d times, want %d", name, len(calls), want)
		}
		for _, args := range calls {
			cmd, rest, err := newRoot().Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil || cmd.Name() != args[0] || cmd.Flags().NArg() > 0 {
				t.Errorf("%s: sweep %s: %v, arguments left %v", name, strings.Join(args, " "), err, cmd.Flags().Args())
			}
		}
	}
}

// freePorts returns the first of n ports in a row that are free.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 50 {
		_, text, err := net.SplitHostPort(freeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		first, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		free := first+n < 1<<16
		for i := 1; i < n && free; i++ {
			l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+i))
			if free = err == nil; free {
				_ = l.Close()
			}
		}
		if free {
			return first
		}
	}
	t.Fatal("no ports in a row are free")
	return 0
}
