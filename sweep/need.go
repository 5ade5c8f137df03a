package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
)

// GPUDevice is the name of GPUs among a machine's devices, as in --devices gpu=0,1.
const GPUDevice = "gpu"

// WholeDevice is a whole device in thousandths, in which parts of one are counted.
const WholeDevice = 1000

// Need is what a trial holds of its machine's devices while it runs. The zero Need holds nothing.
type Need struct {
	// GPUs is a number of GPUs in thousandths: a part of one, or whole ones.
	GPUs int64 `json:"gpus,omitempty"`
	// GPUMemory is what each GPU must have, in bytes; without GPUs, the part of one that has so much.
	GPUMemory int64 `json:"gpu_memory,omitempty"`
	// GPUModel is a pattern for the names of GPUs, as in "*A100*".
	GPUModel string `json:"gpu_model,omitempty"`
	// Devices are numbers of other devices, by name.
	Devices map[string]int64 `json:"devices,omitempty"`
	// Presumed means that the sweep file says nothing: on machines that have GPUs a trial holds one.
	Presumed bool `json:"presumed,omitempty"`
}

// PresumedNeed is that of a class whose sweep file says nothing of GPUs.
func PresumedNeed() *Need { return &Need{GPUs: WholeDevice, Presumed: true} }

// HoldsGPU reports whether a GPU, or a part of one, is held.
func (n *Need) HoldsGPU() bool { return n != nil && (n.GPUs > 0 || n.GPUMemory > 0) }

// Holds reports whether any device is held.
func (n *Need) Holds() bool { return n.HoldsGPU() || n != nil && len(n.Devices) > 0 }

// WholeGPUs is how many whole GPUs are held, 0 if none is or a part of one.
func (n *Need) WholeGPUs() int64 { return n.GPUs / WholeDevice }

// Key is a short digest of what is held, "" for nothing.
func (n *Need) Key() string {
	if !n.Holds() {
		return ""
	}
	text, err := json.Marshal(n)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// Share is how many thousandths of a GPU are held, 0 if it does not suit.
func (n *Need) Share(model string, memory int64) int64 {
	if n.GPUMemory > memory || n.GPUModel != "" && !matchModel(n.GPUModel, model) {
		return 0
	}
	if n.WholeGPUs() > 0 {
		return WholeDevice
	}
	share := n.GPUs
	if n.GPUMemory > 0 {
		share = max(share, int64(math.Ceil(float64(n.GPUMemory)/float64(memory)*WholeDevice)))
	}
	return share
}

// matchModel reports whether a GPU has a name, without regard to case. "A100*" means "NVIDIA A100-SXM4-80GB", too.
func matchModel(pattern, model string) bool {
	pattern, model = strings.ToLower(pattern), strings.ToLower(model)
	for rest := model; ; {
		if ok, err := path.Match(pattern, strings.ReplaceAll(rest, "/", "-")); ok && err == nil {
			return true
		}
		_, after, more := strings.Cut(rest, " ")
		if !more {
			return false
		}
		rest = after
	}
}

// Check returns what is wrong with a need, nil if nothing is.
func (n *Need) Check() error {
	switch {
	case n.GPUs < 0 || n.GPUMemory < 0:
		return fmt.Errorf("a negative number of GPUs or of their memory")
	case n.GPUs > WholeDevice && n.GPUs%WholeDevice != 0:
		return fmt.Errorf("%s GPUs: expected a part of one, as in 0.5, or a whole number", PartText(n.GPUs))
	}
	if _, err := path.Match(n.GPUModel, ""); err != nil {
		return fmt.Errorf("%q is no pattern for the names of GPUs, as in A100*", n.GPUModel)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Devices)) {
		if n.Devices[name] < 1 {
			return fmt.Errorf("%d of device %s: expected 1 or more", n.Devices[name], name)
		}
	}
	return nil
}

// String says what is held: "2 GPUs with 40 GiB each, 1 licence".
func (n *Need) String() string {
	var parts []string
	if n.HoldsGPU() {
		text := "a GPU"
		switch {
		case n.GPUs == 0:
			text = SizeText(n.GPUMemory) + " of a GPU"
		case n.GPUs > WholeDevice:
			text = PartText(n.GPUs) + " GPUs"
		case n.GPUs < WholeDevice:
			text = PartText(n.GPUs) + " of a GPU"
		}
		if n.GPUModel != "" {
			text += " " + n.GPUModel
		}
		if n.GPUMemory > 0 && n.GPUs > 0 {
			text += " with " + SizeText(n.GPUMemory)
		}
		parts = append(parts, text)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Devices)) {
		parts = append(parts, fmt.Sprintf("%d %s", n.Devices[name], name))
	}
	return strings.Join(parts, ", ")
}

// PartText writes thousandths of devices: 0.5, 2.
func PartText(thousandths int64) string { return fmt.Sprint(float64(thousandths) / WholeDevice) }

// DeviceOffer is devices of a worker's machine that are alike: GPUs, or what the worker was told of. It counts what
// the machine has, never what is free.
type DeviceOffer struct {
	Name string `json:"name"`
	// Model and Memory, in bytes, are those of a GPU; empty if they are not known.
	Model  string `json:"model,omitempty"`
	Memory int64  `json:"memory,omitempty"`
	Count  int64  `json:"count"`
}

// String says what the devices are: "4 × NVIDIA A100, 80 GiB".
func (d DeviceOffer) String() string {
	if d.Name != GPUDevice {
		return fmt.Sprintf("%d × %s", d.Count, d.Name)
	}
	text := fmt.Sprintf("%d × GPU", d.Count)
	if d.Model != "" {
		text = fmt.Sprintf("%d × %s", d.Count, d.Model)
	}
	if d.Memory > 0 {
		text += ", " + SizeText(d.Memory)
	}
	return text
}

// Holding is what trials hold of the worker's devices that have a need, nil for nothing.
func (o *Offer) Holding(n *Need) *Need {
	if !n.Holds() || n.Presumed && !slices.ContainsFunc(o.Devices, DeviceOffer.isGPU) {
		return nil
	}
	return n
}

func (d DeviceOffer) isGPU() bool { return d.Name == GPUDevice }

// Fits is how many trials with a need the devices of the worker have room for, if nothing else holds them.
func (o *Offer) Fits(n *Need) int64 {
	if n = o.Holding(n); n == nil {
		return math.MaxInt64
	}
	most := int64(math.MaxInt64)
	if n.HoldsGPU() {
		var whole, parts int64
		for _, d := range o.Devices {
			if share := n.Share(d.Model, d.Memory); d.isGPU() && share > 0 {
				whole += d.Count
				parts += d.Count * (WholeDevice / share)
			}
		}
		most = parts
		if n.WholeGPUs() > 0 {
			most = whole / n.WholeGPUs()
		}
	}
	for name, count := range n.Devices {
		var has int64
		for _, d := range o.Devices {
			if d.Name == name {
				has += d.Count
			}
		}
		most = min(most, has/count)
	}
	return most
}

// DevicesText says which devices a worker has.
func (o *Offer) DevicesText() string {
	if len(o.Devices) == 0 {
		return "no devices"
	}
	texts := make([]string, len(o.Devices))
	for i, d := range o.Devices {
		texts[i] = d.String()
	}
	return strings.Join(texts, " and ")
}
