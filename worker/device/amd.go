package device

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sweep/sweep"
)

// kfd is the kernel's driver of AMD's GPUs, by its files below root, which is /sys.
type kfd struct {
	root string
	// renders are the numbers of the cards' render nodes, by the devices' ids.
	renders map[string]string
}

// findKFD returns the driver, nil if there is none.
func findKFD(root string) *kfd {
	if _, err := os.Stat(filepath.Join(root, "class/kfd/kfd/topology/nodes")); err != nil {
		return nil
	}
	return &kfd{root: root, renders: map[string]string{}}
}

// read returns the text of a file, "" if it cannot be read.
func (k *kfd) read(path ...string) string {
	text, err := os.ReadFile(filepath.Join(append([]string{k.root}, path...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// number returns the number in a file, -1 if there is none.
func (k *kfd) number(path ...string) int64 {
	n, err := strconv.ParseInt(k.read(path...), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// find implements driver: the nodes of the topology that are no processors, in their order.
func (k *kfd) find(context.Context) (list []Device, err error) {
	nodes, err := os.ReadDir(filepath.Join(k.root, "class/kfd/kfd/topology/nodes"))
	if err != nil {
		return nil, fmt.Errorf("GPUs of AMD: %w", err)
	}
	slices.SortFunc(nodes, func(a, b os.DirEntry) int {
		x, _ := strconv.Atoi(a.Name())
		y, _ := strconv.Atoi(b.Name())
		return x - y
	})
	for _, node := range nodes {
		dir := filepath.Join("class/kfd/kfd/topology/nodes", node.Name())
		id := k.read(dir, "gpu_id") // unreadable of cards that a container does not have
		if id == "" || id == "0" {
			continue
		}
		properties := map[string]string{}
		for line := range strings.Lines(k.read(dir, "properties")) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				properties[name] = value
			}
		}
		k.renders[id] = "renderD" + properties["drm_render_minor"]
		model := k.read(dir, "name")
		if target := properties["gfx_target_version"]; target != "" {
			model = strings.Join(strings.Fields("AMD "+model+" gfx"+target), " ")
		}
		list = append(list, Device{Name: sweep.GPUDevice, Index: len(list), ID: id, Token: strconv.Itoa(len(list)),
			Model: model, driver: k,
			Memory: max(k.number("class/drm", k.renders[id], "device/mem_info_vram_total"), 0)})
	}
	if len(list) == 0 {
		return nil, errNone
	}
	return list, nil
}

// look implements driver.
func (k *kfd) look(context.Context) (map[string]figures, error) {
	seen := map[string]figures{}
	for id, render := range k.renders {
		seen[id] = figures{used: k.number("class/drm", render, "device/mem_info_vram_used")}
	}
	processes, err := os.ReadDir(filepath.Join(k.root, "class/kfd/kfd/proc"))
	if err != nil {
		return seen, nil // none has ever used a card
	}
	for _, process := range processes {
		pid, err := strconv.Atoi(process.Name())
		if err != nil {
			continue
		}
		for id, f := range seen {
			if k.number("class/kfd/kfd/proc", process.Name(), "vram_"+id) > 0 {
				f.processes = append(f.processes, pid)
				seen[id] = f
			}
		}
	}
	return seen, nil
}

// hide implements driver.
func (k *kfd) hide() []string { return []string{"ROCR_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES="} }

// show implements driver. Where ROCR has a list, HIP counts what that leaves: a second list would leave out others.
func (k *kfd) show(tokens []string, _ bool) []string {
	return []string{"ROCR_VISIBLE_DEVICES=" + strings.Join(tokens, ","), "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}
}
