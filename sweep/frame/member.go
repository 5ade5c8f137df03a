package frame

import (
	"bytes"
	"encoding/json"
)

// members calls yield for each member of a JSON object, its name and value as they
// are written. What is no object has none.
func members(object []byte, yield func(name, value []byte)) {
	i := skip(object, 0)
	if i >= len(object) || object[i] != '{' {
		return
	}
	for i++; ; i++ {
		i = skip(object, i)
		if i >= len(object) || object[i] != '"' {
			return
		}
		nameEnd := end(object, i)
		name := object[i:nameEnd]
		i = skip(object, nameEnd)
		if i >= len(object) || object[i] != ':' {
			return
		}
		i = skip(object, i+1)
		valueEnd := end(object, i)
		if valueEnd == i {
			return
		}
		yield(name, object[i:valueEnd])
		i = skip(object, valueEnd)
		if i >= len(object) || object[i] != ',' {
			return
		}
	}
}

// skip returns the place of the next byte that is no white space.
func skip(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// end returns where the value that begins at a place ends.
func end(text []byte, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(text))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// text returns a JSON string's text.
func text(quoted []byte) string {
	if len(quoted) < 2 {
		return ""
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return string(quoted)
	}
	return s
}
