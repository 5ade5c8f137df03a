package file

import (
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// policySchemas describes the keys that choose policies.
func policySchemas(metricName object) object {
	method := policy.Under(policy.MethodKey)
	docs := make([]string, len(method))
	for i, k := range method {
		docs[i] = k.Name + " " + k.Doc
	}
	schemas := object{policy.MethodKey: documented(object{"enum": policy.Names(policy.MethodKey)},
		strings.Join(docs, "; ")+".")}
	for _, key := range policy.Keys() {
		kinds := policy.Under(key)
		if kinds[0].Name == key {
			schemas[key] = documented(kindSchema(kinds[0], metricName), kinds[0].Doc)
			continue
		}
		var list []any
		docs = nil
		for _, k := range kinds {
			list, docs = append(list, kindSchema(k, metricName)), append(docs, "{type: "+k.Name+"} "+k.Doc)
		}
		schemas[key] = documented(object{"anyOf": list}, "Stops trials early whose metric is worse than that of "+
			"others: "+strings.Join(docs, ", ")+".")
	}
	return schemas
}

// kindSchema describes the keys of a kind.
func kindSchema(k *policy.Kind, metricName object) object {
	properties := object{}
	schema := object{"type": "object", "properties": properties}
	if k.Name != k.Key {
		properties["type"], schema["required"] = object{"const": k.Name}, []string{"type"}
	}
	if k.Foreign == "" {
		schema["additionalProperties"] = false
	}
	var sets []any
	for _, names := range k.OneOf {
		var others []any
		for _, name := range slices.Concat(k.OneOf...) {
			if !slices.Contains(names, name) {
				others = append(others, object{"required": []string{name}})
			}
		}
		sets = append(sets, object{"required": names, "not": object{"anyOf": others}})
	}
	if sets != nil {
		schema["anyOf"] = sets
	}
	for i := range k.Keys {
		properties[k.Keys[i].Name] = keySchema(&k.Keys[i], metricName)
	}
	return schema
}

// keySchema describes a key of a policy.
func keySchema(k *policy.Key, metricName object) object {
	schema := object{"type": string(k.Type)}
	switch k.Type {
	case policy.MetricType:
		schema = metricName
	case policy.GoalType:
		schema = object{"enum": []string{sweep.Minimize, sweep.Maximize}}
	}
	bound := func(name string, value *float64) object {
		if value == nil || *value >= policy.MaxNumber {
			return nil
		}
		return object{name: *value}
	}
	lowest := "minimum"
	if k.ExclusiveMinimum {
		lowest = "exclusiveMinimum"
	}
	schema = merge(merge(merge(schema, bound(lowest, k.Minimum)), bound("maximum", k.Maximum)),
		bound("exclusiveMaximum", k.Below))
	if k.Default != nil {
		schema["default"] = k.Default
	}
	return documented(schema, k.Doc)
}

// batchSchema describes the size of generations.
func batchSchema() object {
	var doc []string
	for _, k := range policy.Kinds {
		if k.Batch != "" {
			doc = append(doc, "For "+k.Text()+": "+k.Batch+".")
		}
	}
	return documented(object{"type": "integer", "minimum": 1, "maximum": policy.MaxBatch,
		"default": policy.DefaultBatch}, strings.Join(doc, " "))
}
