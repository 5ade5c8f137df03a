package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nkeys"
)

// sharedCluster is NATS with the users of deploy/nats, a coordinator that leads,
// and the files of the users' keys.
func sharedCluster(t *testing.T) (c *cluster, keys map[string]string) {
	t.Helper()
	keys = map[string]string{}
	var users []string
	dir := t.TempDir()
	for _, role := range []string{"COORDINATOR", "WORKER_CPU", "WORKER_GPU", "OPERATOR", "SUBMITTER", "OBSERVER"} {
		pair, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := pair.Seed()
		if err != nil {
			t.Fatal(err)
		}
		users = append(users, "SWEEP_NKEY_"+role+"="+public)
		keys[role] = write(t, dir, role+".nk", string(seed))
	}
	config, err := filepath.Abs("../../deploy/nats/users.conf")
	if err != nil {
		t.Fatal(err)
	}
	c = newCluster(t)
	c.environment = users
	c.kill("nats")
	c.start("nats", "nats", "--listen", c.nats, "--dir", c.natsDir, "--server-config", config)
	address := freeAddress(t)
	c.start("coordinator", "coordinator", "--listen", address, "--nats-nkey", keys["COORDINATOR"])
	await(t, "the coordinator to lead", func() bool { return leads(address) && get(address, "/readyz") == "ok\n" })
	return c, keys
}

// TestCommandsInTheirRoles: a command that its user's role does not include says
// so at once, and so does one whose user is not known; daemons too, which end.
func TestCommandsInTheirRoles(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c, keys := sharedCluster(t)
	file := write(t, t.TempDir(), "small.yaml", "name: small\ntrainer: noop\nparameters:\n  x: {min: 1, max: 3}\n")
	secret := write(t, t.TempDir(), "stranger.nk", "SUAO0000000000000000000000000000000000000000000000000000000")
	for _, line := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"submit", file, "--nats-nkey", keys["OBSERVER"]}, exitFailure, "",
			`does not let this user publish to "sweep.control.submit"`},
		{[]string{"status", "--nats-nkey", keys["OBSERVER"]}, 0, "no sweeps yet", ""},
		{[]string{"submit", file, "--nats-nkey", keys["SUBMITTER"]}, 0, "", "small: 3 trials"},
		{[]string{"status", "--nats-nkey", keys["OBSERVER"]}, 0, "small", ""},
		{[]string{"sql", "SELECT count(*) AS n FROM sweeps", "--nats-nkey", keys["OBSERVER"]}, 0, "1", ""},
		{[]string{"workers", "--nats-nkey", keys["OBSERVER"]}, 0, "no worker answers", ""},
		{[]string{"cancel", "small", "--nats-nkey", keys["OBSERVER"]}, exitFailure, "", "sweep.control.cancel"},
		{[]string{"pause", "small", "--nats-nkey", keys["WORKER_CPU"]}, exitFailure, "", "does not let this user"},
		{[]string{"status"}, exitFailure, "", "refuses this user"},
		{[]string{"status", "--nats-nkey", secret}, exitFailure, "", secret + " holds no user's seed"},
		{[]string{"status", "--nats-creds", secret + ".missing"}, exitNotFound,
			"", "--nats-creds: open " + secret + ".missing"},
		{[]string{"worker"}, exitUsage, "", "refuses this user"},
		{[]string{"coordinator"}, exitUsage, "", "refuses this user"},
	} {
		run := c.output
		if line.code == exitUsage {
			run = c.refused
		}
		stdout, stderr, code := run(line.args...)
		if code != line.code || !strings.Contains(stdout, line.stdout) || !strings.Contains(stderr, line.stderr) {
			t.Errorf("sweep %s: exit code %d, want %d\n%s%s", strings.Join(line.args, " "), code, line.code,
				stdout, stderr)
		}
	}
}

// refused runs a daemon that NATS refuses and returns what it said. It ends only if the
// refusal comes in its first attempt, which a busy server answers too late: then it is
// started again.
func (c *cluster) refused(args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	for range 5 {
		c.start("refused", args...)
		p := c.parts["refused"]
		ended := false
		await(c.t, "the refusal of a "+args[0], func() bool {
			select {
			case <-p.exited:
				ended = true
			default:
			}
			return ended || strings.Contains(p.log.String(), "NATS refuses")
		})
		c.kill("refused")
		stderr = p.log.String()
		p.log.Reset()
		if ended {
			break
		}
	}
	return "", stderr, c.parts["refused"].cmd.ProcessState.ExitCode()
}

// TestProfilesAreAskedFor: what listens for health and metrics shows no profiles.
func TestProfilesAreAskedFor(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := newCluster(t)
	health, profiles := freeAddress(t), freeAddress(t)
	c.start("coordinator", "coordinator", "--listen", health)
	c.start("worker", "worker", "--listen", freeAddress(t), "--pprof", profiles)
	await(t, "the coordinator", func() bool { return get(health, "/healthz") == "ok\n" })
	await(t, "the worker", func() bool { return strings.Contains(get(profiles, "/debug/pprof/"), "goroutine") })
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1",
		"/debug/pprof/cmdline"} {
		answer, err := http.Get("http://" + health + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close() // only its status counts
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	answer, err := http.Get("http://" + profiles + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("metrics beside the profiles: %s", answer.Status)
	}
}

// TestMigratePrintsStatements: what "sweep migrate" prints is SQL that makes the
// login of users' queries, for a user that may not.
func TestMigratePrintsStatements(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := newCluster(t)
	run := func(args ...string) (stdout, stderr string, code int) {
		t.Helper()
		return output(t, t.TempDir(), append(args, "--store", strings.Replace(c.url, "sweep@", "plain@", 1))...)
	}
	psql(t, c.url, "CREATE USER plain; GRANT CREATE ON SCHEMA public TO plain")
	stdout, stderr, code := run("migrate")
	if code != 0 || !strings.Contains(stdout, "-- up to date: postgres://plain@") ||
		!strings.Contains(stdout, "\nGRANT SELECT ON ") || !strings.Contains(stderr, "are rejected") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := run("sql", "SELECT 1"); code != exitFailure || !strings.Contains(stderr, `"sweep migrate"`) {
		t.Errorf("without a login: exit code %d: %s", code, stderr)
	}
	psql(t, c.url, stdout)
	if stdout, stderr, code := run("sql", "SELECT current_user::text AS me"); code != 0 ||
		!strings.Contains(stdout, "sweep_reader_test_1") {
		t.Errorf("with the login: exit code %d: %s%s", code, stdout, stderr)
	}
	if stdout, stderr, code := run("migrate"); code != 0 || strings.Count(stdout, "\n") != 2 || stderr != "" {
		t.Errorf("again: exit code %d: %s%s", code, stdout, stderr)
	}
}

// psql runs SQL as an administrator does.
func psql(t *testing.T, address, text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // everything is committed
	if _, err := conn.Exec(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}
