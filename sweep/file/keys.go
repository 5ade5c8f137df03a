package file

import (
	"slices"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// nameSchemas are the schemas to which the description of a trainer adds names.
type nameSchemas struct{ parameters, parameter, metric, artifact object }

// anyNames are those of a decoder, which needs no schemas.
var anyNames = nameSchemas{object{}, object{}, object{}, object{}}

// topFields are the keys of a sweep file but those by which policies are chosen.
func topFields(spec *sweep.Spec, names nameSchemas) []field {
	fields := slices.Concat(plainFields(spec), []field{
		{"trainer", tokenSchema(sweep.DefaultTrainer, "What trains: builtin, noop, script (the default of a file with "+
			"program or command), or an executable in a directory of --trainer-path."),
			func(d *decoder, _ entry, path string) { d.plainToken(path, &spec.Trainer) }},
		{"artifacts", documented(oneOrMore(names.artifact), "The files to keep of each trial besides its result, by "+
			"name."), (*decoder).decodeArtifacts},
		{"seed", documented(object{"type": "integer", "default": 0}, "For method: "+policy.Or(drawing())+
			": another seed draws other points."), (*decoder).decodeSeed},
		{"batch", batchSchema(), (*decoder).decodeBatch},
		{"limits", sectionSchema(limitFields(&sweep.Limits{}), "What a trial may take."), (*decoder).decodeLimits},
		{"budget", merge(sectionSchema(budgetFields(&sweep.Budget{}), "What all trials together may use. When it is "+
			"used up, the sweep is paused, and sweep budget raises it."), object{"minProperties": 1}),
			(*decoder).decodeBudget},
		{"requires", documented(object{
			"type": "object", "propertyNames": object{"type": "string", "pattern": token().String()},
			"properties":           fieldSchemas(requireFields(&sweep.Spec{})),
			"additionalProperties": object{"type": "string"},
		}, "What a trial holds of its machine, as in {gpus: 1, memory: 8GiB}, and labels that a worker must have, as in "+
			"{zone: a}."), (*decoder).decodeRequires},
		{"parameters", names.parameters, (*decoder).decodeParameters},
		{"replicates", documented(object{"type": "integer", "minimum": 1}, "k adds the parameter seed with "+
			"the values 1 to k, which varies fastest. Trials that differ only in it are replicates of one grid point."),
			(*decoder).decodeReplicates},
		{"metric", merge(sectionSchema(metricFields(&sweep.Select{}, names.metric), "W&B's form of select.by and "+
			"select.goal: {name, goal}."), object{"required": []string{"name"}}), (*decoder).decodeMetric},
		{"select", sectionSchema(selectFields(&sweep.Select{}, names.parameter, names.metric), "How tables, the live "+
			"view and best_trials select the result of each group."), (*decoder).decodeSelect},
		{"keep", documented(object{
			"type": "object", "minProperties": 1, "propertyNames": names.artifact,
			"additionalProperties": object{"type": "integer", "minimum": 1, "maximum": sweep.MaxKept},
		}, "Artifacts that only the best trials keep, and how many trials, as in {checkpoint: 10}. Trials are "+
			"compared by select.by, across groups."), (*decoder).decodeKeep},
		{"zip", documented(object{"type": "array", "items": object{"type": "array", "minItems": 2,
			"items": names.parameter}}, "Groups of parameters whose lists advance together."), (*decoder).decodeZip},
		{"when", documented(object{"type": "object", "additionalProperties": object{"$ref": "#/$defs/match"}},
			"Where parameters exist, as in {m1: {model: spectral-rnn}}; elsewhere the trainer's default applies."),
			(*decoder).decodeWhen},
		{"exclude", documented(object{"type": "array", "items": object{"$ref": "#/$defs/match"}},
			"Grid points that match an entry are left out."), (*decoder).decodeExclude},
	})
	for _, f := range programFields {
		fields = append(fields, f.field)
	}
	return fields
}

// read reads those of some keys that the file has.
func (d *decoder) read(names ...string) {
	for _, f := range d.fields {
		if _, given := d.given(f.name); given && slices.Contains(names, f.name) {
			f.read(d, d.top[f.name], f.name)
		}
	}
}
