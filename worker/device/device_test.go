//go:build unix

package device

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/worker/device/devicetest"
)

func TestParseChoice(t *testing.T) {
	for _, c := range []struct {
		values string
		want   Choice
		err    string
	}{
		{values: "auto", want: Choice{Auto: true}},
		{values: "none"},
		{values: "gpu=0,2-3", want: Choice{GPUs: []int{0, 2, 3}}},
		{values: "gpu=1 licence=2", want: Choice{GPUs: []int{1}, Others: map[string]int{"licence": 2}}},
		{values: "auto licence=2", want: Choice{Auto: true, Others: map[string]int{"licence": 2}}},
		{values: "gpu=0,0", err: "named twice"},
		{values: "gpu=3-1", err: "no number of a GPU"},
		{values: "gpu=", err: "no number of a GPU"},
		{values: "gpu=-1", err: "no number of a GPU"},
		{values: "gpu=0-99999999999", err: "no number of a GPU"},
		{values: "all", err: "expected auto, none"},
		{values: "licence=0", err: "from 1 to"},
		{values: "=1", err: "name"},
	} {
		got, err := ParseChoice(strings.Fields(c.values))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want an error with %q", c.values, err, c.err)
			}
		} else if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.values, got, err, c.want)
		}
	}
}

// fakeSMI returns the stand-in as a driver.
func fakeSMI(g *devicetest.GPUs) *smi {
	return &smi{path: filepath.Join(g.Bin, "nvidia-smi"), time: time.Minute}
}

// variables is an environment.
func variables(list ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, entry := range list {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

func tokens(m *Machine) string {
	if m == nil {
		return "none"
	}
	var list []string
	for _, d := range m.Devices {
		list = append(list, d.Token)
	}
	return strings.Join(list, " ")
}

// TestVisible finds the cards that the environment leaves to this process.
func TestVisible(t *testing.T) {
	g := devicetest.New(t, 4)
	unlike := devicetest.New(t, 2)
	unlike.Set("cards", "0|GPU-a|81920|3|Disabled|A100\n1|GPU-b|40960|3|Disabled|A30, PCIe\n")
	for _, c := range []struct {
		name        string
		environment []string
		gpus        *devicetest.GPUs
		choice      Choice
		want        string
		figures     int // how many of them have figures
	}{
		{"all", nil, g, Choice{Auto: true}, "0 1 2 3", 4},
		{"a list", []string{"CUDA_VISIBLE_DEVICES=2,0"}, g, Choice{Auto: true}, "2 0", 2},
		{"empty", []string{"CUDA_VISIBLE_DEVICES="}, g, Choice{Auto: true}, "none", 0},
		{"none", []string{"CUDA_VISIBLE_DEVICES=-1"}, g, Choice{Auto: true}, "none", 0},
		{"NoDevFiles", []string{"CUDA_VISIBLE_DEVICES=NoDevFiles"}, g, Choice{Auto: true}, "none", 0},
		{"the first bad entry ends the list", []string{"CUDA_VISIBLE_DEVICES=0,2,-1,1"}, g, Choice{Auto: true}, "0 2", 2},
		{"one that is not there", []string{"CUDA_VISIBLE_DEVICES=1,7,0"}, g, Choice{Auto: true}, "1", 1},
		{"the beginning of a UUID", []string{"CUDA_VISIBLE_DEVICES=GPU-a"}, unlike, Choice{Auto: true}, "GPU-a", 1},
		{"cards that CUDA sorts otherwise", []string{"CUDA_VISIBLE_DEVICES=0,1"}, unlike, Choice{Auto: true}, "0 1", 0},
		{"cards in the order of the bus", []string{"CUDA_VISIBLE_DEVICES=1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, unlike,
			Choice{Auto: true}, "1", 1},
		{"Slurm without cards", []string{"SLURM_JOB_ID=7"}, g, Choice{Auto: true}, "none", 0},
		{"Slurm's cards", []string{"SLURM_JOB_ID=7", "SLURM_JOB_GPUS=1,3"}, g, Choice{Auto: true}, "1 3", 2},
		{"Slurm's list", []string{"SLURM_JOB_ID=7", "SLURM_JOB_GPUS=5,6", "CUDA_VISIBLE_DEVICES=0,1"}, g,
			Choice{Auto: true}, "0 1", 2},
		{"by number", []string{"CUDA_VISIBLE_DEVICES=0"}, g, Choice{GPUs: []int{1, 3}}, "1 3", 2},
		{"nothing chosen", nil, g, Choice{}, "none", 0},
	} {
		m, err := find(t.Context(), c.choice, []driver{fakeSMI(c.gpus)}, variables(c.environment...))
		if err != nil || tokens(m) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, tokens(m), err, c.want)
			continue
		}
		figures := 0
		if m != nil {
			for _, d := range m.Devices {
				if d.ID != "" {
					figures++
				}
			}
		}
		if figures != c.figures {
			t.Errorf("%s: %d devices with figures, want %d", c.name, figures, c.figures)
		}
	}
	if _, err := find(t.Context(), Choice{GPUs: []int{9}}, []driver{fakeSMI(g)}, variables()); err == nil ||
		!strings.Contains(err.Error(), "this machine has the GPUs 0, 1, 2, 3") {
		t.Errorf("a card that is not there: %v", err)
	}
}

// TestDrivers reads what drivers of many kinds print.
func TestDrivers(t *testing.T) {
	g := devicetest.New(t, 1)
	g.Set("cards", "0|GPU-a|81920|3|Disabled|NVIDIA A100, 80 GB\n1|GPU-b|[N/A]|[N/A]|[N/A]|[N/A]\n"+
		"2|GPU-c|81920|[Unknown Error]|Disabled|A100\n3|GPU-d|40960|[Insufficient Permissions]|Enabled|A30\n")
	g.Set("list", "GPU 0: NVIDIA A100 (UUID: GPU-a)\nGPU 3: A30 (UUID: GPU-d)\n"+
		"  MIG 1g.6gb     Device  0: (UUID: MIG-x)\n  MIG 2g.12gb     Device  1: (UUID: MIG-y)\n")
	s := fakeSMI(g)
	list, err := s.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].driver = nil
	}
	want := []Device{
		{Name: "gpu", ID: "GPU-a", Token: "0", Model: "NVIDIA A100, 80 GB", Memory: 80 << 30},
		{Name: "gpu", Index: 1, ID: "GPU-b", Token: "1"},
		{Name: "gpu", Index: 2, ID: "GPU-c", Token: "2", Model: "A100", Memory: 80 << 30},
		{Name: "gpu", Index: 3, ID: "MIG-x", Token: "MIG-x", Model: "A30 MIG 1g.6gb", Memory: 6 << 30, card: "GPU-d"},
		{Name: "gpu", Index: 3, ID: "MIG-y", Token: "MIG-y", Model: "A30 MIG 2g.12gb", Memory: 12 << 30, card: "GPU-d"},
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("%+v\nwant %+v", list, want)
	}
	g.Set("apps/"+strconv.Itoa(os.Getpid()), "MIG-x [N/A]\n")
	seen, err := s.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantSeen := map[string]figures{"GPU-a": {used: 3 << 20}, "GPU-b": {used: -1}, "GPU-d": {used: -1},
		"MIG-x": {used: -1, processes: []int{os.Getpid()}}}
	if !reflect.DeepEqual(seen, wantSeen) {
		t.Errorf("%+v\nwant %+v", seen, wantSeen)
	}

	g.Set("unknown", "mig.mode.current\n") // an old driver
	if list, err := fakeSMI(g).find(t.Context()); err != nil || len(list) != 4 || list[0].ID != "GPU-a" || list[0].Memory != 80<<30 {
		t.Errorf("of an old driver: %+v, %v", list, err)
	}
	g.Unset("unknown")
	for code, want := range map[string]string{"9": errNone.Error(), "12": errNone.Error(), "15": "exit code 15", "6": "exit code 6"} {
		g.Set("fail", code)
		if _, err := fakeSMI(g).find(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("exit code %s: %v, want %s", code, err, want)
		}
	}
	g.Unset("fail")
}

// TestHang does not wait for a driver that does not answer, and asks it nothing more.
func TestHang(t *testing.T) {
	g := devicetest.New(t, 1)
	g.Set("hang", "")
	s := fakeSMI(g)
	s.time = time.Millisecond
	if _, err := s.find(t.Context()); err == nil || !strings.Contains(err.Error(), "not answered within") {
		t.Errorf("%v", err)
	}
	if _, err := s.find(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("the second time: %v", err)
	}
}

// TestAMD reads the kernel's files.
func TestAMD(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"class/kfd/kfd/topology/nodes/0/gpu_id":           "0\n",
		"class/kfd/kfd/topology/nodes/10/gpu_id":          "222\n",
		"class/kfd/kfd/topology/nodes/10/properties":      "drm_render_minor 129\n",
		"class/kfd/kfd/topology/nodes/2/gpu_id":           "111\n",
		"class/kfd/kfd/topology/nodes/2/properties":       "simd_count 440\ngfx_target_version 90010\ndrm_render_minor 128\n",
		"class/drm/renderD128/device/mem_info_vram_total": "68702699520\n",
		"class/drm/renderD128/device/mem_info_vram_used":  "1048576\n",
		"class/kfd/kfd/proc/77/vram_111":                  "4096\n",
		"class/kfd/kfd/proc/77/vram_222":                  "0\n",
	} {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	k := findKFD(root)
	m, err := find(t.Context(), Choice{Auto: true}, []driver{k}, variables())
	if err != nil || tokens(m) != "0 1" || m.Devices[0].Memory != 68702699520 || m.Devices[0].ID != "111" ||
		m.Devices[0].Model != "AMD gfx90010" {
		t.Fatalf("%+v, %v", m, err)
	}
	seen, err := k.look(t.Context())
	if want := (map[string]figures{"111": {used: 1 << 20, processes: []int{77}}, "222": {used: -1}}); err != nil ||
		!reflect.DeepEqual(seen, want) {
		t.Errorf("%+v, %v, want %+v", seen, err, want)
	}
	if findKFD(t.TempDir()) != nil {
		t.Error("a machine without the driver has it")
	}
}

// newPool returns the pool of a stand-in, whose devices have been looked at.
func newPool(t *testing.T, g *devicetest.GPUs, more ...Device) *Pool {
	t.Helper()
	m, err := find(t.Context(), Choice{Auto: true}, []driver{fakeSMI(g)}, variables())
	if err != nil {
		t.Fatal(err)
	}
	m.Devices = append(m.Devices, more...)
	p := NewPool(m, Options{Locks: filepath.Join(t.TempDir(), "locks")})
	p.fresh = time.Hour // the machine may be slow
	p.Refresh(t.Context(), true)
	return p
}

// await looks at the devices until something holds.
func await(t *testing.T, p *Pool, what string, holds func() bool) {
	t.Helper()
	sweeptest.Until(t, what, func() bool {
		p.mu.Lock()
		p.asked = time.Time{}
		p.mu.Unlock()
		p.Refresh(context.Background(), true)
		return holds()
	})
}

func gpus(thousandths int64) *sweep.Need { return &sweep.Need{GPUs: thousandths} }

// TestLeases leases whole devices, parts of one, and by memory.
func TestLeases(t *testing.T) {
	g := devicetest.New(t, 2)
	p := newPool(t, g, Device{Name: "licence"}, Device{Name: "licence", Index: 1})
	take := func(need *sweep.Need, want string) *Lease {
		t.Helper()
		l := p.Take(need)
		got := "nothing"
		if l != nil {
			got = l.String()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", need, got, want)
		}
		return l
	}
	half := take(gpus(500), "0.5 of gpu 0")
	third := take(&sweep.Need{GPUMemory: 20 << 30}, "0.25 of gpu 0") // where least is left
	take(gpus(2000), "nothing")
	whole := take(gpus(1000), "gpu 1")
	take(gpus(300), "nothing")
	take(gpus(250), "0.25 of gpu 0")
	take(&sweep.Need{Devices: map[string]int64{"licence": 3}}, "nothing")
	take(&sweep.Need{Devices: map[string]int64{"licence": 2}}, "licence 0, licence 1")
	take(&sweep.Need{GPUs: 1000, GPUModel: "H100*"}, "nothing")

	for _, c := range []struct {
		lease *Lease
		want  []string
	}{
		{half, []string{"CUDA_VISIBLE_DEVICES=0", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "SWEEP_DEVICES=gpu:0",
			"TF_FORCE_GPU_ALLOW_GROWTH=true"}},
		{whole, []string{"CUDA_VISIBLE_DEVICES=1", "SWEEP_DEVICES=gpu:1"}},
	} {
		last := map[string]string{} // the last of a name counts
		for _, v := range c.lease.Variables() {
			name, _, _ := strings.Cut(v, "=")
			last[name] = v
		}
		for _, want := range c.want {
			if !slices.Contains(slices.Collect(maps.Values(last)), want) {
				t.Errorf("%s: %q, want %s", c.lease, last, want)
			}
		}
	}
	if hidden := p.Hidden(); !slices.Contains(hidden, "CUDA_VISIBLE_DEVICES=") {
		t.Errorf("without a lease: %q", hidden)
	}
	whole.Release()
	take(gpus(1000), "nothing") // until it is seen free
	await(t, p, "gpu 1 free again", func() bool { l := p.Take(gpus(1000)); return l != nil && l.String() == "gpu 1" })
	half.Cancel()
	third.Cancel()
	if held := p.Status()[0].Held; held != 250 {
		t.Errorf("%d thousandths of gpu 0 are held, want 250", held)
	}
}

// TestForeign does not give a device that somebody else uses, or that has failed.
func TestForeign(t *testing.T) {
	g := devicetest.New(t, 3)
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() { _ = other.Process.Kill(); _ = other.Wait() }
	defer stop()
	g.Use(1, 0, 700) // a process that this one has not started: the first one
	g.Set("cards", "0|"+g.ID(0)+"|81920|3|Disabled|A\n1|"+g.ID(1)+"|81920|900|Disabled|A\n2|"+g.ID(2)+
		"|81920|[Unknown Error]|Disabled|A\n")
	p := newPool(t, g)
	if l := p.Take(gpus(100)); l != nil {
		t.Errorf("got %s", l)
	}
	for i, want := range []string{"process 1 uses it", "903 MiB", "may have failed"} {
		if i == 1 {
			want = "900 MiB of its memory is in use"
		}
		if got := p.Status()[i].Busy; !strings.Contains(got, want) {
			t.Errorf("gpu %d: %q, want %q", i, got, want)
		}
	}
	if p.Could(gpus(1000)) {
		t.Error("a trial could get a device although others use all")
	}

	// A process of a trial that has ended keeps its device.
	g.Unset("apps/1")
	await(t, p, "gpu 0 free", func() bool { return p.Status()[0].Busy == "" })
	l := p.Take(gpus(1000))
	l.In(7)
	g.Use(other.Process.Pid, 0, 1000)
	l.Release()
	await(t, p, "a survivor", func() bool {
		return strings.Contains(p.Status()[0].Busy, "process "+strconv.Itoa(other.Process.Pid)+", of a trial that has ended")
	})
	stop()
	await(t, p, "gpu 0 free again", func() bool { return p.Take(gpus(1000)) != nil })

	// Nothing is given while the driver does not answer.
	g.Set("fail", "15")
	await(t, p, "the state unknown", func() bool { return strings.Contains(p.Status()[1].Busy, "exit code 15") })
	g.Unset("fail")
	await(t, p, "the state known", func() bool { return !strings.Contains(p.Status()[1].Busy, "exit code 15") })
}

// TestUse sees whether a trial uses the device that it holds.
func TestUse(t *testing.T) {
	g := devicetest.New(t, 2)
	p := newPool(t, g)
	idle, busy := p.Take(sweep.PresumedNeed()), p.Take(sweep.PresumedNeed())
	idle.In(0)
	busy.In(1)
	if looks, pid := busy.Use(); looks+pid != 0 {
		t.Errorf("%d looks, process %d before any look", looks, pid)
	}
	trial := exec.Command("sleep", "600")
	trial.Env = []string{SlotVariable + "=1"}
	if err := trial.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = trial.Process.Kill(); _ = trial.Wait() }()
	g.Use(trial.Process.Pid, 0, 1000) // although it holds the other one
	await(t, p, "the use of both known", func() bool {
		looks, none := idle.Use()
		_, pid := busy.Use()
		return looks >= EnoughLooks && none == 0 && pid == trial.Process.Pid
	})
}

// TestFair shares devices between people by halves, whoever comes first: who holds more leaves what comes free to who holds
// less and waits.
func TestFair(t *testing.T) {
	g := devicetest.New(t, 4)
	folder := filepath.Join(t.TempDir(), "locks")
	pool := func(person string) *Pool {
		m, err := find(t.Context(), Choice{Auto: true}, []driver{fakeSMI(g)}, variables())
		if err != nil {
			t.Fatal(err)
		}
		p := NewPool(m, Options{Locks: folder})
		p.fresh, p.yield, p.locks.person = time.Hour, time.Hour, person
		p.Refresh(t.Context(), true)
		return p
	}
	a, b := pool("1"), pool("2")
	var held []*Lease
	for range 4 {
		l := a.Take(gpus(1000))
		if l == nil {
			t.Fatal("one who is alone does not get all")
		}
		held = append(held, l)
	}
	for n := 1; n <= 4; n++ { // the first one's trials end, and the second one waits
		b.Want(true)
		held[n-1].Cancel()
		mine := a.Take(gpus(1000))
		if wants := n > 2; (mine != nil) != wants {
			t.Fatalf("of 4 devices, %d came free: who holds the others gets it: %v, want %v", n, mine != nil, wants)
		}
		if theirs := b.Take(gpus(1000)); (theirs != nil) != (mine == nil) {
			t.Fatalf("device %d: nobody, or both, have it", n)
		}
	}
	b.Want(false)
	if others := a.locks.others(); len(others) > 0 {
		t.Errorf("%v still wait", others)
	}
	a.yield = 0 // who waits and does not take what is free, cannot use it
	b.Want(true)
	c := pool("1")
	c.yield = 0
	if l := c.Take(gpus(1000)); l != nil {
		t.Errorf("a device is given twice: %s", l)
	}
}

// TestLocks shares devices with another process, which is as good as another pool.
func TestLocks(t *testing.T) {
	g := devicetest.New(t, 2)
	folder := filepath.Join(t.TempDir(), "locks")
	pool := func() *Pool {
		m, err := find(t.Context(), Choice{Auto: true}, []driver{fakeSMI(g)}, variables())
		if err != nil {
			t.Fatal(err)
		}
		p := NewPool(m, Options{Locks: folder})
		p.fresh = time.Hour
		p.Refresh(t.Context(), true)
		return p
	}
	a, b := pool(), pool()
	first, second := a.Take(gpus(1000)), b.Take(gpus(500))
	if first == nil || second == nil || first.String() != "gpu 0" || second.String() != "0.5 of gpu 1" {
		t.Fatalf("%v, %v", first, second)
	}
	if l := a.Take(gpus(500)); l != nil { // processes do not share a card
		t.Errorf("got %s", l)
	}
	if busy := a.Status()[1].Busy; !strings.Contains(busy, "another run on this machine holds it (process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("%q", busy)
	}
	second.Cancel()
	if l := a.Take(gpus(500)); l == nil || l.String() != "0.5 of gpu 1" {
		t.Errorf("got %v", l)
	}
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm() != 0o777 || info.Mode()&os.ModeSticky == 0 {
		t.Errorf("the folder of locks: %v, %v", info, err)
	}
}
