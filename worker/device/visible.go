package device

import (
	"slices"
	"strconv"
	"strings"

	"sweep/sweep"
)

// visibleVariables are those by which this process may have been given some of the machine's GPUs, as by Slurm.
var visibleVariables = []string{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
	"GPU_DEVICE_ORDINAL"}

// allocationVariables tell that a Slurm job has GPUs.
var allocationVariables = []string{"SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE"}

// inherit keeps the GPUs that this process may use.
func (m *Machine) inherit(environment func(string) (string, bool)) {
	given := func(names []string) (value string, ok bool) {
		for _, name := range names {
			if value, ok = environment(name); ok {
				break
			}
		}
		return value, ok
	}
	if list, ok := given(visibleVariables); ok {
		m.keepVisible(strings.Split(list, ","), environment)
		return
	}
	numbers, allocated := given(allocationVariables)
	if _, slurm := environment("SLURM_JOB_ID"); !slurm {
		return
	}
	if !allocated { // the machine's GPUs are other jobs'
		m.Devices = nil
		return
	}
	// The numbers are the machine's, and mean nothing where the job sees its own GPUs alone.
	if list, err := parseNumbers(numbers); err == nil && strings.Contains(numbers, ",") && len(list) < len(m.Devices) {
		_ = m.choose(list)
	}
}

// keepVisible keeps the GPUs of a list, which ends at the first word that names none. Where it is not known which GPU
// a word means, the GPU has no figures, and the word is passed on as it is.
func (m *Machine) keepVisible(words []string, environment func(string) (string, bool)) {
	if len(m.Devices) == 0 {
		return
	}
	order, _ := environment("CUDA_DEVICE_ORDER")
	alike := len(m.Offers()) == 1 // CUDA sorts cards by speed otherwise
	var kept []Device
	for _, word := range words {
		word = strings.TrimSpace(word)
		d, found := m.named(word)
		if number, err := strconv.Atoi(word); err == nil && number >= 0 {
			d, found = Device{Name: sweep.GPUDevice, Index: number, driver: m.Devices[0].driver}, true
			i := slices.IndexFunc(m.Devices, func(other Device) bool { return other.Token == word })
			if i >= 0 && (order == "PCI_BUS_ID" || alike) {
				d = m.Devices[i]
			} else if number >= len(m.Devices) {
				found = false
			}
		}
		if !found {
			break
		}
		d.Token = word
		kept = append(kept, d)
	}
	m.Devices, m.inherited = kept, true
}

// named returns the device whose ID begins with a word.
func (m *Machine) named(word string) (found Device, ok bool) {
	if !strings.Contains(word, "-") || strings.HasPrefix(word, "-") {
		return found, false
	}
	for _, d := range m.Devices {
		if strings.HasPrefix(d.ID, word) {
			if ok {
				return found, false
			}
			found, ok = d, true
		}
	}
	return found, ok
}
