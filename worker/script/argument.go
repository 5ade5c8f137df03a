package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sweep/sweep"
)

// argument is a top-level parameter as programs see it: nested ones are one
// mapping.
type argument struct {
	name  string
	value value
}

// value is a parameter's value with Python's types.
type value interface {
	// text is what str() makes of it, of a mapping its JSON.
	text() string
	// repr is what it is within a list.
	repr() string
	// json is what json.dumps makes of it.
	json() string
}

type (
	null    struct{}
	boolean bool
	number  string // as Python writes it
	text    string
	list    []value
	mapping []argument
)

func (null) text() string { return "None" }
func (null) repr() string { return "None" }
func (null) json() string { return "null" }

func (b boolean) text() string {
	if b {
		return "True"
	}
	return "False"
}
func (b boolean) repr() string { return b.text() }
func (b boolean) json() string { return fmt.Sprint(bool(b)) }

func (n number) text() string { return string(n) }
func (n number) repr() string { return string(n) }
func (n number) json() string { return string(n) }

func (t text) text() string { return string(t) }
func (t text) json() string { return sweep.WrittenJSON(string(t)) }

// repr quotes as Python does: single quotes, unless those are in it and double
// ones are not.
func (t text) repr() string {
	quote := byte('\'')
	if strings.Contains(string(t), "'") && !strings.Contains(string(t), `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range string(t) {
		switch {
		case r == rune(quote) || r == '\\':
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
	b.WriteByte(quote)
	return b.String()
}

func (l list) text() string { return l.repr() }
func (l list) repr() string { return l.write(value.repr) }
func (l list) json() string { return l.write(value.json) }

func (l list) write(item func(value) string) string {
	items := make([]string, len(l))
	for i, v := range l {
		items[i] = item(v)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (m mapping) text() string { return m.json() }
func (m mapping) json() string { return writeArguments(m) }

func (m mapping) repr() string {
	items := make([]string, len(m))
	for i, a := range m {
		items[i] = text(a.name).repr() + ": " + a.value.repr()
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// writeArguments writes arguments as one JSON object in their order.
func writeArguments(arguments []argument) string {
	items := make([]string, len(arguments))
	for i, a := range arguments {
		items[i] = text(a.name).json() + ": " + a.value.json()
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// newArguments are the parameters of a trial in the order of the file, nested
// ones in the place of the first of their group; what the file does not have
// comes last.
func newArguments(s *sweep.Script, parameters sweep.Parameters) ([]argument, error) {
	var arguments mapping
	known := map[string]bool{}
	for i := range s.Parameters {
		p := &s.Parameters[i]
		known[p.Name] = true
		given, present := parameters[p.Name]
		if !present {
			continue
		}
		written, err := p.Value(given)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		v, err := readValue(written)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		path := p.Path
		if len(path) == 0 {
			path = []string{p.Name}
		}
		arguments = arguments.put(path, v)
	}
	for _, name := range parameters.Names() {
		if known[name] {
			continue
		}
		v, err := readValue(sweep.WrittenJSON(parameters[name]))
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		arguments = append(arguments, argument{name, v})
	}
	return arguments, nil
}

// put adds a value beneath a path of names.
func (m mapping) put(path []string, v value) mapping {
	for i := range m {
		if inner, ok := m[i].value.(mapping); ok && m[i].name == path[0] && len(path) > 1 {
			m[i].value = inner.put(path[1:], v)
			return m
		}
	}
	if len(path) > 1 {
		v = mapping(nil).put(path[1:], v)
	}
	return append(m, argument{path[0], v})
}

// readValue reads JSON; numbers stay as they are written, mappings in order.
func readValue(written string) (value, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(written)))
	decoder.UseNumber()
	return decodeValue(decoder)
}

func decodeValue(decoder *json.Decoder) (value, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case bool:
		return boolean(t), nil
	case json.Number:
		return number(t), nil
	case string:
		return text(t), nil
	case json.Delim:
		if t == '[' {
			items := list{}
			for decoder.More() {
				item, err := decodeValue(decoder)
				if err != nil {
					return nil, err
				}
				items = append(items, item)
			}
			_, err := decoder.Token()
			return items, err
		}
		m := mapping{}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			item, err := decodeValue(decoder)
			if err != nil {
				return nil, err
			}
			m = append(m, argument{fmt.Sprint(key), item})
		}
		_, err := decoder.Token()
		return m, err
	}
	return null{}, nil
}
