package file

import (
	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// memoryKey is what requires calls the memory of a trial; all others are labels.
const memoryKey = "memory"

// decodeRequires decodes what a worker must have: labels, and memory.
func (d *decoder) decodeRequires(e entry, path string) {
	spec := &d.file.Spec
	entries, ok := d.entries(e.value, path)
	if !ok {
		return
	}
	for _, e := range entries {
		path := join(path, e.key)
		if e.key == memoryKey {
			spec.Memory = d.size(e.value, path)
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
		}
	}
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
