package file

import (
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// mostDevices bounds the devices that a trial holds.
const mostDevices = 1024

// requireFields are the keys of requires that are no labels.
func requireFields(spec *sweep.Spec) []field {
	need := func() *sweep.Need {
		if spec.Need == nil {
			spec.Need = &sweep.Need{}
		}
		return spec.Need
	}
	return []field{
		{"memory", textSchema("The memory that a trial needs, as in 8GiB; without it the trainer's estimate."),
			func(d *decoder, e entry, path string) { spec.Memory = d.size(e.value, path) }},
		{"gpus", documented(object{"type": "number", "minimum": 0, "maximum": mostDevices}, "The number of GPUs that a "+
			"trial holds while it runs: a whole number, or a part of one GPU as in 0.5. 0 hides all GPUs."),
			func(d *decoder, e entry, path string) { need().GPUs = d.thousandths(e.value, path) }},
		{"gpu_memory", textSchema("The memory that each GPU must have, as in 40GiB. Without gpus, the trial shares a GPU " +
			"and holds so much of it."),
			func(d *decoder, e entry, path string) { need().GPUMemory = d.size(e.value, path) }},
		{"gpu_model", textSchema("A pattern for the name of the GPU, as in \"A100*\". Without gpus, a trial holds one."),
			func(d *decoder, e entry, path string) { need().GPUModel, _ = d.text(e.value, path) }},
		{"devices", documented(object{"type": "object", "additionalProperties": object{"type": "integer", "minimum": 1,
			"maximum": mostDevices}}, "Other things that a trial holds, by the names that --devices gave them, as in "+
			"{licence: 1}."),
			func(d *decoder, e entry, path string) { need().Devices = d.counts(e.value, path) }},
	}
}

// decodeRequires decodes what a worker must have: memory, devices, and labels.
func (d *decoder) decodeRequires(e entry, path string) {
	spec := &d.file.Spec
	entries, ok := d.entries(e.value, path)
	if !ok {
		return
	}
	fields := requireFields(spec)
	for _, e := range entries {
		path := join(path, e.key)
		if i := slices.IndexFunc(fields, func(f field) bool { return f.name == e.key }); i >= 0 {
			fields[i].read(d, e, path)
			continue
		}
		text, ok := d.text(e.value, path)
		switch {
		case !ok:
		case !token().MatchString(e.key):
			d.fail(e.where, clip(path), "a label's name must be letters, digits, - and _, at most 63")
		case !isLabel(text):
			d.fail(at(e.value), path, "must be one line of at most 200 characters")
		default:
			if spec.Requires == nil {
				spec.Requires = map[string]string{}
			}
			spec.Requires[e.key] = text
			d.noteLabel(e, path, text, fields)
		}
	}
	d.checkNeed(at(e.value), path)
}

// noteLabel notes a label that is perhaps meant to be another key.
func (d *decoder) noteLabel(e entry, path, text string, fields []field) {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	number := func(text string) bool {
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	}
	if near := sweep.Nearest(e.key, names); near != "" && (number(text) || e.key != "gpu") {
		d.note(e.where, path, "is the label of a worker; did you mean %s?", near)
	}
}

// checkNeed checks that what the file says of GPUs fits together.
func (d *decoder) checkNeed(where position, path string) {
	need := d.file.Spec.Need
	if need == nil || len(d.errors) > 0 {
		return
	}
	if need.GPUModel != "" && !need.HoldsGPU() {
		need.GPUs = sweep.WholeDevice
	}
	requires, _ := d.given("requires")
	entries, _ := d.entries(requires, path)
	for _, e := range entries {
		if e.key == "gpus" && d.thousandths(e.value, path) == 0 && need.HoldsGPU() {
			d.fail(at(e.value), join(path, e.key), "is 0, and gpu_memory or gpu_model asks for a GPU: leave one out")
			return
		}
	}
	if err := need.Check(); err != nil {
		d.failCause(where, path, err)
	}
}

// thousandths reads a number of devices.
func (d *decoder) thousandths(n *yaml.Node, path string) int64 {
	text, ok := d.text(n, path)
	if !ok {
		return 0
	}
	value, err := strconv.ParseFloat(text, 64)
	count := math.Round(value * sweep.WholeDevice)
	if err != nil || !(value >= 0 && value <= mostDevices) || value > 0 && count == 0 {
		d.fail(at(n), path, "must be a number of GPUs, as in 1 or 0.5, not %s", shorten(text))
		return 0
	}
	return int64(count)
}

// counts reads numbers of devices by their names.
func (d *decoder) counts(n *yaml.Node, path string) map[string]int64 {
	entries, ok := d.entries(n, path)
	if !ok {
		return nil
	}
	counts := map[string]int64{}
	for _, e := range entries {
		path := join(path, e.key)
		switch {
		case e.key == sweep.GPUDevice:
			d.fail(e.where, path, "GPUs are counted by requires.gpus")
		case !token().MatchString(e.key):
			d.fail(e.where, clip(path), "a device's name must be letters, digits, - and _, at most 63")
		default:
			if count, ok := d.integer(e.value, path, 1, mostDevices); ok {
				counts[e.key] = count
			}
		}
	}
	return counts
}

// size reads a number of bytes.
func (d *decoder) size(n *yaml.Node, path string) int64 {
	text, ok := d.text(n, path)
	if !ok {
		return 0
	}
	size, err := sweep.ParseSize(text)
	if err != nil || size <= 0 {
		d.fail(at(n), path, "must be a size with its unit, as in 8GiB or 512MiB, not %s", shorten(text))
	}
	return size
}
