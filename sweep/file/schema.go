package file

import (
	"encoding/json"
	"maps"
	"slices"

	"sweep/sweep"
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
	properties := fieldSchemas(topFields(&sweep.Spec{}, nameSchemas{parameters, parameterName, metricName,
		artifactSchema(description)}))
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

// sectionSchema describes a key with keys of its own.
func sectionSchema(fields []field, doc string) object {
	return object{"type": "object", "additionalProperties": false, "properties": fieldSchemas(fields),
		"description": doc}
}

func textSchema(doc string) object { return object{"type": "string", "description": doc} }

// tokenSchema describes a name of the form of a token.
func tokenSchema(otherwise, doc string) object {
	return documented(object{"type": "string", "pattern": token().String(), "default": otherwise}, doc)
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
