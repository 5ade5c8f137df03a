package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// certificate writes a certificate of this machine, and returns who trusts it.
func certificate(t *testing.T, dir string) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(text))
	return write(t, dir, "cert.pem", text),
		write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))), pool
}

// ask sends a request to a dashboard, and returns its answer, 0 while it cannot be
// reached.
func ask(client *http.Client, method, address, token, body string) (status int, answer string) {
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(data)
}

// serving starts a command that serves until the test's end, and returns the address that its first line has after
// the prefix.
func serving(t *testing.T, cmd *exec.Cmd, prefix string) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, cmd) })
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, found := strings.CutPrefix(first, prefix)
	if !found {
		t.Fatalf("the first line is %q: want one that begins with %q", first, prefix)
	}
	return strings.TrimSpace(address)
}

// stop has a process end as by Ctrl-C, and waits for it.
func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
	_ = cmd.Wait()                          // how it ended is not the question
}

// A finished database is looked at over TLS, with a token, and changed with one
// that may.
func TestUI(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	file := write(t, dir, "noop.yaml", "name: small\nreplicates: 3\nparameters:\n  dataset: {value: generated-cbf}\n "+
		" lr: {values: [0.003, 1e-2]}\n  epochs: {value: 4}\nartifacts: [weights, probabilities]\n")
	cert, key, pool := certificate(t, dir)
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"run", file}, stderr: []string{"6 completed"}},
		{args: []string{"ui", "--ui", ""}, code: exitUsage, stderr: []string{"--ui"}},
		{args: []string{"ui", "--ui-cert", cert}, code: exitUsage, stderr: []string{"must be set together"}},
		{args: []string{"ui", "--ui", "127.0.0.1:0", "--ui-cert", key, "--ui-key", cert}, code: exitFailure,
			stderr: []string{"--ui-cert"}},
		{args: []string{"token", "create", "no good"}, code: exitFailure, stderr: []string{"a name has"}},
		{args: []string{"token", "create", "reader", "--read-only", "--expires", "1h"}, stdout: []string{"sweep_"}},
		{args: []string{"token", "create", "reader"}, code: exitFailure, stderr: []string{"already"}},
		{args: []string{"token", "list"}, stdout: []string{"reader", "read"}},
		{args: []string{"token", "revoke", "reader"}, stdout: []string{"revoked"}},
		{args: []string{"token", "revoke", "reader"}, code: exitNotFound, stderr: []string{"does not exist"}},
	}...)
	secret, _, _ := output(t, home, "token", "create", "me")
	secret = strings.TrimSpace(secret)

	cmd := program(t, home, "ui", "--ui", "127.0.0.1:0", "--ui-cert", cert, "--ui-key", key)
	address := serving(t, cmd, "dashboard: ")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool},
		ForceAttemptHTTP2: true}}
	if status, answer := ask(client, "GET", address+"api/sweeps", "", ""); status != 200 ||
		!strings.Contains(answer, `"small"`) {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := ask(client, "GET", address, "", ""); status != 200 || !strings.Contains(answer, "app.mjs") {
		t.Errorf("%d %s", status, answer)
	}
	path := filepath.Join(dir, "weights")
	if _, stderr, code := output(t, home, "artifacts", "get", "small", "5", "weights", "--output", path); code != 0 {
		t.Fatal(stderr)
	}
	weights, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := ask(client, "GET", address+"api/sweeps/small/trials/5/artifacts/weights", "",
		""); status != 200 || answer != string(weights) {
		t.Errorf("%d, %d bytes of %d", status, len(answer), len(weights))
	}
	// Tables of votes and figures are those of the commands.
	var printed []struct{ Accuracy float64 }
	if table, stderr, code := output(t, home, "table", "ucr", "--select", "ensemble", "--format", "json"); code != 0 ||
		json.Unmarshal([]byte(table), &printed) != nil || len(printed) == 0 {
		t.Fatal(table, stderr)
	}
	if status, answer := ask(client, "GET", address+"api/tables/ucr?select=ensemble", "", ""); status != 200 ||
		!strings.Contains(answer, fmt.Sprintf(`"Text":"%.3f"`, printed[0].Accuracy)) {
		t.Errorf("%d %s, want %v", status, answer, printed)
	}
	path = filepath.Join(dir, "slice.svg")
	if _, stderr, code := output(t, home, "figure", "slice", "small", "--x", "lr", "-o", path); code != 0 {
		t.Fatal(stderr)
	}
	slice, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := ask(client, "GET", address+"api/figures/slice?sweep=small&x=lr", "", ""); status != 200 ||
		answer != string(slice) {
		t.Errorf("%d, another figure of %d bytes, not %d", status, len(answer), len(slice))
	}
	if status, answer := ask(client, "POST", address+"api/sweeps/small/retry", "", `{}`); status != 401 {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := ask(client, "POST", address+"api/sweeps/small/retry", secret, `{"expect":0}`); status != 200 ||
		!strings.Contains(answer, `"changed":0`) {
		t.Errorf("%d %s", status, answer)
	}
}

// The script and the sweep file of the first tutorial run on two slots with the dashboard
// open, and are served afterwards; what is easily done wrong is said.
func TestFirstTutorial(t *testing.T) {
	t.Parallel()
	python(t)
	page, err := os.ReadFile("../../docs/tutorials/own-script.md")
	if err != nil {
		t.Fatal(err)
	}
	home, dir := t.TempDir(), t.TempDir()
	for _, block := range fileBlock.FindAllStringSubmatch(string(page), -1) {
		write(t, dir, block[1], block[2])
	}
	file := filepath.Join(dir, "sweep.yaml")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"run", file, "--ui", "127.0.0.1:0"}, code: exitUsage,
			stderr: []string{"write --ui=127.0.0.1:0"}},
		{args: []string{"ui", "--ui", taken.Addr().String()}, code: exitFailure,
			stderr: []string{"is taken", "--ui=127.0.0.1:0"}},
		{args: []string{"run", file, "--slots", "2", "--ui=127.0.0.1:0"},
			stderr: []string{"18 trials on 2 slots", "dashboard: http://127.0.0.1:", "18 completed",
				`"sweep ui" serves the results`}, stdout: []string{"best loss"}},
	}...)
	cmd := program(t, home, "ui", "--ui", "127.0.0.1:0")
	address := serving(t, cmd, "dashboard: ")
	await(t, "all curves", func() bool {
		status, answer := ask(http.DefaultClient, "GET", address+"api/sweeps/latest/curves?metric=loss", "", "")
		return status == 200 && strings.Contains(answer, `"trials":18`) && strings.Contains(answer, `"groups":6`)
	})
}

// The dashboard of a run shows its worker and the trial that runs, and ends one.
func TestRunUI(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	file := write(t, dir, "long.yaml", "name: long\nparameters:\n  dataset: {value: generated-cbf}\n  epochs: "+
		"{values: [2, 1000000]}\n  lr: {values: [0.001, 0.002]}\nartifacts: [weights]\n")
	secret, _, _ := output(t, home, "token", "create", "me")
	secret = strings.TrimSpace(secret)
	address := freeAddress(t)
	cmd := program(t, home, "run", file, "--slots", "1", "--quiet", "--ui="+address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			stop(t, cmd)
		}
	}()
	url := "http://" + address + "/api/"
	await(t, "a worker that runs a trial", func() bool {
		_, answer := ask(http.DefaultClient, "GET", url+"workers", "", "")
		return strings.Contains(answer, `"index":2`) && strings.Contains(answer, "builtin (results of version")
	})
	await(t, "what the first trial left", func() bool {
		status, answer := ask(http.DefaultClient, "GET", url+"sweeps/long/trials/0/artifacts/weights", "", "")
		return status == 200 && strings.Contains(answer, `"dtype":"F32"`)
	})
	// Both trials are cancelled by a filter; then nothing is left to run, and the run may
	// end before it has answered.
	await(t, "the trials to be cancelled", func() bool {
		status, answer := ask(http.DefaultClient, "POST", url+"sweeps/long/cancel", secret,
			`{"where":["epochs>2"],"expect":2}`)
		return status == 200 && strings.Contains(answer, `"changed":2`) || hasEnded(cmd.Process.Pid)
	})
	err := cmd.Wait()
	ended = true
	if err != nil {
		t.Errorf("the run: %v", err)
	}
	want := []string{"completed", "completed", "cancelled", "cancelled"}
	if states := trialStates(t, home); !slices.Equal(states, want) {
		t.Errorf("trials %v", states)
	}
}

// Each coordinator serves the dashboard; the one that leads knows the workers.
func TestCoordinatorUI(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	address := freeAddress(t)
	secret, _, _ := output(t, filepath.Join(c.dir, "coordinator"), "token", "create", "me")
	c.start("coordinator", "coordinator", "--ui", address)
	c.start("worker", "worker", "--slots", "1", "--name", "host-1")
	url := "http://" + address + "/api/"
	await(t, "the worker", func() bool {
		_, answer := ask(http.DefaultClient, "GET", url+"workers", "", "")
		return strings.Contains(answer, `"host-1"`)
	})
	failing := write(t, t.TempDir(), "failing.yaml", "name: failing\nparameters:\n  dataset: {value: "+
		"generated-cbf}\n  epochs: {value: 100000}\nartifacts: [weights]\nlimits: {timeout: 300ms, attempts: 1}\n")
	if _, stderr, code := c.output("submit", failing, "--watch"); code != exitTrials {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	await(t, "the failed trial", func() bool {
		_, answer := ask(http.DefaultClient, "GET", url+"sweeps/failing/trials?state=failed", "", "")
		var page struct{ Answer struct{ Total int } }
		return json.Unmarshal([]byte(answer), &page) == nil && page.Answer.Total == 1
	})
	await(t, "the trial to be taken up again", func() bool {
		status, answer := ask(http.DefaultClient, "POST", url+"sweeps/failing/retry", strings.TrimSpace(secret),
			`{"states":["failed"],"expect":1}`)
		return status == 200 && strings.Contains(answer, fmt.Sprintf(`"changed":%d`, 1))
	})
	extend := func(body string) (int, string) {
		return ask(http.DefaultClient, "POST", url+"sweeps/failing/extend", strings.TrimSpace(secret), body)
	}
	if status, answer := extend(`{"source":"name: failing\nparameters:\n  modell: {value: rnn}\n"}`); status != 400 ||
		!strings.Contains(answer, `sweep file:3:3`) {
		t.Errorf("%d %s", status, answer)
	}
	if status,
		answer := extend(`{"source":"name: failing\nparameters:\n  dataset: {value: generated-cbf}\n  epochs: {values: [2, 3]}\nartifacts: [weights]\n"}`); status != 200 || !strings.Contains(answer, `"points":2`) {
		t.Errorf("%d %s", status, answer)
	}
	await(t, "the points more to be trained", func() bool {
		_, answer := ask(http.DefaultClient, "GET", url+"sweeps/failing/trials?state=completed&where=epochs<5", "", "")
		var page struct{ Answer struct{ Total int } }
		return json.Unmarshal([]byte(answer), &page) == nil && page.Answer.Total == 2
	})
	// What they left comes from the bucket of the cluster's NATS servers.
	if status, answer := ask(http.DefaultClient, "GET", url+"sweeps/failing/trials/1/artifacts/weights", "",
		""); status != 200 || !strings.Contains(answer, `"dtype":"F32"`) {
		t.Errorf("%d, %d bytes", status, len(answer))
	}
	if status, answer := ask(http.DefaultClient, "GET", url+"sweeps/failing/trials/0/artifacts/weights", "",
		""); status != 404 || !strings.Contains(answer, "its sweep does not ask") &&
		!strings.Contains(answer, "the trial is") {
		t.Errorf("%d %s", status, answer)
	}
	for _, name := range []string{"coordinator", "worker"} {
		if code := c.terminate(name); code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}
