package sweep

import (
	"bytes"
	"strconv"
	"strings"
)

// decodeFlat decodes a JSON object without white space, escapes and nesting, as
// the canonical form of most parameters is, in a fraction of the time that
// encoding/json takes. Whatever else there is, ok is false.
func decodeFlat(data []byte) (object map[string]any, ok bool) {
	if len(data) < 2 || data[0] != '{' || data[len(data)-1] != '}' {
		return nil, false
	}
	rest := string(data[1 : len(data)-1])
	object = make(map[string]any, bytes.Count(data, []byte{':'}))
	for first := true; first && rest != "" || !first; first = false {
		name, after, ok := cutString(rest)
		if !ok || after == "" || after[0] != ':' {
			return nil, false
		}
		value, after, ok := cutScalar(after[1:])
		if !ok {
			return nil, false
		}
		object[name] = value
		if after == "" {
			break
		}
		if after[0] != ',' {
			return nil, false
		}
		rest = after[1:]
	}
	return object, true
}

// cutString cuts a plain JSON string off the beginning of a text.
func cutString(text string) (s, rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", "", false
	}
	end := strings.IndexByte(text[1:], '"')
	if end < 0 || !isPlain(text[1:1+end]) {
		return "", "", false
	}
	return text[1 : 1+end], text[2+end:], true
}

// cutScalar cuts a string, number, boolean or null off the beginning of a text.
func cutScalar(text string) (value any, rest string, ok bool) {
	if text == "" {
		return nil, "", false
	}
	if text[0] == '"' {
		return cutString(text)
	}
	end := strings.IndexByte(text, ',')
	if end < 0 {
		end = len(text)
	}
	switch word, rest := text[:end], text[end:]; word {
	case "null":
		return nil, rest, true
	case "true":
		return true, rest, true
	case "false":
		return false, rest, true
	default:
		value, ok := number(word)
		return value, rest, ok
	}
}

// number reads a JSON number as Normalize would.
func number(word string) (value any, ok bool) {
	digits := strings.TrimPrefix(word, "-")
	whole := true
	for i := range len(digits) {
		switch c := digits[i]; {
		case '0' <= c && c <= '9':
		case c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+':
			// strconv takes what JSON does not: 1. and .5
			if i == 0 || c == '.' && (i+1 == len(digits) || digits[i+1] < '0' || digits[i+1] > '9') {
				return nil, false
			}
			whole = false
		default:
			return nil, false
		}
	}
	if digits == "" || digits[0] == '0' && len(digits) > 1 && '0' <= digits[1] && digits[1] <= '9' {
		return nil, false
	}
	if whole {
		if i, err := strconv.ParseInt(word, 10, 64); err == nil {
			return i, true
		}
	}
	f, err := strconv.ParseFloat(word, 64)
	return f, err == nil
}
