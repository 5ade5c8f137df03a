package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"sweep/sweep"
)

// value is a database value in a message. NULL, texts, booleans and integers are plain
// JSON. A value that JSON cannot carry or distinguish is an object with one key: "f" for
// a floating-point number, as text, "b" for bytes in base64, "t" for a time, "j" for
// anything else.
type value struct{ plain any }

// MarshalJSON implements json.Marshaler.
func (v value) MarshalJSON() ([]byte, error) {
	switch v := v.plain.(type) {
	case nil, string, bool, int64, int32, int16, int:
		return json.Marshal(v)
	case float64:
		return json.Marshal(map[string]string{"f": strconv.FormatFloat(v, 'g', -1, 64)})
	case float32:
		return json.Marshal(map[string]string{"f": strconv.FormatFloat(float64(v), 'g', -1, 64)})
	case []byte:
		return json.Marshal(map[string][]byte{"b": v})
	case time.Time:
		return json.Marshal(map[string]time.Time{"t": v})
	default:
		data, err := json.Marshal(map[string]any{"j": v})
		if err != nil {
			return json.Marshal(fmt.Sprint(v))
		}
		return data, nil
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *value) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		plain, err := sweep.DecodeValue(data)
		v.plain = plain
		return err
	}
	var tagged struct {
		F *string         `json:"f"`
		B *[]byte         `json:"b"`
		T *time.Time      `json:"t"`
		J json.RawMessage `json:"j"`
	}
	if err := json.Unmarshal(data, &tagged); err != nil {
		return err
	}
	var err error
	switch {
	case tagged.F != nil:
		v.plain, err = strconv.ParseFloat(*tagged.F, 64)
	case tagged.B != nil:
		v.plain = *tagged.B
	case tagged.T != nil:
		v.plain = *tagged.T
	case tagged.J != nil:
		v.plain, err = sweep.DecodeValue(tagged.J)
	default:
		err = fmt.Errorf("a database value cannot be read: %.100s", data)
	}
	return err
}
