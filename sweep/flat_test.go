package sweep

import (
	"reflect"
	"testing"
)

// flatObjects are what decodeFlat must decode, otherObjects what it must leave.
var (
	flatObjects = []string{
		`{}`, `{"a":1}`,
		`{"a":-0,"b":1.5e-07,"c":"x, y: {}","d":null,"e":true,"f":false,"lr":0.001,"seed":9223372036854775807}`,
		`{"big":9223372036854775808,"zero":0,"tenth":0.1,"e":1E+5,"a":1,"a":2}`, `{"":""}`,
	}
	otherObjects = []string{
		``, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e999}`,
		`{"a":1-2}`, `{"a":-}`, `{"a":+1}`,
		`{"a":nul}`, `{"a":0x1p-2}`, `{"a":1_0}`, `{"a":[1]}`, `{"a":{"b":1}}`, ` {"a":1}`, `{"a": 1}`, `{"a":"\\n"}`,
		`{"a":"é"}`, `{"a":Inf}`, `{"a":1}}`,
	}
)

func TestDecodeFlat(t *testing.T) {
	for _, text := range flatObjects {
		if _, ok := decodeFlat([]byte(text)); !ok {
			t.Errorf("%s is not decoded", text)
		}
	}
	for _, text := range otherObjects {
		if got, ok := decodeFlat([]byte(text)); ok {
			t.Errorf("%s is %v", text, got)
		}
	}
}

// What decodeFlat decodes, encoding/json decodes to the same.
func FuzzDecodeFlat(f *testing.F) {
	for _, text := range append(flatObjects, otherObjects...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := decodeFlat([]byte(text))
		if !ok {
			return
		}
		want, err := decodeAny([]byte(text))
		if err != nil || !reflect.DeepEqual(any(got), want) {
			t.Errorf("%s is %#v; encoding/json says %#v, %v", text, got, want, err)
		}
	})
}

func BenchmarkDecodeValue(b *testing.B) {
	data := []byte(
		`{"batch":32,"dataset":"generated-cbf","epochs":10,"hidden":32,"lr":0.001,"model":"spectral-rnn","seed":17}`)
	for _, way := range []struct {
		name   string
		decode func([]byte) (any, error)
	}{{"flat", DecodeValue}, {"any", decodeAny}} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := way.decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
