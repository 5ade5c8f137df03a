package file

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// Override returns the text of a sweep file with the keys of another in place of its own: parameters one by
// one, other keys whole. A key or parameter that is null in the other is removed. Both must be YAML
// mappings without aliases and merge keys; their comments are kept.
func Override(base, with []byte) ([]byte, error) {
	var file, other yaml.Node
	if err := yaml.Load(base, &file); err != nil {
		return nil, fmt.Errorf("sweep file: %w", err)
	}
	if err := yaml.Load(with, &other); err != nil {
		return nil, fmt.Errorf("override: %w", err)
	}
	into, from := mappingOf(&file), mappingOf(&other)
	if into == nil || from == nil {
		return nil, fmt.Errorf("a sweep file and what overrides it must be mappings")
	}
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		at := indexOf(into, key.Value)
		if key.Value == "parameters" && at >= 0 && value.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(value.Content); j += 2 {
				replace(into.Content[at], value.Content[j], value.Content[j+1])
			}
			continue
		}
		replace(into, key, value)
	}
	return yaml.Dump(&file, yaml.WithIndent(2))
}

// mappingOf is the mapping that a document has, nil if it has none.
func mappingOf(document *yaml.Node) *yaml.Node {
	if document.Kind == yaml.DocumentNode && len(document.Content) == 1 {
		document = document.Content[0]
	}
	if document.Kind != yaml.MappingNode {
		return nil
	}
	return document
}

// indexOf is the place of a key's value in a mapping, -1 without the key.
func indexOf(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}

// replace sets a key of a mapping, or removes it if the value is null.
func replace(mapping, key, value *yaml.Node) {
	at := indexOf(mapping, key.Value)
	switch removed := value.ShortTag() == "!!null"; {
	case at < 0 && !removed:
		mapping.Content = append(mapping.Content, key, value)
	case at >= 0 && removed:
		mapping.Content = append(mapping.Content[:at-1], mapping.Content[at+1:]...)
	case at >= 0:
		mapping.Content[at] = value // the key keeps its comments
	}
}
