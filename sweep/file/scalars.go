package file

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// Scalar is a value of a configuration file of some program, and the names that lead to it, with dots between them.
type Scalar struct {
	Name string
	// Tag is the value's type, as !!int or !!str.
	Tag, Text string
}

// Scalars returns the numbers, texts and other single values of a YAML file's mappings, in its order.
func Scalars(data []byte) (all []Scalar, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	var walk func(names []string, n *yaml.Node)
	walk = func(names []string, n *yaml.Node) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			names := append(names[:len(names):len(names)], n.Content[i].Value)
			switch value := n.Content[i+1]; value.Kind {
			case yaml.MappingNode:
				walk(names, value)
			case yaml.ScalarNode:
				all = append(all, Scalar{strings.Join(names, "."), value.ShortTag(), value.Value})
			}
		}
	}
	if len(document.Content) > 0 {
		walk(nil, document.Content[0])
	}
	return all, nil
}
