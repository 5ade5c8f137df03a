package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sweep/sweep"
)

// argument is a top-level parameter as programs see it. Its value is what encoding/json
// decodes, with json.Number for numbers, or a []argument for a group of nested parameters.
type argument struct {
	name  string
	value any
}

// str returns what Python's str() makes of a value; a mapping becomes JSON.
func str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []argument, map[string]any:
		return dumps(v)
	}
	return repr(v)
}

// repr returns what Python's repr() makes of a value.
func repr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return quote(v)
	}
	return compose(v, repr)
}

// dumps returns what Python's json.dumps makes of a value.
func dumps(v any) string {
	switch v := v.(type) {
	case nil, bool, string:
		return sweep.WrittenJSON(v)
	}
	return compose(v, dumps)
}

// compose writes a number, a list or a mapping; item writes the elements.
func compose(v any, item func(any) string) string {
	var items []string
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			items = append(items, item(element))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			items = append(items, item(name)+": "+item(v[name]))
		}
	case []argument:
		for _, a := range v {
			items = append(items, item(a.name)+": "+item(a.value))
		}
	default:
		return fmt.Sprint(v)
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// quote quotes a text as Python does: in single quotes, unless the text contains single
// quotes and no double ones.
func quote(text string) string {
	quote := '\''
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range text {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}

// newArguments returns the parameters of a trial in the order of the sweep file. Nested ones
// are at the position of the first of their group; those that the file does not name are last.
func newArguments(s *sweep.Script, given sweep.Parameters) (arguments []argument, err error) {
	parameters := slices.Clone(s.Parameters)
	for _, name := range given.Names() {
		if !slices.ContainsFunc(parameters, func(p sweep.ScriptParameter) bool { return p.Name == name }) {
			parameters = append(parameters, sweep.ScriptParameter{Name: name})
		}
	}
	for _, p := range parameters {
		value, present := given[p.Name]
		if !present {
			continue
		}
		written, err := p.Value(value)
		if err == nil {
			decoder := json.NewDecoder(strings.NewReader(written))
			decoder.UseNumber()
			value = nil
			err = decoder.Decode(&value)
		}
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		path := p.Path
		if len(path) == 0 {
			path = []string{p.Name}
		}
		arguments = put(arguments, path, value)
	}
	return arguments, nil
}

// put adds a value at a path of names.
func put(arguments []argument, path []string, value any) []argument {
	if len(path) > 1 {
		for i, a := range arguments {
			if group, ok := a.value.([]argument); ok && a.name == path[0] {
				arguments[i].value = put(group, path[1:], value)
				return arguments
			}
		}
		value = put(nil, path[1:], value)
	}
	return append(arguments, argument{path[0], value})
}
