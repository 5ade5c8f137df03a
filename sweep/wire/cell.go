package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"sweep/sweep"
)

// cell is a database value on the wire. Nothing, texts, truth values and whole
// numbers are as JSON has them; what JSON cannot tell apart or carry is an
// object with one key: "f" a floating-point number, as text, "b" bytes in
// base64, "t" a time, "j" anything else.
type cell struct{ value any }

// MarshalJSON implements json.Marshaler.
func (c cell) MarshalJSON() ([]byte, error) {
	switch v := c.value.(type) {
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
func (c *cell) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		value, err := sweep.DecodeValue(data)
		c.value = value
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
		c.value, err = strconv.ParseFloat(*tagged.F, 64)
	case tagged.B != nil:
		c.value = *tagged.B
	case tagged.T != nil:
		c.value = *tagged.T
	case tagged.J != nil:
		c.value, err = sweep.DecodeValue(tagged.J)
	default:
		err = fmt.Errorf("a database value cannot be read: %.100s", data)
	}
	return err
}
