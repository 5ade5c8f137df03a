package file

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// value converts a node to the types of sweep.Parameters, by YAML's core schema (1e-3 is a
// number; yes and dates are text).
func (d *decoder) value(n *yaml.Node, path string) (any, bool) {
	n = follow(n)
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, ok := d.value(item, path)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case yaml.MappingNode:
		entries, ok := d.entries(n, path)
		if !ok {
			return nil, false
		}
		object := make(map[string]any, len(entries))
		for _, e := range entries {
			if object[e.key], ok = d.value(e.value, path); !ok {
				return nil, false
			}
		}
		return object, true
	}
	v, err := scalar(n)
	if err != nil {
		d.fail(at(n), path, "%v", err)
		return nil, false
	}
	if text, ok := v.(string); ok && d.script() && n.Style == 0 {
		// Those who wrote the file saw it read by YAML 1.1.
		if boolean, ok := oldBooleans[text]; ok {
			return boolean, true
		}
	}
	return v, true
}

// oldBooleans are the booleans of YAML 1.1 besides true and false, as Python reads them.
var oldBooleans = map[string]bool{
	"yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// scalar converts one scalar by its tag.
func scalar(n *yaml.Node) (any, error) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		if f, err := strconv.ParseFloat(n.Value, 64); n.Style == 0 && err != nil && math.IsInf(f, 0) { // as 1e400
			return nil, fmt.Errorf("%s is not a finite number; a text is written in quotes", shorten(n.Value))
		}
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		schema := sweep.ParameterSchema{Type: sweep.BooleanType}
		if v, err := schema.Coerce(n.Value); err == nil {
			return v, nil
		}
		return nil, fmt.Errorf("%s is not a boolean", shorten(n.Value))
	case "!!int", "!!float":
		return numeral(n, tag == "!!int")
	default:
		return nil, fmt.Errorf("the tag %s is not supported", tag)
	}
}

// numeral converts a number.
func numeral(n *yaml.Node, integer bool) (any, error) {
	plain := strings.ReplaceAll(n.Value, "_", "")
	if digits := strings.TrimLeft(plain, "+-"); strings.Trim(digits, "0123456789") == "" && n.Style == 0 {
		integer = true
		if len(digits) > 1 && digits[0] == '0' {
			return nil, fmt.Errorf("%s begins with 0, which makes it octal to some and decimal to others: write it without "+
				"0, with 0o if it is octal, in quotes if it is a text", shorten(n.Value))
		}
	}
	if integer {
		i, err := strconv.ParseInt(plain, 0, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return nil, fmt.Errorf("%s: an integer beyond ±2^63 is not exact; write it in quotes as a text, or as a number "+
				"like 1.8e19", shorten(n.Value))
		case err != nil:
			return nil, fmt.Errorf("%s is not an integer", shorten(n.Value))
		}
		return i, nil
	}
	f, err := strconv.ParseFloat(plain, 64)
	if strings.Contains(strings.ToLower(n.Value), ".inf") || strings.Contains(strings.ToLower(n.Value), ".nan") ||
		math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("%s is not a finite number", shorten(n.Value))
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a number", shorten(n.Value))
	}
	return f, nil
}

// plain returns the value of a valid scalar, nil for all other nodes.
func plain(n *yaml.Node) any {
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	v, _ := scalar(n)
	return v
}

// coerced converts a node to the type of a parameter, whose schema may be nil.
func (d *decoder) coerced(n *yaml.Node, schema *sweep.ParameterSchema, path string) (any, bool) {
	v, ok := d.value(n, path)
	if !ok || schema == nil {
		return v, ok
	}
	typed, err := schema.Coerce(v)
	switch {
	case err != nil && v == nil:
		d.fail(at(n), path, "must be %s, not null", schema.Expected())
	case err != nil:
		d.failCause(at(n), path, err)
	}
	return typed, err == nil
}

// text reads a text; a plain number or boolean counts as text.
func (d *decoder) text(n *yaml.Node, path string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.fail(at(n), path, "must be text, not %s", kindName(n))
		return "", false
	}
	return n.Value, true
}

// boolean reads true or false.
func (d *decoder) boolean(n *yaml.Node, path string) bool {
	schema := sweep.ParameterSchema{Type: sweep.BooleanType}
	v, err := schema.Coerce(plain(n))
	if err != nil {
		d.fail(at(n), path, "must be true or false, not %s", kindName(n))
		return false
	}
	return v.(bool) // as the schema has it
}

// integer reads an integer within bounds.
func (d *decoder) integer(n *yaml.Node, path string, low, high int64) (int64, bool) {
	schema := sweep.ParameterSchema{Type: sweep.IntegerType}
	typed, _ := schema.Coerce(plain(n)) // nil after an error
	if i, ok := typed.(int64); ok && i >= low && i <= high {
		return i, true
	}
	expected := fmt.Sprintf("an integer from %d to %d", low, high)
	if high == math.MaxInt64 {
		expected = fmt.Sprintf("an integer of at least %d", low)
	}
	d.fail(at(n), path, "must be %s, not %s", expected, kindName(n))
	return 0, false
}

// itemsOf returns the nodes of a list; any other node is a list of one.
func itemsOf(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// texts reads a list of texts; a single text is a list of one.
func (d *decoder) texts(n *yaml.Node, path string) (list []string, nodes []*yaml.Node, ok bool) {
	for _, item := range itemsOf(n) {
		item = follow(item)
		text, ok := d.text(item, path)
		if !ok {
			return nil, nil, false
		}
		list, nodes = append(list, text), append(nodes, item)
	}
	return list, nodes, true
}
