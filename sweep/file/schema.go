package file

import (
	"encoding/json"

	"sweep/sweep"
)

// object is a JSON object; encoding/json sorts its keys.
type object = map[string]any

// Schema returns the JSON Schema (draft 2020-12) of sweep files for editors.
// With a description the parameters are the trainer's, with their documentation
// and the values that they accept; without, any name and value will do.
func Schema(description *sweep.Description) ([]byte, error) {
	parameters := object{
		"type": "object", "minProperties": 1, "description": "What spans the grid; the first parameter varies slowest.",
		"additionalProperties": parameterSchema(object{"$ref": "#/$defs/value"}, ""),
	}
	match := object{"type": "object", "minProperties": 1, "additionalProperties": oneOrMore(object{"$ref": "#/$defs/value"})}
	parameterName, metricName := object{"type": "string"}, object{"type": "string"}
	if description != nil {
		declared, matched, names := object{}, object{}, []string{}
		for i := range description.Parameters {
			p := &description.Parameters[i]
			declared[p.Name] = parameterSchema(valueSchema(p), p.Doc)
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
	goal := object{"enum": []string{"minimize", "maximize"}}
	token := object{"type": "string", "pattern": token.String()}
	properties := object{
		"name":        documented(object{"type": "string"}, "Shown in lists and tables; the file's own name if absent."),
		"description": documented(object{"type": "string"}, "Free text."),
		"trainer":     documented(merge(token, object{"default": sweep.DefaultTrainer}), "The program that trains."),
		"pool":        documented(merge(token, object{"default": sweep.DefaultPool}), "The kind of worker that the trials need."),
		"priority":    documented(object{"type": "integer", "default": 0}, "Orders active sweeps, larger first."),
		"method":      documented(object{"const": "grid"}, "Every point of the grid is run."),
		"parameters":  parameters,
		"replicates":  documented(object{"type": "integer", "minimum": 1}, "k adds the parameter seed with the values 1 to k, which varies fastest."),
		"zip": documented(object{"type": "array", "items": object{"type": "array", "minItems": 2, "items": parameterName}},
			"Lists of parameters that advance together."),
		"when": documented(object{"type": "object", "additionalProperties": object{"$ref": "#/$defs/match"}},
			"Parameters that exist only where a match fits."),
		"exclude": documented(object{"type": "array", "items": object{"$ref": "#/$defs/match"}}, "Points that are left out."),
		"run_cap": documented(object{"type": "integer", "minimum": 1}, "The largest number of points."),
		"metric": documented(object{
			"type": "object", "required": []string{"name"}, "additionalProperties": false,
			"properties": object{"name": metricName, "goal": goal, "target": true, "impute": true, "impute_while_running": true},
		}, "Weights & Biases' way to say select's by and goal."),
		"select": documented(object{
			"type": "object", "additionalProperties": false,
			"properties": object{"group": oneOrMore(parameterName), "by": metricName, "goal": goal},
		}, "How trials are compared in tables."),
		"limits": documented(object{
			"type": "object", "additionalProperties": false,
			"properties": object{
				"timeout":  documented(object{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`}, "Of one execution, as in 90s, 10m, 1h30m."),
				"attempts": documented(object{"type": "integer", "minimum": 1, "maximum": maxAttempts, "default": sweep.DefaultAttempts}, "Executions that may fail by the trial's own fault."),
				"points":   documented(object{"type": "integer", "minimum": 2, "maximum": maxPoints, "default": sweep.DefaultPoints}, "Points kept of a curve."),
			},
		}, "What one trial may cost."),
		"artifacts": documented(oneOrMore(object{"enum": []string{"weights"}}), "What is kept of a trial besides its result."),
	}
	for _, key := range foreignKeys {
		properties[key] = object{"description": "A key of Weights & Biases that means nothing here."}
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
			"values": object{"type": "array", "minItems": 1, "items": value}, "distribution": object{"const": "categorical"},
		}),
		form([]string{"min", "max"}, object{
			"min": bound, "max": bound, "q": bound, "distribution": object{"enum": []string{"int_uniform", "q_uniform"}},
		}),
		object{"$ref": "#/$defs/group"},
	}}
	if doc != "" {
		schema["description"] = doc
	}
	return schema
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

func oneOrMore(item object) object {
	return object{"anyOf": []any{item, object{"type": "array", "minItems": 1, "items": item}}}
}

func documented(schema object, text string) object {
	return merge(schema, object{"description": text})
}

func merge(a, b object) object {
	merged := make(object, len(a)+len(b))
	for key, value := range a {
		merged[key] = value
	}
	for key, value := range b {
		merged[key] = value
	}
	return merged
}
