package file

import (
	"fmt"
	"slices"

	"sweep/sweep"
)

// decodeArtifacts decodes the names of artifacts.
func (d *decoder) decodeArtifacts(e entry, path string) {
	names, nodes, _ := d.texts(e.value, path)
	for i, name := range names {
		if !d.artifact(name, at(nodes[i]), path) {
			return
		}
	}
	if d.description != nil && len(d.artifactNames()) == 0 && len(names) > 0 {
		d.note(at(e.value), path, "trainer %s does not say which it hands over; what it does not is listed as missing",
			d.description.Name)
	}
}

// artifactNames are those of the artifacts that the trainer lists.
func (d *decoder) artifactNames() (names []string) {
	if d.description != nil {
		for _, a := range d.description.Artifacts {
			names = append(names, a.Name)
		}
	}
	return names
}

// artifact adds the name of an artifact, any if the trainer does not list its own. It returns false if there are too
// many.
func (d *decoder) artifact(name string, where position, key string) bool {
	spec, known := &d.file.Spec, d.artifactNames()
	switch {
	case sweep.CheckArtifactName(name) != nil:
		d.failName(where, key, fmt.Sprintf("must be a name of letters, digits and . _ -, at most %d, not %s",
			sweep.LongestArtifactName, shorten(name)), name, known)
	case len(known) > 0 && !slices.Contains(known, name):
		d.failName(where, key, fmt.Sprintf("trainer %s hands over no artifact %s", d.description.Name, shorten(name)),
			name, known)
	case slices.Contains(spec.Artifacts, name):
	case len(spec.Artifacts) == sweep.MaxArtifacts:
		d.fail(where, key, "at most %d artifacts are kept of a trial", sweep.MaxArtifacts)
		return false
	default:
		spec.Artifacts = append(spec.Artifacts, name)
	}
	return true
}

// decodeKeep decodes of how many trials, the best ones, artifacts are kept. An artifact that keep names needs not be
// among the artifacts besides.
func (d *decoder) decodeKeep(e entry, path string) {
	entries, ok := d.entries(e.value, path)
	if !ok {
		return
	}
	spec := &d.file.Spec
	spec.Keep = map[string]int64{}
	for _, e := range entries {
		key := clip(join(path, e.key))
		if !d.artifact(e.key, e.where, key) {
			return
		}
		spec.Keep[e.key], _ = d.integer(e.value, key, 1, sweep.MaxKept)
	}
	if len(entries) == 0 {
		d.fail(e.where, path, "needs the artifacts of which only the best trials keep theirs, as in keep: "+
			"{checkpoint: 10}")
		return
	}
	by := spec.Select
	if d.description != nil {
		by = by.Filled(d.description)
	}
	if by.By == "" && (d.description != nil || d.script()) {
		d.fail(e.where, path, "needs the metric by which trials are the best, as in select: {by: loss, goal: minimize}")
	}
}
