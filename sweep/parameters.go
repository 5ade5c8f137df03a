package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Parameters are the values of one trial by name: nil, bool, int64, float64, string, []any or
// map[string]any of these. Normalize converts other numeric types. Nested names are joined by
// dots.
type Parameters map[string]any

// Canonical returns the canonical JSON of p: sorted keys, no white space, and shortest numbers,
// so that 1, 1.0 and 1e0 are one value.
func (p Parameters) Canonical() ([]byte, error) {
	return CanonicalJSON(map[string]any(p))
}

// Clone returns a copy that shares no top-level storage with p.
func (p Parameters) Clone() Parameters {
	q := make(Parameters, len(p))
	maps.Copy(q, p)
	return q
}

// Names returns the parameter names in sorted order.
func (p Parameters) Names() []string { return sortedKeys(p) }

func sortedKeys[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

// UnmarshalJSON decodes an object. Numbers that are written as integers and fit are int64.
func (p *Parameters) UnmarshalJSON(data []byte) error {
	value, err := DecodeValue(data)
	if err != nil {
		return err
	}
	object, ok := value.(map[string]any)
	if !ok && value != nil {
		return fmt.Errorf("parameters: expected a JSON object, found %s", bytes.TrimSpace(data))
	}
	*p = object
	return nil
}

// DecodeValue decodes one JSON value into the types that Parameters hold.
func DecodeValue(data []byte) (any, error) {
	if object, ok := decodeFlat(data); ok {
		return object, nil
	}
	return decodeAny(data)
}

// PlainText reports whether a text can stand without quotes: it is not the JSON of a value, such as null or 1.
func PlainText(text string) bool {
	_, err := DecodeValue([]byte(text))
	return err != nil
}

// JSONText prints a value on one line; strings without quotes.
func JSONText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

func decodeAny(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("unexpected text after the JSON value")
	}
	return Normalize(value)
}

// Normalize converts value to the types of Parameters; an error says that JSON cannot carry it.
func Normalize(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string, int64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case uint64:
		if v > math.MaxInt64 {
			return float64(v), nil
		}
		return int64(v), nil
	case float32:
		return Normalize(float64(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a finite number", v)
		}
		return v, nil
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("number %s: %w", v, err)
		}
		return f, nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			n, err := Normalize(item)
			if err != nil {
				return nil, err
			}
			list[i] = n
		}
		return list, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			n, err := Normalize(item)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			object[key] = n
		}
		return object, nil
	case Parameters:
		return Normalize(map[string]any(v))
	default:
		return nil, fmt.Errorf("values of type %T are not supported", value)
	}
}

// Equal reports whether two values have one canonical form, as 1 and 1.0, but not 1 and "1".
func Equal(a, b any) bool {
	x, errX := CanonicalJSON(a)
	y, errY := CanonicalJSON(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// CanonicalJSON encodes value as Parameters.Canonical does.
func CanonicalJSON(value any) ([]byte, error) {
	return appendCanonical(nil, value)
}

func appendCanonical(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendNumber(dst, v)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendCanonical(dst, item); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendString(dst, key); err != nil {
				return nil, err
			}
			dst = append(dst, ':')
			if dst, err = appendCanonical(dst, v[key]); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
		return append(dst, '}'), nil
	default:
		normal, err := Normalize(value)
		if err != nil {
			return nil, err
		}
		return appendCanonical(dst, normal)
	}
}

// appendNumber writes whole numbers as integers up to where encoding/json does, so that a value
// has the same form before and after JSON, and other numbers in Go's shortest form.
func appendNumber(dst []byte, v float64) ([]byte, error) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return nil, fmt.Errorf("%v is not a finite number", v)
	case v == 0:
		return append(dst, '0'), nil // -0 as well
	case v == math.Trunc(v) && math.Abs(v) < 1e21:
		return strconv.AppendFloat(dst, v, 'f', -1, 64), nil
	default:
		return strconv.AppendFloat(dst, v, 'g', -1, 64), nil
	}
}

func appendString(dst []byte, s string) ([]byte, error) {
	if isPlain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"'), nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return nil, err
	}
	return append(dst, bytes.TrimRight(b.Bytes(), "\n")...), nil
}

// isPlain reports whether JSON writes s as it is: most names and values.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
