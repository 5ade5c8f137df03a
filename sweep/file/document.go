package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Bounds on what Decode reads.
const (
	// MaxSize is the largest size of a sweep file in bytes.
	MaxSize = 16 << 20
	// MaxDepth is the deepest nesting, aliases expanded.
	MaxDepth = 64
	// maxAliased is how many nodes aliases may add to those that are written.
	maxAliased = 1 << 20
)

// Read reads a sweep file: at most one byte more than Decode takes, which then reports that the
// file is too large.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("sweep file: %w", err)
	}
	defer func() { _ = f.Close() }() // it was read
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("sweep file: %w", err)
	}
	return data, nil
}

// position is a place in the file, counted from 1.
type position struct{ line, column int32 }

func at(n *yaml.Node) position { return position{int32(n.Line), int32(n.Column)} }

var start = position{1, 1}

// parse reads the one document of a file into nodes, which keep order and position. The root is
// nil for an empty file.
func (d *decoder) parse(data []byte) (root *yaml.Node) {
	if len(data) > MaxSize {
		d.fail(start, "", "a sweep file has at most %d MiB, this one has more", MaxSize>>20)
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if encoding := wide(data); encoding != "" {
		d.fail(start, "", "the file is in %s: save it as UTF-8", encoding)
		return nil
	}
	if line := directive(data); line > 0 {
		// The parser's time for them grows with their square.
		d.fail(position{int32(line), 1}, "", "%%TAG directives are not supported")
		return nil
	}
	// The parser panics where it finds itself at fault; input must never end a process.
	defer func() {
		if r := recover(); r != nil {
			d.fail(start, "", "the file cannot be parsed: %v", r)
			root = nil
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(data),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(MaxDepth))))
	if err != nil {
		d.fail(start, "", "the file cannot be parsed: %v", err)
		return nil
	}
	var document, second yaml.Node
	if err := loader.Load(&document); err != nil {
		if !errors.Is(err, io.EOF) {
			d.failSyntax(data, err)
		}
		return nil
	}
	switch err := loader.Load(&second); {
	case err == nil:
		d.fail(at(&second), "", "a second document begins here; a sweep file is one document")
		return nil
	case !errors.Is(err, io.EOF):
		d.failSyntax(data, err)
		return nil
	}
	if len(document.Content) == 0 {
		return nil
	}
	root = document.Content[0]
	m := measurer{decoder: d, anchored: map[*yaml.Node]*extent{}}
	if m.measure(root); len(d.errors) > 0 {
		return nil
	}
	return follow(root)
}

// wide names the encoding of a file whose characters have two or four bytes, "" for others: by
// its mark, else by its first two characters, which in a sweep file are ASCII.
func wide(data []byte) string {
	for _, encoding := range []struct{ mark, name string }{
		{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
	} {
		if bytes.HasPrefix(data, []byte(encoding.mark)) {
			return encoding.name
		}
	}
	if len(data) < 4 {
		return ""
	}
	switch zeros := [4]bool{data[0] == 0, data[1] == 0, data[2] == 0, data[3] == 0}; zeros {
	case [4]bool{false, true, false, true}, [4]bool{true, false, true, false}:
		return "UTF-16"
	case [4]bool{false, true, true, true}, [4]bool{true, true, true, false}:
		return "UTF-32"
	}
	return ""
}

// tab returns the place of a tab that indents a line, if one does.
func tab(data []byte, line int32) (position, bool) {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || int(line) > len(lines) {
		return position{}, false
	}
	text := lines[line-1]
	indent := len(text) - len(bytes.TrimLeft(text, " -?:"))
	return position{line, int32(indent + 1)}, bytes.HasPrefix(text[indent:], []byte("\t"))
}

// directive returns the number of the first line with a %TAG directive, or 0.
func directive(data []byte) int {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if bytes.HasPrefix(line, []byte("%TAG")) {
			return number
		}
	}
	return 0
}

// failSyntax reports an error of the YAML parser at its place.
func (d *decoder) failSyntax(data []byte, err error) {
	where, message := start, err.Error()
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		message = e.Message
		if e.ContextMsg != "" {
			message = e.ContextMsg + ": " + message
		}
		switch {
		case e.Mark.Line > 0:
			where = position{int32(e.Mark.Line), int32(max(e.Mark.Column, 1))}
		case e.ContextMark.Line > 0:
			where = position{int32(e.ContextMark.Line), int32(max(e.ContextMark.Column, 1))}
		default:
			where = unreadable(data)
		}
	}
	message = "not valid YAML: " + message
	if at, ok := tab(data, where.line); ok {
		where, message = at, "not valid YAML: a tab stands where the line is indented: use spaces"
	}
	e := d.file.errorAt(where, "", message)
	e.Err = err
	d.add(e)
}

// unreadable finds the first character that YAML does not allow.
func unreadable(data []byte) position {
	p := start
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return p
		}
		p.column++
		if r == '\n' {
			p = position{p.line + 1, 1}
		}
		data = data[size:]
	}
	return start
}

// measurer bounds what aliases expand to before anything walks through them.
type measurer struct {
	decoder  *decoder
	anchored map[*yaml.Node]*extent
	written  int
	depth    int
}

// extent is the expanded size and height of a node; open while it is measured.
type extent struct {
	nodes, height int
	open          bool
}

func (m *measurer) measure(n *yaml.Node) extent {
	if n.Kind == yaml.AliasNode {
		e := m.anchored[n.Alias]
		switch {
		case e == nil || e.open:
			m.decoder.fail(at(n), "", "alias *%s contains itself", n.Value)
			return extent{}
		case m.depth+e.height > MaxDepth:
			m.decoder.fail(at(n), "", "alias *%s nests deeper than %d levels", n.Value, MaxDepth)
		}
		return *e
	}
	m.written++
	e := &extent{nodes: 1, open: true}
	if n.Anchor != "" {
		m.anchored[n] = e
	}
	m.depth++
	for _, child := range n.Content {
		inner := m.measure(child)
		if len(m.decoder.errors) > 0 {
			return extent{}
		}
		e.nodes += inner.nodes
		e.height = max(e.height, inner.height+1)
		if e.nodes > m.written+maxAliased {
			m.decoder.fail(at(child), "", "aliases expand to more than %d nodes", maxAliased)
			return extent{}
		}
	}
	m.depth--
	e.open = false
	return *e
}

// follow returns the node of an alias; measure has made sure that there is one.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// entry is one key of a mapping with its value, aliases followed.
type entry struct {
	key   string
	where position
	value *yaml.Node
	merge bool // the key is <<
}

// entries returns the keys of a mapping in order, also those after a bad key. A repeated key is
// an error. Merge keys (<<) are replaced by the keys of their mappings that the mapping itself
// does not have.
func (d *decoder) entries(n *yaml.Node, path string) ([]entry, bool) {
	if n.Kind != yaml.MappingNode {
		d.fail(at(n), path, "must be a mapping of keys to values, not %s", kindName(n))
		return nil, false
	}
	ok := true
	own := make(map[string]position, len(n.Content)/2)
	list := make([]entry, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := follow(n.Content[i]), follow(n.Content[i+1])
		where := at(n.Content[i])
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null":
			d.fail(where, path, "a key must be text, not %s", kindName(key))
			ok = false
			continue
		case key.ShortTag() == "!!merge":
		default:
			if first, repeated := own[key.Value]; repeated {
				d.fail(where, join(path, key.Value), "is given twice, first in line %d", first.line)
				ok = false
				continue
			}
			own[key.Value] = where
		}
		list = append(list, entry{key.Value, where, value, key.ShortTag() == "!!merge"})
	}
	merged, merges := d.merge(list, own, path)
	return merged, ok && merges
}

// merge expands the merge keys among the entries of a mapping.
func (d *decoder) merge(list []entry, own map[string]position, path string) ([]entry, bool) {
	if !slices.ContainsFunc(list, func(e entry) bool { return e.merge }) {
		return list, true
	}
	var merged []entry
	for _, e := range list {
		if !e.merge {
			merged = append(merged, e)
			continue
		}
		for _, source := range itemsOf(e.value) {
			source = follow(source)
			if source.Kind != yaml.MappingNode {
				d.fail(e.where, join(path, "<<"), "must merge mappings, not %s", kindName(source))
				return nil, false
			}
			inner, ok := d.entries(source, path)
			if !ok {
				return nil, false
			}
			for _, item := range inner {
				if _, known := own[item.key]; !known {
					own[item.key] = item.where
					merged = append(merged, item)
				}
			}
		}
	}
	return merged, true
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// kindName says what a node is, for errors.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!str", "!!timestamp", "!!merge":
		return shorten(n.Value)
	}
	return clip(n.Value)
}

// shorten quotes a text for an error.
func shorten(text string) string { return strconv.Quote(clip(text)) }

// clip bounds what hostile text adds to a message.
func clip(text string) string {
	const longest = 60
	count := 0
	for i := range text {
		if count++; count > longest {
			return text[:i] + "…"
		}
	}
	return text
}
