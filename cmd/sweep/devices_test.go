//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sweep/worker/device/devicetest"
)

// gpuProgram is a program that uses the GPUs that it sees, and writes what is wrong with them into the folder of the
// stand-in: other processes that use them, too. Its arguments are the part of a GPU that it may use, in thousandths, and
// how many it must see. What it prints goes into its log.
const gpuProgram = `
state='STATE' name='NAME' share=$1 count=$2
n=0
for card in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
	echo "GPU-$name-$card 1000 $share"
	n=$((n + 1))
done >"$state/new.$$"
mv "$state/new.$$" "$state/apps/$$"
[ -n "${CUDA_VISIBLE_DEVICES+set}" ] || echo "trial $SWEEP_TRIAL has no list" >>"$state/wrong"
[ $n = $count ] || echo "trial $SWEEP_TRIAL sees $n: $CUDA_VISIBLE_DEVICES" >>"$state/wrong"
for card in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
	sum=0
	for file in "$state"/apps/*; do
		kill -0 "${file##*/}" 2>/dev/null || continue
		while read -r other mib part; do
			[ "$other" != "GPU-$name-$card" ] || sum=$((sum + ${part:-1000}))
		done <"$file"
	done
	[ $sum -le 1000 ] || echo "trial $SWEEP_TRIAL on $card: $sum" >>"$state/wrong"
done
echo "$SWEEP_ID $SWEEP_TRIAL slot $SWEEP_SLOT: $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $SWEEP_DEVICES" >>"$state/journal"
sleep ${3:-0.1}
[ $((SWEEP_TRIAL % 7)) != 3 ] || kill -9 $$
echo '{"y": 1}' >>"$SWEEP_EVENTS"
`

// gpuFolder is a folder with the program, and the file of a sweep of some trials; keys are more of its keys.
func gpuFolder(t *testing.T, g *devicetest.GPUs) string {
	t.Helper()
	text := strings.NewReplacer("'STATE'", "'"+g.State+"'", "'NAME'", "'"+g.Name+"'").Replace(gpuProgram)
	return folder(t, map[string]string{"train.sh": text})
}

func gpuSweep(t *testing.T, dir, name string, trials int, keys, arguments string) string {
	t.Helper()
	return write(t, dir, name+".yaml", fmt.Sprintf("name: %s\nprogram: train.sh\ncommand: [sh, \"${program}\", %s]\n"+
		"canary: false\nlimits: {errors: 0}\n%s\nparameters:\n  x: {min: 1, max: %d}\n", name, arguments, keys, trials))
}

// wrong fails if a trial saw what it should not.
func wrong(t *testing.T, g *devicetest.GPUs) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(g.State, "wrong")); err == nil {
		t.Errorf("%s", text)
	}
}

// withGPUs is a command of the program on a machine with GPUs.
func withGPUs(cmd *exec.Cmd, g *devicetest.GPUs) *exec.Cmd {
	cmd.Env = append(cmd.Env, "PATH="+g.Bin+":"+os.Getenv("PATH"))
	return cmd
}

// Each trial sees the GPUs that it holds and no others, as many run as there is room for, and a file that says nothing
// is learnt from.
func TestDevices(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	g := devicetest.New(t, 4)
	dir, home := gpuFolder(t, g), t.TempDir()
	run := func(args ...string) (stdout, stderr string, code int) {
		cmd := withGPUs(program(t, home, args...), g)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // its exit code tells
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	whole := gpuSweep(t, dir, "whole", 3, "requires: {gpus: 1}", "1000, 1")
	quarter := gpuSweep(t, dir, "quarter", 3, "requires: {gpu_memory: 20GiB, gpu_model: A100*}", "250, 1")
	none := gpuSweep(t, dir, "none", 3, "requires: {gpus: 0}", "1000, 0")
	pair := gpuSweep(t, dir, "pair", 3, "requires: {gpus: 2, devices: {licence: 1}}", "1000, 2")
	check(t, run, []line{
		{args: []string{"run", whole}, stderr: []string{"3 completed"}},
		{args: []string{"run", quarter}, stderr: []string{"3 completed"}},
		{args: []string{"run", none}, stderr: []string{"3 completed"}},
		{args: []string{"run", pair}, code: exitUsage, stderr: []string{"a trial needs 2 GPUs, 1 licence, and this machine has " +
			"4 × NVIDIA A100-SXM4-80GB, 80 GiB"}},
		{args: []string{"run", pair, "--devices", "auto", "--devices", "licence=1"}, stderr: []string{"3 completed"}},
		{args: []string{"run", pair, "--devices", "gpu=0", "--devices", "licence=1"}, code: exitUsage, stderr: []string{
			"this machine has 1 × NVIDIA A100-SXM4-80GB, 80 GiB and 1 × licence"}},
		{args: []string{"run", whole, "--devices", "none"}, code: exitUsage, stderr: []string{"this machine has no devices"}},
		{args: []string{"run", whole, "--devices", "gpu=7"}, code: 1, stderr: []string{"names GPU 7"}},
		{args: []string{"run", none, "--devices", "all"}, code: exitUsage, stderr: []string{"--devices"}},
		{args: []string{"run", whole, "--devices", "all"}, code: exitUsage, stderr: []string{"--devices"}},
		{args: []string{"run", whole, "--gpu-idle-memory", "much"}, code: exitUsage, stderr: []string{"--gpu-idle-memory"}},
		{args: []string{"run", gpuSweep(t, dir, "silent", 3, "", "1000, 1, 3")}, stderr: []string{"3 completed",
			"trials get one GPU each", "requires: {gpus: 1}"}},
	}...)
	wrong(t, g)
	text, err := os.ReadFile(filepath.Join(g.State, "journal"))
	if err != nil || !strings.Contains(string(text), "slot 0") || !strings.Contains(string(text), "PCI_BUS_ID gpu:") {
		t.Errorf("%s, %v", text, err)
	}
}

// A run waits for GPUs that others use, and says so.
func TestDevicesOfOthers(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	g := devicetest.New(t, 2)
	dir, home := gpuFolder(t, g), t.TempDir()
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() { _ = other.Process.Kill(); _ = other.Wait() }
	t.Cleanup(end)
	g.Use(other.Process.Pid, 0, 700)
	g.Use(os.Getpid(), 1, 700)
	cmd := withGPUs(program(t, home, "run", gpuSweep(t, dir, "waits", 2, "requires: {gpus: 1}", "1000, 1")), g)
	var errs syncBuffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the reason in status", func() bool {
		stdout, _, _ := output(t, home, "status")
		return strings.Contains(stdout, "waits for a GPU; ") && strings.Contains(stdout, "has 2, none of them free (gpu ")
	})
	end()
	if err := cmd.Wait(); err != nil || !strings.Contains(errs.String(), "2 completed") {
		t.Errorf("%v: %s", err, &errs)
	}
	wrong(t, g)
}

// TestDevicesCampaign runs trials that hold whole GPUs, two, halves and quarters, while trials, the worker and the
// coordinator are killed, somebody else uses a GPU, and the driver fails: no GPU is given twice, and everything ends.
func TestDevicesCampaign(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	g := devicetest.New(t, 4)
	dir := gpuFolder(t, g)
	c := newCluster(t)
	c.environment = []string{"PATH=" + g.Bin + ":" + os.Getenv("PATH")}
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() { _ = other.Process.Kill(); _ = other.Wait() }
	t.Cleanup(end)
	g.Use(other.Process.Pid, 3, 700)
	c.start("coordinator", "coordinator")
	c.start("worker", "worker", "--name", "node1", "--slots", "16", "--script-dir", dir)
	const trials = 30
	ids := []string{
		c.submit(gpuSweep(t, dir, "whole", trials, "requires: {gpus: 1}", "1000, 1")),
		c.submit(gpuSweep(t, dir, "double", trials/3, "requires: {gpus: 2}", "1000, 2")),
		c.submit(gpuSweep(t, dir, "half", trials, "requires: {gpus: 0.5}", "500, 1")),
		c.submit(gpuSweep(t, dir, "quarter", trials, "requires: {gpu_memory: 20GiB}", "250, 1")),
	}
	done := func(share int64) func() bool {
		return func() bool {
			for _, id := range ids {
				if p := c.progress(id); p.Total() == 0 || p.Done()*100 < p.Total()*share {
					return false
				}
			}
			return true
		}
	}
	await(t, "the first trials of each sweep", done(10))
	stdout, _, _ := c.output("workers")
	if want := fmt.Sprintf("no further trial gets gpu 3: process %d uses it", other.Process.Pid); !strings.Contains(stdout, want) ||
		!strings.Contains(stdout, "4 × NVIDIA A100-SXM4-80GB, 80 GiB") {
		t.Errorf("workers: %s\nwant %s", stdout, want)
	}
	c.kill("worker")
	c.again("worker")
	await(t, "a third of the trials", done(33))
	g.Set("fail", "15")
	await(t, "the driver's failure noticed", func() bool {
		return strings.Contains(c.parts["worker"].log.String(), "the state of the GPUs is not known")
	})
	g.Unset("fail")
	end()
	c.kill("coordinator")
	c.again("coordinator")
	await(t, "the end of all", done(100))
	wrong(t, g)
}
