package file

import (
	"encoding/json"
	"maps"
	"slices"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// object is a JSON object; encoding/json sorts its keys.
type object = map[string]any

// Schema returns the JSON Schema (draft 2020-12) of sweep files for editors. Its parameters are
// those of the description, with documentation and accepted values; without one, any name and
// value.
func Schema(description *sweep.Description) ([]byte, error) {
	parameters := object{
		"type": "object", "minProperties": 1, "description": "The parameters and their " +
			"values; the first one varies slowest.",
		"additionalProperties": parameterSchema(object{"$ref": "#/$defs/value"}, ""),
	}
	match := object{"type": "object", "minProperties": 1,
		"additionalProperties": oneOrMore(object{"$ref": "#/$defs/value"})}
	parameterName, metricName := object{"type": "string"}, object{"type": "string"}
	if description != nil {
		declare(description, parameters, match, parameterName, metricName)
	}
	properties := keysSchema(description, parameters, parameterName, metricName)
	maps.Copy(properties, policySchemas(metricName))
	for _, key := range foreignKeys {
		properties[key] = object{"description": "A key of W&B without effect here."}
	}
	schema := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "Sweep file", "type": "object",
		"properties": properties, "required": []string{"parameters"}, "additionalProperties": false,
		"$defs": object{
			"value": object{"description": "Any value."},
			"match": match,
			"group": object{
				"type": "object", "required": []string{"parameters"}, "additionalProperties": false,
				"description": "A group of parameters: their names begin with the group's name and a dot.",
				"properties": object{"when": object{"$ref": "#/$defs/match"}, "parameters": object{
					"type": "object", "minProperties": 1,
					"additionalProperties": parameterSchema(object{"$ref": "#/$defs/value"}, ""),
				}},
			},
		},
	}
	return json.MarshalIndent(schema, "", "  ")
}

// keysSchema describes the keys of a sweep file.
func keysSchema(description *sweep.Description, parameters, parameterName, metricName object) object {
	return merge(fieldSchemas(plainFields(&sweep.Spec{})), object{
		"trainer": tokenSchema(sweep.DefaultTrainer, "What trains: builtin, noop, script (the default of a file with "+
			"program or command), or an executable in a directory of --trainer-path."),
		"seed": documented(object{"type": "integer", "default": 0}, "For method: "+policy.Or(drawing())+
			": another seed draws other points."),
		"batch":   batchSchema(),
		"program": textSchema("The program that is run for each trial, as in train.py."),
		"command": documented(object{"type": "array", "minItems": 1,
			"items": object{"type": []string{"string", "number", "boolean"}}, "default": sweep.DefaultCommand},
			"The command line of program, as a list of words with macros such as ${program} and ${args}."),
		"files": documented(oneOrMore(object{"type": "string"}), "Files that results depend on, as "+
			"requirements.txt or src/*.py: if one changes, trials run again."),
		"directory": documented(object{"enum": []string{"own", "shared"}, "default": "shared"}, "own runs each trial "+
			"of program in a copy of its directory, which is removed afterwards; shared runs all in that directory."),
		"project":    textSchema("The project that programs see which log to W&B."),
		"entity":     textSchema("The entity that programs see which log to W&B."),
		"parameters": parameters,
		"replicates": documented(object{"type": "integer", "minimum": 1}, "k adds the parameter seed with "+
			"the values 1 to k, which varies fastest. Trials that differ only in it are replicates of one grid point."),
		"zip": documented(object{"type": "array", "items": object{"type": "array", "minItems": 2,
			"items": parameterName}},
			"Groups of parameters whose lists advance together."),
		"when": documented(object{"type": "object", "additionalProperties": object{"$ref": "#/$defs/match"}},
			"Where parameters exist, as in {m1: {model: spectral-rnn}}; elsewhere the trainer's default applies."),
		"exclude": documented(object{"type": "array", "items": object{"$ref": "#/$defs/match"}},
			"Grid points that match an entry are left out."),
		"metric": documented(object{
			"type": "object", "required": []string{"name"}, "additionalProperties": false,
			"properties": fieldSchemas(metricFields(&sweep.Select{}, metricName)),
		}, "W&B's form of select.by and select.goal: {name, goal}."),
		"select": documented(object{
			"type": "object", "additionalProperties": false,
			"properties": fieldSchemas(selectFields(&sweep.Select{}, parameterName, metricName)),
		}, "How tables, the live view and best_trials select the result of each group."),
		"limits": documented(object{
			"type": "object", "additionalProperties": false,
			"properties": fieldSchemas(limitFields(&sweep.Limits{})),
		}, "What a trial may take."),
		"budget": documented(object{
			"type": "object", "additionalProperties": false, "minProperties": 1,
			"properties": fieldSchemas(budgetFields(&sweep.Budget{})),
		}, "What all trials together may use. When it is used up, the sweep is paused, and sweep budget raises it."),
		"requires": documented(object{
			"type": "object", "propertyNames": object{"type": "string", "pattern": token.String()},
			"properties": object{
				memoryKey: textSchema("The memory that a trial needs, as in 8GiB; without it the trainer's estimate."),
			},
			"additionalProperties": object{"type": "string"},
		}, "Labels that a worker must have, as in {gpu: a100}, and memory."),
		"artifacts": documented(oneOrMore(artifactSchema(description)), "The files to keep of each "+
			"trial besides its result, by name."),
		"keep": documented(object{
			"type": "object", "minProperties": 1, "propertyNames": artifactSchema(description),
			"additionalProperties": object{"type": "integer", "minimum": 1, "maximum": sweep.MostKept},
		}, "Artifacts that only the best trials keep, and how many trials, as in {checkpoint: 10}. Trials are "+
			"compared by select.by, across groups."),
	})
}

// declare adds a trainer's parameters and metrics to the schemas.
func declare(description *sweep.Description, parameters, match, parameterName, metricName object) {
	declared, matched, names := object{}, object{}, []string{}
	for i := range description.Parameters {
		p := &description.Parameters[i]
		doc := p.Doc
		if p.AppliesWhen != nil {
			doc += "; applies where " + describeMatch(p.AppliesWhen)
		}
		declared[p.Name] = parameterSchema(valueSchema(p), doc)
		matched[p.Name] = oneOrMore(valueSchema(p))
		names = append(names, p.Name)
	}
	// A group of nested parameters has the first part of dotted names.
	parameters["properties"], parameters["additionalProperties"] = declared, object{"$ref": "#/$defs/group"}
	match["properties"], match["additionalProperties"] = matched, false
	parameterName["enum"] = names
	metrics := []string{}
	for _, m := range description.Metrics {
		metrics = append(metrics, m.Name)
	}
	metricName["enum"] = metrics
}

// durationPattern is the form of durations.
const durationPattern = `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`

// artifactSchema describes the name of an artifact: one of the trainer's, if it has some.
func artifactSchema(description *sweep.Description) object {
	artifact := object{"type": "string", "maxLength": sweep.LongestArtifactName,
		"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"}
	if description != nil && len(description.Artifacts) > 0 {
		names := []string{}
		for _, a := range description.Artifacts {
			names = append(names, a.Name)
		}
		artifact = object{"enum": names}
	}
	return artifact
}

// parameterSchema describes a parameter whose values fit value.
func parameterSchema(value object, doc string) object {
	when := object{"$ref": "#/$defs/match"}
	bound := object{"type": []string{"number", "string"}}
	form := func(required []string, properties object) object {
		properties["when"] = when
		return object{"type": "object", "required": required, "properties": properties, "additionalProperties": false}
	}
	schema := object{"anyOf": []any{
		form([]string{"value"}, object{"value": value, "distribution": object{"const": "constant"}}),
		form([]string{"values"}, object{
			"values":        object{"type": "array", "minItems": 1, "items": value},
			"distribution":  object{"const": "categorical"},
			"probabilities": object{"type": "array", "items": object{"type": "number", "minimum": 0}},
		}),
		form([]string{"min", "max"}, object{
			"min": bound, "max": bound, "q": bound, "distribution": object{"enum": rangedDistributions()},
		}),
		form([]string{}, object{
			"mu": bound, "sigma": bound, "q": bound,
			"distribution": object{"enum": []string{"normal", "log_normal", "q_normal", "q_log_normal"}},
		}),
		object{"$ref": "#/$defs/group"},
	}}
	if doc != "" {
		schema["description"] = doc
	}
	return schema
}

// rangedDistributions are the distributions between min and max.
func rangedDistributions() []string {
	var names []string
	for name, d := range distributions {
		if slices.Contains(d.needs, "min") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// valueSchema describes the values that package sweep coerces to s.
func valueSchema(s *sweep.ParameterSchema) object {
	schema := object{}
	if s.Default != nil {
		schema["default"] = s.Default
	}
	if len(s.Enum) > 0 {
		return merge(schema, object{"enum": s.Enum})
	}
	switch s.Type {
	case sweep.BooleanType:
		return merge(schema, object{"anyOf": []any{
			object{"type": "boolean"}, object{"enum": []string{"yes", "no", "on", "off", "true", "false"}},
		}})
	case sweep.IntegerType, sweep.NumberType:
		number := object{"type": string(s.Type)}
		if s.Minimum != nil && s.ExclusiveMinimum {
			number["exclusiveMinimum"] = *s.Minimum
		} else if s.Minimum != nil {
			number["minimum"] = *s.Minimum
		}
		if s.Maximum != nil {
			number["maximum"] = *s.Maximum
		}
		// Numbers that editors take for text.
		text := object{"type": "string", "pattern": `^[-+]?[0-9.][0-9_.]*([eE][-+]?[0-9]+)?$`}
		return merge(schema, object{"anyOf": []any{number, text}})
	case sweep.StringType:
		return merge(schema, object{"type": "string"})
	default:
		return schema
	}
}

var goalSchema = object{"enum": []string{sweep.Minimize, sweep.Maximize}}

func textSchema(doc string) object { return object{"type": "string", "description": doc} }

// tokenSchema describes a name of the form of a token.
func tokenSchema(otherwise, doc string) object {
	return documented(object{"type": "string", "pattern": token.String(), "default": otherwise}, doc)
}

func oneOrMore(item object) object {
	return object{"anyOf": []any{item, object{"type": "array", "minItems": 1, "items": item}}}
}

func documented(schema object, text string) object {
	return merge(schema, object{"description": text})
}

func merge(a, b object) object {
	merged := maps.Clone(a)
	maps.Copy(merged, b)
	return merged
}
